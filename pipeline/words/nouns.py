"""Forms of nouns: number, plural, singular, the article before a word. Each word is worked out once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from pipeline.words.word_tables import words

if TYPE_CHECKING:
    import inflect

Number = Literal["singular", "plural", "mass"]


# Plural without a singular of the same meaning.
PLURAL_ONLY = words("""
glasses, sunglasses, eyeglasses, goggles, binoculars, scissors, tongs, pliers, pants, trousers, jeans,
shorts, slacks, leggings, tights, pajamas, overalls, trunks, sweatpants, khakis, clothes, headphones,
earphones, earbuds, bleachers, people, cattle, stairs, groceries, ruins
""")
# One wears two of them.
PAIRED = words("""
shoe, boot, sock, glove, mitten, sandal, sneaker, slipper, ski, skate, roller skate, earring, flip flop, heel, cleat,
stocking, knee pad, hiking boot, rain boot, tennis shoe, athletic shoe, high heel
""")
# Neither "a grass" nor "two grasses".
MASS = words("""
grass, water, snow, sand, dirt, mud, ice, hair, fur, furniture, clothing, food, fast food, meat, bread,
cheese, rice, pasta, lettuce, bacon, ham, chicken, beef, pork, broccoli, spinach, butter, cream, frosting,
icing, chocolate, sauce, ketchup, mustard, mayonnaise, soup, broth, milk, coffee, tea, juice, wine, beer,
soda, sugar, salt, pepper, syrup, honey, jelly, cereal, oatmeal, popcorn, candy, fruit salad, sour cream,
ice cream, seafood, produce, corn, cabbage, celery, garlic, parsley, basil, cilantro, tableware,
silverware, cookware, glassware, dishware, jewelry, luggage, equipment, machinery, gear, graffiti, foam,
sea foam, seaweed, moss, ivy, foliage, vegetation, shrubbery, underbrush, hay, straw, gravel, concrete,
pavement, asphalt, cement, brick, wood, metal, plastic, leather, paper, toilet paper, cardboard, cloth,
fabric, smoke, steam, fog, dust, sky, trash, garbage, litter, soap, toothpaste, lotion, makeup, money,
traffic, wildlife, countryside, ground, land, wheat, lace, tape, foil, plastic wrap, aluminum foil,
signage, lighting, writing, text, sunlight, skin, facial hair, cotton, wool, rubber, snowfall, rain,
tennis
""")
_INVARIANT = words("""
sheep, fish, deer, moose, bison, elk, aircraft, series, species, salmon, trout, shrimp
""")
_NOT_PLURAL = ("ss", "us", "is", "lens", "news", "canvas", "gas", "christmas", "atlas")
_PLURAL_ENDINGS = ("s", "men", "children", "feet", "teeth", "mice", "geese", "oxen")
_IRREGULAR = {"skis": "ski", "taxis": "taxi", "cacti": "cactus", "octopi": "octopus"}


@lru_cache(maxsize=1)
def _inflect() -> inflect.engine:
    import inflect  # slow to load, and not needed by every stage that asks for a number

    return inflect.engine()


@lru_cache(maxsize=1 << 16)
def singular(name: str) -> str:
    """`traffic lights` -> `traffic light`; a name that has no singular stays.

    >>> singular("shelves"), singular("jeans"), singular("grass")
    ('shelf', 'jeans', 'grass')
    """
    head, space, word = name.rpartition(" ")
    if word in _IRREGULAR:
        return head + space + _IRREGULAR[word]
    if (
        (word in PLURAL_ONLY and (name == word or word != "glasses"))
        or word in MASS
        or word in _INVARIANT
        or word.endswith(_NOT_PLURAL)
        or not word.endswith(_PLURAL_ENDINGS)
    ):
        return name
    return head + space + (_inflect().singular_noun(word) or word)


@lru_cache(maxsize=1 << 16)
def lemma(name: str) -> str:
    """The form under which a name is looked up: the singular, "person" for "people", which `singular` leaves as it is.

    >>> lemma("teddy bears"), lemma("people"), lemma("jeans")
    ('teddy bear', 'person', 'jeans')
    """
    head, space, word = name.strip().rpartition(" ")
    return f"{head}{space}person" if word == "people" else singular(name.strip())


@lru_cache(maxsize=1 << 16)
def plural(name: str) -> str:
    """`teddy bear` -> `teddy bears`; plural and mass names stay."""
    if number_of(name) != "singular":
        return name
    head, space, word = name.rpartition(" ")
    return head + space + (word if word in _INVARIANT else _inflect().plural_noun(word))


@lru_cache(maxsize=1 << 16)
def number_of(name: str) -> Number:
    """Whether the name itself is plural ("jeans", "trees"), mass ("grass") or neither.

    >>> number_of("kites"), number_of("sea foam"), number_of("glass")
    ('plural', 'mass', 'singular')
    """
    word = name.rpartition(" ")[2]
    if name in MASS or (word in MASS and " " in name and word not in ("brick", "glass", "paper", "pepper")):
        return "mass"
    return (
        "plural"
        if name in PLURAL_ONLY or word in PLURAL_ONLY - {"glasses"} or singular(name) != name
        else "singular"
    )


@lru_cache(maxsize=1 << 16)
def article(word: str) -> str:
    """`a` or `an`, by the sound with which the word begins."""
    return _inflect().a(word).partition(" ")[0]
