"""Meanings of words for simulated annotators: plurals, categories, pronouns and synonymous relations."""

from __future__ import annotations

from functools import lru_cache

from pipeline.core.records import Record

RELATION_SYNONYMS = (
    {"near", "next to", "beside", "by"},
    {"in", "inside", "inside of"},
    {"on", "on top of"},
    {"to the left of", "left of"},
    {"to the right of", "right of"},
    {"under", "beneath", "underneath"},
)
# Pairs of the ending of a plural and the ending of its singular.
PLURAL_SUFFIXES = (
    *(("s", ""), ("es", ""), ("ies", "y"), ("ves", "f"), ("ves", "fe")),
    *(("men", "man"), ("women", "woman"), ("people", "person"), ("children", "child")),
    *(("mice", "mouse"), ("geese", "goose"), ("feet", "foot"), ("teeth", "tooth")),
)
PRONOUNS = {"he": ("man", "boy"), "him": ("man", "boy"), "she": ("woman", "girl"), "her": ("woman", "girl")}
WILDCARD_NAMES = ("_", "this", "that", "it", "they", "them", "object", "thing")


class WordSenses(Record):
    """Meanings of words: members of categories (`furniture` -> table, chair) and types of attributes."""

    categories: dict[str, tuple[str, ...]]
    attribute_types: dict[str, str]

    def get_names(self, name: str) -> set[str]:
        """Return all word forms that a name covers.

        For a category, these include the forms of its members.
        """
        wanted, todo = set(), [name, *PRONOUNS.get(name, ())]
        while todo:
            new = get_forms(todo.pop()) - wanted
            wanted |= new
            for form in new:
                todo += self.categories.get(form, ())
        return wanted


@lru_cache(maxsize=1 << 14)
def get_forms(name: str) -> frozenset[str]:
    """Return the name and its possible singular forms: `boxes` -> boxes, boxe, box.

    Two names that have a form in common count as the same name.
    """
    head, space, word = name.strip().lower().rpartition(" ")
    endings = () if word.endswith("ss") else PLURAL_SUFFIXES
    singulars = {word.removesuffix(plural) + ending for plural, ending in endings if word.endswith(plural)}
    return frozenset(head + space + form for form in {word, *singulars})


def is_same_relation(name: str, asked: str) -> bool:
    """Return whether a relation `name` that holds implies the relation `asked`.

    For example, `sitting on` implies `on`.
    """

    wanted = next((group for group in RELATION_SYNONYMS if asked in group), {asked})
    return name in wanted or any(name.endswith(f"ing {word}") for word in wanted)
