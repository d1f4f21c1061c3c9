"""The rule for names of annotators, which must not look like pseudonyms.

The module uses only the standard library, because it also runs in Label Studio's Python environment.
"""

from __future__ import annotations

import re

# Every name of a person that verdicts and files can contain in place of the name begins like this: see
# `annotation.study.exports.PSEUDONYM_PATTERN` and `UNKNOWN_ANNOTATOR`.
RESERVED_PATTERN = re.compile(r"(annotator|adjudicator)-.*|unknown", re.IGNORECASE)
MAX_NAME_LENGTH = 60
_NAME_PATTERN = re.compile(rf"[A-Za-z0-9][A-Za-z0-9.-]{{0,{MAX_NAME_LENGTH - 1}}}")
# Prefix for names that were given before they were reserved.
RENAMED_PREFIX = "named-"


def find_name_problem(name: str) -> str:
    """Return why somebody cannot have a name; "" if the name can be used.

    >>> find_name_problem("annotator-01")
    'Names that begin with "annotator-" or "adjudicator-" are reserved for pseudonyms, and "unknown" for unknown people.'
    >>> find_name_problem("Zoe-2")
    ''
    """
    if not _NAME_PATTERN.fullmatch(name):
        return f"A name consists of at most {MAX_NAME_LENGTH} letters, digits, dots and dashes, and begins with a letter or digit."
    if RESERVED_PATTERN.fullmatch(name):
        return 'Names that begin with "annotator-" or "adjudicator-" are reserved for pseudonyms, and "unknown" for unknown people.'
    return ""


def rename_reserved(name: str) -> str:
    """Return a name that is given in place of a reserved one.

    >>> rename_reserved("annotator-01"), rename_reserved("zoe")
    ('named-annotator-01', 'zoe')
    """
    return f"{RENAMED_PREFIX}{name}" if RESERVED_PATTERN.fullmatch(name) else name
