import pytest

from pipeline.core.errors import UserError
from pipeline.core.files import read_jsonl
from pipeline.releasing.provenance import Provenance, ReleaseParams, canary


def test_an_answerable_item_asks_its_own_question_of_its_own_picture(release):
    for row in read_jsonl(release / "provenance.jsonl", Provenance):
        if not row.item.unanswerable:
            assert (row.item.picture_id, row.item.text) == (row.source_picture_id, row.source_text)


def test_the_story_of_an_unanswerable_item_has_its_votes_and_its_edited_program(release):
    stories = [row for row in read_jsonl(release / "provenance.jsonl", Provenance) if row.item.unanswerable]
    assert all(row.judgement and row.votes_invalid > row.votes_valid for row in stories)
    assert all(row.program for row in stories)


def test_a_canary_belongs_to_one_version_of_one_data_set():
    marks = {canary(dataset, version) for dataset in ("a", "b") for version in ("1.0.0", "1.0.1")}
    assert len(marks) == 4 and canary("a", "1.0.0") in marks
    assert canary("a", "1.0.0", simulated=True).endswith(canary("a", "1.0.0"))


def test_a_date_that_does_not_exist_is_refused_before_anything_is_written():
    with pytest.raises(UserError, match=r"release.published is '2026-02-30': day is out of range"):
        ReleaseParams(title="t", origin="o", licence="l", licence_url="u", published="2026-02-30")
