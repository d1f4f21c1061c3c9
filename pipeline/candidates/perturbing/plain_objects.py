"""Replace objects of plain questions by objects that their images do not show (PT-Easy)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pipeline.candidates.perturbing.contrasts import (
    find_common_contrasts,
    find_contrasts,
    find_kin,
    infer_setting,
    is_listed_part,
)
from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.object_edits import collect_constraints
from pipeline.candidates.perturbing.plain_context import (
    FURNITURE_KINDS,
    GROUND_KINDS,
    list_mentioned_names,
)
from pipeline.candidates.perturbing.plain_fitness import VESSEL_KINDS, Fitness
from pipeline.candidates.perturbing.plain_object_slots import (
    list_clothes_of_subject,
    list_clothes_of_unreplaced,
    list_references,
    order_object_slots,
)
from pipeline.candidates.perturbing.plain_people import (
    ROLES,
    UNIFORMED_ROLES,
    adapt_pronouns,
    list_other_people,
)
from pipeline.candidates.perturbing.plausibility import ObjectConstraints
from pipeline.candidates.perturbing.surface_realization import (
    NumberChanges,
    Swap,
    detect_number,
    find_possible_numbers,
    make_object_swap,
)
from pipeline.language.nouns import lemmatize, pluralize, singularize
from pipeline.language.object_taxonomy import LIVING_KINDS, get_main_kind
from pipeline.language.presuppositions import Presupposition
from pipeline.language.word_lists import parse_words

# An object that an image shows with a higher probability is not inserted.
MAX_PRESENCE = 0.3
# Frequent objects are inserted more often than rare ones, but not by their frequency. Otherwise a few would replace most.
FREQUENCY_EXPONENT = 0.25
# "The LOWER shelf" is one of several things that hang above each other.
_PLACING_ADJECTIVES = parse_words("lower, upper, top, bottom")
# Whether an image shows "the animal" of another name depends on what other texts call it.
_UNNAMED_ANIMALS = frozenset(("animal", "creature", "pet"))
# Relations that few objects have.
_STRICT_WORDS = parse_words(
    "in, on, of, inside, into, wearing, riding, holding, driving, filled, playing, sitting"
)


def replace_main_object(case: EditCase) -> Swap | None:
    """Swap the object about which the question asks, or an object that determines what is asked for."""
    slots = order_object_slots(case)
    clothes = list_clothes_of_subject(case, slots)
    for slot in (*clothes, *slots, *list_references(case, slots), *list_clothes_of_unreplaced(case, slots)):
        swap = _swap_object(case, slot)
        # Whoever stands there, the window is behind them. But nobody takes a man for a woman.
        is_sure = slot in slots or slot in clothes or (swap and swap.new not in {*ROLES, *UNIFORMED_ROLES})
        if swap and is_sure:
            return swap
    return None


def _swap_object(case: EditCase, slot: Presupposition) -> Swap | None:
    """Swap an object for one that the image does not show; None if no object fits."""
    replacements, table = case.replacements, case.replacements.object_table
    constraints = collect_constraints(case, slot, ())
    is_plural = detect_number(case.sentence, slot) == "plural"
    absent = case.absence_probabilities
    absent = np.where(absent < 1 - MAX_PRESENCE, 0, absent)
    if _is_known_animal(case, slot):
        # Of "the deer", the word "animals" in another text does not make dogs likely.
        absent = np.maximum(absent, table.match_listed(find_contrasts("deer") | {"deer"}))
    for names in _list_replacements(case, slot, constraints):
        if names & {*ROLES, *UNIFORMED_ROLES}:
            return _swap_for_role(case, slot, names, is_plural)
        numbers: NumberChanges = find_possible_numbers(case.sentence, slot)
        if pluralize(slot.word) == slot.word and not is_plural:
            # "What is the DEER doing?" is about one of them.
            numbers = {key: changes for key, changes in numbers.items() if key == "singular"}
        is_person = get_main_kind(slot.word) == "person"
        frequency = (
            np.ones(len(table.names)) if is_person else (table.sampling_weights + 1e-6) ** FREQUENCY_EXPONENT
        )
        weights = frequency * table.match_listed(names)
        weights = weights * table.match_number(frozenset(numbers), None)
        if not is_person:
            known = {kin for name in list_mentioned_names(case) for kin in find_kin(name)}
            weights = weights * absent * ~table.match_listed(frozenset(known))
            weights = weights * _match_facts(case, slot, constraints, weights)
        if is_plural:
            weights = weights * table.match_number(frozenset(("singular", "plural")), None)
        new = replacements.sample_weighted_object(
            slot.word, is_plural, constraints, weights, case.uniforms[0][1]
        )
        if new is None:
            continue
        swap = (
            Swap(slot, new, pluralize(singularize(new)))
            if is_plural and is_person
            else make_object_swap(case.sentence, slot, new, numbers, case.uniforms[0][1])
        )
        if (pronouns := adapt_pronouns(case, slot, new)) is not None:
            return replace(swap, changes=(*swap.changes, *pronouns))
    return None


def _is_known_animal(case: EditCase, slot: Presupposition) -> bool:
    """Return whether an object is an animal, and the texts say which."""
    is_named = any(
        get_main_kind(name) == "animal" and lemmatize(name) not in _UNNAMED_ANIMALS
        for name in list_mentioned_names(case)
    )
    # The answer names it, even if the vocabulary lacks the name: "What kind of animal is this?" (a quokka).
    is_asked = any(text[:4] == ("what", "kind", "of", "animal") for text in case.mentions.texts)
    return get_main_kind(slot.word) == "animal" and (is_named or is_asked)


def _swap_for_role(
    case: EditCase, slot: Presupposition, roles: frozenset[str], is_plural: bool
) -> Swap | None:
    weights = dict.fromkeys(sorted(roles), 1.0)
    new = case.replacements.sample_from_weights(("object", "role"), slot.word, weights, case.uniforms[0][0])
    pronouns = adapt_pronouns(case, slot, new) if new else None
    if not new or pronouns is None:
        return None
    swap = Swap(slot, new, pluralize(new) if is_plural else new)
    return replace(swap, changes=(*swap.changes, *pronouns))


def _match_facts(
    case: EditCase, slot: Presupposition, constraints: ObjectConstraints, weights: np.ndarray
) -> np.ndarray:
    """Return which rows of the object table fit what the question says of an object, bool [rows].

    What is said of living things counts less, because most animals can do what is said of one. Whose part something
    is must be known, except for animals.
    """
    plausibility = case.replacements.plausibility
    parts = tuple(row for row in constraints.relations if row[0] == "of" and row[1] == "o")
    is_living = get_main_kind(slot.word) in LIVING_KINDS
    fits = plausibility.score_objects(constraints) > 0
    if is_living:
        loosened = (replace(constraints, attributes=(), types=()), ObjectConstraints())
    elif parts and not all(is_listed_part(part) for _, _, part in parts):
        return fits & plausibility.match_unknown_facts(
            slot.word, replace(constraints, relations=parts, attributes=())
        )
    else:
        relations = tuple(
            row
            for row in constraints.relations
            if not _STRICT_WORDS.isdisjoint(row[0].split())
            # Nearly everything may bear words, and the table of parts says what has which parts.
            and get_main_kind(row[2]) != "marking"
            and not (row[0] in ("in", "inside") and get_main_kind(slot.word) in VESSEL_KINDS)
            and not (row[0] == "of" and is_listed_part(row[2]))
        )
        # Few attributes are known of most objects. But nobody asks of which wood a river is made.
        is_ground = get_main_kind(slot.word) in GROUND_KINDS
        kept = constraints if is_ground else replace(constraints, types=(), attributes=())
        loosened = (replace(kept, relations=relations),)
    for looser in loosened:
        if not (weights * fits).any():
            fits = plausibility.score_objects(looser) > 0
    holds_somebody = any(
        role == "o" and get_main_kind(name) in LIVING_KINDS for _, role, name in constraints.relations
    )
    if get_main_kind(slot.word) in FURNITURE_KINDS and not holds_somebody:
        # Anything may lie on a piano, although few photographs show it.
        fits = fits | case.replacements.object_table.match_listed(frozenset(("piano",)))
    return fits


def _list_replacements(
    case: EditCase, slot: Presupposition, constraints: ObjectConstraints
) -> Iterator[frozenset[str]]:
    """Yield sets of names that may replace an object, the better sets first."""
    name, kind = slot.word, get_main_kind(slot.word)
    setting = infer_setting(list_mentioned_names(case))
    if kind == "person":
        yield from list_other_people(case, slot, constraints, setting)
        return
    if kind in GROUND_KINDS and setting == "indoors":
        return
    fitness = Fitness(case, slot, constraints, setting, detect_number(case.sentence, slot) == "plural")
    if fitness.is_kept:
        return
    is_placed = not _PLACING_ADJECTIVES.isdisjoint(word for group in constraints.attributes for word in group)
    if is_placed and kind == "storage":
        # Nothing but shelves is "the lower shelf".
        return
    contrasts = find_contrasts(name)
    if lemmatize(name) in _UNNAMED_ANIMALS and _is_known_animal(case, slot):
        contrasts = find_contrasts("deer")
    yield frozenset(filter(fitness.suits, contrasts))
    if any(
        role == "o"
        for relation, role, _ in constraints.relations
        if relation == "of" or kind in FURNITURE_KINDS
    ):
        return
    if is_placed:
        return
    yield frozenset(filter(fitness.suits, find_common_contrasts(name, setting)))
