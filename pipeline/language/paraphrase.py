"""Say questions in other words. Each distinct text gets its wording from a seed and itself alone, so that it stays one text
on all pictures; programs and answers stay, annotations move with their words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from pipeline.core.errors import UserError
from pipeline.core.randomness import generator
from pipeline.core.records import Question, Split
from pipeline.language.functional_programs import parse, root
from pipeline.language.letter_case import in_sentence_case, restyled, style_of, with_capital
from pipeline.language.nouns import number_of
from pipeline.language.paraphrase_patterns import (
    AGREEING,
    BY_PROGRAM,
    PLACEHOLDER,
    PRONOUNS,
    VERB_FORMS,
    pattern_of,
)
from pipeline.language.paraphrase_templates import FRAMES, PHRASES, SHORT, VERBS, Row
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.sentence import annotated_words
from pipeline.language.word_lists import DEFINITE, words

TRIES = 8  # draws for a wording that is not the source's
# No phrase ends with one of these.
_GOES_ON = words(
    "is, are, that, which, who, the, this, a, an, or, and, does, do, has, have, wearing, holding"
)
# A noun stands before one of these, or at the end.
_PREPOSITIONS = {phrase.split()[0] for phrase in PREPOSITIONS} - words("left, right")  # "on the left"
_AFTER_NOUN = _PREPOSITIONS | DEFINITE | PRONOUNS | words("that, which, who, a, an")


class Wording(NamedTuple):
    """A text, and for each of its characters the one of the source that it is; -1 for a new one."""

    text: str
    origin: tuple[int, ...]

    def joined(self, other: Wording) -> Wording:
        return Wording(self.text + other.text, self.origin + other.origin)

    def part(self, start: int, end: int | None = None) -> Wording:
        return Wording(self.text[start:end], self.origin[start:end])

    def with_first(self, letter: str) -> Wording:
        return self._replace(text=letter + self.text[1:])


class Known(NamedTuple):
    """What a question's program tells of its text.

    Attributes:
        options: what it verifies, or offers as a choice; () if it does neither.
        names: the words of all names. nameless: what it asks for has none; None if there is no program.
    """

    options: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    nameless: bool | None = None


def paraphrase(questions: Iterable[Question], split: Split, seed: int) -> Iterator[Question]:
    """All questions in the order given, those of a split in other words where the table has some; `source_text` keeps the
    source's. A text has the same wording wherever it stands, but where another question of the picture has that wording,
    too: there it keeps the source's."""
    done: dict[str, Wording] = {}
    asked: set[tuple[str, str]] = set()
    for question in questions:
        if question.split != split:
            yield question
            continue
        text = question.text
        if text not in done:
            done[text] = reworded(text, _known(question), seed)
        said = done[text]
        if said.text != text and (question.picture_id, said.text) not in asked:
            moved = _moved(question.annotations, text, said)
            question = replace(question, text=said.text, source_text=text, annotations=moved)
        asked.add((question.picture_id, question.text))
        yield question


def reworded(text: str, known: Known, seed: int) -> Wording:
    """A text in other words and the same letter case, drawn by seed and text; as it is where the table has none."""
    rng = generator(seed, "paraphrase", text)
    source = Wording(in_sentence_case(text), tuple(range(len(text))))
    style = style_of(text)
    if style.case == "lower" or not style.capital:  # the table's wordings begin with a capital
        source = source._replace(text=with_capital(source.text))
    for _ in range(TRIES):
        said = _everywhere(SHORT, source, known, rng)
        for row in FRAMES:
            match = _found(row, said.text, known, 0, True)
            if match and (worded := _worded(row, said, match, rng)):
                said = worded
                break
        for row in PHRASES:
            said = _everywhere(row, said, known, rng)
        if said.text != source.text:
            return _in_case_of(text, said)
    return Wording(text, source.origin)


def _in_case_of(text: str, said: Wording) -> Wording:
    """A wording in the letter case of its source; what is left of the source inside keeps its own."""
    styled = restyled(said.text, style_of(text))
    if len(styled) != len(said.text):  # "ß" has no capital of its own
        return said
    if style_of(text).case == "sentence":
        return said._replace(text=styled)
    letters = list(styled)
    for match in re.finditer(r"[\w'’-]+", said.text):
        start, end = match.span()
        first = said.origin[start]
        if start and first > 0 and said.origin[start:end] == tuple(range(first, first + end - start)):
            letters[start:end] = text[first : first + end - start]
    return said._replace(text="".join(letters))


def _everywhere(row: Row, said: Wording, known: Known, rng: np.random.Generator) -> Wording:
    """The text with other words in all places where those of a row stand."""
    own = {word for wording in row.wordings for word in PLACEHOLDER.sub(" ", wording).split()}
    result, at = Wording("", ()), 0
    while not own & known.names and (match := _found(row, said.text, known, at, False)):
        worded = _worded(row, said, match, rng) or said.part(*match.span())
        result, at = result.joined(said.part(at, match.start())).joined(worded), match.end()
    return result.joined(said.part(at))


def _found(row: Row, text: str, known: Known, at: int, whole: bool) -> re.Match[str] | None:
    """The first place of a row's wordings, or the whole text as one of them."""
    if row.nameless is not None and row.nameless != known.nameless:
        return None
    matches = []
    for wording in row.wordings:
        options = known.options if BY_PROGRAM.search(wording) else ()  # else one pattern for all programs
        pattern = None if wording[0] == ">" else pattern_of(wording.lstrip("<"), options, whole)
        match = pattern and (pattern.fullmatch(text) if whole else pattern.search(text, at))
        if match and _sound(wording, match):
            matches.append(match)
    return min(matches, key=re.Match.start, default=None)


def _worded(row: Row, said: Wording, match: re.Match[str], rng: np.random.Generator) -> Wording | None:
    """One of the ways in which a row says what was read, all equally likely."""
    ways = [
        way
        for wording in row.wordings
        if wording[0] != "<" and (way := _filled(wording.lstrip(">"), said, match)) is not None
    ]
    if not ways:
        return None
    way = ways[int(rng.integers(len(ways)))]
    # A capital inside a text belongs to its word ("Asian"), at the start to the place.
    return way.with_first(way.text[0].upper()) if match.start() == 0 and match[0][0].isupper() else way


def _filled(wording: str, said: Wording, match: re.Match[str]) -> Wording | None:
    """A wording with what was read in its places; None if it cannot be said of that."""
    if not _sound(wording, match):
        return None
    result, plural, given = Wording("", ()), _plural(match), match.groupdict()
    for index, part in enumerate(PLACEHOLDER.split(wording)):
        forms = AGREEING.get(part, ()) if index % 2 else ()
        if index % 2 and part in VERB_FORMS:
            verb = next(
                verb for verb in VERBS if {(given.get(form) or "").lower() for form in VERB_FORMS} & {*verb}
            )
            forms = (verb[1], verb[0]) if part == "wears" else (verb[VERB_FORMS.index(part)],) * 2
        if forms and plural is None and forms[0] != forms[1]:
            return None
        if forms or index % 2 == 0:
            text = forms[bool(plural)] if forms else part
            result = result.joined(Wording(text, (-1,) * len(text)))
            continue
        piece = said.part(*match.span(part))
        result = result.joined(piece.with_first(piece.text[0].lower()) if match.start(part) == 0 else piece)
    tail = said.part(*match.span("tail")) if given.get("tail") else Wording("", ())
    return result.part(0, -1).joined(tail).joined(result.part(-1)) if tail.text else result


def _sound(wording: str, match: re.Match[str]) -> bool:
    """Whether the phrases read are complete: one that ends with a preposition ("the cup the spoon is in") only at the end."""
    for name in ("the", "who"):
        phrase = match.groupdict().get(name)
        last = phrase.split()[-1] if phrase else ""
        stranded = last in _AFTER_NOUN and not wording.endswith(f"{{{name}}}?")
        if phrase and " " in phrase and (last in _GOES_ON or stranded):
            return False
    return True


def _plural(match: re.Match[str]) -> bool | None:
    """The number of what was read: by its verb, or by the noun where that is plain."""
    given = match.groupdict()
    for name, (_, several) in AGREEING.items():
        if given.get(name):
            return given[name].lower() == several
    if given.get("wears"):
        return given["wears"].lower() in [verb[0] for verb in VERBS]
    first, *rest = (given.get("the") or given.get("who") or given.get("x") or "").lower().split() or [""]
    if first in ("a", "an"):
        return False
    if first not in DEFINITE or not given.get("the", given.get("who")):
        return None
    noun = rest[: next((index for index, word in enumerate(rest) if word in _AFTER_NOUN), None)]
    if not noun or noun[-1].endswith(("ed", "ing")):
        return None
    return number_of(noun[-1]) == "plural"


def _known(question: Question) -> Known:
    """What the program tells; nothing if there is none, or it is malformed (the stages that need it will say so)."""
    try:
        program = parse(question.program, question.question_id) if question.program else ()
    except UserError:
        program = ()
    if not program:
        return Known()
    last = program[-1]
    said = [program[index] for index in last.inputs] if last.verb == "and" else [last]
    looks = all(step.verb in ("verify", "choose") and step.type not in ("rel", "name") for step in said)
    options = tuple(value for step in said for value in step.values) if looks else ()
    names = frozenset(word for step in program for word in step.name.split())
    asked = program[root(program, last.inputs[0])].name if last.inputs else ""
    return Known(options, names, nameless=asked == "_" or last.type != "name")


def _moved(annotations: dict[str, str], text: str, said: Wording) -> dict[str, str]:
    """Annotations (word positions -> object id) where their words stand now; without those whose words are gone or parted."""
    starts = [match.start() for match in re.finditer(r"\S+", text)] + [len(text)]
    places = [match.span() for match in re.finditer(r"\S+", said.text)]
    moved = {}
    for position, object_id in annotations.items():
        found = annotated_words(position)
        bounds = starts[found[0] : found[1] + 1] if found else []
        kept = bounds and [
            index
            for index, place in enumerate(places)
            if any(
                bounds[0] <= said.origin[at] < bounds[-1] and said.text[at].isalnum() for at in range(*place)
            )
        ]
        if kept and kept[-1] - kept[0] == len(kept) - 1:
            moved[f"{kept[0]}" if len(kept) == 1 else f"{kept[0]}:{kept[-1] + 1}"] = object_id
    return moved
