"""Stages that go through the images one by one: in however many processes the same bytes, and never all rows at once."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from types import ModuleType

import msgspec
import pytest

from pipeline.candidates.perturbing import perturb_image
from pipeline.core import per_image as core_candidates
from pipeline.core.json_files import read_jsonl, write_jsonl
from pipeline.core.parallel import ordered_map
from pipeline.core.records import Candidate, ImageRecord, Question, ScreenedCandidate, TaggedText
from pipeline.stages import ingest, perturb, screen, tag, vocabulary
from pipeline.verifier import vocabulary as vocabulary_counts
from pipeline.verifier.partial_graphs import PartialGraph

STAGES = (vocabulary, tag, perturb, screen)
COPIES = 6


@pytest.fixture
def ingested(tiny, set_params):
    """The tiny world `COPIES` times, under other ids; CLIP proposes every question at another image."""
    for stage in ("vocabulary", "perturb"):
        set_params(stage)
    ingest.main()
    home = tiny / "data/tiny/interim"
    images = list(read_jsonl(home / "ingest/images.jsonl", ImageRecord))
    shown = {image.image_id for image in images}
    questions = [q for q in read_jsonl(home / "ingest/questions.jsonl", Question) if q.image_id in shown]
    images = [again(row, copy) for copy in range(COPIES) for row in images]
    questions = [again(row, copy) for copy in range(COPIES) for row in questions]
    ids = sorted(image.image_id for image in images)  # the copies of an image stand together
    other = {image_id: ids[(number + COPIES) % len(ids)] for number, image_id in enumerate(ids)}
    proposed = [
        Candidate(
            candidate_id=f"cliphard_{other[q.image_id]}+{q.question_id}",
            subset="clip-hard",
            image_id=other[q.image_id],
            question_id=q.question_id,
            text=q.text,
            program=q.program,
            score=0.2,
            rank=1,
        )
        for q in questions
    ]
    write_jsonl(home / "ingest/images.jsonl", sorted(images, key=lambda row: row.image_id))
    write_jsonl(home / "ingest/questions.jsonl", sorted(questions, key=lambda row: row.question_id))
    write_jsonl(home / "ingest/scenes.jsonl", [])
    write_jsonl(home / "rank/candidates.jsonl", sorted(proposed, key=lambda row: row.candidate_id))
    return home


def again(row, copy: int):
    """An image or question of another copy of the world."""
    ids = {name: f"{getattr(row, name)}-{copy}" for name in ("image_id", "question_id") if hasattr(row, name)}
    return msgspec.structs.replace(row, **ids)


def in_processes(number: int, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ordered_map, "__defaults__", (3,))  # items in a piece
    for module in (vocabulary_counts, tag, core_candidates):
        patch.setattr(module, "choose_num_workers", lambda *_: number)


def test_one_process_and_two_write_the_same_bytes_sorted_and_complete(ingested, monkeypatch):
    found = []
    for number in (1, 2):
        in_processes(number, monkeypatch)
        for stage in STAGES:
            stage.main()
        found.append({path.name: path.read_bytes() for path in ingested.rglob("*.json*")})
    assert found[0] == found[1]
    edited = [row.candidate_id for row in read_jsonl(ingested / "perturb/candidates.jsonl", Candidate)]
    kept = [
        row.candidate.candidate_id
        for row in read_jsonl(ingested / "screen/screened.jsonl", ScreenedCandidate)
    ]
    assert edited == sorted(set(edited)) and kept == sorted(set(kept))
    assert {name.split("_")[0] for name in kept} == {"cliphard", "pteasy", "pthard"}
    texts = [row.text for row in read_jsonl(ingested / "tag/tags.jsonl", TaggedText)]
    assert texts == sorted({q.text for q in read_jsonl(ingested / "ingest/questions.jsonl", Question)})
    told = [row.image_id for row in read_jsonl(ingested / "vocabulary/reconstructed.jsonl", PartialGraph)]
    assert told == sorted({q.image_id for q in read_jsonl(ingested / "ingest/questions.jsonl", Question)})


def most_alive(stage: ModuleType, place: ModuleType, name: str, kind: type, patch: pytest.MonkeyPatch) -> int:
    """The most records of a kind that are alive while the stage works on an image (by `name` in `place`), looked at for every tenth one;
    those of earlier tests do not count."""
    work: Callable = getattr(place, name)
    before = sum(type(thing) is kind for thing in gc.get_objects())
    alive, calls = [0], [0]

    def watched(*args, **kwargs):
        made = work(*args, **kwargs)
        calls[0] += 1
        if calls[0] % 10 == 0:
            alive[0] = max(alive[0], sum(type(thing) is kind for thing in gc.get_objects()) - before)
        return made

    patch.setattr(place, name, watched)
    stage.main()
    assert calls[0] >= 8 * COPIES
    return alive[0]


@pytest.mark.parametrize(
    "stage, place, work, kinds",
    [
        (vocabulary, vocabulary_counts, "build_partial_graph", [Question, PartialGraph]),
        (perturb, perturb, "perturb_image", [Question, Candidate]),
        (screen, screen, "screen_image", [Question, Candidate]),
    ],
    ids=["vocabulary", "perturb", "screen"],
)
def test_of_all_rows_those_of_two_images_are_in_memory_at_most(stage, place, work, kinds, ingested):
    for earlier in STAGES[: STAGES.index(stage)]:
        earlier.main()
    asked = Counter(q.image_id for q in read_jsonl(ingested / "ingest/questions.jsonl", Question))
    # A question makes three candidates at most, one of them at another image.
    most = {Question: max(asked.values()), Candidate: 3 * max(asked.values()), PartialGraph: 1}
    for kind in kinds:
        gc.collect()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                perturb_image, "NUM_SURVEYED_QUESTIONS", 1
            )  # the images that are surveyed are kept: here one
            assert most_alive(stage, place, work, kind, patch) <= 2 * most[kind] < 2 * sum(asked.values()) / 8
