"""Paraphrase questions with templates.

The paraphrase of a text depends only on the text and a seed, so that equal texts of different images stay
equal. Programs and answers do not change, and annotations move with their words.
"""

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
from pipeline.language.paraphrase_templates import (
    ACTION_VERBS,
    AUXILIARY_FORMS,
    CONTRACTION_TEMPLATES,
    PERSONAL_PRONOUNS,
    PHRASE_TEMPLATES,
    PLACEHOLDER_PATTERN,
    PROGRAM_PLACEHOLDER_PATTERN,
    QUESTION_TEMPLATES,
    VERB_PLACEHOLDERS,
    TemplateGroup,
    compile_template,
)
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.sentence import parse_word_range
from pipeline.language.word_lists import DEFINITE_DETERMINERS, parse_words

# Number of attempts to sample a paraphrase that differs from the source.
MAX_ATTEMPTS = 8
# No complete phrase ends with one of these words.
_INCOMPLETE_ENDINGS = parse_words(
    "is, are, that, which, who, the, this, a, an, or, and, does, do, has, have, wearing, holding"
)
# "Left" and "right" are also nouns ("on the left").
_PREPOSITIONS = {phrase.split()[0] for phrase in PREPOSITIONS} - parse_words("left, right")
# A noun ends before one of these words, or with its phrase.
_POST_NOUN_WORDS = (
    _PREPOSITIONS | DEFINITE_DETERMINERS | PERSONAL_PRONOUNS | parse_words("that, which, who, a, an")
)


class AlignedText(NamedTuple):
    """A text whose characters are aligned with a source text.

    Attributes:
        text: the text.
        source_offsets: for each character its offset in the source, or -1 for a new character.
    """

    text: str
    source_offsets: tuple[int, ...]

    def concatenate(self, other: AlignedText) -> AlignedText:
        """Return this text followed by another one."""
        return AlignedText(self.text + other.text, self.source_offsets + other.source_offsets)

    def slice_text(self, start: int, end: int | None = None) -> AlignedText:
        """Return the characters from `start` to before `end`."""
        return AlignedText(self.text[start:end], self.source_offsets[start:end])

    def replace_first_letter(self, letter: str) -> AlignedText:
        """Return the text with another first letter."""
        return self._replace(text=letter + self.text[1:])


class ProgramInfo(NamedTuple):
    """What the paraphraser uses of a question's program.

    Attributes:
        options: the values that it verifies or offers as a choice, or () if it does neither.
        names: the words of all names.
        is_nameless: whether what it asks for has no name, or None if there is no program.
    """

    options: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    is_nameless: bool | None = None


def paraphrase_questions(questions: Iterable[Question], split: Split, seed: int) -> Iterator[Question]:
    """Paraphrase the questions of a split.

    Equal texts get the same paraphrase, unless another question of the image already has that text. A
    question whose text no template matches stays as it is.

    Args:
        questions: all questions.
        split: the split whose questions to paraphrase.
        seed: the random seed.

    Yields:
        All questions in the order given. `source_text` of a paraphrased question is its original text.
    """
    paraphrases: dict[str, AlignedText] = {}
    texts_by_image: set[tuple[str, str]] = set()
    for question in questions:
        if question.split != split:
            yield question
            continue
        text = question.text
        if text not in paraphrases:
            paraphrases[text] = paraphrase_text(text, _read_program_info(question), seed)
        result = paraphrases[text]
        if result.text != text and (question.image_id, result.text) not in texts_by_image:
            annotations = _realign_annotations(question.annotations, text, result)
            question = replace(question, text=result.text, source_text=text, annotations=annotations)
        texts_by_image.add((question.image_id, question.text))
        yield question


def paraphrase_text(text: str, program_info: ProgramInfo, seed: int) -> AlignedText:
    """Paraphrase a text in its own letter case.

    Args:
        text: the text.
        program_info: what is known from its program.
        seed: the random seed. The result depends only on the text, the program and the seed.

    Returns:
        The paraphrase, or the text itself if no template matches.
    """
    rng = make_generator(seed, "paraphrase", text)
    source = AlignedText(to_sentence_case(text), tuple(range(len(text))))
    style = detect_case_style(text)
    # The templates begin with a capital.
    if style.case == "lower" or not style.has_initial_capital:
        source = source._replace(text=capitalize_first(source.text))
    for _ in range(MAX_ATTEMPTS):
        result = _rewrite_all_matches(CONTRACTION_TEMPLATES, source, program_info, rng)
        for group in QUESTION_TEMPLATES:
            match = _find_match(group, result.text, program_info, 0, True)
            if match and (rewritten := _sample_rewrite(group, result, match, rng)):
                result = rewritten
                break
        for group in PHRASE_TEMPLATES:
            result = _rewrite_all_matches(group, result, program_info, rng)
        if result.text != source.text:
            return _restore_case(text, result)
    return AlignedText(text, source.source_offsets)


def _restore_case(text: str, paraphrase: AlignedText) -> AlignedText:
    """Return a paraphrase in the letter case of its source. Words of the source keep their own case."""
    styled = apply_case_style(paraphrase.text, detect_case_style(text))
    # "ß" has no capital of the same length.
    if len(styled) != len(paraphrase.text):
        return paraphrase
    if detect_case_style(text).case == "sentence":
        return paraphrase._replace(text=styled)
    letters = list(styled)
    offsets = paraphrase.source_offsets
    for match in re.finditer(r"[\w'’-]+", paraphrase.text):
        start, end = match.span()
        first = offsets[start]
        if start and first > 0 and offsets[start:end] == tuple(range(first, first + end - start)):
            letters[start:end] = text[first : first + end - start]
    return paraphrase._replace(text="".join(letters))


def _rewrite_all_matches(
    group: TemplateGroup, text: AlignedText, program_info: ProgramInfo, rng: np.random.Generator
) -> AlignedText:
    """Rewrite all parts of a text that match a group of templates."""
    own_words = {
        word for template in group.templates for word in PLACEHOLDER_PATTERN.sub(" ", template).split()
    }
    result, at = AlignedText("", ()), 0
    while not own_words & program_info.names and (
        match := _find_match(group, text.text, program_info, at, False)
    ):
        rewritten = _sample_rewrite(group, text, match, rng) or text.slice_text(*match.span())
        result = result.concatenate(text.slice_text(at, match.start())).concatenate(rewritten)
        at = match.end()
    return result.concatenate(text.slice_text(at))


def _find_match(
    group: TemplateGroup, text: str, program_info: ProgramInfo, at: int, is_full_match: bool
) -> re.Match[str] | None:
    """Return the first match of a group's templates in a text from an offset on, or with the whole text."""
    if group.is_nameless is not None and group.is_nameless != program_info.is_nameless:
        return None
    matches = []
    for template in group.templates:
        # Other templates need no options, so that one compiled pattern serves all programs.
        options = program_info.options if PROGRAM_PLACEHOLDER_PATTERN.search(template) else ()
        pattern = (
            None if template[0] == ">" else compile_template(template.lstrip("<"), options, is_full_match)
        )
        match = pattern and (pattern.fullmatch(text) if is_full_match else pattern.search(text, at))
        if match and _is_complete_match(template, match):
            matches.append(match)
    return min(matches, key=re.Match.start, default=None)


def _sample_rewrite(
    group: TemplateGroup, text: AlignedText, match: re.Match[str], rng: np.random.Generator
) -> AlignedText | None:
    """Return one of the ways in which a group expresses a match, all equally likely."""
    rewrites = [
        rewrite
        for template in group.templates
        if template[0] != "<" and (rewrite := _fill_template(template.lstrip(">"), text, match)) is not None
    ]
    if not rewrites:
        return None
    rewrite = rewrites[int(rng.integers(len(rewrites)))]
    # The capital at the start of a text belongs to its place. Any other capital belongs to its word
    # ("Asian").
    if match.start() == 0 and match[0][0].isupper():
        return rewrite.replace_first_letter(rewrite.text[0].upper())
    return rewrite


def _fill_template(template: str, text: AlignedText, match: re.Match[str]) -> AlignedText | None:
    """Return a template filled with the parts of a match, or None if it does not fit them."""
    if not _is_complete_match(template, match):
        return None
    result, is_plural, parts = AlignedText("", ()), _detect_plural(match), match.groupdict()
    for index, part in enumerate(PLACEHOLDER_PATTERN.split(template)):
        forms = AUXILIARY_FORMS.get(part, ()) if index % 2 else ()
        if index % 2 and part in VERB_PLACEHOLDERS:
            verb = next(
                verb
                for verb in ACTION_VERBS
                if {(parts.get(form) or "").lower() for form in VERB_PLACEHOLDERS} & {*verb}
            )
            forms = (verb[1], verb[0]) if part == "wears" else (verb[VERB_PLACEHOLDERS.index(part)],) * 2
        if forms and is_plural is None and forms[0] != forms[1]:
            return None
        if forms or index % 2 == 0:
            new_text = forms[bool(is_plural)] if forms else part
            result = result.concatenate(AlignedText(new_text, (-1,) * len(new_text)))
            continue
        piece = text.slice_text(*match.span(part))
        result = result.concatenate(
            piece.replace_first_letter(piece.text[0].lower()) if match.start(part) == 0 else piece
        )
    tail = text.slice_text(*match.span("tail")) if parts.get("tail") else AlignedText("", ())
    # The tail of the question (", red or blue") goes before its question mark.
    return (
        result.slice_text(0, -1).concatenate(tail).concatenate(result.slice_text(-1)) if tail.text else result
    )


def _is_complete_match(template: str, match: re.Match[str]) -> bool:
    """Return whether the phrases of a match are complete.

    A phrase that ends with a preposition ("the cup the spoon is in") is complete only at the end of a
    template.
    """
    for name in ("the", "who"):
        phrase = match.groupdict().get(name)
        last = phrase.split()[-1] if phrase else ""
        is_stranded = last in _POST_NOUN_WORDS and not template.endswith(f"{{{name}}}?")
        if phrase and " " in phrase and (last in _INCOMPLETE_ENDINGS or is_stranded):
            return False
    return True


def _detect_plural(match: re.Match[str]) -> bool | None:
    """Return whether the subject of a match is plural, or None if it is not certain."""
    parts = match.groupdict()
    for name, (_, plural) in AUXILIARY_FORMS.items():
        if parts.get(name):
            return parts[name].lower() == plural
    if parts.get("wears"):
        return parts["wears"].lower() in [verb[0] for verb in ACTION_VERBS]
    first, *rest = (parts.get("the") or parts.get("who") or parts.get("x") or "").lower().split() or [""]
    if first in ("a", "an"):
        return False
    if first not in DEFINITE_DETERMINERS or not parts.get("the", parts.get("who")):
        return None
    noun = rest[: next((index for index, word in enumerate(rest) if word in _POST_NOUN_WORDS), None)]
    if not noun or noun[-1].endswith(("ed", "ing")):
        return None
    return get_grammatical_number(noun[-1]) == "plural"


def _read_program_info(question: Question) -> ProgramInfo:
    # The stages that need the program report a malformed one.
    try:
        program = parse_program(question.program, question.question_id) if question.program else ()
    except UserError:
        program = ()
    if not program:
        return ProgramInfo()
    last = program[-1]
    steps = [program[index] for index in last.inputs] if last.verb == "and" else [last]
    has_options = all(
        step.verb in ("verify", "choose") and step.type not in ("rel", "name") for step in steps
    )
    options = tuple(value for step in steps for value in step.values) if has_options else ()
    names = frozenset(word for step in program for word in step.name.split())
    asked = program[find_root_step(program, last.inputs[0])].name if last.inputs else ""
    return ProgramInfo(options, names, is_nameless=asked == "_" or last.type != "name")


def _realign_annotations(annotations: dict[str, str], text: str, paraphrase: AlignedText) -> dict[str, str]:
    """Return annotations with the word positions of a paraphrase.

    Annotations whose words are gone or no longer adjacent are left out.
    """
    starts = [match.start() for match in re.finditer(r"\S+", text)] + [len(text)]
    words = [match.span() for match in re.finditer(r"\S+", paraphrase.text)]
    moved = {}
    for position, object_id in annotations.items():
        found = parse_word_range(position)
        bounds = starts[found[0] : found[1] + 1] if found else []
        kept = bounds and [
            index
            for index, word in enumerate(words)
            if any(
                bounds[0] <= paraphrase.source_offsets[at] < bounds[-1] and paraphrase.text[at].isalnum()
                for at in range(*word)
            )
        ]
        if kept and kept[-1] - kept[0] == len(kept) - 1:
            moved[f"{kept[0]}" if len(kept) == 1 else f"{kept[0]}:{kept[-1] + 1}"] = object_id
    return moved
