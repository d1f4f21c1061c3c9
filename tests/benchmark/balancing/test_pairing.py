from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.benchmark.balancing.pairing import (
    AQ_REFUTED,
    DUPLICATE_TEXT,
    NO_ANSWERABLE_MATCH,
    NO_AQ,
    ORIGINAL_ALREADY_PAIRED,
    OUTSIDE_BALANCED_SET,
    TELLTALE_WORDING,
    BalanceParams,
    balance_subset,
    pair_by_image,
    pair_by_image_and_text,
    pair_by_original,
)
from pipeline.core.records import Candidate, CandidateEstimate, CollectedCandidate, Question, VerifierResult


def asked(question_id, image, text):
    return Question(question_id=question_id, image_id=image, split="testdev", text=text, answer="yes")


def uq(image, text, question_id="q", number=0):
    c = Candidate(
        candidate_id=f"{image}+{text}+{number}",
        subset="clip-hard",
        image_id=image,
        question_id=question_id,
        text=text,
    )
    return CollectedCandidate(
        candidate=c,
        verifier_result=VerifierResult(answerability="unknown"),
        status="unanswerable",
        votes_invalid=3,
        votes_valid=0,
        votes_excluded=0,
        verdict_ids=(),
        simulated=True,
    )


def estimate(answerable):
    return CandidateEstimate(candidate_id="", p_answerable=answerable, difficulty="random")


def shown(pairs):
    return {(p.uq.candidate.image_id, p.uq.candidate.text, p.aq.image_id) for p in pairs}


def reasons(left):
    return {row.candidate.candidate_id: reason for row, reason in left}


ONE_PART = dict.fromkeys("ABCDE", "test")


def test_a_cycle_of_images_is_kept_and_what_leads_nowhere_is_not():
    # x of A asked of B, y of B asked of C, z of C asked of A: a cycle. w of A asked of D: D gives nothing back.
    questions = [asked("1", "A", "x"), asked("2", "B", "y"), asked("3", "C", "z"), asked("4", "A", "w")]
    uqs = [uq("A", "z"), uq("B", "x"), uq("C", "y"), uq("D", "w")]
    kept, left = pair_by_image_and_text(uqs, questions, (), ONE_PART)
    assert shown(kept) == {("A", "z", "C"), ("B", "x", "A"), ("C", "y", "B")}
    assert reasons(left) == {"D+w+0": OUTSIDE_BALANCED_SET}


def test_the_longer_of_two_cycles_that_share_a_question_is_kept():
    # x of A may be asked of B once only. A -> B -> A has two pairs, A -> B -> C -> A three.
    questions = [asked("1", "A", "x"), asked("2", "B", "y"), asked("3", "B", "v"), asked("4", "C", "z")]
    kept, left = pair_by_image_and_text(
        [uq("A", "y"), uq("A", "z"), uq("B", "x"), uq("C", "v")], questions, (), ONE_PART
    )
    assert shown(kept) == {("A", "z", "C"), ("B", "x", "A"), ("C", "v", "B")}
    assert reasons(left) == {"A+y+0": OUTSIDE_BALANCED_SET}


def test_a_text_asked_of_several_images_pairs_with_whichever_makes_the_margins_equal():
    # The UQ "x" at B was proposed from A's question 1, but A is asked nothing: C's question 2 of the same text, with
    # y of B asked of C, closes a cycle.
    questions = [asked("1", "A", "x"), asked("2", "C", "x"), asked("3", "B", "y")]
    kept, left = pair_by_image_and_text([uq("B", "x", "1"), uq("C", "y", "3")], questions, (), ONE_PART)
    assert shown(kept) == {("B", "x", "C"), ("C", "y", "B")}
    assert left == []


def test_of_equally_large_sets_the_one_with_more_distinct_texts_is_kept():
    # Six pairs of images Ai, Di: Ai is asked di, and gives t (all of them the same text) or si, which Di is asked.
    # Whatever mixture of t and si is chosen, there are 12 pairs; with t once at most there are 12 texts.
    questions, uqs = [], []
    for i in range(6):
        questions += [
            asked(f"{i}1", f"A{i}", "t"),
            asked(f"{i}2", f"A{i}", f"s{i}"),
            asked(f"{i}3", f"D{i}", f"d{i}"),
        ]
        uqs += [uq(f"A{i}", f"d{i}"), uq(f"D{i}", f"s{i}"), uq(f"D{i}", "t")]
    kept, _ = pair_by_image_and_text(uqs, questions, (), {q.image_id: "test" for q in questions})
    assert len(kept) == len({pair.aq.text for pair in kept}) == 12


def test_reasons_name_what_was_in_the_way():
    questions = [asked("1", "A", "x"), asked("2", "B", "y"), asked("3", "C", "z")]
    uqs = [
        uq("A", "y"),
        uq("B", "x"),
        uq("B", "x", number=1),
        uq("A", "z"),
        uq("A", "never asked"),
        uq("E", "y"),
    ]
    split = ONE_PART | {"E": "validation"}
    kept, left = pair_by_image_and_text(uqs, questions, {"3"}, split)
    assert shown(kept) == {("A", "y", "B"), ("B", "x", "A")}
    assert reasons(left) == {
        "B+x+1": DUPLICATE_TEXT,
        "A+z+0": AQ_REFUTED,
        "A+never asked+0": NO_ANSWERABLE_MATCH,
        "E+y+0": NO_ANSWERABLE_MATCH,
    }


@st.composite
def verdicts(draw, images=5, texts=6, most=12):
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    names = "ABCDE"[:images]
    questions = [
        asked(str(i), names[rng.integers(images)], f"t{rng.integers(texts)}")
        for i in range(draw(st.integers(0, most)))
    ]
    own = {(q.image_id, q.text) for q in questions}
    pairs = [(p, f"t{t}") for p in names for t in range(texts) if (p, f"t{t}") not in own]
    chosen = [
        pairs[i]
        for i in sorted(rng.choice(len(pairs), min(len(pairs), draw(st.integers(0, most))), replace=False))
    ]
    refuted = {q.question_id for q in questions if rng.random() < 0.1}
    split = (
        {p: ("validation", "test")[rng.integers(2)] for p in names}
        if draw(st.booleans())
        else dict.fromkeys(names, "test")
    )
    return [uq(*pair) for pair in chosen], questions, refuted, split


@settings(max_examples=80, deadline=None)
@given(verdicts(most=25))
def test_margins_are_equal_within_each_split_and_nobody_is_lost(drawn):
    uqs, questions, refuted, split = drawn
    kept, left = pair_by_image_and_text(uqs, questions, refuted, split)
    of_text, of_image = Counter(), Counter()
    for pair in kept:
        assert pair.uq.candidate.text == pair.aq.text
        assert pair.aq.question_id not in refuted
        for image, sign in ((pair.uq.candidate.image_id, 1), (pair.aq.image_id, -1)):
            of_text[split[image], pair.aq.text] += sign
            of_image[image] += sign
    assert not any(of_text.values()) and not any(of_image.values())
    assert len({pair.aq.question_id for pair in kept}) == len(kept)
    assert sorted(
        row.candidate.candidate_id for row in [*(p.uq for p in kept), *(row for row, _ in left)]
    ) == [u.candidate.candidate_id for u in uqs]


def largest_by_trying(uqs, questions, refuted, split):
    """Size and number of distinct texts of the best balanced set, by trying all sets of UQs and all sets of AQs."""
    twins = sorted({(q.image_id, q.text) for q in questions if q.question_id not in refuted})
    wanted = [(u.candidate.image_id, u.candidate.text) for u in uqs]
    possible = {_margins(aqs, split) for size in range(len(twins) + 1) for aqs in combinations(twins, size)}
    balanced = [
        chosen
        for size in range(len(wanted) + 1)
        for chosen in combinations(wanted, size)
        if _margins(chosen, split) in possible
    ]
    return max((len(chosen), len({(split[p], t) for p, t in chosen})) for chosen in balanced)


def _margins(rows, split):
    return tuple(sorted(p for p, _ in rows)), tuple(sorted((split[p], t) for p, t in rows))


@settings(max_examples=60, deadline=None)
@given(verdicts(images=4, texts=4, most=9))
def test_no_larger_set_has_equal_margins_and_none_so_large_more_distinct_texts(drawn):
    kept, _ = pair_by_image_and_text(*drawn)
    split = drawn[3]
    distinct = {(split[pair.aq.image_id], pair.aq.text) for pair in kept}
    assert (len(kept), len(distinct)) == largest_by_trying(*drawn)


def test_the_papers_rule_draws_any_question_of_the_same_image():
    questions = [asked("1", "A", "Is there a dog?"), asked("2", "A", "x"), asked("3", "B", "y")]
    uqs = [uq("A", f"u{i}") for i in range(40)] + [uq("B", "x"), uq("C", "x")]
    kept, left = pair_by_image(uqs, questions, {"3"}, seed=0)
    assert Counter(p.aq.question_id for p in kept).keys() == {"1", "2"}
    assert all(p.aq.image_id == p.uq.candidate.image_id for p in kept)
    assert reasons(left) == {"B+x+0": NO_AQ, "C+x+0": NO_AQ}  # B's only question is refuted, C has none
    assert [p.aq for p in pair_by_image(uqs, questions, {"3"}, seed=0)[0]] == [p.aq for p in kept]
    assert [p.aq for p in pair_by_image(uqs, questions, {"3"}, seed=1)[0]] != [p.aq for p in kept]
    # what is drawn for a UQ does not depend on the others
    assert [p.aq for p in pair_by_image(uqs[7:9], questions, {"3"}, seed=0)[0]] == [p.aq for p in kept[7:9]]


def test_an_edited_question_stands_beside_its_original():
    questions = {q.question_id: q for q in (asked("1", "A", "x"), asked("2", "B", "y"))}
    uqs = [uq("A", "x edited", "1"), uq("A", "x edited again", "1"), uq("B", "y edited", "2")]
    kept, left = pair_by_original("pt-easy", uqs, questions, {"2"}, BalanceParams())
    assert [(p.uq.candidate.text, p.aq.question_id) for p in kept] == [("x edited", "1")]
    assert reasons(left) == {"A+x edited again+0": ORIGINAL_ALREADY_PAIRED, "B+y edited+0": AQ_REFUTED}
    kept, left = pair_by_original("pt-easy", uqs, questions, (), BalanceParams(rule="image"))
    assert [p.aq.question_id for p in kept] == ["1", "1", "2"] and left == []


def test_of_edits_that_only_ever_put_a_word_in_most_are_left_out():
    questions = {q.question_id: q for q in (asked(str(i), "A", f"{i} happy {i}") for i in range(9))}
    uqs = [uq("A", f"{i} sad {i}", str(i)) for i in range(9)]
    kept, left = pair_by_original(
        "pt-hard", uqs, questions, {"3"}, BalanceParams(max_dropped_proportion=1, seed=1)
    )
    assert len(kept) == 1 and kept[0].aq.question_id == kept[0].uq.candidate.question_id
    assert Counter(reasons(left).values()) == {TELLTALE_WORDING: 7, AQ_REFUTED: 1}
    assert [row.candidate.candidate_id for row, _ in left] == sorted(reasons(left))
    kept, left = pair_by_original("pt-hard", uqs, questions, (), BalanceParams(max_dropped_proportion=0.5))
    assert Counter(reasons(left).values()) == {TELLTALE_WORDING: 4}


QUESTIONS = {q.question_id: q for q in (asked("1", "A", "x"), asked("2", "B", "y"))}
PARTS = {"A": "test", "B": "validation"}


@pytest.mark.parametrize(
    "subset, rule, why",
    [
        # Under ours no other image of its part is asked "z" answerably; the paper takes any question of the image.
        ("clip-hard", "image_and_text", [NO_ANSWERABLE_MATCH, NO_ANSWERABLE_MATCH]),
        ("clip-hard", "image", []),
        # An original stands beside one edit of it; the paper lets two share it.
        ("pt-hard", "image_and_text", [ORIGINAL_ALREADY_PAIRED]),
        ("pt-hard", "image", []),
    ],
)
def test_the_rule_depends_on_the_subset_and_the_parameters(subset, rule, why):
    uqs = [uq("A", "z", "1"), uq("A", "zz", "1")]
    pairs, left = balance_subset(subset, uqs, QUESTIONS, (), PARTS, BalanceParams(rule=rule))
    assert sorted(reasons(left).values()) == why and len(pairs) == 2 - len(why)


def test_a_image_whose_questions_are_all_refuted_gives_no_aq():
    _, left = balance_subset(
        "clip-easy", [uq("A", "z", "2")], QUESTIONS, {"1"}, PARTS, BalanceParams(rule="image")
    )
    assert list(reasons(left).values()) == [NO_AQ]


def test_of_two_uqs_of_which_one_may_stay_the_surer_stays():
    # x of A may be asked of B once only, by either of two texts of B that A is asked: two pairs either way.
    questions = [asked("1", "A", "x"), asked("2", "B", "y"), asked("3", "B", "v")]
    uqs = [uq("A", "y"), uq("A", "v"), uq("B", "x")]
    for sure, doubted in (("y", "v"), ("v", "y")):
        estimates = {
            f"A+{sure}+0": estimate(0.1),
            f"A+{doubted}+0": estimate(0.9),
            "B+x+0": estimate(0.5),
        }
        kept, left = pair_by_image_and_text(uqs, questions, (), ONE_PART, estimates)
        assert shown(kept) == {("A", sure, "B"), ("B", "x", "A")}
        assert reasons(left) == {f"A+{doubted}+0": OUTSIDE_BALANCED_SET}


def test_doubt_never_makes_the_set_smaller():
    questions = [asked("1", "A", "x"), asked("2", "B", "y")]
    uqs = [uq("A", "y"), uq("B", "x")]
    estimates = {row.candidate.candidate_id: estimate(0.999) for row in uqs}
    assert len(pair_by_image_and_text(uqs, questions, (), ONE_PART, estimates)[0]) == 2
