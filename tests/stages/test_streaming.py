"""Stages that go through the images one by one: in however many processes the same bytes, and never all rows at once."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from types import ModuleType

import pytest

from pipeline.candidates.perturbing import perturb_image
from pipeline.core.json_files import read_jsonl
from pipeline.core.records import Candidate, Question, ScreenedCandidate, TaggedText
from pipeline.stages import perturb, screen, tag, vocabulary
from pipeline.verifier import vocabulary as vocabulary_counts
from pipeline.verifier.partial_graphs import PartialGraph
from tests.stages.small_projects import COPIES, in_processes, ingest_copies

STAGES = (vocabulary, tag, perturb, screen)


@pytest.fixture
def ingested(tiny, set_params):
    return ingest_copies(tiny, set_params)


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
