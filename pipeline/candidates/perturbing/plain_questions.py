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
- Where a question names no attribute, one is inserted that the texts contradict ("the white dog" for a brown one), or a
  color that few such objects have, if all texts speak of one such object (`plain_insertions`).
- An object keeps its material and shape only if the vocabulary lists it with them. It does not contain, support or wear
  what only the replaced object does (`plain_fitness`).
- Nothing is edited that a true "no" answers ("Can you see the FACE?"), and no color in a black-and-white photograph.
- Options of a choice, counted objects and objects that need not exist are never edited.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.plain_attributes import (
    replace_color,
    replace_gesture_or_hair,
    replace_state,
)
from pipeline.candidates.perturbing.plain_insertions import insert_attribute
from pipeline.candidates.perturbing.plain_materials import replace_material_or_pattern, replace_shape
from pipeline.candidates.perturbing.plain_object_slots import AUXILIARIES
from pipeline.candidates.perturbing.plain_objects import replace_main_object
from pipeline.candidates.perturbing.plain_positions import (
    put_under,
    replace_action,
    replace_pose,
    swap_front_and_back,
    swap_position,
)
from pipeline.candidates.perturbing.surface_realization import Swap
from pipeline.core.records import Subset
from pipeline.language.word_lists import DEFINITE_DETERMINERS, parse_words

# "Can you see the car?", "Is the car visible?", "Does the photo show a car?", "Is anyone in the car?"
_SIGHT_QUESTIONS = frozenset((("can", "you", "see"), ("do", "you", "see"), ("can", "we", "see")))
_SIGHT_WORDS = parse_words("visible, shown, pictured, depicted, present")
_SHOWING_WORDS = parse_words("show, include, contain, depict, feature")
_IMAGE_WORDS = parse_words("photo, photograph, picture, image, scene, shot")
_ANYBODY = parse_words("anyone, anybody, someone, somebody, anything, something, any")
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

    Further examples are "Can you see the man's FACE?", "Is the CAT visible?" and "Is anyone sitting in the CAR?".
    "How many sides does the SIGN have?" has no such answer.
    """
    tokens = case.sentence.tokens
    is_polar = tokens[0] in AUXILIARIES and "or" not in tokens
    asks_whether_visible = (
        tokens[:3] in _SIGHT_QUESTIONS
        or (tokens[0] == "can" and "seen" in tokens)
        or not _SIGHT_WORDS.isdisjoint(tokens)
    )
    shows = _SHOWING_WORDS & {*tokens[2:5]} and _IMAGE_WORDS & {*tokens[1:4]}
    if is_polar and (asks_whether_visible or shows or not _ANYBODY.isdisjoint(tokens)):
        return True
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
        (
            replace_color,
            replace_material_or_pattern,
            replace_shape,
            replace_state,
            replace_gesture_or_hair,
            swap_position,
            put_under,
            replace_pose,
            replace_action,
            swap_front_and_back,
            insert_attribute,
        ),
    ),
}
