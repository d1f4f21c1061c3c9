"""Steps that answer, where a scene leaves something open; complete scenes are in test_execute."""

import pytest

from pipeline.judge.execute import execute
from pipeline.programs.operations import parse
from tests.notation import facts, steps

OPEN = facts("table 1: red", "cup 2: blue; on 1", "cup 3; to the left of 1", complete=False, place="beach")


@pytest.mark.parametrize(
    ("program", "possible"),
    [
        # exist: sure, perhaps
        ("select: cup (2)->exist: ? [0]", ("yes",)),
        ("select: lamp (-)->exist: ? [0]", ("yes", "no")),
        # verify: of the only one there is an answer all the same
        ("select: table (1)->verify material: wood [0]", ("yes", "no")),
        ("select: table (1)->verify color: blue [0]", ("no",)),
        # choose: an option that is ruled out is left out
        ("select: table (1)->choose color: blue|red [0]", ("red",)),
        ("select: table (1)->choose: blue|heavy [0]", ("heavy",)),
        # query
        ("select: table (1)->query: color [0]", ("red",)),
        ("select: table (1)->query: material [0]", ()),
        ("select: scene->query: place [0]", ("beach",)),
        # which of two things is older is never told
        ("select: table (1)->select: cup (2)->choose older: ? [0, 1]", ()),
        # same and different by what both are known to have
        ("select: table (1)->select: cup (2)->same color:  [0, 1]", ("yes", "no")),
    ],
)
def test_what_the_answer_may_be(program, possible):
    assert execute(parse(steps(program)), OPEN).possible == possible


@pytest.mark.parametrize(
    ("program", "doubt"),
    [
        ("select: table (1)->verify rel: lamp,on,s (7) [0]", "whether there is any lamp is not known"),
        ("select: table (1)->verify rel: table,near,s (1) [0]", "what table is near is not told"),
        ("select: table (1)->choose rel: lamp,on|under,s (7) [0]", "whether there is any lamp is not known"),
        ("select: scene->verify weather: sunny [0]", "whether"),
        ("select: table (1)->same: color [0]", "how many table is not known"),
        (
            "select: table (1)->select: cup (2)->choose older: ? [0, 1]",
            "which of the two is older is not known",
        ),
    ],
)
def test_a_doubt_says_what_is_not_known(program, doubt):
    outcome = execute(parse(steps(program)), facts("table 1: red", "cup 2", complete=False, place=""))
    assert outcome.answerability == "unknown" and outcome.detail.startswith(doubt)
