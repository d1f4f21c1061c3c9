import msgspec
import pytest

from pipeline.benchmark.balancing.pairing import UqAqPair
from pipeline.benchmark.balancing.release_items import determine_category, make_items
from pipeline.core.records import CandidateEstimate, Edit, VerifierResult
from tests.benchmark.balancing.test_pairing import QUESTIONS, SPLITS, make_question, uq


def test_an_aq_of_two_pairs_is_one_item_in_the_split_of_its_image():
    pairs = [
        UqAqPair(uq=uq("B", text, "1"), aq=QUESTIONS["1"], pairing_reason="a test") for text in ("z", "zz")
    ]
    rows = {row.item_id: row for row in make_items("clip-easy", pairs, QUESTIONS, {"1": 0.5}, SPLITS)}
    assert list(rows) == ["1", "B+z+0", "B+zz+0"]
    assert (rows["1"].split, rows["1"].score, rows["1"].unanswerable) == ("test", 0.5, False)
    assert {(rows[key].split, rows[key].pair_id, rows[key].answer) for key in ("B+z+0", "B+zz+0")} == {
        ("validation", "clip-easy+1", "")
    }


def test_both_items_of_a_pair_have_the_sources_wording():
    aq = msgspec.structs.replace(
        make_question("q", "p", "The cup is what color?"), source_text="What color is the cup?"
    )
    other = make_question("r", "p2", "What is it?")
    rows = make_items(
        "clip-hard",
        [UqAqPair(uq=uq("p2", aq.text), aq=aq, pairing_reason="")],
        {"q": aq, "r": other},
        {},
        {"p": "validation", "p2": "validation"},
    )
    assert [(row.text, row.source_text) for row in rows] == [(aq.text, "What color is the cup?")] * 2


def edit(kind):
    return Edit(start=0, end=1, kind=kind, old="a", new="b")


@pytest.mark.parametrize(
    ("verifier_category", "reason", "kinds", "category", "confirmed"),
    [
        ("wrong relation", "missing object", ("object",), "wrong relation", False),
        ("missing object", "missing object", (), "missing object", True),
        (None, "underspecified", ("attribute",), "underspecified", True),
        (None, None, ("attribute", "attribute"), "wrong attribute", False),
        (None, None, ("relation",), "wrong relation", False),
        (None, None, ("object", "relation"), None, False),
        (None, None, (), None, False),
    ],
)
def test_the_category_comes_from_verifier_annotators_or_edits(
    verifier_category, reason, kinds, category, confirmed
):
    row = uq("B", "z", "1")
    candidate = msgspec.structs.replace(row.candidate, edits=tuple(map(edit, kinds)))
    result = VerifierResult(answerability="unknown", category=verifier_category)
    row = msgspec.structs.replace(row, candidate=candidate, verifier_result=result, reason=reason)
    assert determine_category(row) == category
    pairs = [UqAqPair(uq=row, aq=QUESTIONS["1"], pairing_reason="a test")]
    by_id = {item.item_id: item for item in make_items("pt-easy", pairs, QUESTIONS, {}, SPLITS)}
    assert (by_id["B+z+0"].category, by_id["B+z+0"].category_confirmed) == (category, confirmed)
    assert (by_id["1"].category, by_id["1"].category_confirmed) == (None, False)


def test_a_uq_has_the_difficulty_of_its_estimate_and_an_aq_none():
    pairs = [UqAqPair(uq=uq("B", "z", "1"), aq=QUESTIONS["1"], pairing_reason="a test")]
    estimates = {"B+z+0": CandidateEstimate(candidate_id="B+z+0", p_answerable=0.1, difficulty="popular")}
    rows = make_items("clip-easy", pairs, QUESTIONS, {}, SPLITS, estimates)
    assert [(row.item_id, row.difficulty) for row in rows] == [("1", None), ("B+z+0", "popular")]
