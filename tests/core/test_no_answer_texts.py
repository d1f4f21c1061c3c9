import pytest

from pipeline.core.no_answer_texts import is_no_answer


@pytest.mark.parametrize(
    "text",
    [
        *("unanswerable", "UNANSWERABLE", "Unanswerable.", "unanswerable!", "'unanswerable'", "[unanswerable]"),
        *("unanswerable。", "\u201cunanswerable\u201d", "ｕｎａｎｓｗｅｒａｂｌｅ", "un\u200banswerable", "\ufeffunanswerable"),
        *("unsuitable", "Unsuitable Image", "  unsuitable \n", "un-answerable", "no_answer"),
        *("n/a", "N/A", "N.A.", "n / a", "N\uff0fA", "uq", "Uq", "UQ", "u.q.", "uq?", "*UQ*", "can't tell", "can’t tell"),
    ],
)  # fmt: skip
def test_all_spellings_of_no_answer_are_recognized(text):
    assert is_no_answer(text)


@pytest.mark.parametrize(
    "text", ["no", "none", "None", "nothing", "nobody", "NA", "nan", "0", "", " ", "?", "suitable", "answer", "uqs", "quiz"]
)  # fmt: skip
def test_answers_stay_answers(text):
    assert not is_no_answer(text)
