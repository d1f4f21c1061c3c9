"""Texts that say "there is no answer": the one table of them.

Sources, labels of benchmarks and replies of models are all compared with this table. A source answer that is in it
never becomes an answerable question, a label that is in it is refused, and a reply that is in it abstains. So no
answerable question has a right answer that would be read as an abstention.
"""

from __future__ import annotations

import unicodedata

# Written as `normalize_words` returns them: lower case, marks as blanks, no apostrophes.
NO_ANSWER_TEXTS = frozenset(
    # RGQA's label; VizWiz's two words; the forms of tables; what annotators of VQA and SQuAD write.
    [
        *("uq", "u q", "unanswerable", "unsuitable", "unsuitable image", "n a"),
        *("unanswerable question", "question is unanswerable", "the question is unanswerable"),
        *("not answerable", "un answerable", "no answer", "noanswer", "not applicable"),
        *("cannot be answered", "cant be answered", "can not be answered"),
        *("cannot answer", "cant answer", "can not answer", "cannot tell", "cant tell", "can not tell"),
        *("unknown", "not sure", "unsure", "dont know", "do not know", "i dont know", "i do not know", "idk"),
    ]
)


def normalize_words(text: str) -> str:
    """Reduce a text to its words: compatibility forms unified (NFKC), lower case, single blanks instead of marks.

    Args:
        text: any text; marks are what Unicode calls punctuation, symbols, separators and controls.

    Returns:
        The words with single blanks between them. Apostrophes and invisible characters are removed.

    >>> normalize_words("N/A."), normalize_words("Can’t tell!"), normalize_words("ＵＱ。")
    ('n a', 'cant tell', 'uq')
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    letters = (
        "" if mark in "'’‘`" or unicodedata.category(mark) == "Cf" else mark
        if unicodedata.category(mark)[0] in "LMN"
        else " "
        for mark in plain
    )  # fmt: skip
    return " ".join("".join(letters).split())


def is_no_answer(text: str) -> bool:
    """Report whether a text, as a whole, says that there is no answer.

    A bare "no", "none" or "nothing" is an answer, and so is "NA", which may stand for a place or a name. An empty text
    is not in the table: whether it is allowed is for the caller to say.

    >>> [means_no_answer(text) for text in ("Unanswerable.", "n/a", "uq", "no", "none", "")]
    [True, True, True, False, False, False]
    """
    return normalize_words(text) in NO_ANSWER_TEXTS
