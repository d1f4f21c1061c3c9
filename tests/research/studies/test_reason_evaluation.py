"""The measurement of the reader of reasons, and the replies that it is measured on."""

from collections import Counter

import pytest

from pipeline.scoring.reason_reader import ReadReason
from research.studies.reason_evaluation import (
    ReasonReply,
    ReplyFault,
    compute_reason_metrics,
    evaluate_reason_reader,
    predict_reasons,
    read_replies,
)


def reply(written, read, uq=True):
    faults = (ReplyFault(kind="object", wrong="dog", actual="cat"),) if uq else ()
    return ReasonReply(
        id="x",
        question="q",
        faults=faults,
        source="s",
        reply="r",
        style="plain",
        round=0,
        written=written,
        read=read,
    )


def test_replies_on_which_the_labels_differ_are_counted_apart():
    yes, no = ("names_fault",), ()
    rows = [
        reply(yes, yes),
        reply(no, no),
        reply(yes, yes),
        reply(yes, no),
        reply(yes, None),
        reply(no, no, uq=False),
    ]
    named = [ReadReason(True, one) for one in (True, True, False, True, True, True)]
    found = compute_reason_metrics(rows, named, "names_fault", on_uqs=True)
    # The fourth row has two labels, the fifth only one, and the last is about an AQ.
    assert found == (2, 1, 1, 1)
    assert (found.precision, found.recall) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert compute_reason_metrics(rows, named, "names_fault", on_uqs=None) == (2, 2, 1, 1)


@pytest.mark.parametrize("split", ["dev", "held_out"])
def test_each_reply_has_one_id_and_says_what_is_wrong_with_its_question(split):
    rows = read_replies(split)
    assert max(Counter(row.id for row in rows).values()) == 1
    assert all(fault.wrong for row in rows for fault in row.faults)
    # What names the fault or what is there instead also claims that there is one.
    assert all("claims_fault" in labels for row in rows for labels in (row.written, row.read or ()) if labels)
    assert all(row.read is not None for row in rows if row.round)


def test_held_out_replies_that_claim_a_fault_were_not_used_for_development():
    dev, held_out = (
        {(row.question, row.reply) for row in read_replies(split) if row.written}
        for split in ("dev", "held_out")
    )
    assert len(read_replies("held_out")) == 300 and held_out and not dev & held_out


def test_reasons_are_read_as_well_as_the_documentation_states():
    rows = read_replies("held_out")
    predicted = predict_reasons(rows)
    for label, on_uqs in (("names_fault", True), ("names_instead", True), ("claims_fault", None)):
        found = compute_reason_metrics(rows, predicted, label, on_uqs)
        assert found.precision >= 0.95 and found.recall >= 0.95, (label, found)
    page = evaluate_reason_reader("held_out", 3)
    assert page.startswith("300 replies of split held_out: 210 to UQs, 90 to AQs\n")
