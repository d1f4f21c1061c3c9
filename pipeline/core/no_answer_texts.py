"""Recognize texts that mean "there is no answer".

Source answers, labels of benchmarks and replies of models are compared with the same table. A question whose
source answer is in the table does not become an answerable question. A label in the table is refused. A reply
in the table is an abstention. Therefore the correct answer to an answerable question is never read as an
abstention.
"""

from __future__ import annotations

import unicodedata

# Texts that mean "there is no answer", as `normalize_words` returns them.
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
    """Return the words of a text in lower case and Unicode form NFKC, without punctuation.

    Args:
        text: Any text.

    Returns:
        The words, separated by single blanks. Punctuation, symbols and control characters count as separators
        of words. Apostrophes and invisible characters (Unicode category Cf) are removed.

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
    """Report whether a whole text means that no answer exists.

    "No", "none" and "nothing" are answers. "NA" is an answer, too, because it may be a name. An empty text is
    not in the table, because callers decide whether an empty text is allowed.

    Example:
        >>> [is_no_answer(text) for text in ("Unanswerable.", "n/a", "uq", "no", "none", "")]
        [True, True, True, False, False, False]
    """
    return normalize_words(text) in NO_ANSWER_TEXTS
