"""Selections: what is picked out for certain, what perhaps, and when neither is left."""

import pytest

from pipeline.verifier.known_objects import RISK, UNKNOWN, Selection, Thing

CUP = Thing("1", ("cup",), "cup")


def test_a_thing_is_only_itself():
    assert Thing("1", ("cup",), "cup") != Thing("1", ("cup",), "cup")


@pytest.mark.parametrize(
    ("selection", "others", "is_open", "some"),
    [
        (Selection((CUP,)), 0, False, True),
        (Selection(()), 0, False, False),
        (Selection((), ((CUP, 0.02),), 0.01), 0.03, False, False),  # at most RISK
        (Selection((), ((CUP, 0.02),), 0.02), 0.04, True, True),
        (Selection((CUP,), unlisted=UNKNOWN), UNKNOWN, True, True),
    ],
)
def test_what_hardly_exists_is_none(selection, others, is_open, some):
    assert RISK == 0.03
    assert (selection.others, selection.open, bool(selection)) == (pytest.approx(others), is_open, some)
