import pytest

from pipeline.balancing.balance_subset import BalanceParams, balance, items
from pipeline.balancing.pairing import NO_AQ, NO_TWIN, TAKEN, UqAqPair
from tests.pipeline.balancing.test_pairing import asked, reasons, uq

QUESTIONS = {q.question_id: q for q in (asked("1", "A", "x"), asked("2", "B", "y"))}
PARTS = {"A": "test", "B": "dev"}


@pytest.mark.parametrize(
    "subset, rule, why",
    [
        # Under ours no other picture of its part is asked "z" answerably; the paper takes any question of the picture.
        ("clip-hard", "image_and_text", [NO_TWIN, NO_TWIN]),
        ("clip-hard", "image", []),
        # An original stands beside one edit of it; the paper lets two share it.
        ("pt-hard", "image_and_text", [TAKEN]),
        ("pt-hard", "image", []),
    ],
)
def test_the_rule_depends_on_the_subset_and_the_parameters(subset, rule, why):
    uqs = [uq("A", "z", "1"), uq("A", "zz", "1")]
    pairs, left = balance(subset, uqs, QUESTIONS, (), PARTS, BalanceParams(rule=rule))
    assert sorted(reasons(left).values()) == why and len(pairs) == 2 - len(why)


def test_a_picture_whose_questions_are_all_refuted_gives_no_aq():
    _, left = balance("clip-easy", [uq("A", "z", "2")], QUESTIONS, {"1"}, PARTS, BalanceParams(rule="image"))
    assert list(reasons(left).values()) == [NO_AQ]


def test_an_aq_that_two_pairs_share_is_one_item_in_the_part_of_its_picture():
    pairs = [UqAqPair(uq=uq("B", text, "1"), aq=QUESTIONS["1"], because="a test") for text in ("z", "zz")]
    rows = {row.item_id: row for row in items("clip-easy", pairs, QUESTIONS, {"1": 0.5}, PARTS)}
    assert list(rows) == ["1", "B+z+0", "B+zz+0"]
    assert (rows["1"].part, rows["1"].score, rows["1"].unanswerable) == ("test", 0.5, False)
    assert {(rows[key].part, rows[key].pair_id, rows[key].answer) for key in ("B+z+0", "B+zz+0")} == {
        ("dev", "clip-easy+1", "")
    }
