"""Inflect nouns, and make determiners and verbs agree with the grammatical number of a noun."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from pipeline.language.word_lists import DETERMINERS, parse_groups, parse_words

if TYPE_CHECKING:
    import inflect

GrammaticalNumber = Literal["singular", "plural", "mass"]


# Plural nouns without a singular of the same meaning.
PLURAL_ONLY_NOUNS = parse_words("""
glasses, sunglasses, eyeglasses, goggles, binoculars, scissors, tongs, pliers, pants, trousers, jeans, shorts,
slacks, leggings, tights, pajamas, overalls, trunks, sweatpants, khakis, clothes, headphones, earphones, earbuds,
bleachers, people, cattle, stairs, groceries, ruins
""")
# Mass nouns, which have neither an article "a" nor a plural: neither "a grass" nor "two grasses" is correct.
MASS_NOUNS = parse_words("""
grass, water, snow, sand, dirt, mud, ice, hair, fur, furniture, clothing, food, meat, bread, cheese, rice, pasta,
lettuce, bacon, ham, chicken, beef, pork, broccoli, spinach, butter, cream, frosting, icing, chocolate, sauce,
ketchup, mustard, mayonnaise, soup, broth, milk, coffee, tea, juice, wine, beer, soda, sugar, salt, pepper, syrup,
honey, jelly, cereal, oatmeal, popcorn, candy, fruit salad, seafood, produce, corn, cabbage, celery, garlic,
parsley, basil, cilantro, tableware, silverware, cookware, glassware, dishware, jewelry, luggage, equipment,
machinery, gear, graffiti, foam, seaweed, moss, ivy, foliage, vegetation, shrubbery, underbrush, hay, straw, gravel,
concrete, pavement, asphalt, cement, brick, wood, metal, plastic, leather, paper, toilet paper, cardboard, cloth,
fabric, smoke, steam, fog, dust, sky, trash, garbage, litter, soap, toothpaste, lotion, makeup, money, traffic,
wildlife, countryside, ground, land, wheat, lace, tape, foil, plastic wrap, signage, lighting, writing, text,
sunlight, skin, cotton, wool, rubber, snowfall, rain, tennis
""")
# Nouns whose plural equals the singular, although `inflect` returns another plural.
_INVARIANT_NOUNS = parse_words("bison, elk, shrimp")
_NON_PLURAL_ENDINGS = ("ss", "us", "is", "lens", "news", "canvas", "gas", "christmas", "atlas")
_PLURAL_ENDINGS = ("s", "men", "children", "feet", "teeth", "mice", "geese", "oxen")
_IRREGULAR_SINGULARS = {"skis": "ski", "taxis": "taxi", "cacti": "cactus", "octopi": "octopus"}

_AGREEMENT_TABLE = """
is, are; was, were; has, have; does, do; isn, aren; looks, look; appears, appear; seems, seem; wears, wear
holds, hold; sits, sit; stands, stand
"""
_PLURAL_VERB_BY_SINGULAR = dict(parse_groups(_AGREEMENT_TABLE)) | {"'s": " are"}
_SINGULAR_VERB_BY_PLURAL = {
    plural: singular for singular, plural in _PLURAL_VERB_BY_SINGULAR.items() if singular != "'s"
}
AGREEING_VERBS = _PLURAL_VERB_BY_SINGULAR.keys() | _SINGULAR_VERB_BY_PLURAL.keys()
# Verbs that do not agree with their subject after "do" or "can" ("Does it look red?").
BASE_FORM_VERBS = parse_words("look, appear, seem, wear, hold, sit, stand, have, share")
# Verbs that may stand before their subject.
_INVERTIBLE_VERBS = parse_words("is, are, was, were, does, do, isn, aren, 's")
_RELATIVE_PRONOUNS = parse_words("that, which, who")
_QUESTION_WORDS = parse_words("what, which, who, where, how")
_PLURAL_DEMONSTRATIVES = {"this": "these", "that": "those"}
_SINGULAR_DETERMINERS = parse_words("a, an, each, every, another, either, one")
_PLURAL_DETERMINERS = parse_words("all, both, two, three, several, many")

# The index of a token, and the text that replaces the token ("" deletes it).
TokenEdit = tuple[int, str]


@lru_cache(maxsize=1)
def _load_inflect() -> inflect.engine:
    # inflect is imported here, because it loads slowly and not every stage that uses this module needs it.
    import typeguard

    # inflect adds type checks to its own functions, which take three quarters of its loading time.
    kept, typeguard.typechecked = typeguard.typechecked, lambda function: function
    try:
        import inflect
    finally:
        typeguard.typechecked = kept
    return inflect.engine()


@lru_cache(maxsize=1 << 16)
def singularize(name: str) -> str:
    """Return the singular of a name. A name without a singular is returned unchanged.

    >>> singularize("shelves"), singularize("jeans"), singularize("grass")
    ('shelf', 'jeans', 'grass')
    """
    head, space, word = name.rpartition(" ")
    if word in _IRREGULAR_SINGULARS:
        return head + space + _IRREGULAR_SINGULARS[word]
    plural_like = word.endswith(_PLURAL_ENDINGS) and not word.endswith(_NON_PLURAL_ENDINGS)
    if not plural_like or _is_plural_only(name) or word in MASS_NOUNS or word in _INVARIANT_NOUNS:
        return name
    return head + space + (_load_inflect().singular_noun(word) or word)


@lru_cache(maxsize=1 << 16)
def lemmatize(name: str) -> str:
    """Return the form under which a name is looked up: its singular, and "person" for "people".

    >>> lemmatize("teddy bears"), lemmatize("people"), lemmatize("jeans")
    ('teddy bear', 'person', 'jeans')
    """
    head, space, word = name.strip().rpartition(" ")
    return f"{head}{space}person" if word == "people" else singularize(name.strip())


@lru_cache(maxsize=1 << 16)
def pluralize(name: str) -> str:
    """Return the plural of a name. Plural names and mass nouns are returned unchanged.

    >>> pluralize("teddy bear"), pluralize("grass")
    ('teddy bears', 'grass')
    """
    if get_grammatical_number(name) != "singular":
        return name
    head, space, word = name.rpartition(" ")
    return head + space + (word if word in _INVARIANT_NOUNS else _load_inflect().plural_noun(word))


@lru_cache(maxsize=1 << 16)
def get_grammatical_number(name: str) -> GrammaticalNumber:
    """Return whether a name is plural ("jeans", "trees"), a mass noun ("grass") or singular.

    >>> get_grammatical_number("kites"), get_grammatical_number("sea foam"), get_grammatical_number("glass")
    ('plural', 'mass', 'singular')
    """
    word = name.rpartition(" ")[2]
    if name in MASS_NOUNS or (
        word in MASS_NOUNS and " " in name and word not in ("brick", "glass", "paper", "pepper")
    ):
        return "mass"
    return "plural" if _is_plural_only(name) or singularize(name) != name else "singular"


def _is_plural_only(name: str) -> bool:
    # "Wine glasses" has a singular, but "glasses" (spectacles) has none.
    return name in PLURAL_ONLY_NOUNS or name.rpartition(" ")[2] in PLURAL_ONLY_NOUNS - {"glasses"}


@lru_cache(maxsize=1 << 16)
def choose_article(word: str) -> str:
    """Return "a" or "an", depending on the first sound of a word.

    >>> choose_article("uniform"), choose_article("hour")
    ('a', 'an')
    """
    return _load_inflect().a(word).partition(" ")[0]


def compute_agreement_edits(
    tokens: Sequence[str],
    start: int,
    head: int,
    old_number: GrammaticalNumber,
    new_number: GrammaticalNumber,
    in_phrase: bool,
) -> list[TokenEdit] | None:
    """Return the changes of determiners and verbs that are required if the grammatical number of a noun
    changes.

    Args:
        tokens: The tokens of the question in lower case.
        start: Index of the first token of the noun's phrase.
        head: Index of the last token of the noun.
        old_number: The grammatical number of the noun before the change.
        new_number: The grammatical number of the noun after the change.
        in_phrase: Whether the noun stands after a preposition or verb, so that a verb after the noun has
            another subject.

    Returns:
        The edits; None if it is not certain what has to change.

    >>> tokens = "what color is this cup".split()
    >>> compute_agreement_edits(tokens, 3, 4, "singular", "plural", False)
    [(3, 'these'), (2, 'are')]
    """
    determiner = tokens[start] if tokens[start] in DETERMINERS or tokens[start] == "'s" else ""
    changes: list[TokenEdit] = []
    if new_number != "singular" and determiner in _SINGULAR_DETERMINERS:
        if determiner not in ("a", "an"):
            return None
        changes.append((start, ""))
    bare = not determiner and old_number != "singular"
    if (new_number != "plural" and determiner in _PLURAL_DETERMINERS) or (new_number == "singular" and bare):
        return None
    if "plural" not in (old_number, new_number) or old_number == new_number:
        return changes
    before, after = tokens[start - 1 : start], tokens[head + 1 : head + 2]
    joined = {"and", "or"} & {*before, *after} or "both" in tokens
    if joined or determiner == "'s" or "'s" in after:
        return None
    demonstratives = (
        _PLURAL_DEMONSTRATIVES
        if new_number == "plural"
        else {plural: singular for singular, plural in _PLURAL_DEMONSTRATIVES.items()}
    )
    if determiner in demonstratives:
        changes.append((start, demonstratives[determiner]))
    governed = _find_governed_verbs(tokens, start, head, in_phrase)
    for index in _find_finite_verbs(tokens):
        if index in governed:
            forms = _PLURAL_VERB_BY_SINGULAR if new_number == "plural" else _SINGULAR_VERB_BY_PLURAL
            if tokens[index] in forms:
                changes.append((index, forms[tokens[index]]))
        elif not _has_other_subject(tokens, index):
            return None
    return changes


def _find_finite_verbs(tokens: Sequence[str]) -> list[int]:
    """Return the indices of the tokens that are verbs and agree with a subject."""
    verbs, helped = [], False
    for index, token in enumerate(tokens):
        if token in ("do", "does") and tokens[index + 1 : index + 2] == ("you",):
            continue
        if token in AGREEING_VERBS and not (helped and token in BASE_FORM_VERBS):
            verbs.append(index)
        helped = helped or token in ("do", "does", "can", "could")
    return verbs


def _find_governed_verbs(tokens: Sequence[str], start: int, head: int, in_phrase: bool) -> set[int]:
    """Return the indices of the tokens where a verb, if there is one, has the noun as its subject."""
    governed = set() if in_phrase else {head + 1}
    if start > 0 and tokens[start - 1] in _INVERTIBLE_VERBS:
        governed.add(start - 1)
    if not _RELATIVE_PRONOUNS.isdisjoint(tokens[head + 1 : head + 2]):
        governed.add(head + 2)
    return governed


def _has_other_subject(tokens: Sequence[str], index: int) -> bool:
    """Return whether a verb certainly has another subject: a noun after the verb, or the question word before
    it.
    """
    after = tokens[index + 1 : index + 2]
    return bool(after and (after[0] in DETERMINERS or after[0] == "there")) or (
        index > 0 and tokens[index - 1] in _QUESTION_WORDS
    )
