import json

from pipeline.core.files import read_jsonl
from pipeline.core.records import Candidate, Dropped, Judgement, Verified
from pipeline.releasing.all_dropped import not_unanswerable
from pipeline.releasing.provenance import Provenance


def items(release):
    return [row.item for row in read_jsonl(release / "provenance.jsonl", Provenance)]


def test_nothing_is_lost_between_candidates_and_release(release, tiny_run):
    # Every candidate is an item or stands in dropped.jsonl exactly once.
    interim = tiny_run / "data/tiny/interim"
    candidates = [
        json.loads(line)["candidate_id"]
        for stage in ("rank", "perturb")
        for line in (interim / stage / "candidates.jsonl").open()
    ]
    released = [item.item_id for item in items(release) if item.unanswerable]
    dropped = [
        row.candidate_id for row in read_jsonl(release / "dropped.jsonl", Dropped) if row.stage != "perturb"
    ]
    assert sorted(released + dropped) == sorted(candidates)
    assert all(row.reason for row in read_jsonl(release / "dropped.jsonl", Dropped))


def test_only_what_the_verdicts_ended_is_dropped_by_them():
    def verified(status):
        return Verified(
            candidate=Candidate(
                candidate_id=status, subset="pt-easy", picture_id="p", question_id="q", text="?"
            ),
            judgement=Judgement(answerability="unknown"),
            status=status,
            votes_invalid=1,
            votes_valid=2,
            votes_set_aside=0,
            verdict_ids=(),
            simulated=False,
        )

    rows = not_unanswerable(map(verified, ("answerable", "unanswerable", "doubtful", "unjudged")))
    assert [(row.reason, row.detail) for row in rows] == [
        (status, "1 invalid, 2 valid") for status in ("answerable", "doubtful", "unjudged")
    ]
