"""How a wording of the table is read from a text: placeholders as regular expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from pipeline.language.paraphrase_templates import ACTION_VERBS, PLACEHOLDER_WORDS
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.word_lists import DEFINITE_DETERMINERS, parse_groups, parse_words

PLACEHOLDER_PATTERN = re.compile(r"\{(\w+)\}")
PROGRAM_PLACEHOLDER_PATTERN = re.compile(r"\{(look|one|two)\}")
AUXILIARY_FORMS = {"be": ("is", "are"), "do": ("does", "do"), "have": ("has", "have")}
VERB_PLACEHOLDERS = ("wear", "wears", "wearing")
PERSONAL_PRONOUNS = parse_words("he, she, it, they")


@lru_cache(maxsize=1 << 14)
def compile_template(template: str, options: tuple[str, ...], is_full_match: bool) -> re.Pattern[str] | None:
    """The expression that reads a wording; None where the program tells nothing that it needs."""
    parts = PLACEHOLDER_PATTERN.split(template)
    needed = max(("look" in parts) * 1, ("one" in parts) * 2)
    if len(options) < needed:
        return None
    filled = "".join(
        f"(?P<{part}>{_get_placeholder_regex(part, options)})" if index % 2 else re.escape(part)
        for index, part in enumerate(parts)
    )
    if is_full_match:
        return re.compile(filled.removesuffix(re.escape("?")) + r"(?P<tail>, [^,?]+ or [^,?]+)?\?")
    before, after = r"(?<![\w'-])" * (template[0] != ","), r"(?![\w'-])" * (template[-1] != "?")
    return re.compile(before + filled + after)


def _get_placeholder_regex(name: str, options: tuple[str, ...]) -> str:
    """What may stand at a placeholder, in any case: the shortest that fits the rest."""
    either = [*options] if len(options) == 1 else []
    either += [f" {joint} ".join(pair) for pair in (options, options[::-1]) for joint in ("or", "and")]
    some = r"(?:a|an)(?: (?!of )[\w-]+){1,3}?"
    a_kind = (
        rf"{_join_alternatives(parse_groups(PLACEHOLDER_WORDS['asked'])[0])}(?: items?| of (?:\w+ )?\w+)?"
    )
    return {
        "the": rf"{_join_alternatives(DEFINITE_DETERMINERS)} [^,?]+?",
        "who": rf"(?:{_join_alternatives(DEFINITE_DETERMINERS)} [^,?]+?|{_join_alternatives(PERSONAL_PRONOUNS)})",
        "a": some,
        "b": some,
        "x": r"[^,?]+?",
        "y": r"[^,?]+?",
        "acting": rf"(?:\w+ing\b|{_join_alternatives(PREPOSITIONS)} )[^,?]*?",
        "kind": f"(?i:{a_kind})",
        "the_image": f"{_join_alternatives(parse_groups(PLACEHOLDER_WORDS['this'])[0])} {_join_alternatives(parse_groups(PLACEHOLDER_WORDS['image'])[0])}",
        "look": _join_alternatives(either),
        "one": _join_alternatives(options),
        "two": _join_alternatives(options),
        **{name: _join_alternatives(pair) for name, pair in AUXILIARY_FORMS.items()},
        "wear": _join_alternatives(verb[0] for verb in ACTION_VERBS),
        "wears": _join_alternatives(form for verb in ACTION_VERBS for form in verb[:2]),
        "wearing": _join_alternatives(verb[2] for verb in ACTION_VERBS),
        **{
            name: _join_alternatives(part for group in parse_groups(text) for part in group)
            for name, text in PLACEHOLDER_WORDS.items()
        },
    }[name]


def _join_alternatives(phrases: Iterable[str]) -> str:
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return f"(?i:{'|'.join(map(re.escape, longest_first))})"
