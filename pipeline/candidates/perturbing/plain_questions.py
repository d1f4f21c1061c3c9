"""Edit plain questions: the question has no functional program, and its image has no scene graph.

Nothing is known of such an image but its own questions and answers. Therefore a plain question gets one edit, at the
words without which it asks for nothing. Rules, each against a way in which edited questions stayed answerable:

- The edit concerns what is asked about: the noun whose property is asked for, or the owner of a part or of clothes.
  Other objects are edited only where the question does not name what it asks for ("What is lying on the BED?").
- An inserted object stands in the same places, and nobody takes it for the replaced one (`contrasts`).
- Men replace women and the reverse, if no text of the image speaks of such a person. Pronouns follow.
- Where readers would answer "no" to a question about another person, the person's clothes are edited.
- People of unknown role become people whose clothes nobody mistakes (a firefighter).
- Colors are replaced by bright colors that no text of the image mentions. White, gray or brown objects are common.
- Positions ("on the left"), poses and states are edited if the image shows one such object only, or if the new state
  is rare (an overturned car).
- Options of a choice, counted objects and objects that need not exist are never edited.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.plain_attributes import (
    replace_color,
    replace_material_or_pattern,
    replace_state,
)
from pipeline.candidates.perturbing.plain_objects import replace_main_object
from pipeline.candidates.perturbing.plain_positions import put_under, replace_pose, swap_position
from pipeline.candidates.perturbing.surface_realization import Swap
from pipeline.core.records import Subset
from pipeline.language.word_lists import DEFINITE_DETERMINERS

DENIABLE = "no or none is a true answer if something is absent"


def edit_plain_question(subset: Subset, case: EditCase) -> tuple[list[Swap], str]:
    """Edit a plain question at one place.

    Returns:
        The swap, and the reason why there is none ("" if there is one).
    """
    if may_be_denied(case):
        return [], DENIABLE
    reason, editors = _EDITORS[subset]
    for edit in editors:
        if swap := edit(case):
            return [swap], ""
    presuppositions = case.presuppositions
    is_named = (
        presuppositions.objects
        if subset == "pt-easy"
        else presuppositions.attributes or presuppositions.relations
    )
    return [], reason if is_named else "names nothing of that kind as a presupposition"


def may_be_denied(case: EditCase) -> bool:
    """Return whether "no" or "none" is a true answer if something is absent: "How many cups are on the TABLE?".

    "How many sides does the SIGN have?" has no such answer.
    """
    tokens = case.sentence.tokens
    asks_of_something = any(
        verb in ("does", "do", "did", "has", "have", "is", "are") and determiner in DEFINITE_DETERMINERS
        for verb, determiner in pairwise(tokens)
    )
    return tokens[1:2] == ("there",) or (tokens[:2] == ("how", "many") and not asks_of_something)


Editor = Callable[[EditCase], Swap | None]
# Subset -> the reason that is reported if no edit is possible, and the edits, the best first.
_EDITORS: dict[Subset, tuple[str, tuple[Editor, ...]]] = {
    "pt-easy": ("no other object fits", (replace_main_object,)),
    "pt-hard": (
        "no other attribute or relation fits",
        (replace_color, replace_material_or_pattern, replace_state, swap_position, put_under, replace_pose),
    ),
}
