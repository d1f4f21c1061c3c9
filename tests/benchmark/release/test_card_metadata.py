import datasets
import pytest
from huggingface_hub import DatasetCard
from msgspec.structs import replace

from pipeline.benchmark.release.card_metadata import render_card_metadata
from tests.benchmark.release.card_facts import P, facts, tables


def data_of(items, home, **changed):
    return DatasetCard(
        f"---\n{render_card_metadata(facts(items, **changed), tables(home, items))}\n---\n"
    ).data.to_dict()


def test_the_hub_reads_the_head(items, tmp_path):
    data = data_of(items, tmp_path)
    assert data["pretty_name"] == "Tiny 1.0.0" and "language" not in data
    assert data["tags"] == ["unanswerable questions", "simulated annotation"]
    assert data["task_categories"] == ["visual-question-answering"]
    assert data["license"] == "cc-by-4.0" and "source_datasets" not in data
    assert data["annotations_creators"] == ["machine-generated"]
    files = [{"split": split, "path": f"data/clip-hard-{split}.parquet"} for split in ("validation", "test")]
    assert data["configs"] == [{"config_name": "clip-hard", "data_files": files}]
    info = data["dataset_info"]
    assert info["config_name"] == "clip-hard"
    assert {row["name"]: row["num_examples"] for row in info["splits"]} == {"validation": 4, "test": 4}
    assert info["download_size"] == sum(path.stat().st_size for path in (tmp_path / "data").iterdir())


def test_what_people_judged_says_what_people_and_of_which_data_set(items, tmp_path):
    people = [replace(item, simulated=False) for item in items]
    data = data_of(people, tmp_path, p=replace(P, annotated_by="expert-generated", derived_from={"GQA": "u"}))
    assert (data["annotations_creators"], data["source_datasets"]) == (["expert-generated"], ["extended|gqa"])
    assert data["tags"] == ["unanswerable questions"]
    stated = data_of(people, tmp_path, p=replace(P, languages=("de",), derived_from={}))
    assert (stated["language"], stated["source_datasets"]) == (["de"], ["original"])
    assert "annotations_creators" not in stated


@pytest.mark.parametrize(
    ("rows", "size"), [(1, "n<1K"), (125, "1K<n<10K"), (1249, "1K<n<10K"), (1250, "10K<n<100K")]
)
def test_the_size_is_one_of_the_hubs(items, tmp_path, rows, size):
    # 8 rows, as often as said: 8, 1,000, 9,992 and 10,000
    found = facts(items)
    more = [replace(s, num_uqs=s.uqs * rows, num_aqs=s.aqs * rows) for s in found.subsets]
    assert data_of(items, tmp_path, subsets=tuple(more))["size_categories"] == [size]


def test_datasets_takes_the_columns_and_counts_as_they_are_told(release, tmp_path):
    names = datasets.get_dataset_config_names(str(release))
    assert names == sorted(path.stem for path in (release / "rgqa").glob("*.json"))
    found = datasets.load_dataset(str(release), names[0], cache_dir=str(tmp_path))
    told = DatasetCard.load(release / "README.md").data.to_dict()["dataset_info"][0]
    assert {split: rows.num_rows for split, rows in found.items()} == {
        row["name"]: row["num_examples"] for row in told["splits"]
    }
    assert [row["name"] for row in told["features"]] == list(next(iter(found.values())).features)
