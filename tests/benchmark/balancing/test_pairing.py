"""Pairs of AQs and UQs, and the items of a release."""

from collections import Counter
from itertools import combinations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.benchmark.balancing.pairing import (
    AQ_NOT_CONFIRMED,
    AQ_REFUTED,
    DUPLICATE_TEXT,
    NO_ANSWERABLE_MATCH,
    NO_AQ,
    ORIGINAL_ALREADY_PAIRED,
    OUTSIDE_BALANCED_SET,
    TELLTALE_WORDING,
    BalanceParams,
    UqAqPair,
    balance_subset,
    pair_by_image,
    pair_by_image_and_text,
    pair_by_original,
)
from pipeline.benchmark.balancing.release_items import determine_category, make_items
from pipeline.core.records import (
    Candidate,
    CandidateEstimate,
    CollectedCandidate,
    Edit,
    Question,
    VerifierResult,
)

# Pairing


def make_question(question_id, image, text):
    return Question(question_id=question_id, image_id=image, split="testdev", text=text, answer="yes")


def uq(image, text, question_id="q", number=0):
    candidate = Candidate(
        candidate_id=f"{image}+{text}+{number}",
        subset="clip-hard",
        image_id=image,
        question_id=question_id,
        text=text,
    )
    return CollectedCandidate(
        candidate=candidate,
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


def summarize(pairs):
    return {(p.uq.candidate.image_id, p.uq.candidate.text, p.aq.image_id) for p in pairs}


def reasons(excluded):
    return {row.candidate.candidate_id: reason for row, reason in excluded}


ONE_SPLIT = dict.fromkeys("ABCDE", "test")


def test_a_cycle_of_images_is_kept_and_a_dead_end_is_excluded():
    # Cycle: x of A is asked about B, y of B about C, z of C about A. w of A is asked about D, which has no question of its own.
    questions = [
        make_question("1", "A", "x"),
        make_question("2", "B", "y"),
        make_question("3", "C", "z"),
        make_question("4", "A", "w"),
    ]
    uqs = [uq("A", "z"), uq("B", "x"), uq("C", "y"), uq("D", "w")]
    kept, excluded = pair_by_image_and_text(uqs, questions, {}, ONE_SPLIT)
    assert summarize(kept) == {("A", "z", "C"), ("B", "x", "A"), ("C", "y", "B")}
    assert reasons(excluded) == {"D+w+0": OUTSIDE_BALANCED_SET}


def test_the_longer_of_two_cycles_that_share_a_question_is_kept():
    # x of A can be asked about B only once. A -> B -> A has two pairs, A -> B -> C -> A has three.
    questions = [
        make_question("1", "A", "x"),
        make_question("2", "B", "y"),
        make_question("3", "B", "v"),
        make_question("4", "C", "z"),
    ]
    kept, excluded = pair_by_image_and_text(
        [uq("A", "y"), uq("A", "z"), uq("B", "x"), uq("C", "v")], questions, {}, ONE_SPLIT
    )
    assert summarize(kept) == {("A", "z", "C"), ("B", "x", "A"), ("C", "v", "B")}
    assert reasons(excluded) == {"A+y+0": OUTSIDE_BALANCED_SET}


def test_a_text_of_several_images_is_paired_so_that_the_labels_are_balanced():
    # The UQ "x" at B was made from question 1 of A, but A has no UQ. Question 2 of C has the same text and closes a cycle with
    # y of B, which is asked about C.
    questions = [make_question("1", "A", "x"), make_question("2", "C", "x"), make_question("3", "B", "y")]
    kept, excluded = pair_by_image_and_text([uq("B", "x", "1"), uq("C", "y", "3")], questions, {}, ONE_SPLIT)
    assert summarize(kept) == {("B", "x", "C"), ("C", "y", "B")}
    assert excluded == []


def test_of_equally_large_sets_the_one_with_more_distinct_texts_is_kept():
    # There are six pairs of images Ai and Di. Ai has the UQ di, and an AQ t (the same text for all i) or si, which is a UQ of Di.
    # Every choice between t and si gives 12 pairs. With t at most once there are 12 texts.
    questions, uqs = [], []
    for i in range(6):
        questions += [
            make_question(f"{i}1", f"A{i}", "t"),
            make_question(f"{i}2", f"A{i}", f"s{i}"),
            make_question(f"{i}3", f"D{i}", f"d{i}"),
        ]
        uqs += [uq(f"A{i}", f"d{i}"), uq(f"D{i}", f"s{i}"), uq(f"D{i}", "t")]
    kept, _ = pair_by_image_and_text(uqs, questions, {}, {q.image_id: "test" for q in questions})
    assert len(kept) == len({pair.aq.text for pair in kept}) == 12


def test_excluded_uqs_have_reasons():
    questions = [make_question("1", "A", "x"), make_question("2", "B", "y"), make_question("3", "C", "z")]
    uqs = [
        uq("A", "y"),
        uq("B", "x"),
        uq("B", "x", number=1),
        uq("A", "z"),
        uq("A", "unknown text"),
        uq("E", "y"),
    ]
    split = ONE_SPLIT | {"E": "validation"}
    kept, excluded = pair_by_image_and_text(uqs, questions, {"3": AQ_REFUTED}, split)
    assert summarize(kept) == {("A", "y", "B"), ("B", "x", "A")}
    assert reasons(excluded) == {
        "B+x+1": DUPLICATE_TEXT,
        "A+z+0": AQ_REFUTED,
        "A+unknown text+0": NO_ANSWERABLE_MATCH,
        "E+y+0": NO_ANSWERABLE_MATCH,
    }


@st.composite
def verdicts(draw, images=5, texts=6, most=12):
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    names = "ABCDE"[:images]
    questions = [
        make_question(str(i), names[rng.integers(images)], f"t{rng.integers(texts)}")
        for i in range(draw(st.integers(0, most)))
    ]
    own = {(q.image_id, q.text) for q in questions}
    pairs = [(p, f"t{t}") for p in names for t in range(texts) if (p, f"t{t}") not in own]
    chosen = [
        pairs[i]
        for i in sorted(rng.choice(len(pairs), min(len(pairs), draw(st.integers(0, most))), replace=False))
    ]
    refuted = {q.question_id: AQ_REFUTED for q in questions if rng.random() < 0.1}
    split = (
        {p: ("validation", "test")[rng.integers(2)] for p in names}
        if draw(st.booleans())
        else dict.fromkeys(names, "test")
    )
    return [uq(*pair) for pair in chosen], questions, refuted, split


@settings(max_examples=80, deadline=None)
@given(verdicts(most=25))
def test_labels_are_balanced_within_each_split_and_no_uq_is_lost(example):
    uqs, questions, refuted, split = example
    kept, excluded = pair_by_image_and_text(uqs, questions, refuted, split)
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
        row.candidate.candidate_id for row in [*(p.uq for p in kept), *(row for row, _ in excluded)]
    ) == [u.candidate.candidate_id for u in uqs]


def search_largest_set(uqs, questions, refuted, split):
    """Return size and number of distinct texts of the best balanced set, by exhaustive search over UQs and AQs."""
    aq_keys = sorted({(q.image_id, q.text) for q in questions if q.question_id not in refuted})
    uq_keys = [(u.candidate.image_id, u.candidate.text) for u in uqs]
    possible = {
        _count_labels(aqs, split) for size in range(len(aq_keys) + 1) for aqs in combinations(aq_keys, size)
    }
    balanced = [
        chosen
        for size in range(len(uq_keys) + 1)
        for chosen in combinations(uq_keys, size)
        if _count_labels(chosen, split) in possible
    ]
    return max((len(chosen), len({(split[p], t) for p, t in chosen})) for chosen in balanced)


def _count_labels(rows, split):
    return tuple(sorted(p for p, _ in rows)), tuple(sorted((split[p], t) for p, t in rows))


@settings(max_examples=60, deadline=None)
@given(verdicts(images=4, texts=4, most=9))
def test_the_balanced_set_is_optimal_by_exhaustive_search(example):
    kept, _ = pair_by_image_and_text(*example)
    split = example[3]
    distinct = {(split[pair.aq.image_id], pair.aq.text) for pair in kept}
    assert (len(kept), len(distinct)) == search_largest_set(*example)


def test_the_papers_rule_samples_questions_of_the_same_image():
    questions = [
        make_question("1", "A", "Is there a dog?"),
        make_question("2", "A", "x"),
        make_question("3", "B", "y"),
    ]
    uqs = [uq("A", f"u{i}") for i in range(40)] + [uq("B", "x"), uq("C", "x")]
    kept, excluded = pair_by_image(uqs, questions, {"3": AQ_REFUTED}, seed=0)
    assert Counter(p.aq.question_id for p in kept).keys() == {"1", "2"}
    assert all(p.aq.image_id == p.uq.candidate.image_id for p in kept)
    assert reasons(excluded) == {
        "B+x+0": NO_AQ,
        "C+x+0": NO_AQ,
    }  # The only question of B is refuted, and C has none.
    assert [p.aq for p in pair_by_image(uqs, questions, {"3": AQ_REFUTED}, seed=0)[0]] == [p.aq for p in kept]
    assert [p.aq for p in pair_by_image(uqs, questions, {"3": AQ_REFUTED}, seed=1)[0]] != [p.aq for p in kept]
    # The sample of a UQ does not depend on other UQs.
    assert [p.aq for p in pair_by_image(uqs[7:9], questions, {"3": AQ_REFUTED}, seed=0)[0]] == [
        p.aq for p in kept[7:9]
    ]


def test_an_edited_question_is_paired_with_its_original():
    questions = {q.question_id: q for q in (make_question("1", "A", "x"), make_question("2", "B", "y"))}
    uqs = [uq("A", "x edited", "1"), uq("A", "x edited again", "1"), uq("B", "y edited", "2")]
    kept, excluded = pair_by_original("pt-easy", uqs, questions, {"2": AQ_REFUTED}, BalanceParams())
    assert [(p.uq.candidate.text, p.aq.question_id) for p in kept] == [("x edited", "1")]
    assert reasons(excluded) == {"A+x edited again+0": ORIGINAL_ALREADY_PAIRED, "B+y edited+0": AQ_REFUTED}
    kept, excluded = pair_by_original("pt-easy", uqs, questions, {}, BalanceParams(rule="image"))
    assert [p.aq.question_id for p in kept] == ["1", "1", "2"] and excluded == []


def test_most_edits_that_only_insert_a_word_are_excluded():
    questions = {q.question_id: q for q in (make_question(str(i), "A", f"{i} happy {i}") for i in range(9))}
    uqs = [uq("A", f"{i} sad {i}", str(i)) for i in range(9)]
    kept, excluded = pair_by_original(
        "pt-hard", uqs, questions, {"3": AQ_REFUTED}, BalanceParams(max_dropped_proportion=1, seed=1)
    )
    assert len(kept) == 1 and kept[0].aq.question_id == kept[0].uq.candidate.question_id
    assert Counter(reasons(excluded).values()) == {TELLTALE_WORDING: 7, AQ_REFUTED: 1}
    assert [row.candidate.candidate_id for row, _ in excluded] == sorted(reasons(excluded))
    kept, excluded = pair_by_original(
        "pt-hard", uqs, questions, {}, BalanceParams(max_dropped_proportion=0.5)
    )
    assert Counter(reasons(excluded).values()) == {TELLTALE_WORDING: 4}


QUESTIONS = {q.question_id: q for q in (make_question("1", "A", "x"), make_question("2", "B", "y"))}
SPLITS = {"A": "test", "B": "validation"}


@pytest.mark.parametrize(
    ("subset", "rule", "expected"),
    [
        # Under our rule no other image of the split has "z" as an AQ. The paper takes any question of the image.
        ("clip-hard", "image_and_text", [NO_ANSWERABLE_MATCH, NO_ANSWERABLE_MATCH]),
        ("clip-hard", "image", []),
        # Under our rule an original is paired once. Under the paper's rule two edits share it.
        ("pt-hard", "image_and_text", [ORIGINAL_ALREADY_PAIRED]),
        ("pt-hard", "image", []),
    ],
)
def test_the_rule_depends_on_the_subset_and_the_parameters(subset, rule, expected):
    uqs = [uq("A", "z", "1"), uq("A", "zz", "1")]
    pairs, excluded = balance_subset(subset, uqs, QUESTIONS, {}, SPLITS, BalanceParams(rule=rule))
    assert sorted(reasons(excluded).values()) == expected and len(pairs) == 2 - len(expected)


def test_an_image_with_only_refuted_questions_has_no_aq():
    _, excluded = balance_subset(
        "clip-easy", [uq("A", "z", "2")], QUESTIONS, {"1": AQ_REFUTED}, SPLITS, BalanceParams(rule="image")
    )
    assert list(reasons(excluded).values()) == [NO_AQ]


def test_of_two_alternative_uqs_the_more_certain_one_is_kept():
    # x of A can be asked about B only once, together with one of two texts of B that are asked about A: two pairs in both cases.
    questions = [make_question("1", "A", "x"), make_question("2", "B", "y"), make_question("3", "B", "v")]
    uqs = [uq("A", "y"), uq("A", "v"), uq("B", "x")]
    for certain, doubtful in (("y", "v"), ("v", "y")):
        estimates = {
            f"A+{certain}+0": estimate(0.1),
            f"A+{doubtful}+0": estimate(0.9),
            "B+x+0": estimate(0.5),
        }
        kept, excluded = pair_by_image_and_text(uqs, questions, {}, ONE_SPLIT, estimates)
        assert summarize(kept) == {("A", certain, "B"), ("B", "x", "A")}
        assert reasons(excluded) == {f"A+{doubtful}+0": OUTSIDE_BALANCED_SET}


def test_high_probabilities_do_not_make_the_set_smaller():
    questions = [make_question("1", "A", "x"), make_question("2", "B", "y")]
    uqs = [uq("A", "y"), uq("B", "x")]
    estimates = {row.candidate.candidate_id: estimate(0.999) for row in uqs}
    assert len(pair_by_image_and_text(uqs, questions, {}, ONE_SPLIT, estimates)[0]) == 2


# Release items


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


# Questions that a model drafted


def test_a_question_that_nobody_confirmed_is_no_aq_and_says_why():
    unusable = {"1": AQ_NOT_CONFIRMED}
    # Its text is that of a UQ, it is the original of a UQ, or it is the only question of the image.
    questions = [make_question("1", "A", "x"), make_question("2", "B", "y")]
    _, excluded = pair_by_image_and_text([uq("B", "x"), uq("A", "y")], questions, unusable, ONE_SPLIT)
    assert reasons(excluded) == {"A+y+0": OUTSIDE_BALANCED_SET, "B+x+0": AQ_NOT_CONFIRMED}
    by_id = {question.question_id: question for question in questions}
    for rule in ("image", "image_and_text"):
        kept, excluded = pair_by_original(
            "pt-easy",
            [uq("A", "x edited", "1"), uq("B", "y edited", "2")],
            by_id,
            unusable,
            BalanceParams(rule=rule),
        )
        assert reasons(excluded) == {"A+x edited+0": AQ_NOT_CONFIRMED} and len(kept) == 1
    assert reasons(pair_by_image([uq("A", "z")], questions, unusable, 0)[1]) == {"A+z+0": NO_AQ}
