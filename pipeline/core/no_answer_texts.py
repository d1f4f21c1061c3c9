"""Recognize texts that mean "there is no answer".

Source answers, labels of benchmarks and replies of models are compared with the same table. A question whose source answer is in
the table does not become an answerable question, a label in the table is refused, and a reply in the table is an abstention.
Therefore no correct answer of an answerable question is read as an abstention.
"""

from __future__ import annotations

import unicodedata

# Normalized as by `normalize_words`.
NO_ANSWER_TEXTS = frozenset(
    # Labels of RGQA and VizWiz, spellings in tables, and answers of annotators of VQA and SQuAD.
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
    """Return a text in lower case and Unicode form NFKC, with single blanks instead of marks.

    Args:
        text: Any text. Marks are the characters of Unicode's categories punctuation, symbol, separator and control.

    Returns:
        The words, separated by single blanks. Apostrophes and invisible characters are removed.

    Example:
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
    """Report whether a whole text means that there is no answer.

    "No", "none" and "nothing" are answers, and so is "NA", which may be a name. An empty text is not in the table, because
    callers decide whether it is allowed.

    Example:
        >>> [is_no_answer(text) for text in ("Unanswerable.", "n/a", "uq", "no", "none", "")]
        [True, True, True, False, False, False]
    """
    return normalize_words(text) in NO_ANSWER_TEXTS
