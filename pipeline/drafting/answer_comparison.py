"""Compare the answer that a model drafted with its answer when it is asked again without its list."""

from __future__ import annotations

from typing import Literal

from pipeline.language.nouns import lemmatize
from pipeline.language.similarity import is_same_answer, option_to_answer
from pipeline.scoring.abstention import ABSTAINED, classify_abstention
from pipeline.scoring.matching import NORMALIZERS
from pipeline.scoring.normalize import has_text
from pipeline.scoring.reasoning_parser import extract_final_answer

Disagreement = Literal["", "empty reply", "truncated", "cannot be answered", "answered differently"]
_YES_NO = ("yes", "no")
# Words that say nothing about which answer is meant: "on the left side" is "left".
_FILLERS = frozenset("on in at to of side color it is there".split())  # noqa: SIM905


def compare_answers(question: str, drafted: str, reply: str) -> Disagreement:
    """Return why a reply does not confirm a drafted answer; "" if it does.

    Args:
        question: The question.
        drafted: The drafted answer.
        reply: The reply of the model to the question.

    >>> compare_answers("What is on the table?", "cup", "A red cup."), compare_answers("Is it red?", "yes", "No, it is blue.")
    ('', 'answered differently')
    >>> compare_answers("What color is the dog?", "brown", "unanswerable")
    'cannot be answered'
    """
    answer = extract_final_answer(reply)
    if answer.is_truncated:
        return "truncated"
    if not has_text(answer.text):
        return "empty reply"
    if classify_abstention([question], [reply])[0] == ABSTAINED:
        return "cannot be answered"
    return "" if is_agreed(drafted, answer.text) else "answered differently"


def is_agreed(drafted: str, said: str) -> bool:
    """Return whether two answers mean the same: equal after normalization, or one is the end of the other one.

    >>> is_agreed("left", "to the left of"), is_agreed("dog", "the golden dog"), is_agreed("white", "red and white")
    (True, True, False)
    >>> is_agreed("2", "Two."), is_agreed("wood", "wooden"), is_agreed("cat", "dog")
    (True, True, False)
    """
    one, other = (NORMALIZERS["squad"](text) for text in (drafted, said))
    if one in _YES_NO:
        return other.split()[:1] == [one]
    if one == other or is_same_answer(option_to_answer(one), option_to_answer(other)):
        return True
    short, long = sorted((_list_words(one), _list_words(other)), key=len)
    if not short or "and" in long or "or" in long:
        return short == long != []
    return long[-len(short) :] == short


def _list_words(text: str) -> list[str]:
    return [lemmatize(word) for word in text.split() if word not in _FILLERS]
