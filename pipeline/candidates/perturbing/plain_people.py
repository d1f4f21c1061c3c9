"""Find the people who may replace a person of a plain question."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pipeline.candidates.perturbing.contrasts import suits_setting
from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.object_table import FEMALE_NOUNS, MALE_NOUNS
from pipeline.candidates.perturbing.plain_context import (
    CLOTHING_KINDS,
    COLOR_NAMES,
    POSSESSIVE_RELATIONS,
    describe,
    find_attributes_of,
    iter_words,
)
from pipeline.candidates.perturbing.plausibility import ObjectConstraints
from pipeline.language.nouns import TokenEdit, get_grammatical_number, lemmatize
from pipeline.language.object_taxonomy import LIVING_KINDS, get_main_kind
from pipeline.language.presuppositions import Presupposition
from pipeline.language.word_lists import parse_headed_groups, parse_words

# Where so few texts speak of an image, they do not show that somebody is absent.
MIN_TEXTS = 3
_GENERIC_PEOPLE = parse_words(
    "people, person, persons, crowd, player, spectator, passenger, child, kid, family, group, couple, team, audience"
)
_WOMEN = parse_words(
    "woman, girl, lady, mother, mom, daughter, bride, female, grandmother, waitress, actress, she, her"
)
_MEN = parse_words(
    "man, boy, guy, gentleman, father, dad, son, groom, male, grandfather, waiter, he, his, him"
)
# Age and sex change together. Where the face is hidden, viewers are not sure whether a man is a woman, but they see that no child is there.
_OTHER_PERSON = {
    **dict.fromkeys(("man", "guy", "gentleman", "father"), "girl"),
    **dict.fromkeys(("woman", "lady", "mother"), "boy"),
    "boy": "woman",
    "girl": "man",
}
_PRONOUN_FORMS = {"woman": {"his": "her", "he": "she", "him": "her"}, "man": {"her": "his", "she": "he"}}
# People whom their looks distinguish from people of other roles, and those who may be called so.
ROLES = parse_headed_groups("""
skateboarder: skater, surfer; surfer: swimmer, skateboarder; chef: cook, baker, waiter, waitress; cowboy: rider, horseman
soldier: officer, guard, policeman, police officer, pilot; jockey: rider, cyclist, horseman; umpire: referee, player
""")
# Roles whose clothes nobody mistakes. They replace people of whose role nothing is known.
UNIFORMED_ROLES = parse_headed_groups("""
cowboy: rider, horseman, cowgirl; firefighter: fireman, deck; astronaut: spaceman, pilot; clown: jester; nun: sister
soldier: officer, guard, policeman, police officer, pilot, sailor, navy, army, military, uniform, camouflage, deck
""")
# What questions may say of the clothes of a role. A clown wears anything, but there is no cowboy in a cardigan.
_WORK_CLOTHES = parse_words("helmet, boot, glove, trousers, pants, watch, belt, backpack, bag, head, foot, footwear, shoe, sunglasses, glasses, clothing")  # fmt: skip
_ROLE_CLOTHES = {
    "soldier": _WORK_CLOTHES | {"cap", "hat"},
    "firefighter": _WORK_CLOTHES | {"jacket", "coat"},
    "cowboy": _WORK_CLOTHES - {"helmet", "backpack", "bag"} | {"hat", "vest", "scarf"},
    "jockey": parse_words("helmet, boot, glove, goggles, pants, trousers, head, cap"),
    "surfer": parse_words("shorts, watch, wetsuit"),
    "chef": parse_words("apron, hat, glove, head, watch"),
    "umpire": parse_words("mask, cap, helmet, pants, trousers, shoe, head"),
    "skateboarder": _WORK_CLOTHES | {"shirt", "t-shirt", "shorts", "cap", "hat", "hoodie", "jeans", "sock"},
}
_SIGHT_WORDS = parse_words("see, seen, visible, shown")
_BEARDS = parse_words("beard, bearded, mustache, moustache, bald, goatee")


def list_other_people(
    case: EditCase, slot: Presupposition, constraints: ObjectConstraints, setting: str
) -> Iterator[frozenset[str]]:
    """Yield somebody of the other age and sex if no such person is mentioned, and then people whom their looks distinguish."""
    name = lemmatize(slot.word)
    other = _OTHER_PERSON.get(name, "")
    if other and _may_become(case, slot, other, constraints):
        yield frozenset((other,))
    lemmas = {lemmatize(word) for word in iter_words(case)}
    roles = UNIFORMED_ROLES if other or name in _GENERIC_PEOPLE - {"player"} else ROLES
    if name == "player":
        # Other players wear jerseys as well.
        roles = {**ROLES, "clown": UNIFORMED_ROLES["clown"]}
    if not {"occupation", "job", "profession"}.isdisjoint(case.sentence.tokens):
        return
    clothes = _list_clothes(case)
    # Nobody takes a man for a nun.
    avoided = {"nun"} if name not in FEMALE_NOUNS else frozenset[str]()
    yield frozenset(
        role
        for role, names in roles.items()
        if role not in avoided
        and _may_wear(role, clothes)
        and lemmas.isdisjoint((role, *names))
        and suits_setting(role, setting)
    )


def _list_clothes(case: EditCase) -> frozenset[str]:
    """Return the clothes and the covered parts of the body that a question names; "color" where a color stands for them."""
    tokens = case.sentence.tokens
    clothes = {
        lemmatize(token)
        for token in tokens
        if get_main_kind(token) in CLOTHING_KINDS or lemmatize(token) in ("head", "foot", "backpack", "bag")
    }
    # "The person in white", "the man in the yellow shirt".
    is_colored = any(
        tokens[i] == "in" and COLOR_NAMES & {*tokens[i + 1 : i + 4]} for i in range(len(tokens) - 1)
    )
    return frozenset(clothes | ({"color"} if is_colored else set()))


def _may_wear(role: str, clothes: Collection[str]) -> bool:
    """Return whether somebody of a role may wear clothes."""
    return role == "clown" or not clothes or {*clothes} <= _ROLE_CLOTHES.get(role, frozenset())


def _may_become(case: EditCase, slot: Presupposition, other: str, constraints: ObjectConstraints) -> bool:
    """Return whether the image probably shows no such person of the other sex."""
    same_sex = _WOMEN if other in FEMALE_NOUNS else _MEN
    words = {*iter_words(case)}
    lemmas = {lemmatize(word) for word in words}
    attributes, related = describe(case, slot)
    # What a person wears or holds tells people apart. Where they are does not.
    looks = {
        name
        for relation, role, name in constraints.relations
        if role == "s"
        and relation.split()[0] in POSSESSIVE_RELATIONS | {"holding", "carrying", "riding"}
        and name
        # "What does the man have around his neck?" does not say what he has.
        and (name.strip("_") or relation.split()[0] not in POSSESSIVE_RELATIONS)
        # "Is the man wearing SHORTS?" asks for them.
        and name != case.program[-1].name
    }
    num_details = len(attributes) + sum(1 + bool(find_attributes_of(case, name)) for name in looks)
    if other in FEMALE_NOUNS and not _BEARDS.isdisjoint(case.sentence.tokens):
        return False
    if _shows_no_faces(case):
        return False
    has_plural = any(lemmatize(word) in same_sex and word not in same_sex for word in words)
    has_generic = not lemmas.isdisjoint(_GENERIC_PEOPLE)
    if lemmas & same_sex:
        beside = frozenset[str]().union(
            *(case.mentions.find_words_beside(name) for name in same_sex & lemmas)
        )
        if get_grammatical_number(slot.word) != "singular":
            return False
        # "What does the man have around his neck?" (a pink scarf): "the scarf of the woman" may answer it, too.
        answered = {
            word for text in case.mentions.find_texts(case.sentence.tokens) for word in text
        } & _list_clothes_words(beside)
        return (
            num_details >= (2 if has_plural or has_generic else 1)
            and beside.isdisjoint(attributes | related)
            and not answered - {*case.sentence.tokens}
        )
    return num_details > 0 or (not has_generic and len(case.mentions.texts) >= MIN_TEXTS)


def _list_clothes_words(words: Collection[str]) -> set[str]:
    return {word for word in words if get_main_kind(word) in CLOTHING_KINDS}


def _shows_no_faces(case: EditCase) -> bool:
    """Return whether a text says that a face cannot be seen. Then readers cannot tell men and women apart."""
    return any(
        "face" in text and text[-1] == "no" and not _SIGHT_WORDS.isdisjoint(text)
        for text in case.mentions.texts
    )


def adapt_pronouns(case: EditCase, slot: Presupposition, new: str) -> tuple[TokenEdit, ...] | None:
    """Return the changes of the pronouns that stand for a replaced person; None if a pronoun may stand for another."""
    sentence = case.sentence
    if get_main_kind(slot.word) not in LIVING_KINDS:
        return ()
    pronouns = [
        index
        for index, token in enumerate(sentence.tokens)
        if index >= slot.span.end_token and token in ("his", "her", "he", "she", "him")
    ]
    if not pronouns:
        return ()
    people = [other for other in case.presuppositions.objects if get_main_kind(other.word) == "person"]
    if len(people) > 1 or get_main_kind(new) != "person":
        return None
    sex = "woman" if new in FEMALE_NOUNS else "man" if new in MALE_NOUNS else ""
    forms = _PRONOUN_FORMS.get(sex, {})
    return tuple((i, forms[sentence.tokens[i]]) for i in pronouns if sentence.tokens[i] in forms)
