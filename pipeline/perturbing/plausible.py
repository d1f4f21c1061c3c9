"""How well each object of the vocabulary fits what a question says of a thing: strictly first, then ever more
loosely.

A vocabulary counted on a few thousand questions has not seen most things in most places: that no bench was seen
"on the carpet" does not mean that none could be. So where nothing fits exactly, the class of an attribute or
relation is asked for (a colour, something that is held), then what other members of its categories were seen
with, and last the thing's own category, whose members take the same sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from pipeline.perturbing.demands import Demands
from pipeline.perturbing.objects import ObjectTable
from pipeline.words.relations import plain_relation

# Anything may stand so to anything else: these say nothing about what fits.
LOOSE = frozenset(("to the left of", "to the right of", "near", "in front of", "behind", "above", "below"))
# Relations of one group take the same kinds of things; a group's name is its first word.
_GROUPS = (
    "wearing, worn on, dressed in",
    "holding, holding onto, carrying, lifting, swinging, using, throwing, catching, grabbing, pulling, pushing,"
    " reaching for, playing with, eating, drinking, cutting",
    "riding, riding on, driving, driving on",
    "on, attached to, mounted on, hanging on, hanging from, printed on",
    "in, contain, filled with, full of",
    "with, of",
    "looking at, watching, facing, talking to, looking toward",
)
_GROUP = {relation: group.split(", ")[0] for group in _GROUPS for relation in group.split(", ")}


def fitting_levels(
    table: ObjectTable, types: Mapping[str, str], name: str, demanded: Demands
) -> Iterator[np.ndarray]:
    """Weights of the rows, from what fits exactly to what fits loosely; a row that does not fit weighs 0.

    Args:
        types: attribute -> its type. name: what stood there. demanded: what is said of it.
    """
    own = table.siblings(name).astype(float)
    if demanded.kin:
        yield own
        return

    def by_class(*fact: str) -> np.ndarray:
        return table.once(("by class", *fact), lambda: _of_class(table, types, *fact))

    def by_category(*fact: str) -> np.ndarray:
        return table.once(("by category", *fact), lambda: table.spread(by_class(*fact)))

    for share in (table.share, by_class, by_category):
        yield _product(table, demanded, share)
    yield own
    yield table.kindred(name).astype(float)


def _of_class(
    table: ObjectTable, types: Mapping[str, str], kind: str, word: str, role: str = ""
) -> np.ndarray:
    """How much each row was seen with something like a fact: any colour for red, "holding" for "carrying"."""
    if kind == "relation":
        return table.seen_in(_like(word, role, table), role)
    if kind == "attribute" and types.get(word):
        return table.seen("type", types[word])
    return table.seen(kind, word) if kind == "type" else table.spread(table.seen(kind, word))


def _product(table: ObjectTable, demanded: Demands, share: Callable[..., np.ndarray]) -> np.ndarray:
    weight = np.ones(len(table.names))
    for group in demanded.attributes:
        weight = weight * np.minimum(sum(share("attribute", attribute) for attribute in group), 1)
    for relation, role in demanded.relations:
        if not _says_little(relation, role):
            weight = weight * share("relation", plain_relation(relation), role)
    for type_ in demanded.types:
        weight = weight * share("type", type_)
    return weight


def _says_little(relation: str, role: str) -> bool:
    """Whether anything may stand in a role: near a thing, or as what someone sits near."""
    verb, _, preposition = relation.partition(" ")
    posture = role == "o" and verb.endswith("ing") and plain_relation(preposition) in LOOSE
    return posture or plain_relation(relation) in LOOSE


def _like(relation: str, role: str, table: ObjectTable) -> list[str]:
    """Relations that ask the same of the thing in a role: who sits at a table sits in a chair, too; what one sits
    on, one stands on."""
    verb, _, preposition = relation.partition(" ")
    if role == "s" and preposition and verb.endswith("ing"):
        return [other for other in table.relations if other.partition(" ")[0] == verb]
    return [other for other in table.relations if _group(other) == _group(relation)]


def _group(relation: str) -> str:
    verb, _, preposition = relation.partition(" ")
    if relation not in _GROUP and preposition and verb.endswith("ing"):
        relation = plain_relation(preposition)
    return _GROUP.get(relation, relation)
