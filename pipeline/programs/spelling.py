"""How the words of a program may be said in a question, longest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import permutations

from pipeline.programs.sentence import TOKEN, Form
from pipeline.words.nouns import plural, singular
from pipeline.words.word_tables import heads, words

# program: also said. As seen in GQA's questions, whose annotations tell the rest.
_NAMES = heads("""
pants: trousers; phone: telephone; countertop: counter; couch: sofa; faucet: tap; refrigerator: fridge
trash can: garbage can, garbage bin; airplane: plane, aeroplane; bicycle: bike; motorcycle: motorbike, bike
television: tv; cell phone: cellphone; man: guy, gentleman; woman: lady; person: people; child: kid
wristband: wrist band
""")
_ATTRIBUTES = heads("""
wood: wooden; metal: metallic; blond: blonde; large: big; sitting: sitting-down, sitting down
caucasian: white; middle: center, centre; gray: grey; on: turned on; off: turned off
""")
# "a piece of furniture", "the clothing items": said of one, or some, of what cannot be counted.
_PORTIONS = words("""
piece of {}, pieces of {}, item of {}, items of {}, {} item, {} items, article of {}, articles of {}
""")


@lru_cache(maxsize=1 << 16)
def name_forms(name: str) -> tuple[Form, ...]:
    """The forms of an object's or category's name: singular, plural, other words, portions."""
    stems = {name, plural(name), singular(name)}
    for said in _NAMES.get(singular(name), ()) + _NAMES.get(name, ()):
        stems |= {said, plural(said)}
    return _tokens(stems | {portion.format(name) for portion in _PORTIONS})


@lru_cache(maxsize=1 << 14)
def attribute_forms(value: str) -> tuple[Form, ...]:
    """The forms of an attribute: wood, wooden."""
    return _tokens({value, *_ATTRIBUTES.get(value, ())})


@lru_cache(maxsize=1 << 12)
def relation_forms(relation: str) -> tuple[Form, ...]:
    """The forms of a spatial relation: GQA also writes "behind of"; "left of" is short for "to the left
    of"."""
    if relation in ("on", "in"):
        return _tokens({relation})
    return _tokens({relation, f"{relation} of", relation.removeprefix("to the ")})


def choice_forms(relations: Sequence[str]) -> tuple[Form, ...]:
    """The forms of a choice between relations: "to the left or to the right of", "in front of or behind"."""
    pairs = permutations(relations, 2)
    return _tokens(
        f"{said} or {second}" for first, second in pairs for said in (first, first.removesuffix(" of"))
    )


def _tokens(forms: Iterable[str]) -> tuple[Form, ...]:
    parted = (tuple(match[0].lower() for match in TOKEN.finditer(form)) for form in forms)
    return tuple(sorted(parted, key=lambda form: (-len(form), form)))
