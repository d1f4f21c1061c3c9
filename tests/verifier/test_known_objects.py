"""Selections: what is picked out for certain, what perhaps, and when neither is left."""

import pytest

from pipeline.verifier.evidence import (
    MAX_FALSE_PROBABILITY,
    UNKNOWN_PROBABILITY,
    ObjectEvidence,
    Selection,
)

CUP = ObjectEvidence("1", ("cup",), "cup")


def test_a_thing_is_only_itself():
    assert ObjectEvidence("1", ("cup",), "cup") != ObjectEvidence("1", ("cup",), "cup")


@pytest.mark.parametrize(
    ("selection", "others", "is_open", "some"),
    [
        (Selection((CUP,)), 0, False, True),
        (Selection(()), 0, False, False),
        (Selection((), ((CUP, 0.02),), 0.01), 0.03, False, False),  # at most RISK
        (Selection((), ((CUP, 0.02),), 0.02), 0.04, True, True),
        (Selection((CUP,), expected_unlisted=UNKNOWN_PROBABILITY), UNKNOWN_PROBABILITY, True, True),
    ],
)
def test_what_hardly_exists_is_none(selection, others, is_open, some):
    assert MAX_FALSE_PROBABILITY == 0.03
    assert (selection.expected_others, selection.has_possible_others, bool(selection)) == (pytest.approx(others), is_open, some)
