"""Where the steps of a program stand in the question's text.

A program says `select: trash can (20)`, the text "the garbage can": GQA's annotations, which tie words to object
ids, bridge that. Where they are silent or name an object twice, the order in which English puts a program's names
decides: "the cup on the table" is `select table, relate cup`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from pipeline.core.records import Word
from pipeline.judge.programs import Operation
from pipeline.language.frames import DETERMINERS, FRAME_NOUNS, PRONOUNS
from pipeline.language.nouns import plural, singular
from pipeline.language.relations import spatial

_TOKEN = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*|'s|[^\sA-Za-z0-9]")

# Names as programs write them and as questions say them, besides their own spelling.
SAID_NAMES: dict[str, tuple[str, ...]] = {
    "pants": ("trousers",), "phone": ("telephone",), "countertop": ("counter",), "couch": ("sofa",), "faucet": ("tap",),
    "refrigerator": ("fridge",), "trash can": ("garbage can", "garbage bin"), "airplane": ("plane", "aeroplane"),
    "bicycle": ("bike",), "motorcycle": ("motorbike", "bike"), "television": ("tv",), "cell phone": ("cellphone",),
    "man": ("guy", "gentleman"), "woman": ("lady",), "person": ("people",), "child": ("kid",), "wristband": ("wrist band",),
}
SAID_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "wood": ("wooden",), "metal": ("metallic",), "blond": ("blonde",), "large": ("big",), "sitting": ("sitting-down", "sitting down"),
    "caucasian": ("white",), "middle": ("center", "centre"), "gray": ("grey",), "on": ("turned on",), "off": ("turned off",),
}
# "a piece of furniture", "the clothing items": said of one, or some, of what cannot be counted.
_PORTIONS = ("piece of {}", "pieces of {}", "item of {}", "items of {}", "{} item", "{} items", "{} piece", "{} pieces")


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens [first, last) of a text, characters [start, end)."""

    first: int
    last: int
    start: int
    end: int


@dataclass(slots=True)
class Aligned:
    """A question's text with its program.

    Attributes:
        tokens: lower-case words and signs; places: their characters [start, end).
        taken: which tokens belong to a name or value that was found.
        tags: token -> its word class and tag, as far as the text was tagged.
        names: step -> where the thing it names stands. values: (step, i) -> where its i-th value stands.
    """

    text: str
    tokens: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    taken: list[bool]
    tags: dict[int, Word] = field(default_factory=dict)
    names: dict[int, Span] = field(default_factory=dict)
    values: dict[tuple[int, int], Span] = field(default_factory=dict)

    def span(self, first: int, last: int) -> Span:
        return Span(first, last, self.places[first][0], self.places[last - 1][1])

    def take(self, first: int, last: int) -> Span:
        self.taken[first:last] = [True] * (last - first)
        return self.span(first, last)

    def tag(self, index: int) -> str:
        return self.tags[index].tag if index in self.tags else ""

    def modifies(self, index: int) -> bool:
        """Whether a token that no step names may belong to the noun after it: "chocolate" cake, "adult" man."""
        token = self.tokens[index]
        return (self.tag(index).startswith(("NN", "JJ")) and self.tags[index].kind != "relation" and token not in FRAME_NOUNS
                and token not in DETERMINERS and not token.endswith("ing"))

    def said(self, span: Span) -> str:
        return self.text[span.start : span.end]


def tokenize(text: str) -> Aligned:
    """A text's tokens; nothing aligned yet."""
    matches = list(_TOKEN.finditer(text))
    return Aligned(text, tuple(m[0].lower() for m in matches), tuple((m.start(), m.end()) for m in matches), [False] * len(matches))


def align(text: str, program: Sequence[Operation], annotations: Mapping[str, str], words: Sequence[Word] = ()) -> Aligned:
    """Find every name, attribute and spatial relation of a program; what is not found, or not for sure, is left out."""
    aligned = tokenize(text)
    starts = {start: i for i, (start, _) in enumerate(aligned.places)}
    aligned.tags.update((starts[word.start], word) for word in words if word.start in starts)
    _names(aligned, program, _marked(aligned, annotations))
    _relations(aligned, program)
    _attributes(aligned, program)
    return aligned


def root(program: Sequence[Operation], index: int) -> int:
    """The step that names what a chain of filters narrows down."""
    while program[index].verb == "filter":
        index = program[index].inputs[0]
    return index


@lru_cache(maxsize=1 << 16)
def name_forms(name: str) -> tuple[tuple[str, ...], ...]:
    """How a name may be said, longest first, as tokens."""
    stems = {name, plural(name), singular(name)}
    for said in SAID_NAMES.get(singular(name), ()) + SAID_NAMES.get(name, ()):
        stems |= {said, plural(said)}
    forms = stems | {portion.format(name) for portion in _PORTIONS}
    return _as_tokens(forms)


@lru_cache(maxsize=1 << 14)
def attribute_forms(value: str) -> tuple[tuple[str, ...], ...]:
    """How an attribute may be said, longest first, as tokens."""
    return _as_tokens({value, *SAID_ATTRIBUTES.get(value, ())})


def _as_tokens(forms: set[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted((tuple(m[0].lower() for m in _TOKEN.finditer(form)) for form in forms), key=lambda f: (-len(f), f)))


def find(aligned: Aligned, forms: Sequence[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Places [first, last) where one of the forms stands in free tokens, left to right; longer forms win."""
    tokens, found = aligned.tokens, {}
    for form in forms:
        if form[0] not in tokens:
            continue
        for first, token in enumerate(tokens):
            last = first + len(form)
            if token == form[0] and tokens[first:last] == form and True not in aligned.taken[first:last]:
                if not any(first < b and a < last for a, b in found.items()):
                    found[first] = last
    return sorted(found.items())


def _marked(aligned: Aligned, annotations: Mapping[str, str]) -> dict[str, list[tuple[int, int]]]:
    """Object id -> its annotated tokens. GQA counts words that blanks part."""
    starts = [match.start() for match in re.finditer(r"\S+", aligned.text)]
    bounds = [*starts, len(aligned.text)]
    marked: dict[str, list[tuple[int, int]]] = {}
    for words, object_id in annotations.items():
        first, _, last = words.partition(":")
        low, high = int(first), int(last or int(first) + 1)
        if 0 <= low < high <= len(starts):
            inside = [i for i, (start, end) in enumerate(aligned.places) if bounds[low] <= start and end <= bounds[high] and aligned.text[start].isalnum()]
            if inside:
                marked.setdefault(object_id, []).append((inside[0], inside[-1] + 1))
    return marked


def _names(aligned: Aligned, program: Sequence[Operation], marked: Mapping[str, list[tuple[int, int]]]) -> None:
    wanted = [i for i in _spoken_order(program) if program[i].name and program[i].name not in PRONOUNS]
    options = {i: find(aligned, name_forms(program[i].name)) for i in wanted}
    looks = {form[0] for operation in program if operation.verb == "filter" for form in attribute_forms(operation.values[0]) if len(form) == 1}
    chosen: dict[int, tuple[int, int]] = {}
    for i in wanted:  # what the annotations tell
        ranges = [r for object_id in program[i].object_ids for r in marked.get(object_id, ())]
        inside = [place for place in options[i] if any(a <= place[0] and place[1] <= b for a, b in ranges)]
        if inside:
            chosen[i] = inside[0]
        elif len(ranges) == 1 and not options[i] and (place := _other_words(aligned, *ranges[0], looks)):
            chosen[i] = place
    position = 0
    for i in wanted:  # what is left, by the order of speech
        if i not in chosen:
            free = [place for place in options[i] if not any(place[0] < b and a < place[1] for a, b in chosen.values())]
            if free:
                chosen[i] = next((place for place in free if place[0] >= position), free[0])
        if i in chosen:
            position = chosen[i][1]
    for i, (first, last) in chosen.items():
        aligned.names[i] = aligned.take(first, last)


def _other_words(aligned: Aligned, first: int, last: int, looks: set[str]) -> tuple[int, int] | None:
    """An annotated phrase that says a name in other words, without determiner and looks; None for a frame word or who."""
    while first < last and (aligned.tokens[first] in DETERMINERS or aligned.tokens[first] in looks):
        first += 1
    words = aligned.tokens[first:last]
    return (first, last) if words and not FRAME_NOUNS.issuperset(words) and not PRONOUNS.issuperset(words) else None


def _spoken_order(program: Sequence[Operation]) -> list[int]:
    """Steps in the order in which a question says their names."""
    def order(index: int) -> list[int]:
        operation = program[index]
        before = [i for source in operation.inputs for i in order(source)]
        if operation.verb in ("verify", "choose") and operation.name and not operation.subject:
            return [*before, index]
        return [index, *before] if operation.name else before
    return list(dict.fromkeys(order(len(program) - 1)))


@lru_cache(maxsize=1 << 12)
def _relation_forms(relation: str) -> tuple[tuple[str, ...], ...]:
    """How a relation may be said: GQA also writes "behind of"; "left of" is short for "to the left of"."""
    said = {relation, f"{relation} of", relation.removeprefix("to the ")} if relation not in ("on", "in") else {relation}
    return _as_tokens(said)


def _relations(aligned: Aligned, program: Sequence[Operation]) -> None:
    for index, operation in enumerate(program):
        if operation.verb == "relate" and operation.values:
            places = find(aligned, _relation_forms(spatial(operation.values[0])))
            other = aligned.names.get(root(program, operation.inputs[0]))
            if not places or other is None:
                continue
            if operation.subject:  # the cup ON the table: the last one before the table, with only its looks between
                before = [place for place in places if place[1] <= other.first]
                place = before[-1] if before else None
                mine = aligned.names.get(index)
                if place and mine and place[0] < mine.last <= other.first:
                    place = None
            else:  # the table the cup is ON, what the cup is ON: the first one after the cup
                place = next((place for place in places if place[0] >= other.last), None)
            if place:
                aligned.values[index, 0] = aligned.take(*place)


def _attributes(aligned: Aligned, program: Sequence[Operation]) -> None:
    order = sorted(range(len(program)), key=lambda i: program[i].verb != "filter")
    for index in order:
        operation = program[index]
        if operation.verb not in ("filter", "verify", "choose") or operation.type == "rel":
            continue
        noun = aligned.names.get(root(program, operation.inputs[0]))
        for number, value in enumerate(operation.values):
            forms = name_forms(value) if operation.type == "name" else attribute_forms(value)
            places = find(aligned, forms)
            if not places or noun is None and len(places) > 1 and operation.verb == "filter":
                continue
            if operation.verb == "filter":
                place = min(places, key=lambda p: _distance(p, noun)) if noun else places[0]
            else:
                place = places[-1] if operation.verb == "verify" else places[0]
            aligned.values[index, number] = aligned.take(*place)


def _distance(place: tuple[int, int], noun: Span) -> tuple[int, int]:
    """How far a look stands from its noun, right in front of it being nearest."""
    if place[1] <= noun.first:
        return noun.first - place[1], 0
    return place[0] - noun.last + 1, 1


