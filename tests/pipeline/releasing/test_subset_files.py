import json

from pipeline.releasing.provenance import ReleaseParams
from pipeline.releasing.subset_files import write_subset

P = ReleaseParams(
    title="T", origin="o", licence="l", licence_url="u", published="2026-01-01", pictures=False, folds=2
)


def test_a_subset_has_rows_tables_and_predictions_with_their_scores(items, tmp_path):
    write_subset(tmp_path, "clip-hard", items, {}, "canary", P)
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    names = ("blind", "clip_score", "constant", "expected")
    assert files == {
        "rgqa/clip-hard.json",
        "data/clip-hard-dev.parquet",
        "data/clip-hard-test.parquet",
        *(f"sanity/clip-hard/{name}.json" for name in names),
    }
    stated = json.loads((tmp_path / "sanity/clip-hard/expected.json").read_text())
    assert stated["constant"]["facc"] == 0.25  # one AQ of four is answered by "yes"


def test_a_part_without_items_has_no_table(items, tmp_path):
    write_subset(tmp_path, "clip-hard", [i for i in items if i.part == "dev"], {}, "canary", P)
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["clip-hard-dev.parquet"]
