"""The embedded photographs: data/photos, their section of params.yaml, and `make photos`."""

import os
import subprocess
import sys
from collections import Counter

import pandas as pd
import pytest
import yaml
from PIL import Image

from annotation.study.answers_table import QualityRules
from annotation.study.vote_aggregation import decide_status
from pipeline.core.params import convert_params
from pipeline.core.release_params import ReleaseParams
from pipeline.sources.source_folder import IngestParams, SourceFolder
from tests.closure import ROOT

HOME = ROOT / "data" / "photos"
SECTION = yaml.safe_load((ROOT / "params.yaml").read_text())["photos"]
IMAGES = sorted((HOME / "source" / "images").iterdir())


@pytest.fixture
def source():
    return SourceFolder(HOME / "source", convert_params(SECTION["ingest"], IngestParams, "photos"))


def test_the_source_is_valid_and_has_at_least_eight_questions_for_each_photograph(source):
    questions, images = list(source.read_questions()), list(source.read_images())
    source.make_report()  # raises an error if there are faults
    counts = Counter(question.image_id for question in questions)
    assert len(images) == len(IMAGES) == 13 and set(counts) == {image.image_id for image in images}
    assert min(counts.values()) >= 8
    assert len({question.text for question in questions}) == len(questions)


@pytest.mark.parametrize("path", IMAGES, ids=lambda path: path.stem)
def test_a_photograph_is_small_without_metadata_and_has_a_licence(path):
    assert path.stat().st_size <= 150_000
    with Image.open(path) as image:
        assert max(image.size) <= 1024 and not image.getexif()
    assert path.name in (HOME / "LICENSE").read_text()


def test_the_card_will_say_that_a_model_wrote_the_questions_and_claims_no_annotators():
    params = convert_params(SECTION["release"], ReleaseParams, "photos.release")
    assert "language model wrote" in params.data_source and "language model" in params.simulated_content[0]
    # Only the user can state this, after the annotation.
    assert params.annotated_by == params.annotator_demographics == ""
    assert [path.name for path in (HOME / "annotations").iterdir() if path.name != "pulled.json"] == [
        "README.md"
    ]


def test_one_vote_of_one_person_decides_as_the_tutorial_says():
    """Gold questions of a plain table need several people, so the default would release nothing: it needs two votes."""
    votes = pd.DataFrame({"invalid": [1, 0, 0], "valid": [0, 1, 0]})
    for section, expected in (
        (SECTION["collect"], ["unanswerable", "answerable", "no_votes"]),
        ({}, ["doubtful", "doubtful", "no_votes"]),
    ):
        rules = convert_params(section, QualityRules, "photos.collect")
        # In the model of votes a single "invalid" gives 0.999 for a candidate that is probably unanswerable.
        posterior = pd.Series([0.999, 0.5, 0.5])
        assert decide_status(votes, rules, posterior, has_gold_answers=False).tolist() == expected


def test_make_photos_works_in_a_folder_of_its_own(tmp_path):
    project = tmp_path / "photos"
    variables = [f"VENV={sys.prefix}", f"PHOTOS={project}"]
    make = ["make", "--no-print-directory", *variables, f"{project}/params.yaml"]
    subprocess.run(make, cwd=ROOT, check=True, capture_output=True)
    assert yaml.safe_load((project / "params.yaml").read_text())["dataset"] == "photos"
    environment = os.environ | {"PYTHONPATH": ""}
    run = [sys.executable, "-m", "pipeline.stages.ingest"]
    done = subprocess.run(run, cwd=project, check=True, capture_output=True, text=True, env=environment)
    assert "123 questions on 13 images" in done.stdout
    assert (project / "data/photos/interim/ingest/questions.jsonl").is_file()
    # A second call keeps what a user changed.
    (project / "params.yaml").write_text("changed")
    subprocess.run(make, cwd=ROOT, check=True, capture_output=True)
    assert (project / "params.yaml").read_text() == "changed"
