"""Insert an attribute that another question of the same image contradicts (PT-Hard).

"What color is the dog?" (brown) makes "What is the WHITE dog doing?" unanswerable, if all texts of the image speak of
one dog. An attribute is inserted where a question presupposes an object and names no attribute of this type. What is
inserted is a clear contrast to what the texts say of the object, and no text mentions it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.object_table import FEMALE_NOUNS, MALE_NOUNS
from pipeline.candidates.perturbing.plain_attribute_slots import PATTERNS
from pipeline.candidates.perturbing.plain_attributes import (
    OPPOSITE_STATES,
    RARE_STATES,
    is_black_and_white,
    list_contrasting_colors,
)
from pipeline.candidates.perturbing.plain_context import (
    BRIGHT_COLORS,
    CLOTHING_KINDS,
    COAT_COLORS,
    COLOR_NAMES,
    GROUND_KINDS,
    PART_KINDS,
    SCENERY_KINDS,
    is_attribute_word,
    iter_words,
)
from pipeline.candidates.perturbing.plain_materials import list_contrasting_materials
from pipeline.candidates.perturbing.plain_object_slots import AUXILIARIES, list_references, order_object_slots
from pipeline.candidates.perturbing.plain_positions import LYING_WORDS, may_be_under
from pipeline.candidates.perturbing.surface_realization import Swap
from pipeline.language.functional_programs import find_root_step
from pipeline.language.nouns import PLURAL_ONLY_NOUNS, get_grammatical_number, lemmatize
from pipeline.language.object_taxonomy import LIVING_KINDS, get_main_kind
from pipeline.language.presuppositions import Presupposition
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.text_phrases import get_attribute_type
from pipeline.language.word_lists import (
    DEFINITE_DETERMINERS,
    DETERMINERS,
    parse_headed_groups,
    parse_words,
)
from pipeline.verifier.evidence import ObjectEvidence

_NEUTRAL_COLORS = parse_words(
    "black, white, gray, grey, silver, brown, beige, tan, cream, golden, gold, dark, light"
)
_HAIR_CONTRASTS = parse_headed_groups("""
blond, blonde, golden: red, black; black, dark: red, gray, blond; brown, brunette: gray; gray, grey, white, silver: red, black
red, ginger: black, gray
""")
_SPELLINGS = {"blonde": "blond", "grey": "gray"}
# A pose, and poses that nobody confuses with it.
_OTHER_POSES = parse_headed_groups("""
standing: sitting, jumping, sleeping; sitting: standing, running, jumping; lying, laying: standing, running, jumping
walking: sitting, sleeping, jumping; running: sitting, sleeping; jumping: sitting, sleeping; kneeling: jumping, running
sleeping: standing, running, jumping; flying: sleeping, swimming; swimming: sleeping, flying; leaning: jumping, running
grazing: sleeping, jumping; riding: sleeping, kneeling
""")
_POSES = frozenset(_OTHER_POSES)
_ANIMAL_POSES = parse_words("flying, swimming, sleeping")
_EXPRESSIONS = parse_words("smiling, laughing, crying")
# Whether something is full is a matter of degree, so "no" does not say that it is empty.
_BINARY_STATES = parse_words("open, closed, lit, unlit")
_DESCRIBING_CLOTHES = parse_words(
    "shirt, t-shirt, jacket, coat, sweater, hoodie, vest, top, blouse, suit, uniform, jersey, sweatshirt, blazer,"
    "cardigan, dress, gown, skirt, robe, jumpsuit, raincoat, swimsuit, bikini, wetsuit, apron, shorts, hat, cap,"
    "helmet, beanie, hoodie"
)
# "Is the man wearing a hat?", "Does the man have a beard?", "Does the man wear a hat?"
_DENYING_FORMS = frozenset((("is", "wearing"), ("does", "wear"), ("does", "have"), ("has",)))
# What distinguishes a person in any photograph that shows the face.
_ACCESSORIES = parse_words(
    "hat, cap, helmet, beanie, glasses, sunglasses, beard, mustache, tie, scarf, backpack, apron"
)
_WEARING_WORDS = parse_words("wearing, wear, wears, worn, dressed, clothing, clothes, outfit")
_BODY_PARTS_WITH_CLOTHES = parse_words("head, wrist, neck, foot, hand, eye, ear, finger, nose, face, back")
_WEARING_RELATIONS = frozenset(("of", "wearing", "with", "in", "on"))
_GENERIC_PEOPLE = parse_words(
    "person, people, crowd, audience, group, team, family, couple, spectator, passenger"
)
_PRONOUNS = parse_words("he, she, his, her, him, they, their, them, who, it")
_LOOKS_KINDS = CLOTHING_KINDS | {"bodypart"}
# After the noun of a person, these words start a description of the clothes.
_CLOTHES_DESCRIBING_WORDS = frozenset(("in", "wearing", "with", "s", "'s", "dressed"))
# "The other dog", "the LEFT dog": there are several.
_CONTRASTING_WORDS = parse_words(
    "other, another, second, first, third, last, both, two, three, four, five, several, many, all, each, every, left,"
    "right, middle, bigger, smaller, larger, taller, biggest, smallest, largest, tallest, closest, nearest, farthest"
)
_DESCRIBING_WORDS = parse_words(
    "on, in, at, near, with, behind, under, above, below, beside, next, between, around, by, from, that, who, which,"
    "wearing, closest, farthest, nearest"
)


# Objects that have mostly one color, which may be any. Vehicles often have several.
_PAINTED_KINDS = parse_words(
    "baggage, receptacle, seat, tabletop, storage, appliance, light, furniture, handheld, device, linen, drapery, bike,"
    "dish, instrument, board, tool, paper, ball, bathware"
)
# A color is rare, but not absurd, if the proportion of the mentioned colors of such objects lies between these.
MIN_COLOR_RATE, MAX_COLOR_RATE = 0.005, 0.045
# Such objects may be of wood if this proportion of them is called wooden.
MAX_WOODEN_RATE = 0.02
MIN_COLOR_COUNT = 50


def insert_attribute(case: EditCase) -> Swap | None:
    """Insert a color, a material, a state or clothes that the texts of the image contradict."""
    if case.evidence is None:
        return None
    slots = order_object_slots(case)
    living = (slot for slot in list_references(case, slots) if get_main_kind(slot.word) in LIVING_KINDS)
    for slot in (*slots, *living):
        if not _is_definite(case, slot) or not _is_only_one(case, slot.word):
            continue
        for insert in (_insert_color, _insert_material, _insert_state, _insert_clothes, _insert_place):
            if swap := insert(case, slot):
                return swap
    for slot in slots:
        if _is_definite(case, slot) and _is_only_one(case, slot.word):
            return _insert_rare_color(case, slot)
    return None


def _insert_color(case: EditCase, slot: Presupposition) -> Swap | None:
    kind = get_main_kind(slot.word)
    if kind in GROUND_KINDS | SCENERY_KINDS | PART_KINDS or not _may_get(case, slot, "color"):
        return None
    if is_black_and_white(case):
        return None
    if kind == "person":
        return _insert_hair_color(case, slot)
    known = _find_known_values(case, slot.word, "color")
    if kind in CLOTHING_KINDS and len(_list_people(case)) > 1:
        return None
    palette = COAT_COLORS if kind == "animal" else BRIGHT_COLORS
    new = _list_unmentioned(case, list_contrasting_colors(case, slot.word, palette, known)) if known else []
    return _make_swap(case, slot, "color", new)


def _insert_rare_color(case: EditCase, slot: Presupposition) -> Swap | None:
    """Insert a color that few objects of a name have, where nothing is known of the color of the only such object."""
    name, kind = slot.word, get_main_kind(slot.word)
    vocabulary = case.replacements.vocabulary
    entry = vocabulary.objects.get(lemmatize(name))
    if (
        kind not in _PAINTED_KINDS
        or entry is None
        or is_black_and_white(case)
        or not _may_get(case, slot, "color")
    ):
        return None
    if get_grammatical_number(name) != "singular":
        return None
    # An object with a pattern may be called by any of its colors.
    if not {"pattern", "colorful", "flag", *PATTERNS}.isdisjoint(case.mentions.find_words_beside(name)):
        return None
    counts = {
        word: n for word, n in entry.attributes.items() if vocabulary.attribute_types.get(word) == "color"
    }
    total = sum(counts.values())
    known = _find_known_values(case, name, "color")
    colors = _list_unmentioned(case, list_contrasting_colors(case, name, BRIGHT_COLORS, known))
    rates = {color: (counts.get(color, 0) + 0.5) / (total + 0.5) for color in colors}
    # Wood looks orange or yellow.
    wooden = entry.attributes.get("wood", 0) + entry.attributes.get("wooden", 0)
    avoided = {"orange", "yellow"} if wooden > MAX_WOODEN_RATE * entry.count else set[str]()
    rare = {
        color: rate
        for color, rate in rates.items()
        if MIN_COLOR_RATE <= rate <= MAX_COLOR_RATE and color not in avoided
    }
    value = case.replacements.sample_from_weights(("attribute", "color"), "", rare, case.uniforms[0][0])
    return _make_swap(case, slot, "color", [value]) if value and total >= MIN_COLOR_COUNT else None


def _insert_hair_color(case: EditCase, slot: Presupposition) -> Swap | None:
    hair = {
        color
        for owner, part, color in _iter_colored_possessions(case)
        if get_main_kind(part) == "bodypart" and part == "hair" and _is_owner(case, owner, slot.word)
    } | _find_known_values(case, slot.word, "color")
    hair |= {word.removesuffix("haired").rstrip("-") for word in hair if word.endswith("haired")}
    contrasts = [set(_HAIR_CONTRASTS[color]) for color in hair if color in _HAIR_CONTRASTS]
    common = sorted(set.intersection(*contrasts)) if contrasts else []
    mentions_hair = {"hair", "hairstyle", "bald", "beard", "wig"} & {*case.sentence.tokens}
    new = [] if mentions_hair else _list_unmentioned(case, common)
    return _make_swap(case, slot, "color", new, form="{}-haired")


def _insert_material(case: EditCase, slot: Presupposition) -> Swap | None:
    known = _find_known_values(case, slot.word, "material")
    if not known or not _may_get(case, slot, "material") or "made" in case.sentence.tokens:
        return None
    return _make_swap(case, slot, "material", list_contrasting_materials(case, slot.word, known))


def _insert_state(case: EditCase, slot: Presupposition) -> Swap | None:
    tokens, words = {*case.sentence.tokens}, {*iter_words(case)}
    kind = get_main_kind(slot.word)
    states, denied = set[str](), set[str]()
    for obj in _find_objects(case, slot.word):
        states.update(obj.attributes)
        denied.update(obj.negated_attributes)
    opposites = RARE_STATES.get(kind, {}) | OPPOSITE_STATES
    new = [opposites[state] for state in states if state in opposites and opposites[state] not in words]
    if kind in LIVING_KINDS:
        if not any(token.endswith("ing") for token in tokens):
            new += _list_other_poses(case, slot.word, denied)
        if _EXPRESSIONS.isdisjoint(tokens):
            new += sorted(denied & _EXPRESSIONS)
    else:
        new += sorted(denied & _BINARY_STATES)
    is_asked = not (tokens & {*states, *denied, *new}).isdisjoint({*states, *denied, *new})
    return None if is_asked else _make_swap(case, slot, "state", sorted(set(new) - states))


def _list_other_poses(case: EditCase, name: str, denied: Collection[str]) -> list[str]:
    """Return poses that somebody does not have, by what the texts say they do: "What is the woman SITTING on?"."""
    known = {state for obj in _find_objects(case, name) for state in obj.attributes if state in _POSES}
    for text, index in _iter_mentions(case, name.split()[-1]):
        if text[-1] == "no" or "or" in text:
            continue
        follows = text[index + 1 : index + 2]
        if follows == ("doing",):
            known |= {*text[index + 2 :]} & _POSES
        known |= {*follows} & _POSES
    contrasts = [{*_OTHER_POSES[pose]} for pose in known]
    new = {*denied} & _POSES | (set.intersection(*contrasts) if contrasts else set())
    kind = get_main_kind(name)
    # Nobody asks for the flying man or for the kneeling dog, and a lying man is taken for a liar.
    # Of birds, one says that they sit where they stand.
    unsuitable = {"lying", *(_ANIMAL_POSES - {"sleeping"} if kind == "person" else {"kneeling", "sitting"})}
    return sorted(new - known - unsuitable - {*iter_words(case)} | ({*denied} & _POSES - known))


def _insert_clothes(case: EditCase, slot: Presupposition) -> Swap | None:
    """Insert "in the RED sweater" after a person whose sweater is gray."""
    sentence = case.sentence
    tokens = {lemmatize(token) for token in sentence.tokens}
    if get_main_kind(slot.word) != "person" or is_black_and_white(case):
        return None
    if sentence.get_token(slot.span.end_token) in _CLOTHES_DESCRIBING_WORDS:
        return None
    if not _WEARING_WORDS.isdisjoint(sentence.tokens) and _BODY_PARTS_WITH_CLOTHES.isdisjoint(tokens):
        return None
    if denied := [name for name in _iter_denied_clothes(case, slot.word) if name not in tokens]:
        name = case.replacements.sample_from_weights(
            ("attribute", "clothes"), "", dict.fromkeys(denied, 1.0), case.uniforms[0][0]
        )
        if name:
            return _append(case, slot, f"with {'' if name in PLURAL_ONLY_NOUNS else 'the '}{name}", name)
    clothes: dict[str, set[str]] = {}
    for owner, name, color in _iter_colored_possessions(case):
        if name in _DESCRIBING_CLOTHES and name not in tokens and _is_owner(case, owner, slot.word):
            clothes.setdefault(name, set()).add(color)
    for name, values in sorted(clothes.items()):
        old = _split_colors(values)
        new = _list_unmentioned(case, list_contrasting_colors(case, name, BRIGHT_COLORS, old)) if old else []
        color = case.replacements.sample_from_weights(
            ("attribute", "color"), "", dict.fromkeys(new, 1.0), case.uniforms[0][0]
        )
        if color:
            return _append(case, slot, f"in the {color} {name}", color)
    return None


def _append(case: EditCase, slot: Presupposition, description: str, new: str) -> Swap:
    """Return the insertion of a description after a noun."""
    last = slot.span.end_token - 1
    span = case.sentence.make_span(last, last + 1)
    attribute = Presupposition("attribute", -1, 0, span, new, type="color")
    return Swap(attribute, new, f"{case.sentence.get_text(span)} {description}")


def _iter_denied_clothes(case: EditCase, name: str) -> Iterator[str]:
    """Yield what a person does not wear: "Is the woman wearing glasses?" (no)."""
    for text in case.mentions.texts:
        if text[-1:] != ("no",) or text[1:2] != ("the",) or text[2:3] != (name,):
            continue
        rest = [word for word in text[3:-1] if word not in DETERMINERS and not is_attribute_word(word)]
        if (text[0], *rest[:-1]) in _DENYING_FORMS and rest[-1] in _ACCESSORIES:
            yield rest[-1]


def _insert_place(case: EditCase, slot: Presupposition) -> Swap | None:
    """Insert "UNDER THE TABLE" after something that lies on a table."""
    evidence, after = case.evidence, case.sentence.get_token(slot.span.end_token)
    tokens = case.sentence.tokens
    if evidence is None or after in _DESCRIBING_WORDS | {"'s"} or "where" in tokens:
        return None
    by_id = {obj.object_id: obj for obj in evidence.objects}
    kind = get_main_kind(slot.word)
    for subject, relation, object_ in sorted(evidence.relations):
        carrier = by_id[object_].names[0] if object_ in by_id and by_id[object_].names else ""
        lies = relation in ("on", "on top of") or relation.split()[0] in LYING_WORDS
        may_lie_under = may_be_under(kind, get_main_kind(carrier)) or (
            kind == "animal" and get_main_kind(carrier) in ("tabletop", "seat")
        )
        its = by_id.get(subject)
        is_it = its and its.names and evidence.evaluate_name(its, slot.word)
        if lies and may_lie_under and is_it and carrier not in tokens and _is_only_one(case, carrier):
            return _append(case, slot, f"under the {carrier}", "under")
    return None


def _make_swap(
    case: EditCase, slot: Presupposition, type_: str, new: Iterable[str], form: str = "{}"
) -> Swap | None:
    """Return the insertion of an attribute before a noun, after its other adjectives and before its material."""
    sentence = case.sentence
    value = case.replacements.sample_from_weights(
        ("attribute", type_), "", dict.fromkeys(new, 1.0), case.uniforms[0][0]
    )
    if not value:
        return None
    index = slot.span.first_token
    while index - 1 > slot.phrase_start and get_attribute_type(sentence.tokens[index - 1]) in (
        "material",
        "pattern",
    ):
        index -= 1
    span = sentence.make_span(index, index + 1)
    attribute = Presupposition("attribute", -1, 0, span, value, type=type_)
    text = form.format({"wood": "wooden"}.get(value, value))
    return Swap(attribute, value, f"{text} {sentence.get_text(span)}")


def _is_definite(case: EditCase, slot: Presupposition) -> bool:
    sentence = case.sentence
    start = sentence.get_token(slot.phrase_start)
    return not slot.is_query_only and (
        start == "'s" or (start in DEFINITE_DETERMINERS and slot.phrase_start < slot.span.first_token)
    )


def _may_get(case: EditCase, slot: Presupposition, type_: str) -> bool:
    """Return whether a question neither asks for an attribute of a type nor states one."""
    program, tokens = case.program, case.sentence.tokens
    stated = tokens[slot.phrase_start : slot.span.end_token]
    if any(
        get_attribute_type(token) == type_ or (type_ == "color" and token in COLOR_NAMES) for token in stated
    ):
        return False
    if slot.step < 0 or not program:
        return type_ not in tokens and "colour" not in tokens
    last = program[-1]
    is_asked = bool(last.inputs) and find_root_step(program, last.inputs[0]) == slot.step
    return not (is_asked and (last.type == type_ or any(get_attribute_type(v) == type_ for v in last.values)))


def _is_only_one(case: EditCase, name: str) -> bool:
    """Return whether the texts speak of one object of a name, and call it by this name alone at least once."""
    words = name.split()
    is_person = get_main_kind(name) == "person"
    if case.mentions.is_counted_once(lemmatize(name)):
        return True
    is_alone = False
    descriptions = set[str]()
    for text, index in _iter_mentions(case, words[-1]):
        first = index - len(words) + 1
        if list(text[max(first, 0) : index + 1]) != words:
            return False
        before, after = ("", *text)[first], (*text, "")[index + 1]
        described = _list_adjectives(text, first)
        if not _CONTRASTING_WORDS.isdisjoint((before, *described)):
            return False
        # "The coffee table" may be another one than "the table", but people have few names of two words.
        is_known = (
            before in DETERMINERS | {"s", "of", ""}
            or is_attribute_word(before)
            or before in _PREPOSITION_WORDS
        )
        if not (is_known or described or is_person):
            return False
        # In "Is the woman SITTING?", the verb does not describe her.
        asks = first >= 2 and text[first - 2] in AUXILIARIES
        is_described = after in _DESCRIBING_WORDS or (after.endswith("ing") and not asks)
        is_alone |= before in DEFINITE_DETERMINERS and not is_described
        if is_described and after in _CLOTHES_DESCRIBING_WORDS:
            looks = (word for word in text[index + 2 : index + 6] if get_main_kind(word) in _LOOKS_KINDS)
            descriptions.update([*looks][:1])
    if case.mentions.may_be_several(name) or not is_alone or len(descriptions) > 1:
        return False
    return not is_person or _is_only_person(case, name)


_PREPOSITION_WORDS = frozenset(phrase.split()[-1] for phrase in PREPOSITIONS)


def _is_only_person(case: EditCase, name: str) -> bool:
    """Return whether the texts speak of nobody else who may be called by a name."""
    others = _list_people(case) - {lemmatize(name)}
    if others & _GENERIC_PEOPLE and not case.mentions.is_counted_once("person"):
        return False
    opposite = MALE_NOUNS if name in FEMALE_NOUNS else FEMALE_NOUNS if name in MALE_NOUNS else frozenset()
    return others - _GENERIC_PEOPLE <= opposite


def _list_people(case: EditCase) -> set[str]:
    """Return the names of people in the texts, in the singular."""
    names = {word for word in iter_words(case) if get_main_kind(word) == "person"}
    return {lemmatize(word) for word in names - _PRONOUNS - COLOR_NAMES}


def _iter_mentions(case: EditCase, head: str) -> Iterator[tuple[Sequence[str], int]]:
    lemma = lemmatize(head)
    for text in case.mentions.texts:
        for index, word in enumerate(text):
            if word == head or lemmatize(word) == lemma:
                yield text, index


def _list_adjectives(text: Sequence[str], first: int) -> list[str]:
    """Return the attributes before a token: "red" and "large" of "the large red car"."""
    words: list[str] = []
    index = first - 1
    while index >= 0 and (is_attribute_word(text[index]) or text[index] == "and"):
        words.append(text[index])
        index -= 1
    return words


def _find_objects(case: EditCase, name: str) -> list[ObjectEvidence]:
    evidence = case.evidence
    return (
        [obj for obj in evidence.objects if obj.names and evidence.evaluate_name(obj, name)]
        if evidence
        else []
    )


def _find_known_values(case: EditCase, name: str, type_: str) -> set[str]:
    """Return the words of what the texts say of the color (or another type) of an object; none if they disagree."""
    values = [
        frozenset(_split_colors((value,)) if type_ == "color" else (value,))
        for obj in _find_objects(case, name)
        for value, its_type in obj.attributes.items()
        if its_type == type_ or (type_ == "color" and _split_colors((value,)) and value in COLOR_NAMES)
    ]
    values += [
        frozenset(stated)
        for text, index in _iter_mentions(case, name.split()[-1])
        if (
            stated := {
                _SPELLINGS.get(word, word)
                for word in _list_adjectives(text, index)
                if (get_attribute_type(word) == type_ or (type_ == "color" and word in COLOR_NAMES))
            }
        )
    ]
    if any(one.isdisjoint(other) for one in values for other in values):
        return set()
    return {word for value in values for word in value}


def _split_colors(values: Iterable[str]) -> set[str]:
    """Return the words of colors; none if a word for a color is not known: "brown" and "white" of "brown and white"."""
    words = {_SPELLINGS.get(word, word) for value in values for word in value.replace("-", " ").split()}
    return words if words & (COLOR_NAMES | _NEUTRAL_COLORS) else set()


def _iter_colored_possessions(case: EditCase) -> Iterator[tuple[str, str, str]]:
    """Yield clothes and hair with a known color, after the name of their owner ("" if the texts do not say whose they are)."""
    evidence = case.evidence
    if evidence is None:
        return
    by_id = {obj.object_id: obj for obj in evidence.objects}
    for obj in evidence.objects:
        colors = [value for value, type_ in obj.attributes.items() if type_ == "color"]
        if not (colors and obj.names and get_main_kind(obj.names[0]) in CLOTHING_KINDS | {"bodypart"}):
            continue
        owners = [
            name
            for subject, relation, object_ in sorted(evidence.relations)
            if relation in _WEARING_RELATIONS and obj.object_id in (subject, object_)
            for other in ({subject, object_} - {obj.object_id})
            for name in (by_id[other].names[:1] if other in by_id else ())
            if get_main_kind(name) == "person"
        ]
        for color in colors:
            for owner in owners or [""]:
                yield owner, obj.names[0], color
    # What an answer says has no program: "What is the man wearing?" (a blue jacket).
    for text in case.mentions.texts:
        people = sorted(
            {lemmatize(word) for word in text if get_main_kind(word) == "person"} - _PRONOUNS - COLOR_NAMES
        )
        for index, word in enumerate(text):
            name = lemmatize(word)
            if len(people) < 2 and (name in _DESCRIBING_CLOTHES or name == "hair"):
                for color in _list_adjectives(text, index):
                    if color in COLOR_NAMES:
                        yield (*people, "")[0], name, color


def _is_owner(case: EditCase, owner: str, name: str) -> bool:
    """Return whether something belongs to the person of a name. Without an owner, it does if nobody else is there."""
    return owner == lemmatize(name) or (not owner and _list_people(case) == {lemmatize(name)})


def _list_unmentioned(case: EditCase, colors: Iterable[str]) -> list[str]:
    words = {*iter_words(case)}
    return [
        color
        for color in colors
        if words.isdisjoint((color, *({"blonde"} if color == "blond" else ())))
        and get_grammatical_number(color) != "plural"
    ]
