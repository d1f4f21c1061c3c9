"""The whole study on the tiny project: its nets are of random weights, so that only its form is to be seen."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import ImageRecord, Item
from research.studies.cli import app
from research.studies.ranking_effects import EFFECTS
from research.studies.ranking_validity import CounterfactualRelease, run_validity_study
from research.studies.validity_results import ValidityResults
from tests.tiny.nets import add_nets

ASKED = "What color is the cup?"


def twins_release(folder: Path) -> Path:
    """Each question of an item at two images, at the first with an answer; no image in two pairs."""
    images = sorted(row.image_id for row in DatasetFolders().read_records(ImageRecord))
    listed, told = [], []
    for number, pair in enumerate(zip(images[::2], images[1::2], strict=False)):
        for image, label in zip(pair, ({"red": 1.0}, {"UQ": 1.0}), strict=True):
            key = f"{number}-{image}"
            listed.append({"img_id": image, "question_id": key, "sent": ASKED, "label": label})
            category = "object" if "UQ" in label else ""
            told.append(
                {
                    "item": {
                        "subset": "counterfactual",
                        "item_id": key,
                        "pair_id": str(number),
                        "category": category,
                        "part": "test",
                    }
                }
            )
    (folder / "rgqa").mkdir(parents=True)
    (folder / "rgqa/counterfactual.json").write_text(json.dumps(listed))
    (folder / "provenance.jsonl").write_text("\n".join(map(json.dumps, told)))
    (folder / "params.json").write_text(json.dumps({"dataset": "tiny", "version": "1"}))
    return folder


@pytest.fixture
def there(tiny_run, tmp_path, monkeypatch):
    home = tmp_path / "run"
    shutil.copytree(tiny_run, home)
    add_nets(home)
    monkeypatch.chdir(home)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return home


def test_the_study_writes_its_figures_and_goes_on_from_what_was_answered(there, tmp_path, capsys):
    twins, out = twins_release(tmp_path / "twins"), tmp_path / "out"
    releases = [CounterfactualRelease(twins), CounterfactualRelease(twins)]
    found = run_validity_study(releases, out, repetitions=20)
    printed = capsys.readouterr().out
    assert (out / "validity.md").read_text() in printed
    assert (
        f"validity: {found.num_rows} rows on 8 sets and {found.counterfactual_items} items of counterfactual pairs"
        in printed.splitlines()[-1]
    )
    assert read_json(out / "validity.json", ValidityResults) == found
    test = sum(row.part == "test" for row in DatasetFolders().read_records(Item))
    assert sum(one.num_items for one in found.sets if one.rules == "ours") == test
    assert all((out / f"effect-{name}.svg").read_text().startswith("<svg") for name in EFFECTS)
    assert {one["effect"] for one in read_json(out / "effects.json")} == set(EFFECTS)
    assert "blind_net" not in found.auaf and "true_regions" not in found.auaf
    answers = sorted(out.glob("answers/*/*.json"))
    before = {path: path.stat().st_mtime_ns for path in answers if "seed" in path.name}
    assert run_validity_study(releases, out, repetitions=20, measure_effects=False) == found
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_too_few_rows_and_no_twins_are_told(there, tmp_path):
    (there / "data/tiny/vqa/fitted-1.safetensors").unlink()  # four rows rest on it
    with pytest.raises(UserError, match="13 rows to rank, wanted 14 or more"):
        run_validity_study(
            [CounterfactualRelease(twins_release(tmp_path / "twins"))],
            tmp_path / "out",
            20,
            measure_effects=False,
        )
    found = CliRunner().invoke(app, ["validity", "--counterfactual-release", "data/release/tiny/0.1.0"])
    assert found.exit_code == 1 and "no subset twins" in found.output
