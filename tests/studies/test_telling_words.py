import msgspec

from pipeline.balancing.balance_subset import BalanceParams
from pipeline.core.records import Candidate, Question, candidate_id
from studies.telling_words import balanced, counts, pairs_of, table

HAPPY = [(f"{i} happy", f"{i} sad") for i in range(9)]


def test_wordings_that_differ_are_told_with_both_counts_the_most_lopsided_first():
    pairs = [*HAPPY, ("is it red", "is it blue"), ("is it blue", "is it red"), ("is it blue", "is it green")]
    lines = table({"pt-hard": pairs}, {"pt-hard": pairs[4:]}, most=2).split("\n")
    # sad: (9 - 0) / sqrt(9) = 3 standard errors.
    assert lines[2:4] == ["| pt-hard | happy | 9:0 | 5:0 | -3.0 |", "| pt-hard | sad | 0:9 | 0:5 | +3.0 |"]
    assert "is it" not in counts(pairs) and counts(pairs)["green"] == (0, 1)


def test_pairs_stand_beside_their_originals_and_balance_leaves_the_uneven_out():
    common = {"question_id": "1", "picture_id": "n1"}
    question = Question(**common, split="testdev", text="Is it red?", answer="yes")
    edited = [
        Candidate(
            **common, candidate_id=candidate_id(subset, "n1", "1"), subset=subset, text=f"Is it {subset}?"
        )
        for subset in ("pt-easy", "pt-hard")
    ]
    assert pairs_of(edited, {"1": question}) == [
        ("Is it red?", f"Is it {subset}?") for subset in ("pt-easy", "pt-hard")
    ]
    questions = {str(i): msgspec.structs.replace(question, text=old) for i, (old, _) in enumerate(HAPPY)}
    rows = [
        msgspec.structs.replace(edited[0], question_id=str(i), text=new) for i, (_, new) in enumerate(HAPPY)
    ]
    assert len(balanced(rows, questions, BalanceParams(most_uneven=0.5))) == 5
