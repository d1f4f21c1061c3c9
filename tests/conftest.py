"""Fixtures for all tests: the tiny world of 8 images (tests/tiny/make.py) as a project."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, settings

from pipeline.core.json_files import read_jsonl, write_json, write_jsonl
from pipeline.core.records import (
    Candidate,
    CandidateEstimate,
    ObjectEntry,
    Question,
    ScreenedCandidate,
    Vocabulary,
    make_candidate_id,
)
from tests.tiny.project import PARAMS, TINY, lay_out, run_stages

# The default profile is reproducible, so that a test that passed once also passes on the next machine. `make endurance` searches for new
# counterexamples with `--hypothesis-profile search`. There is no deadline, because machines may be busy.
COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", COMMON, derandomize=True)
settings.register_profile("search", COMMON)
settings.load_profile("repeatable")
# Background jobs of scripts ignore SIGINT, and jobs of `nohup` ignore SIGHUP. Processes started by tests would inherit this, and tests
# that stop them by these signals would never end.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Categories and attribute types of the tiny world.
CATEGORIES = {
    "animal": ("dog", "cat", "horse", "sheep"),
    "person": ("man", "woman", "boy", "girl"),
    "furniture": ("table", "chair", "couch", "bench", "bed", "shelf"),
    "vehicle": ("car", "bus", "tractor", "boat"),
    "fruit": ("apple", "banana"),
    "clothing": ("hat",),
}
TYPES = {
    "color": "red blue green brown white black yellow orange pink purple gray",
    "material": "wood metal plastic glass",
    "pattern": "striped dotted",
    "pose": "standing sitting lying",
    "openness": "open closed",
    "light": "on off",
    "fullness": "full empty",
    "size": "small large",
    "age": "old young",
}
ATTRIBUTE_TYPES = {attribute: kind for kind, attributes in TYPES.items() for attribute in attributes.split()}
NAMES = [
    "table",
    "cup",
    "apple",
    "banana",
    "chair",
    "window",
    "couch",
    "dog",
    "cat",
    "lamp",
    "painting",
    "book",
    "man",
    "woman",
    "boy",
    "girl",
    "hat",
    "ball",
    "bench",
    "tree",
    "car",
    "bus",
    "umbrella",
    "boat",
    "kite",
    "horse",
    "sheep",
    "tractor",
    "laptop",
    "bottle",
    "clock",
    "shelf",
    "bed",
    "box",
    "curtain",
    "jeans",
]


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder with data set `tiny`, which is the working directory during the test."""
    lay_out(tmp_path)
    shutil.copy(TINY / "params.yaml", tmp_path / "params.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def set_params(tiny: Path) -> Callable[..., None]:
    """A function that changes parameters of a stage in the tiny project: `set_params("rank", easy_last=2)`."""

    def change(stage: str, **values: object) -> None:
        path = tiny / "params.yaml"
        document = yaml.safe_load(path.read_text())
        document["tiny"].setdefault(stage, {}).update(values)
        path.write_text(yaml.safe_dump(document))

    return change


@pytest.fixture
def vocabulary() -> Vocabulary:
    """The vocabulary of the tiny world."""
    objects = {
        name: ObjectEntry(
            name=name, count=1, number="plural" if name == "jeans" else "singular", attributes={}
        )
        for name in NAMES
    }
    return Vocabulary(
        objects=objects,
        attributes={},
        attribute_types=ATTRIBUTE_TYPES,
        relations={},
        categories=CATEGORIES,
        locations={},
        weathers={},
    )


@pytest.fixture
def screened(tiny: Path, vocabulary: Vocabulary) -> Path:
    """The tiny project after stages `screen` and `estimate`: each question without `exist` is a candidate for every other image."""
    from pipeline.language.lexicon import Lexicon
    from pipeline.stages import ingest
    from pipeline.verifier.partial_graphs import build_partial_graph
    from pipeline.verifier.verification import build_evidence, verify_question

    ingest.main()
    home = tiny / "data/tiny/interim"
    write_json(home / "vocabulary/vocabulary.json", vocabulary)
    questions: dict[str, list[Question]] = {}
    for question in read_jsonl(home / "ingest/questions.jsonl", Question):
        if question.split == "testdev":
            questions.setdefault(question.image_id, []).append(question)
    lexicon = Lexicon(CATEGORIES, ATTRIBUTE_TYPES)
    partial_graphs = {key: build_partial_graph(questions[key], lexicon) for key in sorted(questions)}
    write_jsonl(home / "vocabulary/reconstructed.jsonl", partial_graphs.values())
    rows = []
    for image_id in sorted(questions):
        facts = build_evidence(image_id, {}, partial_graphs, lexicon)
        for number, question in enumerate(q for other in questions for q in questions[other]):
            if question.image_id == image_id or any(step.operation == "exist" for step in question.program):
                continue
            subset = "clip-easy" if number % 2 else "clip-hard"
            candidate = Candidate(
                candidate_id=make_candidate_id(subset, image_id, question.question_id),
                subset=subset,
                image_id=image_id,
                question_id=question.question_id,
                text=question.text,
                program=question.program,
                score=0.2,
                rank=number + 1,
            )
            rows.append(
                ScreenedCandidate(
                    candidate=candidate,
                    verifier_result=verify_question(question.program, facts, question.text),
                )
            )
    write_jsonl(home / "screen/screened.jsonl", rows)
    ids = (row.candidate.candidate_id for row in rows)
    estimates = [CandidateEstimate(candidate_id=key, p_answerable=0.5, difficulty="random") for key in ids]
    write_jsonl(home / "estimate/estimates.jsonl", estimates)
    return home


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder in which all stages have run on the tiny world. The release is data/release/tiny/0.1.0."""
    return run_stages(lay_out(tmp_path_factory.mktemp("run"), PARAMS))


# A tiny CLIP model with random weights, in the file layout of open_clip.
VISION = {"image_size": 32, "patch_size": 16, "width": 32, "head_width": 16, "layers": 1}
TEXT = {"context_length": 20, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2}


def write_clip(
    folder: Path, *, custom_text: bool = False, weights: dict[str, Any] | None = None, **config: Any
) -> Path:
    """Write the configuration and random weights of a tiny CLIP model.

    Args:
        folder: Folder of the model.
        custom_text: Whether the configuration has `custom_text`.
        weights: Changes of the model whose weights are written; None for the changes in `config`.
        config: Changes of the configuration ("text_cfg", "vision_cfg", "quick_gelu").

    Returns:
        `folder`.
    """
    import open_clip
    import torch
    from safetensors.torch import save_file

    def model_config(changes: dict[str, Any]) -> dict[str, Any]:
        return changes | {
            "embed_dim": 16,
            "vision_cfg": VISION | changes.get("vision_cfg", {}),
            "text_cfg": TEXT | changes.get("text_cfg", {}),
        }

    torch.manual_seed(7)
    kind = open_clip.CustomTextCLIP if custom_text else open_clip.CLIP
    kind = open_clip.CoCa if "multimodal_cfg" in config else kind
    folder.mkdir(parents=True, exist_ok=True)
    save_file(
        kind(**model_config(config if weights is None else weights)).state_dict(),
        folder / "open_clip_model.safetensors",
    )
    model = model_config(config) | ({"custom_text": True} if custom_text else {})
    preprocessing = {
        "size": 32,
        "mode": "RGB",
        "mean": [0.5] * 3,
        "std": [0.25] * 3,
        "interpolation": "bilinear",
        "resize_mode": "squash",
    }
    (folder / "open_clip_config.json").write_text(
        json.dumps({"model_cfg": model, "preprocess_cfg": preprocessing})
    )
    return folder


@pytest.fixture(scope="session")
def make_clip() -> Callable[..., Path]:
    return write_clip


@pytest.fixture(scope="session")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for `local-dir:` with a tiny CLIP model: embeddings of size 16, context of 20 tokens."""
    return write_clip(tmp_path_factory.mktemp("tiny"))
