"""Things of an image as known, what a description picks out of them, and what evidence may leave out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Protocol

# The chance that is left to what is taken for false: verdicts are to be right at least 97 times of 100.
MAX_FALSE_PROBABILITY = 0.03
# The chance of what is not known, and of which nothing tells how probable it is: nearly sure, for no guess is dared.
UNKNOWN_PROBABILITY = 0.99

TruthValue = bool | None  # None: not known


class GraphCompleteness(Protocol):
    """What a graph that leaves out a part probably leaves out; names are as recorded, "" of any thing."""

    def estimate_unlisted_objects(self, name: str, listed_names: Collection[str], num_listed: int) -> float:
        """How many things of a name it leaves out on average, in an image of which it lists things of the names `shown`,
        and `listed` of this one."""
        ...

    def estimate_attribute_probability(self, attribute: str, name: str, is_listed: bool) -> float:
        """The chance that a thing, itself listed without this attribute or not listed at all, has it."""
        ...

    def estimate_relation_probability(
        self, subject: str, relation: str, other: str, are_listed: bool
    ) -> float:
        """The chance that two things, both listed or one of them not, are in a relation that is not listed."""
        ...


@dataclass(slots=True, eq=False)
class ObjectEvidence:
    """An object as known.

    Attributes:
        names: singular, the most particular first.
        label: the name as recorded; "" when only a category is known.
        attributes, denied: attribute -> type of those it has; those it has not.
        positions: the values still possible, by type.
    """

    object_id: str
    names: tuple[str, ...]
    label: str
    attributes: dict[str, str] = field(default_factory=dict)
    negated_attributes: set[str] = field(default_factory=set)
    possible_positions: dict[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Selection:
    """Things that a description picks out.

    Attributes:
        sure: for certain. maybe: those that it may pick out, each with the chance that it does.
        unlisted: how many it picks out on average of those that are not listed; `UNKNOWN` where nobody can tell.
    """

    certain: tuple[ObjectEvidence, ...]
    possible: tuple[tuple[ObjectEvidence, float], ...] = ()
    expected_unlisted: float = 0.0

    @property
    def expected_others(self) -> float:
        """How many things it picks out on average beside those that are sure."""
        return sum(chance for _, chance in self.possible) + self.expected_unlisted

    @property
    def has_possible_others(self) -> bool:
        """Whether other things may well be meant than those that are sure."""
        return self.expected_others > MAX_FALSE_PROBABILITY

    def __bool__(self) -> bool:
        """False when there is none, for certain or very probably."""
        return bool(self.certain) or self.has_possible_others
