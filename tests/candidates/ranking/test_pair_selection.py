from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.candidates.ranking.pair_selection import (
    MAX_PRICED_REUSES,
    TEXT_REUSE_COST,
    UNFILLED_PAIR_COST,
    PairPool,
    PoolAssignment,
    build_pair_pool,
    select_balanced_pairs,
    select_pairs_by_paper_rule,
    solve_pair_assignment,
)
from pipeline.candidates.ranking.rank_inputs import build_question_table
from pipeline.core import min_cost_circulation
from pipeline.core.min_cost_circulation import MAX_SIMPLEX_ARCS
from pipeline.core.records import Question

PLACES = np.array([[5, 3, 1, 0, -1], [9, 8, 7, 6, 5]])


def test_the_papers_rule_samples_hard_pairs_from_the_top_at_random():
    drawn = [select_pairs_by_paper_rule("clip-hard", PLACES, ["a", "b"], 3, seed) for seed in range(30)]
    assert all(Counter(d.image_rows.tolist()) == {0: 3, 1: 3} for d in drawn)
    assert {p for d in drawn for p in d.rank_columns[d.image_rows == 0].tolist()} == {
        0,
        1,
        2,
        3,
    }  # never the empty fifth place
    assert {p for d in drawn for p in d.rank_columns[d.image_rows == 1].tolist()} == {0, 1, 2, 3, 4}
    assert all(len(set(d.rank_columns[:3].tolist())) == 3 for d in drawn)


def test_the_selection_for_an_image_depends_on_no_other_image():
    whole, alone = (
        select_pairs_by_paper_rule("clip-hard", PLACES, ["a", "b"], 3, 0),
        select_pairs_by_paper_rule("clip-hard", PLACES[1:], ["b"], 3, 0),
    )
    assert whole.rank_columns[whole.image_rows == 1].tolist() == alone.rank_columns.tolist()


def test_the_papers_rule_takes_the_least_similar_easy_pairs():
    drawn = select_pairs_by_paper_rule("clip-easy", PLACES, ["a", "b"], 5, 0)
    assert drawn.image_rows.tolist() == [0] * 4 + [1] * 5
    assert drawn.rank_columns.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 4]
    fewer = select_pairs_by_paper_rule("clip-easy", PLACES, ["a", "b"], 2, 0)  # of more places the first ones
    assert fewer.rank_columns.tolist() == [0, 1, 0, 1]


def world(images=12, each=6):
    """Each image asks `each` questions; every fourth text is asked of two images."""
    texts = [
        f"t{(p * each + i) if i % 4 else (p // 2 * each + i)}" for p in range(images) for i in range(each)
    ]
    rows = [
        Question(
            question_id=f"{n:03d}",
            image_id=f"p{n // each:02d}",
            split="testdev",
            text=text,
            answer="x",
            detailed="query",
        )
        for n, text in enumerate(texts)
    ]
    table = build_question_table(rows, [f"p{i:02d}" for i in range(images)], sorted(set(texts)))
    rng = np.random.default_rng(0)
    places = np.full((images, 40), -1, np.int32)
    for p in range(images):
        own = set(table.texts_by_image[[p]].indices.tolist())
        free = [q for q in range(len(rows)) if table.text_rows[q] not in own]
        places[p] = rng.permutation(free)[:40]
    return table, places


def test_the_balanced_selection_is_even_limited_and_within_splits():
    table, places = world()
    validation = np.arange(12) < 5
    for subset in ("clip-hard", "clip-easy"):
        drawn = select_balanced_pairs(subset, places, table, validation, 5, 2, seed=0)
        questions = places[drawn.image_rows, drawn.rank_columns]
        givers = table.image_rows[questions]
        assert (validation[givers] == validation[drawn.image_rows]).all()
        assert max(Counter(questions.tolist()).values()) <= 2
        asked, gave = np.bincount(drawn.image_rows, minlength=12), np.bincount(givers, minlength=12)
        assert (asked == gave).all() and asked.max() == 5 and asked.sum() >= 50
        pairs = list(zip(drawn.image_rows.tolist(), table.text_rows[questions].tolist(), strict=True))
        assert len(pairs) == len(set(pairs))  # no text twice for one image
        assert drawn.method == "exact" and len(pairs) <= drawn.upper_bound


def test_the_easy_selection_prefers_the_least_similar_questions():
    table, places = world()
    everybody = np.zeros(12, bool)
    easy, hard = (
        select_balanced_pairs(subset, places, table, everybody, 3, 3, seed=0).rank_columns
        for subset in ("clip-easy", "clip-hard")
    )
    assert easy.mean() < 8 < hard.mean()  # of places 0 to 39; a draw at random has mean 19.5


def test_a_text_that_is_only_partly_in_the_pool_is_not_proposed():
    # Text x has two questions (ids 0 and 1), of which image c sees one among its places: left out. y is whole.
    rows = [
        Question(question_id=i, image_id=p, split="testdev", text=t, answer="x", detailed="query")
        for i, p, t in (("0", "a", "x"), ("1", "b", "x"), ("2", "a", "y"), ("3", "c", "z"))
    ]
    table = build_question_table(rows, ["a", "b", "c"], ["x", "y", "z"])
    places = np.array([[3, -1], [2, 3], [2, 0]], np.int32)
    pool = build_pair_pool(places, table, np.arange(3), np.arange(4), lambda row, columns: columns / 2)
    assert list(zip(pool.pair_images.tolist(), pool.pair_texts.tolist(), strict=True)) == [
        (0, 2),
        (1, 1),
        (1, 2),
        (2, 1),
    ]
    assert pool.pair_costs.tolist() == [0.0, 0.0, 0.5, 0.0]


@pytest.fixture(params=[0, MAX_SIMPLEX_ARCS], ids=["cost scaling", "simplex"], scope="module")
def solver(request):
    """Either solver of networks, whatever their size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(min_cost_circulation, "MAX_SIMPLEX_ARCS", request.param)
        yield


def price(pool, choice, bound):
    """What a choice costs (see the module's head); `bound` counts the pairs that might have been made."""
    uses = np.bincount(pool.pair_texts[choice.pair_indices], minlength=pool.num_texts)
    reuse = sum(
        TEXT_REUSE_COST * min(k, MAX_PRICED_REUSES) * int((uses > k).sum())
        for k in range(1, int(uses.max(initial=0)))
    )
    return (
        UNFILLED_PAIR_COST * (bound - len(choice.pair_indices))
        + reuse
        + float(pool.pair_costs[choice.pair_indices].sum())
    )


def make(pairs, questions, images, texts, cost=None):
    """pairs: (image, text); questions: (image that gives it, its text)."""
    pairs, questions = (
        np.array(sorted(pairs), np.int32).reshape(-1, 2),
        np.array(questions, np.int32).reshape(-1, 2),
    )
    return PairPool(
        pairs[:, 0],
        pairs[:, 1],
        np.zeros(len(pairs)) if cost is None else np.array(cost),
        questions[:, 0],
        questions[:, 1],
        images,
        texts,
    )


@st.composite
def pools(draw, images=4, texts=6, questions=10):
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    given_by = [
        (int(rng.integers(images)), int(rng.integers(texts))) for _ in range(draw(st.integers(0, questions)))
    ]
    own, there = set(given_by), {text for _, text in given_by}
    pairs = [
        (p, t)
        for p in range(images)
        for t in range(texts)
        if (p, t) not in own and t in there and rng.random() < 0.7
    ]
    return make(pairs, given_by, images, texts, rng.random(len(pairs)))


def counts(pool, choice):
    return (
        np.bincount(pool.pair_images[choice.pair_indices], minlength=pool.num_images),
        np.bincount(pool.question_images[choice.question_indices], minlength=pool.num_images),
        np.bincount(choice.question_indices, minlength=len(pool.question_images)),
    )


@settings(max_examples=60, deadline=None)
@given(pools(images=6, texts=12, questions=30), st.integers(1, 5), st.integers(1, 3))
def test_limits_hold_and_every_question_comes_from_another_image(solver, pool, per_image, cap):
    choice = solve_pair_assignment(pool, per_image, cap)
    asked, given_, uses = counts(pool, choice)
    assert (asked == given_).all()
    assert asked.max(initial=0) <= per_image and uses.max(initial=0) <= cap
    assert (pool.question_texts[choice.question_indices] == pool.pair_texts[choice.pair_indices]).all()
    assert (pool.question_images[choice.question_indices] != pool.pair_images[choice.pair_indices]).all()
    assert (
        len(choice.pair_indices)
        == len(set(choice.pair_indices.tolist()))
        <= pool.compute_upper_bound(per_image, cap)
    )


def cheapest_by_trying(pool, per_image, cap):
    best = np.inf
    for size in range(len(pool.pair_images) + 1):
        for pairs in combinations(range(len(pool.pair_images)), size):
            ways = [
                [q for q in range(len(pool.question_images)) if pool.question_texts[q] == pool.pair_texts[p]]
                for p in pairs
            ]
            for questions in product(*ways):
                choice = PoolAssignment(np.array(pairs, int), np.array(questions, int))
                asked, given_, uses = counts(pool, choice)
                if (
                    (asked == given_).all()
                    and asked.max(initial=0) <= per_image
                    and uses.max(initial=0) <= cap
                ):
                    best = min(best, price(pool, choice, bound=100))
    return best


@settings(max_examples=30, deadline=None)
@given(pools(images=3, texts=4, questions=5), st.integers(1, 2), st.integers(1, 2))
def test_no_assignment_is_cheaper(solver, pool, per_image, cap):
    assert price(pool, solve_pair_assignment(pool, per_image, cap), bound=100) == pytest.approx(
        cheapest_by_trying(pool, per_image, cap),
        abs=1e-5,  # five questions, costs rounded to millionths
    )


def test_the_cost_counts_missing_pairs_and_repeated_texts():
    # Text 0 used three times: its second use costs 4, its third 8. One pair of 4 is missing. Costs .1 + .2 + .3.
    pool = make([(1, 0), (2, 0), (3, 0)], [(0, 0)], 4, 1, [0.1, 0.2, 0.3])
    assert price(pool, PoolAssignment(np.arange(3), np.zeros(3, int)), 4) == pytest.approx(
        UNFILLED_PAIR_COST + 4 + 8 + 0.6
    )


def test_unused_texts_are_preferred(solver):
    # Two images, each with two questions; each may be asked both of the other's. One each: no text twice.
    pool = make(
        [(0, 2), (0, 3), (1, 0), (1, 1)], [(0, 0), (0, 1), (1, 2), (1, 3)], 2, 4, [0.9, 0.0, 0.0, 0.9]
    )
    assert solve_pair_assignment(pool, 1, 3).pair_indices.tolist() == [1, 2]  # the cheaper ones
    assert solve_pair_assignment(pool, 2, 3).pair_indices.tolist() == [0, 1, 2, 3]


def test_a_third_use_of_a_text_costs_more_than_a_second_use_of_another(solver):
    # Image 0 gives the texts 0 and 1, the others one each, which 0 is asked. All would rather be asked text 0.
    # Three uses and one cost 4 + 8, two and two 4 + 4.
    pairs = [(0, t) for t in range(2, 6)] + [(p, t) for p in range(1, 5) for t in (0, 1)]
    pool = make(pairs, [(0, 0), (0, 1)] + [(p, p + 1) for p in range(1, 5)], 5, 6, [0.0] * 4 + [0.0, 0.9] * 4)
    choice = solve_pair_assignment(pool, 4, 3)
    assert np.bincount(pool.pair_texts[choice.pair_indices]).tolist() == [2, 2, 1, 1, 1, 1]


def test_sixty_images_reach_the_upper_bound(solver):
    # With 10 questions each, three of ten asked of anybody: 60 x 12, which no choice can exceed.
    rng = np.random.default_rng(0)
    questions = [(p, 10 * p + i) for p in range(60) for i in range(10)]
    pairs = sorted((p, t) for p in range(60) for t in range(600) if t // 10 != p and rng.random() < 0.3)
    pool = make(pairs, questions, 60, 600, rng.random(len(pairs)))
    assert len(solve_pair_assignment(pool, 12, 3).pair_indices) == pool.compute_upper_bound(12, 3) == 720


def test_a_network_that_is_too_large_keeps_the_cheapest_pairs_of_each_text():
    # Text 0 has three pairs, text 1 two, text 2 one: the cheapest of each are three, the two cheapest five.
    pairs = [(0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (3, 0)]
    pool = make(pairs, [(4, 0), (4, 1), (4, 2)], 5, 3, [0.2, 0.9, 0.3, 0.1, 0.2, 0.4])
    for most, stay in ((6, range(6)), (5, [0, 1, 2, 3, 4]), (4, [1, 3, 4]), (0, [1, 3, 4])):
        assert pool.keep_cheapest_pairs(most).pair_costs.tolist() == pool.pair_costs[list(stay)].tolist(), (
            most
        )


def test_the_method_of_the_selection_is_reported():
    table, places = world()
    drawn = [
        select_balanced_pairs("clip-easy", places, table, np.ones(12, bool), 2, 3, 0, arcs)
        for arcs in (0, 10**6)
    ]
    assert [each.method for each in drawn] == ["exact on the cheapest pairs of each text", "exact"]
    assert [each.upper_bound for each in drawn] == [24, 24]  # 12 images, 2 each
    assert (
        drawn[0].rank_columns.mean() > drawn[1].rank_columns.mean()
    )  # of each text one pair is left, few of the nearest to the end
