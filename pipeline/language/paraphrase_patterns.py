"""How a wording of the table is read from a text: placeholders as regular expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from pipeline.language.paraphrase_templates import LISTS, VERBS
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.word_lists import DEFINITE, groups, words

PLACEHOLDER = re.compile(r"\{(\w+)\}")
BY_PROGRAM = re.compile(r"\{(look|one|two)\}")
AGREEING = {"be": ("is", "are"), "do": ("does", "do"), "have": ("has", "have")}
VERB_FORMS = ("wear", "wears", "wearing")
PRONOUNS = words("he, she, it, they")


@lru_cache(maxsize=1 << 14)
def pattern_of(wording: str, options: tuple[str, ...], whole: bool) -> re.Pattern[str] | None:
    """The expression that reads a wording; None where the program tells nothing that it needs."""
    parts = PLACEHOLDER.split(wording)
    needed = max(("look" in parts) * 1, ("one" in parts) * 2)
    if len(options) < needed:
        return None
    filled = "".join(
        f"(?P<{part}>{_expression(part, options)})" if index % 2 else re.escape(part)
        for index, part in enumerate(parts)
    )
    if whole:
        return re.compile(filled.removesuffix(re.escape("?")) + r"(?P<tail>, [^,?]+ or [^,?]+)?\?")
    before, after = r"(?<![\w'-])" * (wording[0] != ","), r"(?![\w'-])" * (wording[-1] != "?")
    return re.compile(before + filled + after)


def _expression(name: str, options: tuple[str, ...]) -> str:
    """What may stand at a placeholder, in any case: the shortest that fits the rest."""
    either = [*options] if len(options) == 1 else []
    either += [f" {joint} ".join(pair) for pair in (options, options[::-1]) for joint in ("or", "and")]
    some = r"(?:a|an)(?: (?!of )[\w-]+){1,3}?"
    a_kind = rf"{_either(groups(LISTS['asked'])[0])}(?: items?| of (?:\w+ )?\w+)?"
    return {
        "the": rf"{_either(DEFINITE)} [^,?]+?",
        "who": rf"(?:{_either(DEFINITE)} [^,?]+?|{_either(PRONOUNS)})",
        "a": some,
        "b": some,
        "x": r"[^,?]+?",
        "y": r"[^,?]+?",
        "acting": rf"(?:\w+ing\b|{_either(PREPOSITIONS)} )[^,?]*?",
        "kind": f"(?i:{a_kind})",
        "the_picture": f"{_either(groups(LISTS['this'])[0])} {_either(groups(LISTS['picture'])[0])}",
        "look": _either(either),
        "one": _either(options),
        "two": _either(options),
        **{name: _either(pair) for name, pair in AGREEING.items()},
        "wear": _either(verb[0] for verb in VERBS),
        "wears": _either(form for verb in VERBS for form in verb[:2]),
        "wearing": _either(verb[2] for verb in VERBS),
        **{name: _either(part for group in groups(text) for part in group) for name, text in LISTS.items()},
    }[name]


def _either(phrases: Iterable[str]) -> str:
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return f"(?i:{'|'.join(map(re.escape, longest_first))})"
