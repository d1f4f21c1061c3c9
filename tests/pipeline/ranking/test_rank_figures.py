import numpy as np

from pipeline.core.records import Candidate, Question
from pipeline.ranking.admissible import question_table
from pipeline.ranking.draw import Drawn
from pipeline.ranking.rank_figures import pair_counts, quantiles, subset_figures

ASKED = [("1", "a", "x"), ("2", "a", "y"), ("3", "b", "z"), ("4", "c", "x")]
QUESTIONS = [
    Question(question_id=i, picture_id=p, split="testdev", text=t, answer="x", detailed="query")
    for i, p, t in ASKED
]
TABLE = question_table(QUESTIONS, ["a", "b", "c"], ["x", "y", "z"])


def test_how_evenly_candidates_are_spread():
    def candidate(picture_id, question_id, text, score):
        return Candidate(
            candidate_id=f"{picture_id}{question_id}",
            subset="clip-hard",
            picture_id=picture_id,
            question_id=question_id,
            text=text,
            score=score,
        )

    drawn = Drawn(np.array([0, 1, 1]), np.array([0, 0, 1]), "exact", 4)
    rows = [candidate("a", "3", "z", 0.1), candidate("b", "1", "x", 0.2), candidate("b", "2", "y", 0.3)]
    figures = subset_figures(rows, drawn, TABLE, 2)
    # Asked: a once, b twice, c never. Given: a twice, b once, c never.
    assert figures.asked == {"least": 0, "mean": 1.0, "most": 2} == figures.given
    assert figures.asked_minus_given == {"largest": 1, "sum": 2}
    assert figures.pictures_with_fewer_than_wanted == 2 and figures.questions_by_uses == {"1": 3}
    assert (figures.bound, figures.short_of_bound, figures.distinct_texts) == (
        4,
        0.25,
        3,
    )  # 1 of 4 is missing
    assert figures.score_quantiles["0.50"] == 0.2


def test_pairs_left_out_and_admissible_are_all_pairs():
    # 3 pictures x 4 questions; 4 are a picture's own, and x of a and c is the text of an own question once each.
    assert pair_counts(TABLE) == {
        "all": 12,
        "existence question": 0,
        "own question": 4,
        "text of an own question": 2,
        "admissible": 6,
    }


def test_nothing_has_no_quantiles():
    assert quantiles([]) == {}
