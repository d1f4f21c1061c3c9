"""The whole study on the tiny project. Its nets have random weights, so that only the format of the results is tested."""

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

QUESTION_TEXT = "What color is the cup?"


def write_release(folder: Path) -> Path:
    """Each question of an item at two images, at the first with an answer; no image in two pairs."""
    images = sorted(row.image_id for row in DatasetFolders().read_records(ImageRecord))
    listed, details = [], []
    for number, pair in enumerate(zip(images[::2], images[1::2], strict=False)):
        for image, label in zip(pair, ({"red": 1.0}, {"UQ": 1.0}), strict=True):
            key = f"{number}-{image}"
            listed.append({"img_id": image, "question_id": key, "sent": QUESTION_TEXT, "label": label})
            category = "object" if "UQ" in label else ""
            details.append(
                {
                    "item": {
                        "subset": "counterfactual",
                        "item_id": key,
                        "pair_id": str(number),
                        "category": category,
                        "split": "test",
                    }
                }
            )
    (folder / "rgqa").mkdir(parents=True)
    (folder / "rgqa/counterfactual.json").write_text(json.dumps(listed))
    (folder / "provenance.jsonl").write_text("\n".join(map(json.dumps, details)))
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


def test_the_study_writes_its_results_and_continues_from_existing_predictions(there, tmp_path, capsys):
    release, out = write_release(tmp_path / "release"), tmp_path / "out"
    releases = [CounterfactualRelease(release), CounterfactualRelease(release)]
    found = run_validity_study(releases, out, repetitions=20)
    printed = capsys.readouterr().out
    assert (out / "validity.md").read_text() in printed
    assert (
        f"validity: {found.num_rows} rows on 8 sets and {found.counterfactual_items} items of counterfactual pairs"
        in printed.splitlines()[-1]
    )
    assert read_json(out / "validity.json", ValidityResults) == found
    test = sum(row.split == "test" for row in DatasetFolders().read_records(Item))
    assert sum(one.num_items for one in found.sets if one.rules == "ours") == test
    assert all((out / f"effect-{name}.svg").read_text().startswith("<svg") for name in EFFECTS)
    assert {one["effect"] for one in read_json(out / "effects.json")} == set(EFFECTS)
    assert "text_only_net" not in found.auaf and "true_regions" not in found.auaf
    answers = sorted(out.glob("answers/*/*.json"))
    before = {path: path.stat().st_mtime_ns for path in answers if "seed" in path.name}
    assert run_validity_study(releases, out, repetitions=20, measure_effects=False) == found
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_too_few_rows_and_missing_counterfactual_pairs_are_errors(there, tmp_path):
    (there / "data/tiny/vqa/fitted-1.safetensors").unlink()  # four rows need it
    with pytest.raises(UserError, match="13 rows to rank"):
        run_validity_study(
            [CounterfactualRelease(write_release(tmp_path / "release"))],
            tmp_path / "out",
            20,
            measure_effects=False,
        )
    found = CliRunner().invoke(app, ["validity", "--counterfactual-release", "data/release/tiny/0.1.0"])
    assert found.exit_code == 1 and "no subset counterfactual" in found.output
