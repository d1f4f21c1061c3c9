"""The words with which a reply can name an object, an attribute or a relation: inflections, synonyms and more
general names.

Synonyms and more general names of objects come from WordNet (`language/kinds.tsv`, which the wheel contains).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

FaultKind = Literal["object", "attribute", "relation"]
# The lemmas of the words of a phrase.
Phrase = tuple[str, ...]

NAMES_TABLE = Path(__file__).parent.parent / "language" / "kinds.tsv"
MAX_PHRASE_WORDS = 4
_IRREGULAR_SINGULARS = {
    "men": "man", "women": "woman", "children": "child", "people": "person", "persons": "person", "feet": "foot",
    "teeth": "tooth", "mice": "mouse", "geese": "goose", "oxen": "ox", "policemen": "policeman", "firemen": "fireman",
    "knives": "knife", "leaves": "leaf", "shelves": "shelf", "loaves": "loaf", "halves": "half", "wolves": "wolf",
    "calves": "calf", "scarves": "scarf", "skis": "ski", "taxis": "taxi", "cookies": "cookie", "movies": "movie",
    "buses": "bus", "glasses": "glass", "grey": "gray", "colour": "color", "colours": "color", "colored": "color",
    "coloured": "color", "center": "middle", "centre": "middle",
}  # fmt: skip
_NOT_PLURAL_ENDINGS = ("ss", "us", "is", "news", "lens", "gas", "canvas")
# Further names of everyday objects. All words of a group name the same thing.
_SAME_OBJECTS = """
bike, bicycle, cycle; motorbike, motorcycle, motor bike, motor cycle; child, kid
person, somebody, human, individual; car, automobile, auto; couch, sofa, settee; tv, television, tv set
refrigerator, fridge; phone, telephone, cellphone, cell phone; smartphone, mobile phone, phone
airplane, aeroplane, plane, aircraft, jet; boat, vessel; ship, vessel; boy, lad; girl, lass
bin, trash can, garbage can; sneaker, trainer; pants, trousers; jeans, denims; photo, photograph, picture
eyeglass, spectacle, glass; stove, oven, cooker; mug, cup; rug, carpet; sidewalk, pavement; donut, doughnut
tap, faucet; lorry, truck, pickup; auto rickshaw, rickshaw, tuk tuk; cap, hat; coat, jacket
rucksack, backpack; handbag, purse; bunny, rabbit; hen, chicken; pony, horse; puppy, dog; kitten, cat
bull, cow; cattle, cow; lamb, sheep; street, road; forest, woods; computer, laptop, notebook; stone, rock
bush, shrub; cupboard, cabinet; tshirt, t shirt, shirt; cyclist, bicyclist, biker; guy, man; gentleman, man
lady, woman; spaceship, rocket; hill, mountain; sea, ocean; signboard, sign; table, desk
"""
# Words for the same attribute.
_SAME_ATTRIBUTES = """
wood, wooden, timber; metal, metallic, steel, iron; gray, grayish, silver; blond, blonde, fair
big, large, huge; small, little, tiny; old, elderly, aged; young, youthful; striped, stripy, stripe
checkered, checked, plaid, check; dotted, polka dot, spotted, dot, spot; closed, shut; open, opened
sleeping, asleep, sleep; sitting, seated, sit; standing, stand; lying, lie, laying, lay
round, circular, circle; square, squared; triangular, triangle; octagonal, octagon; rectangular, rectangle
happy, smiling, smile; brick, bricks; glass, glassy; gold, golden; orange, orangish; purple, violet
white, whitish; brown, brownish; red, reddish; blue, bluish; green, greenish; yellow, yellowish
black, blackish, dark haired; pink, pinkish; tall, high; wet, damp; dry, dried; empty, vacant; full, filled
off, switched off, turned off; on, switched on, turned on; curved, bent; blurred, blurry; sharp, crisp
camouflage, camo; plastic, plastics; leather, leathery; stone, rock; beige, tan; male, man, boy
female, woman, girl; clean, spotless; dirty, filthy
"""
# Words for the same relation. The first one is the name of the group.
_SAME_RELATIONS = """
on, on top of, atop, upon, onto; under, underneath, beneath, below, underside
above, over, overhead, higher than; below, under, beneath, underneath, lower than
in front of, before, ahead of, in front; behind, in back of, in the back of, at the back of, back of
to the left of, left of, on the left, left side, to the left, left, leftmost
to the right of, right of, on the right, right side, to the right, right, rightmost
near, next to, beside, by, close to, alongside, adjacent to
next to, beside, near, alongside, by, adjacent to; in, inside, inside of, within, into
outside, outside of, out of; between, in between; around, surrounding
left, left side, leftmost, on the left; right, right side, rightmost, on the right; top, upper, at the top
bottom, lower, at the bottom; middle, center, in the middle; edge, side, border
wear, have on, dress in, put on; hold, carry, grip, grasp, in hand, in her hand, in his hand, in the hand
ride, riding; with, having, has; far from, away from; facing, in front of; attached to, fastened to
"""
# Words that name a type of attribute in general.
_ATTRIBUTE_TYPES = {
    "color": "red blue green yellow orange purple pink brown black white gray silver gold beige tan blond blonde golden violet maroon turquoise teal",
    "material": "wood wooden metal metallic plastic glass leather stone brick paper cotton fabric steel ceramic concrete rubber",
    "size": "large small big little tiny huge tall short long",
    "shape": "round square rectangular oval triangular circular",
    "pattern": "striped checkered dotted plaid floral plain camouflage",
    "age": "old young",
}
_RELATION_GENERAL_NAMES = ("position", "location", "placement", "side", "arrangement")
# Names of any object.
ANY_OBJECT = frozenset({"thing", "object", "item"})


def parse_groups(text: str) -> list[list[Phrase]]:
    """Parse groups of phrases: commas separate phrases, `;` and line ends separate groups."""
    rows = text.replace("\n", ";").split(";")
    return [[to_lemmas(phrase) for phrase in row.split(",")] for row in rows if row.strip()]


@lru_cache(maxsize=1 << 16)
def lemmatize_word(word: str) -> str:
    """Return the singular of a noun, and the base form of an adjective or a verb that has one here.

    >>> [lemmatize_word(word) for word in ("dogs", "boxes", "cherries", "women", "glass", "grey")]
    ['dog', 'box', 'cherry', 'woman', 'glass', 'gray']
    """
    if word in _IRREGULAR_SINGULARS:
        return _IRREGULAR_SINGULARS[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(_NOT_PLURAL_ENDINGS):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("xes", "ches", "shes", "sses", "zes")):
        return word[:-2]
    return word[:-1]


def stem_verb(word: str) -> str:
    """Return a common stem of the forms of a regular verb.

    >>> [stem_verb(word) for word in ("wearing", "wears", "riding", "rides", "holding", "sitting")]
    ['wear', 'wear', 'rid', 'rid', 'hold', 'sit']
    """
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word[: -len(ending)]
            return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "ls" else stem
    return _IRREGULAR_VERBS.get(word, word)


_IRREGULAR_VERBS = {
    "held": "hold",
    "worn": "wear",
    "wore": "wear",
    "ridden": "rid",
    "rode": "rid",
    "sat": "sit",
    "lay": "ly",
}


def to_lemmas(phrase: str) -> Phrase:
    """Return the lemmas of the words of a phrase."""
    return tuple(lemmatize_word(word) for word in phrase.lower().replace("-", " ").replace("'", " ").split())


class WordNetNames(NamedTuple):
    """Names of objects from WordNet.

    Attributes:
        synonyms: Name -> names of the same thing, with the name itself.
        general: Name -> more general names.
        special: Name -> more special names.
    """

    synonyms: Mapping[Phrase, frozenset[Phrase]]
    general: Mapping[Phrase, frozenset[Phrase]]
    special: Mapping[Phrase, frozenset[Phrase]]


@cache
def load_wordnet_names() -> WordNetNames:
    """Load the table of names that also the pipeline uses, with the synonyms of this module."""
    same: dict[Phrase, set[Phrase]] = defaultdict(set)
    general: dict[Phrase, set[Phrase]] = defaultdict(set)
    special: dict[Phrase, set[Phrase]] = defaultdict(set)
    for line in NAMES_TABLE.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        name, synonym_of, kinds = line.split("\t")
        phrase = to_lemmas(name)
        if synonym_of:
            other = to_lemmas(synonym_of)
            same[other] |= {phrase, other}
        for kind in filter(None, kinds.split(",")):
            general[phrase].add(to_lemmas(kind))
            special[to_lemmas(kind)].add(phrase)
    for group in [*same.values()]:
        for phrase in group:
            same[phrase] = same[phrase] | group
    for group in parse_groups(_SAME_OBJECTS):
        for phrase in group:
            same[phrase] = same[phrase] | {*group}
    return WordNetNames(
        *({key: frozenset(value) for key, value in table.items()} for table in (same, general, special))
    )


def is_object_name(lemma: str) -> bool:
    """Return whether a word is the name of an object in the table."""
    names = load_wordnet_names()
    return (lemma,) in names.general or (lemma,) in names.synonyms


class WordForms(NamedTuple):
    """The phrases that name one thing, as lemmas.

    Attributes:
        same: The thing itself: its name and synonyms.
        general: More general names. Who denies that there are animals also denies that there is a dog.
        special: More special names. Who says that there is a poodle also says that there is a dog.
    """

    same: frozenset[Phrase]
    general: frozenset[Phrase] = frozenset()
    special: frozenset[Phrase] = frozenset()


@lru_cache(maxsize=1 << 14)
def find_word_forms(kind: FaultKind, text: str) -> WordForms:
    """Return the phrases that name an object, an attribute or a relation.

    >>> ("sofa",) in find_word_forms("object", "couches").same, ("animal",) in find_word_forms("object", "dog").general
    (True, True)
    >>> ("beneath",) in find_word_forms("relation", "under").same
    True
    """
    phrase = to_lemmas(text)
    if not phrase:
        return WordForms(frozenset())
    if kind == "object":
        return _find_object_forms(phrase)
    if kind == "attribute":
        phrase = tuple(word for word in phrase if word not in ("not", "color", "haired")) or phrase
        same = {
            phrase,
            *(other for group in parse_groups(_SAME_ATTRIBUTES) if phrase in group for other in group),
        }
        types = {(name,) for name, words in _ATTRIBUTE_TYPES.items() if phrase[-1] in words.split()}
        return WordForms(frozenset(same), frozenset(types))
    return _find_relation_forms(phrase)


def _find_object_forms(phrase: Phrase) -> WordForms:
    names = load_wordnet_names()
    # Of a name of several words that the table does not list, the last word names the object.
    listed = phrase if phrase in names.synonyms or phrase in names.general else phrase[-1:]
    same = {phrase, listed, *names.synonyms.get(phrase, ()), *names.synonyms.get(listed, ())}
    general = {above for one in (phrase, listed, *same) for above in names.general.get(one, ())}
    special = {below for one in same for below in names.special.get(one, ())} if len(same) < 20 else set()
    return WordForms(frozenset(same), frozenset(general - same), frozenset(special))


def _find_relation_forms(phrase: Phrase) -> WordForms:
    same = {phrase}
    # In "sitting on", the preposition is the relation. In "wearing", the verb is.
    head = phrase[1:] if len(phrase) > 1 and phrase[0].endswith("ing") else phrase
    stems = {stem_verb(phrase[0])} if len(phrase) == 1 and phrase[0].endswith(("ing", "s")) else set()
    for group in parse_groups(_SAME_RELATIONS):
        if head in group or (len(group[0]) == 1 and group[0][0] in stems):
            same.update(group)
    same.update((head, *((stem,) for stem in stems)))
    return WordForms(frozenset(same), frozenset((name,) for name in _RELATION_GENERAL_NAMES))
