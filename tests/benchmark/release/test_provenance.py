import json
import re

import pytest

from pipeline.benchmark.release.check_release import read_released_items
from pipeline.benchmark.release.provenance import (
    DROPPED_FILES,
    Provenance,
    iter_dropped,
    make_canary,
    make_provenance,
)
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl, write_jsonl
from pipeline.core.params import convert_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Candidate, CollectedCandidate, DroppedCandidate, Question, VerifierResult
from pipeline.core.release_params import ReleaseParams


def test_an_answerable_item_has_the_text_and_image_of_its_source(release):
    for row in read_jsonl(release / "provenance.jsonl", Provenance):
        if not row.item.unanswerable:
            assert (row.item.image_id, row.item.text) == (row.source_image_id, row.source_text)


def test_the_source_text_is_that_of_the_source_even_if_it_was_paraphrased(items):
    asked = {
        item.question_id: Question(
            question_id=item.question_id,
            image_id="n1",
            split="val",
            text=item.text,
            answer="a",
            source_text="As it was?",
        )
        for item in items
    }
    assert {row.source_text for row in make_provenance(items, asked, {})} == {"As it was?"}


def test_the_provenance_of_an_unanswerable_item_has_votes_and_the_edited_program(release):
    rows = [row for row in read_jsonl(release / "provenance.jsonl", Provenance) if row.item.unanswerable]
    assert all(row.verifier_result and row.votes_invalid > row.votes_valid for row in rows)
    assert all(row.program for row in rows)


def test_a_canary_belongs_to_one_version_of_one_data_set():
    marks = {make_canary(dataset, version) for dataset in ("a", "b") for version in ("1.0.0", "1.0.1")}
    assert len(marks) == 4 and make_canary("a", "1.0.0") in marks
    assert make_canary("a", "1.0.0", simulated=True).endswith(make_canary("a", "1.0.0"))


@pytest.mark.parametrize("published", ["2026-02-30", "2026-2-3", "", "today"])
def test_an_invalid_date_is_refused(published):
    given = {
        "title": "t",
        "data_source": "o",
        "licence": "l",
        "licence_url": "https://u.org",
        "release_date": published,
    }
    with pytest.raises(
        UserError, match=re.escape(f"release_date: Invalid RFC3339 encoded date (got {published!r})")
    ):
        convert_params(given, ReleaseParams, "params.yaml, tiny.release")


def test_every_candidate_is_released_or_dropped(release, tiny_run):
    # Every candidate is an item or in dropped.jsonl, exactly once.
    interim = tiny_run / "data/tiny/interim"
    candidates = [
        json.loads(line)["candidate_id"]
        for stage in ("rank", "perturb")
        for line in (interim / stage / "candidates.jsonl").open()
    ]
    items = [item.item_id for item in read_released_items(release) if item.unanswerable]
    dropped = [
        row.candidate_id
        for row in read_jsonl(release / "dropped.jsonl", DroppedCandidate)
        if row.stage != "perturb"
    ]
    assert sorted(items + dropped) == sorted(candidates)
    assert all(row.reason for row in read_jsonl(release / "dropped.jsonl", DroppedCandidate))


def test_collected_candidates_that_are_not_unanswerable_are_dropped(tmp_path, monkeypatch):
    def verified(status):
        return CollectedCandidate(
            candidate=Candidate(
                candidate_id=status, subset="pt-easy", image_id="p", question_id="q", text="?"
            ),
            verifier_result=VerifierResult(answerability="unknown"),
            status=status,
            votes_invalid=1,
            votes_valid=2,
            votes_excluded=0,
            verdict_ids=(),
            simulated=False,
        )

    monkeypatch.chdir(tmp_path)
    for name in DROPPED_FILES:
        write_jsonl(DatasetFolders("birds").stage_dir(name), ())
    statuses = ("answerable", "unanswerable", "doubtful", "no_votes")
    rows = iter_dropped(DatasetFolders("birds"), map(verified, statuses))
    assert [(row.reason, row.detail) for row in rows] == [
        (status, "1 invalid, 2 valid") for status in ("answerable", "doubtful", "no_votes")
    ]
