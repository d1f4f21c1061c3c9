import pytest

from pipeline.scoring.matching import NORMALIZERS, match_answers


@pytest.mark.parametrize(
    ("said", "exact", "vqa", "squad"),
    [
        ("kitchen", 1, 1, 1),
        ("Kitchen.", 0, 1, 1),
        ("the kitchen", 0, 1, 1),
        ("kitchen's", 0, 0, 0),
        ("'kitchen'", 0, 0, 1),  # VQA leaves apostrophes
        ("kitchens", 0, 0, 0),
    ],
)
def test_each_form_forgives_what_it_says(said, exact, vqa, squad):
    for form, expected in zip(NORMALIZERS, (exact, vqa, squad), strict=True):
        assert match_answers([said], [{"kitchen": 1.0}], form).tolist() == [expected]


def test_an_unanswerable_question_has_no_right_answer():
    assert match_answers(["UQ", ""], [{}, {}], "squad").tolist() == [0, 0]


def test_of_several_labels_the_first_that_matches_counts():
    assert match_answers(["Dog"], [{"dog": 0.3, "DOG": 1.0}], "vqa").tolist() == [0.3]


def test_synonyms_are_looked_up_on_both_sides_once_normalised():
    assert match_answers(
        ["Sofa.", "couch"], [{"couch": 1.0}, {"sofa": 1.0}], "vqa", {"sofa": "Couch"}
    ).tolist() == [1, 1]
