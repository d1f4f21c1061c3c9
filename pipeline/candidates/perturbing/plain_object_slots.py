"""Find the objects of a plain question that may be replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.candidates.perturbing.edit_slots import EditCase, is_fixed_expression
from pipeline.candidates.perturbing.object_edits import collect_constraints
from pipeline.candidates.perturbing.object_table import FEMALE_NOUNS
from pipeline.candidates.perturbing.plain_context import (
    CLOTHING_KINDS,
    CONSUMABLE_KINDS,
    FURNITURE_KINDS,
    GROUND_KINDS,
    IRREPLACEABLE_NAMES,
    PART_KINDS,
    POSSESSIVE_RELATIONS,
    SCENERY_KINDS,
    describe,
    is_attribute_word,
    is_option,
    measure_distances,
)
from pipeline.candidates.perturbing.plausibility import extract_program_constraints
from pipeline.language.functional_programs import find_root_step
from pipeline.language.nouns import lemmatize
from pipeline.language.object_taxonomy import LIVING_KINDS, get_main_kind
from pipeline.language.presuppositions import Presupposition, find_queried_step
from pipeline.language.text_phrases import get_attribute_type, is_known_name
from pipeline.language.word_lists import DEFINITE_DETERMINERS, DETERMINERS, FRAME_WORDS, parse_words

_REFERRING_WORDS = parse_words("under, below, beneath, underneath, around, on")
_WRITING = parse_words("letter, word, number, logo, name, text, inscription, writing")
_SHORT_CLOTHES = parse_words(
    "shirt, vest, jersey, hoodie, jacket, sweater, t-shirt, sweatshirt, shorts, blazer, top"
)
AUXILIARIES = parse_words("is, are, was, were, does, do, did, has, have, can")


def list_clothes_of_subject(case: EditCase, slots: Sequence[Presupposition]) -> list[Presupposition]:
    """Return the clothes by which a question for yes or no describes its person: "Is the man in the COAT sitting?".

    Readers answer "no" if only the person is replaced.
    """
    tokens = case.sentence.tokens
    is_polar = tokens[0] in AUXILIARIES and "or" not in tokens
    return _list_clothes(case, slots) if is_polar else []


def list_clothes_of_unreplaced(case: EditCase, slots: Sequence[Presupposition]) -> list[Presupposition]:
    """Return the clothes by which a question describes somebody whom nobody else replaces: "the cyclist in the VEST".

    From afar, a coat looks like a dress. So only short clothes are replaced, and none of women.
    """
    is_short = (slot for slot in _list_clothes(case, slots) if slot.word in _SHORT_CLOTHES)
    return [slot for slot in is_short if slots[0].word not in FEMALE_NOUNS]


def _list_clothes(case: EditCase, slots: Sequence[Presupposition]) -> list[Presupposition]:
    tokens = case.sentence.tokens
    if not (slots and get_main_kind(slots[0].word) == "person"):
        return []
    end = slots[0].span.end_token
    is_described = tokens[end : end + 1] == ("in",) and tokens[end + 1] in DEFINITE_DETERMINERS
    # "Is the man in the SKIRT wearing shorts?" sounds odd.
    if not is_described or sum(get_main_kind(token) == "garment" for token in tokens) > 1:
        return []
    return [
        slot
        for slot in case.presuppositions.objects
        if slot.phrase_start == end + 1
        and get_main_kind(slot.word) == "garment"
        # A new word would begin like "T-shirt".
        and case.sentence.get_text(slot.span).islower()
    ]


def order_object_slots(case: EditCase) -> list[Presupposition]:
    """Return the objects that may be replaced, the best first."""
    distances = measure_distances(case)
    asked = find_queried_step(case.program)
    objects = sorted(
        (
            slot
            for slot in case.presuppositions.objects
            if slot.step != asked and not _is_optional(case, slot)
        ),
        key=lambda slot: (distances.get(slot.step, 9), slot.span.first_token),
    )
    # A question names what it asks about if its nearest object is not related to something unnamed.
    is_named = bool(objects) and distances.get(objects[0].step, 9) == 0
    ordered: list[Presupposition] = []
    for slot in objects:
        is_owner = any(_is_owned_by(case, part, slot) for part in objects if part is not slot)
        # If what is asked for has no name, the nearest object determines it, or the next one if that is the ground.
        nearer = [other for other in objects if distances.get(other.step, 9) < distances.get(slot.step, 9)]
        is_nearest = all(get_main_kind(other.word) in GROUND_KINDS | PART_KINDS for other in nearer)
        is_main = slot is objects[0] or is_owner or (not is_named and is_nearest)
        is_described_person = get_main_kind(slot.word) in LIVING_KINDS and any(describe(case, slot))
        is_garment = get_main_kind(slot.word) in CLOTHING_KINDS and distances.get(slot.step, 9) > 0
        if (is_main or is_described_person) and not is_garment and not _belongs_to_another(case, slot):
            ordered.append(slot)
    return [slot for slot in (_extend_compound(case, one) for one in ordered) if _is_replaceable(case, slot)]


def list_references(case: EditCase, slots: Sequence[Presupposition]) -> list[Presupposition]:
    """Return the objects that place the main object, if the main object fits them alone.

    Examples: the plate under the DESSERT, the chairs around the TABLE, the sticker on the CAMERA.
    """
    if not slots:
        return _list_living_references(case)
    if get_main_kind(slots[0].word) in FURNITURE_KINDS - {"seat"}:
        # A table is seen whatever stands on it.
        return []
    constraints = collect_constraints(case, slots[0], ())
    names = {
        name
        for relation, role, name in constraints.relations
        if role == "s"
        and (
            not _REFERRING_WORDS.isdisjoint(relation.split())
            # "The flowers in the VASE", "the coffee in the CUP".
            or (relation == "in" and get_main_kind(slots[0].word) in ("flora", "tree", *CONSUMABLE_KINDS))
        )
    }
    others = (slot for slot in case.presuppositions.objects if slot.word in names and slot not in slots)
    extended = (_extend_compound(case, slot) for slot in others)
    is_scenery = get_main_kind(slots[0].word) in SCENERY_KINDS
    living = [slot for slot in _list_living_references(case) if is_scenery and slot not in slots]
    return living + [
        slot
        for slot in extended
        if get_main_kind(slot.word) not in GROUND_KINDS | PART_KINDS | CLOTHING_KINDS | {"flora", "tree"}
        and not _belongs_to_another(case, slot)
        and _is_replaceable(case, slot)
    ]


def _list_living_references(case: EditCase) -> list[Presupposition]:
    """Return the people and animals that place something irreplaceable: "What covers the windows behind the WOMEN?"."""
    if "it" in case.sentence.tokens:
        # "The sign with the walking PERSON on it": pictures look like many people.
        return []
    return [
        slot
        for slot in case.presuppositions.objects
        if get_main_kind(slot.word) in LIVING_KINDS
        and not slot.is_query_only
        and _is_replaceable(case, slot)
        and case.sentence.get_token(slot.phrase_start) in DEFINITE_DETERMINERS
    ]


def _is_optional(case: EditCase, slot: Presupposition) -> bool:
    """Return whether an object need not exist. The women of "What are the three women sitting on?" must."""
    follows_definite = case.sentence.get_previous_token(slot.phrase_start) in DEFINITE_DETERMINERS
    return slot.is_query_only and not follows_definite


def _is_owned_by(case: EditCase, part: Presupposition, owner: Presupposition) -> bool:
    """Return whether an object is a part, the clothes or the content of another one, directly or by steps."""
    program = case.program
    if part.step < 0 or owner.step < 0 or not program[part.step].inputs:
        return False
    operation = program[part.step]
    root = find_root_step(program, operation.inputs[0])
    is_part = operation.values[:1] == ("of",) or (
        # "The letters on the SIGN" belong to it like parts.
        operation.values[:1] == ("on",)
        and (
            get_main_kind(operation.name) in PART_KINDS | CLOTHING_KINDS
            or (lemmatize(operation.name) in _WRITING and get_main_kind(owner.word) not in GROUND_KINDS)
        )
    )
    if not (is_part and operation.is_subject):
        return False
    if root == owner.step:
        return True
    return any(
        slot.step == root and _is_owned_by(case, slot, owner)
        for slot in case.presuppositions.objects
        if slot is not part
    )


def _belongs_to_another(case: EditCase, slot: Presupposition) -> bool:
    """Return whether a slot names a part or the clothes of another object of the question.

    An inserted part ("the COLLAR of the dog") often exists although nobody has mentioned it. So the owner is
    replaced instead ("the nose of the CAT").
    """
    relations = extract_program_constraints(case.program, slot.step).relations
    kind = get_main_kind(slot.word)
    before = case.sentence.get_token(slot.phrase_start)
    is_part = any(relation == "of" and role == "s" for relation, role, _ in relations) or before in (
        "his",
        "her",
        "their",
        "its",
    )
    is_worn = kind in CLOTHING_KINDS | PART_KINDS | {"baggage"} and any(
        relation.split()[0] in POSSESSIVE_RELATIONS and role == "o" for relation, role, _ in relations
    )
    is_worn |= kind in CLOTHING_KINDS and any(
        relation == "on" and role == "s" and get_main_kind(other) in LIVING_KINDS
        for relation, role, other in relations
    )
    has_owner = before == "'s" and any(
        other.span.end_token <= slot.span.first_token
        for other in case.presuppositions.objects
        if other is not slot
    )
    return is_part or is_worn or has_owner or kind in PART_KINDS


def _extend_compound(case: EditCase, slot: Presupposition) -> Presupposition:
    """Return a slot with the whole compound of its noun: "pickup TRUCK", "tin CAN"."""
    sentence = case.sentence
    first, end = slot.span.first_token, slot.span.end_token
    while first > 1 and _continues_compound(case, first - 1, slot.word):
        first -= 1
    after = sentence.tokens[end : end + 1]
    if after and is_known_name(f"{sentence.tokens[end - 1]} {after[0]}") and after[0] not in ("is", "are"):
        end += 1
    if (first, end) == (slot.span.first_token, slot.span.end_token):
        return slot
    span = sentence.make_span(first, end)
    return replace(
        slot, span=span, word=sentence.get_text(span).lower(), phrase_start=min(first, slot.phrase_start)
    )


def _continues_compound(case: EditCase, index: int, noun: str) -> bool:
    """Return whether the word at a token and a noun after it belong to one compound."""
    sentence, word = case.sentence, case.sentence.tokens[index]
    if (
        index + 1 < len(sentence.tokens)
        and not sentence.get_tag(index + 1)
        and sentence.tokens[index + 1].isalpha()
    ):
        # The next token belongs to a name of several words that begins earlier ("stop SIGN").
        return True
    if is_attribute_word(word) or not word.isalpha() or word in DETERMINERS | (FRAME_WORDS - {"name"}):
        return False
    tag = sentence.get_tag(index)
    return (
        tag.startswith("NN")
        or not tag
        or is_known_name(f"{word} {noun}")
        or (tag == "JJ" and is_known_name(word))
    )


def _is_replaceable(case: EditCase, slot: Presupposition) -> bool:
    """Return whether another word makes sense in a slot.

    Counterexamples: "the GROUP of three", "the street's NAME", "What color is the traffic LIGHT showing?", "the OTHER
    man".
    """
    sentence, span, last = case.sentence, slot.span, case.sentence.num_content_tokens - 1
    head = lemmatize(slot.word.rpartition(" ")[2])
    ends_with_verb = sentence.get_tag(last) in ("VBG", "VBN") and not sentence.is_matched(last)
    does_something = ends_with_verb and get_main_kind(slot.word) not in LIVING_KINDS
    # "The THREE-WHEELED cart": few objects are three-wheeled.
    is_special = get_main_kind(slot.word) not in LIVING_KINDS and any(
        "-" in token for token in sentence.tokens[slot.phrase_start : span.first_token]
    )
    follows_other = "other" in sentence.tokens[slot.phrase_start : span.first_token + 1]
    # "The laptop WITH ITS black strap": few objects have a strap.
    has_own_part = sentence.tokens[span.end_token : span.end_token + 2] == ("with", "its")
    is_asked = (
        sentence.get_token(slot.phrase_start - 1) in ("which", "what", "whose")
        and slot.phrase_start == span.first_token
    )
    after = sentence.get_token(span.end_token)
    # "The ORANGE one" is a color.
    is_modifier = (sentence.get_tag(span.end_token).startswith("NN") and after != "'s") or after == "one"
    # "Facing the camera" speaks of the photographer's, "the silver camera" of another one.
    is_shown_camera = head == "camera" and slot.phrase_start + 1 < span.first_token
    is_pictured = sentence.tokens[span.end_token : span.end_token + 2] == ("on", "it")
    # "The GLASS pitcher", "the drink IN the pitcher": this is nobody.
    phrase = sentence.tokens[slot.phrase_start : span.first_token]
    # "What color is the PITCHER?" speaks of a vessel.
    asks_color = (
        sentence.tokens[:2] == ("what", "color")
        and span.end_token > last
        and sentence.get_token(span.first_token - 1) in DETERMINERS
    )
    is_no_person = get_main_kind(slot.word) == "person" and (
        asks_color
        or any(get_attribute_type(token) == "material" for token in phrase)
        or (
            sentence.get_token(slot.phrase_start - 1) in ("in", "inside")
            and sentence.get_token(span.end_token) != "'s"
        )
    )
    return not (
        is_pictured
        or is_no_person
        or ({slot.word, head} & IRREPLACEABLE_NAMES and not is_shown_camera)
        or does_something
        or "mean" in sentence.tokens
        or follows_other
        or is_special
        or (has_own_part and get_main_kind(slot.word) not in LIVING_KINDS)
        or is_asked
        or is_modifier
        or is_option(case, span.first_token, span.end_token)
        or is_fixed_expression(slot, case)
    )
