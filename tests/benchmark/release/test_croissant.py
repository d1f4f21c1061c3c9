import json

import mlcroissant as mlc
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from PIL import Image

from pipeline.benchmark.release.croissant import make_croissant
from pipeline.core.release_params import Licence
from tests.benchmark.release.card_facts import P, facts, tables

pytestmark = pytest.mark.filterwarnings("ignore")  # The libraries behind mlcroissant warn.


@pytest.fixture
def described(release):
    return json.loads((release / "croissant.json").read_text())


def test_mlcroissant_finds_no_error(release, described):
    data = mlc.Dataset(str(release / "croissant.json"))
    assert not data.metadata.ctx.issues.errors
    # mlcroissant recommends a URL, which the tiny release does not have.
    assert not [line for line in data.metadata.ctx.issues.warnings if "url" not in line]
    assert described["conformsTo"] == [
        "http://mlcommons.org/croissant/1.1",
        "http://mlcommons.org/croissant/RAI/1.0",
    ]
    assert data.metadata.ctx.is_v1_1()


def test_it_lists_every_table_with_its_checksum(release, described):
    document = {row["contentUrl"]: row["sha256"] for row in described["distribution"]}
    sums = {line[66:]: line[:64] for line in (release / "CHECKSUMS.sha256").read_text().splitlines()}
    assert document == {path: digest for path, digest in sums.items() if path.startswith("data/")}


def test_its_records_are_the_rows_of_the_tables(release, described):
    data = mlc.Dataset(str(release / "croissant.json"))
    assert list(data.records("splits")) == [
        {"splits/name": "validation", "splits/url": "http://mlcommons.org/croissant/ValidationSplit"},
        {"splits/name": "test", "splits/url": "http://mlcommons.org/croissant/TestSplit"},
    ]
    edits = 0
    for name in [row["@id"] for row in described["recordSet"] if row["@id"] != "splits"]:
        rows = pq.read_table(release / "data" / f"{name}.parquet").to_pylist()
        for row, loaded in zip(rows, data.records(name), strict=True):
            record = {key.removeprefix(f"{name}/"): value for key, value in loaded.items()}
            assert record.pop("split") == name.rsplit("-", 1)[1].encode()
            assert isinstance(record.pop("image"), Image.Image) and row.pop("image")["bytes"]
            row_edits = [
                {key.removeprefix(f"{name}/edits/"): v for key, v in e.items()} for e in record.pop("edits")
            ]
            assert _decode(row_edits) == row.pop("edits")
            assert _decode([record])[0] == row
            edits += len(row_edits)
    assert edits > 5


def _decode(records):
    """Decode texts, which mlcroissant returns as bytes."""
    return [{k: v.decode() if isinstance(v, bytes) else v for k, v in row.items()} for row in records]


def test_url_creators_licences_and_citation_follow_the_parameters(items, tmp_path):
    p = replace(
        P,
        url="https://example.org/tiny",
        creators=("Ada",),
        keywords=("tiny",),
        licence_overrides={"images": Licence(name="X", url="x")},
    )
    document = make_croissant(tables(tmp_path, items), facts(items, params=p))
    assert document["url"] == "https://example.org/tiny" and document["license"] == ["u", "x"]
    assert document["citeAs"].startswith("@misc{rgqa-tiny-1.0.0,")
    assert document["creator"]["name"] == "Ada" and document["creator"]["@type"] == "sc:Organization"
    assert "tiny" in document["keywords"] and "unanswerable questions" in document["keywords"]
    bare = make_croissant(tables(tmp_path, items), facts(items, params=replace(P, licence_overrides={})))
    assert "url" not in bare and bare["license"][0] == "u" and "licence of the images" in bare["license"][1]


# What the track on datasets of NeurIPS 2026 requires, and what its specification asks to be there.
REQUIRED = (
    *("rai:dataLimitations", "rai:dataBiases", "rai:personalSensitiveInformation", "rai:dataUseCases"),
    *("rai:dataSocialImpact", "rai:hasSyntheticData", "prov:wasGeneratedBy"),
)


def test_every_column_has_a_description(described):
    fields = [
        field for table in described["recordSet"] if table["name"] != "splits" for field in table["field"]
    ]
    assert fields and all(field.get("description") for field in fields if field["name"] != "split")


def test_it_has_the_required_properties_of_rai(described):
    assert all(described[name] not in ("", [], None) for name in REQUIRED)
    assert described["@context"]["rai"] == "http://mlcommons.org/croissant/RAI/"
    assert described["rai:annotatorDemographics"] == ["None: the annotators are programs."]


def test_simulated_verdicts_are_stated_in_the_description(release, described):
    assert described["description"].startswith("VERDICTS SIMULATED BY PROGRAMS. Tiny")
