"""Letters for a table of many models: two that share one are not told apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from string import ascii_lowercase


def letters(names: Sequence[str], apart: Collection[tuple[str, str]]) -> dict[str, str]:
    """The letters of each name: two share one exactly if they are not told apart (Piepho, 2004, Journal of Computational and
    Graphical Statistics 13(2), 456-466, "insert and absorb").

    Args:
        names: best first; "a" is of the best. apart: pairs that are told apart, in any order.

    >>> letters(["rp", "mix", "vanilla", "blind"], [("blind", "rp"), ("rp", "vanilla"), ("mix", "blind")])
    {'rp': 'a', 'mix': 'ab', 'vanilla': 'bc', 'blind': 'c'}
    """
    groups = [frozenset(names)]
    for one, other in apart:
        parted = [
            part for group in groups if {one, other} <= group for part in (group - {one}, group - {other})
        ]
        groups = [group for group in groups if not {one, other} <= group] + parted
        groups = [group for group in dict.fromkeys(groups) if not any(group < larger for larger in groups)]
    place = {name: number for number, name in enumerate(names)}
    groups.sort(key=lambda group: sorted(place[name] for name in group))
    return {
        name: "".join(_letter(number) for number, group in enumerate(groups) if name in group)
        for name in names
    }


def _letter(number: int) -> str:
    """a to z, then a1, b1 and so on.

    >>> _letter(25), _letter(26)
    ('z', 'a1')
    """
    turn, place = divmod(number, len(ascii_lowercase))
    return ascii_lowercase[place] + (str(turn) if turn else "")
