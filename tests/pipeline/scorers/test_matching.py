import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.scorers import anls, exact_match, token_f1
from pipeline.scorers.matching import edit_distance


def test_matching_is_worked_out_by_hand():
    assert exact_match(["Red", "red"], [["red"], ["blue", "red"]]).tolist() == [0, 1]
    assert exact_match(["The red!"], [["red"]], form="squad").tolist() == [1]
    # 2 of 4 words and 2 of 3: 2 x 2 / 7. Repeated words count as often as in both.
    assert token_f1(["man on red horse", "no no"], [["man with horse"], ["no"]]) == pytest.approx(
        [4 / 7, 2 / 3]
    )
    assert token_f1(["", "", "a"], [[""], ["dog"], ["the"]]).tolist() == [1, 0, 1]
    # One letter of five replaced: 0.8. Three of five: 0.4, below the field's threshold.
    assert anls(["horse"], [["house"]]) == pytest.approx([0.8])
    assert anls(["abcde"], [["abxyz"]]).tolist() == [0] and anls(
        ["abcde"], [["abxyz"]], threshold=0
    ) == pytest.approx([0.4])
    assert anls(["", " A b"], [[""], ["a  B"]]).tolist() == [1, 1]


@given(st.text("ab", max_size=6), st.text("ab", max_size=6), st.text("ab", max_size=6))
def test_edit_distance_is_a_distance(a, b, c):
    assert edit_distance(a, b) == edit_distance(b, a) and (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)
    assert abs(len(a) - len(b)) <= edit_distance(a, b) <= max(len(a), len(b))
