"""Say questions in other words. Each distinct text gets its wording from a seed and itself alone, so that it stays one text
on all images; programs and answers stay, annotations move with their words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from pipeline.core.errors import UserError
from pipeline.core.randomness import make_generator
from pipeline.core.records import Question, Split
from pipeline.language.functional_programs import find_root_step, parse_program
from pipeline.language.letter_case import (
    apply_case_style,
    capitalize_first,
    detect_case_style,
    to_sentence_case,
)
from pipeline.language.nouns import get_grammatical_number
from pipeline.language.paraphrase_patterns import (
    AUXILIARY_FORMS,
    PERSONAL_PRONOUNS,
    PLACEHOLDER_PATTERN,
    PROGRAM_PLACEHOLDER_PATTERN,
    VERB_PLACEHOLDERS,
    compile_template,
)
from pipeline.language.paraphrase_templates import (
    ACTION_VERBS,
    CONTRACTION_TEMPLATES,
    PHRASE_TEMPLATES,
    QUESTION_TEMPLATES,
    TemplateGroup,
)
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.sentence import parse_word_range
from pipeline.language.word_lists import DEFINITE_DETERMINERS, parse_words

MAX_ATTEMPTS = 8  # draws for a wording that is not the source's
# No phrase ends with one of these.
_INCOMPLETE_ENDINGS = parse_words(
    "is, are, that, which, who, the, this, a, an, or, and, does, do, has, have, wearing, holding"
)
# A noun stands before one of these, or at the end.
_PREPOSITIONS = {phrase.split()[0] for phrase in PREPOSITIONS} - parse_words("left, right")  # "on the left"
_POST_NOUN_WORDS = (
    _PREPOSITIONS | DEFINITE_DETERMINERS | PERSONAL_PRONOUNS | parse_words("that, which, who, a, an")
)


class AlignedText(NamedTuple):
    """A text, and for each of its characters the one of the source that it is; -1 for a new one."""

    text: str
    source_offsets: tuple[int, ...]

    def concatenate(self, other: AlignedText) -> AlignedText:
        return AlignedText(self.text + other.text, self.source_offsets + other.source_offsets)

    def slice_text(self, start: int, end: int | None = None) -> AlignedText:
        return AlignedText(self.text[start:end], self.source_offsets[start:end])

    def replace_first_letter(self, letter: str) -> AlignedText:
        return self._replace(text=letter + self.text[1:])


class ProgramInfo(NamedTuple):
    """What a question's program tells of its text.

    Attributes:
        options: what it verifies, or offers as a choice; () if it does neither.
        names: the words of all names. nameless: what it asks for has none; None if there is no program.
    """

    options: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    is_nameless: bool | None = None


def paraphrase_questions(questions: Iterable[Question], split: Split, seed: int) -> Iterator[Question]:
    """All questions in the order given, those of a split in other words where the table has some; `source_text` keeps the
    source's. A text has the same wording wherever it stands, but where another question of the image has that wording,
    too: there it keeps the source's."""
    done: dict[str, AlignedText] = {}
    asked: set[tuple[str, str]] = set()
    for question in questions:
        if question.split != split:
            yield question
            continue
        text = question.text
        if text not in done:
            done[text] = paraphrase_text(text, _read_program_info(question), seed)
        said = done[text]
        if said.text != text and (question.image_id, said.text) not in asked:
            moved = _realign_annotations(question.annotations, text, said)
            question = replace(question, text=said.text, source_text=text, annotations=moved)
        asked.add((question.image_id, question.text))
        yield question


def paraphrase_text(text: str, program_info: ProgramInfo, seed: int) -> AlignedText:
    """A text in other words and the same letter case, drawn by seed and text; as it is where the table has none."""
    rng = make_generator(seed, "paraphrase", text)
    source = AlignedText(to_sentence_case(text), tuple(range(len(text))))
    style = detect_case_style(text)
    if style.case == "lower" or not style.has_initial_capital:  # the table's wordings begin with a capital
        source = source._replace(text=capitalize_first(source.text))
    for _ in range(MAX_ATTEMPTS):
        said = _rewrite_all_matches(CONTRACTION_TEMPLATES, source, program_info, rng)
        for row in QUESTION_TEMPLATES:
            match = _find_match(row, said.text, program_info, 0, True)
            if match and (worded := _sample_rewrite(row, said, match, rng)):
                said = worded
                break
        for row in PHRASE_TEMPLATES:
            said = _rewrite_all_matches(row, said, program_info, rng)
        if said.text != source.text:
            return _restore_case(text, said)
    return AlignedText(text, source.source_offsets)


def _restore_case(text: str, said: AlignedText) -> AlignedText:
    """A wording in the letter case of its source; what is left of the source inside keeps its own."""
    styled = apply_case_style(said.text, detect_case_style(text))
    if len(styled) != len(said.text):  # "ß" has no capital of its own
        return said
    if detect_case_style(text).case == "sentence":
        return said._replace(text=styled)
    letters = list(styled)
    for match in re.finditer(r"[\w'’-]+", said.text):
        start, end = match.span()
        first = said.source_offsets[start]
        if start and first > 0 and said.source_offsets[start:end] == tuple(range(first, first + end - start)):
            letters[start:end] = text[first : first + end - start]
    return said._replace(text="".join(letters))


def _rewrite_all_matches(
    row: TemplateGroup, said: AlignedText, known: ProgramInfo, rng: np.random.Generator
) -> AlignedText:
    """The text with other words in all places where those of a row stand."""
    own = {word for wording in row.templates for word in PLACEHOLDER_PATTERN.sub(" ", wording).split()}
    result, at = AlignedText("", ()), 0
    while not own & known.names and (match := _find_match(row, said.text, known, at, False)):
        worded = _sample_rewrite(row, said, match, rng) or said.slice_text(*match.span())
        result, at = result.concatenate(said.slice_text(at, match.start())).concatenate(worded), match.end()
    return result.concatenate(said.slice_text(at))


def _find_match(
    row: TemplateGroup, text: str, known: ProgramInfo, at: int, whole: bool
) -> re.Match[str] | None:
    """The first place of a row's wordings, or the whole text as one of them."""
    if row.is_nameless is not None and row.is_nameless != known.is_nameless:
        return None
    matches = []
    for wording in row.templates:
        options = (
            known.options if PROGRAM_PLACEHOLDER_PATTERN.search(wording) else ()
        )  # else one pattern for all programs
        pattern = None if wording[0] == ">" else compile_template(wording.lstrip("<"), options, whole)
        match = pattern and (pattern.fullmatch(text) if whole else pattern.search(text, at))
        if match and _is_complete_match(wording, match):
            matches.append(match)
    return min(matches, key=re.Match.start, default=None)


def _sample_rewrite(
    row: TemplateGroup, said: AlignedText, match: re.Match[str], rng: np.random.Generator
) -> AlignedText | None:
    """One of the ways in which a row says what was read, all equally likely."""
    ways = [
        way
        for wording in row.templates
        if wording[0] != "<" and (way := _fill_template(wording.lstrip(">"), said, match)) is not None
    ]
    if not ways:
        return None
    way = ways[int(rng.integers(len(ways)))]
    # A capital inside a text belongs to its word ("Asian"), at the start to the place.
    return (
        way.replace_first_letter(way.text[0].upper()) if match.start() == 0 and match[0][0].isupper() else way
    )


def _fill_template(wording: str, said: AlignedText, match: re.Match[str]) -> AlignedText | None:
    """A wording with what was read in its places; None if it cannot be said of that."""
    if not _is_complete_match(wording, match):
        return None
    result, plural, given = AlignedText("", ()), _detect_plural(match), match.groupdict()
    for index, part in enumerate(PLACEHOLDER_PATTERN.split(wording)):
        forms = AUXILIARY_FORMS.get(part, ()) if index % 2 else ()
        if index % 2 and part in VERB_PLACEHOLDERS:
            verb = next(
                verb
                for verb in ACTION_VERBS
                if {(given.get(form) or "").lower() for form in VERB_PLACEHOLDERS} & {*verb}
            )
            forms = (verb[1], verb[0]) if part == "wears" else (verb[VERB_PLACEHOLDERS.index(part)],) * 2
        if forms and plural is None and forms[0] != forms[1]:
            return None
        if forms or index % 2 == 0:
            text = forms[bool(plural)] if forms else part
            result = result.concatenate(AlignedText(text, (-1,) * len(text)))
            continue
        piece = said.slice_text(*match.span(part))
        result = result.concatenate(
            piece.replace_first_letter(piece.text[0].lower()) if match.start(part) == 0 else piece
        )
    tail = said.slice_text(*match.span("tail")) if given.get("tail") else AlignedText("", ())
    return (
        result.slice_text(0, -1).concatenate(tail).concatenate(result.slice_text(-1)) if tail.text else result
    )


def _is_complete_match(wording: str, match: re.Match[str]) -> bool:
    """Whether the phrases read are complete: one that ends with a preposition ("the cup the spoon is in") only at the end."""
    for name in ("the", "who"):
        phrase = match.groupdict().get(name)
        last = phrase.split()[-1] if phrase else ""
        stranded = last in _POST_NOUN_WORDS and not wording.endswith(f"{{{name}}}?")
        if phrase and " " in phrase and (last in _INCOMPLETE_ENDINGS or stranded):
            return False
    return True


def _detect_plural(match: re.Match[str]) -> bool | None:
    """The number of what was read: by its verb, or by the noun where that is plain."""
    given = match.groupdict()
    for name, (_, several) in AUXILIARY_FORMS.items():
        if given.get(name):
            return given[name].lower() == several
    if given.get("wears"):
        return given["wears"].lower() in [verb[0] for verb in ACTION_VERBS]
    first, *rest = (given.get("the") or given.get("who") or given.get("x") or "").lower().split() or [""]
    if first in ("a", "an"):
        return False
    if first not in DEFINITE_DETERMINERS or not given.get("the", given.get("who")):
        return None
    noun = rest[: next((index for index, word in enumerate(rest) if word in _POST_NOUN_WORDS), None)]
    if not noun or noun[-1].endswith(("ed", "ing")):
        return None
    return get_grammatical_number(noun[-1]) == "plural"


def _read_program_info(question: Question) -> ProgramInfo:
    """What the program tells; nothing if there is none, or it is malformed (the stages that need it will say so)."""
    try:
        program = parse_program(question.program, question.question_id) if question.program else ()
    except UserError:
        program = ()
    if not program:
        return ProgramInfo()
    last = program[-1]
    said = [program[index] for index in last.inputs] if last.verb == "and" else [last]
    looks = all(step.verb in ("verify", "choose") and step.type not in ("rel", "name") for step in said)
    options = tuple(value for step in said for value in step.values) if looks else ()
    names = frozenset(word for step in program for word in step.name.split())
    asked = program[find_root_step(program, last.inputs[0])].name if last.inputs else ""
    return ProgramInfo(options, names, is_nameless=asked == "_" or last.type != "name")


def _realign_annotations(annotations: dict[str, str], text: str, said: AlignedText) -> dict[str, str]:
    """Annotations (word positions -> object id) where their words stand now; without those whose words are gone or parted."""
    starts = [match.start() for match in re.finditer(r"\S+", text)] + [len(text)]
    places = [match.span() for match in re.finditer(r"\S+", said.text)]
    moved = {}
    for position, object_id in annotations.items():
        found = parse_word_range(position)
        bounds = starts[found[0] : found[1] + 1] if found else []
        kept = bounds and [
            index
            for index, place in enumerate(places)
            if any(
                bounds[0] <= said.source_offsets[at] < bounds[-1] and said.text[at].isalnum()
                for at in range(*place)
            )
        ]
        if kept and kept[-1] - kept[0] == len(kept) - 1:
            moved[f"{kept[0]}" if len(kept) == 1 else f"{kept[0]}:{kept[-1] + 1}"] = object_id
    return moved
