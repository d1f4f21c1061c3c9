from collections import Counter

import numpy as np

from pipeline.core.records import Question
from pipeline.ranking.admissible import question_table
from pipeline.ranking.draw import draw_by_the_paper, draw_evenly, pair_pool

PLACES = np.array([[5, 3, 1, 0, -1], [9, 8, 7, 6, 5]])


def test_the_papers_hard_draw_takes_so_many_of_the_best_at_random():
    drawn = [draw_by_the_paper("clip-hard", PLACES, ["a", "b"], 3, seed) for seed in range(30)]
    assert all(Counter(d.picture.tolist()) == {0: 3, 1: 3} for d in drawn)
    assert {p for d in drawn for p in d.place[d.picture == 0].tolist()} == {
        0,
        1,
        2,
        3,
    }  # never the empty fifth place
    assert {p for d in drawn for p in d.place[d.picture == 1].tolist()} == {0, 1, 2, 3, 4}
    assert all(len(set(d.place[:3].tolist())) == 3 for d in drawn)


def test_a_pictures_draw_depends_on_no_other_picture():
    whole, alone = (
        draw_by_the_paper("clip-hard", PLACES, ["a", "b"], 3, 0),
        draw_by_the_paper("clip-hard", PLACES[1:], ["b"], 3, 0),
    )
    assert whole.place[whole.picture == 1].tolist() == alone.place.tolist()


def test_the_papers_easy_draw_takes_the_last():
    drawn = draw_by_the_paper("clip-easy", PLACES, ["a", "b"], 5, 0)
    assert drawn.picture.tolist() == [0] * 4 + [1] * 5
    assert drawn.place.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 4]


def world(pictures=12, each=6):
    """Each picture asks `each` questions; every fourth text is asked of two pictures."""
    texts = [
        f"t{(p * each + i) if i % 4 else (p // 2 * each + i)}" for p in range(pictures) for i in range(each)
    ]
    rows = [
        Question(
            question_id=f"{n:03d}",
            picture_id=f"p{n // each:02d}",
            split="testdev",
            text=text,
            answer="x",
            detailed="query",
        )
        for n, text in enumerate(texts)
    ]
    table = question_table(rows, [f"p{i:02d}" for i in range(pictures)], sorted(set(texts)))
    rng = np.random.default_rng(0)
    places = np.full((pictures, 40), -1, np.int32)
    for p in range(pictures):
        own = set(table.asked[table.asked_start[p] : table.asked_start[p + 1]].tolist())
        free = [q for q in range(len(rows)) if table.text_rows[q] not in own]
        places[p] = rng.permutation(free)[:40]
    return table, places


def test_the_even_draw_is_even_capped_and_within_parts():
    table, places = world()
    dev = np.arange(12) < 5
    for subset in ("clip-hard", "clip-easy"):
        drawn = draw_evenly(subset, places, table, dev, 5, 2, seed=0)
        questions = places[drawn.picture, drawn.place]
        givers = table.picture_rows[questions]
        assert (dev[givers] == dev[drawn.picture]).all()
        assert max(Counter(questions.tolist()).values()) <= 2
        asked, gave = np.bincount(drawn.picture, minlength=12), np.bincount(givers, minlength=12)
        assert (asked == gave).all() and asked.max() == 5 and asked.sum() >= 50
        pairs = list(zip(drawn.picture.tolist(), table.text_rows[questions].tolist(), strict=True))
        assert len(pairs) == len(set(pairs))  # no text twice for one picture
        assert drawn.method == "exact" and len(pairs) <= drawn.bound


def test_the_easy_draw_prefers_the_end_of_the_ranking():
    table, places = world()
    everybody = np.zeros(12, bool)
    easy, hard = (
        draw_evenly(subset, places, table, everybody, 3, 3, seed=0).place
        for subset in ("clip-easy", "clip-hard")
    )
    assert easy.mean() < 8 < hard.mean()  # of places 0 to 39; a draw at random has mean 19.5


def test_a_text_that_reaches_beyond_the_pool_is_not_proposed():
    # Text x has two questions (ids 0 and 1), of which picture c sees one among its places: left out. y is whole.
    rows = [
        Question(question_id=i, picture_id=p, split="testdev", text=t, answer="x", detailed="query")
        for i, p, t in (("0", "a", "x"), ("1", "b", "x"), ("2", "a", "y"), ("3", "c", "z"))
    ]
    table = question_table(rows, ["a", "b", "c"], ["x", "y", "z"])
    places = np.array([[3, -1], [2, 3], [2, 0]], np.int32)
    pool = pair_pool(places, table, np.arange(3), np.arange(4), lambda row, columns: columns / 2)
    assert list(zip(pool.picture.tolist(), pool.text.tolist(), strict=True)) == [
        (0, 2),
        (1, 1),
        (1, 2),
        (2, 1),
    ]
    assert pool.cost.tolist() == [0.0, 0.0, 0.5, 0.0]
