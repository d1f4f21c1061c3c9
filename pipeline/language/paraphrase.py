"""Paraphrase questions with templates.

The paraphrase of a text depends only on the text, its program and the seed. Equal texts of different images
stay equal, because all of them get the paraphrase of the first question with this text. Programs and answers
do not change, and annotations move with their words.
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
    CORRECTION_TEMPLATES,
    PERSONAL_PRONOUNS,
    PHRASE_TEMPLATES,
    PLACEHOLDER_PATTERN,
    PROGRAM_PLACEHOLDER_PATTERN,
    QUESTION_TEMPLATES,
    VERB_PLACEHOLDERS,
    TemplateGroup,
    compile_template,
    get_literals,
)
from pipeline.language.relations import PREPOSITIONS
from pipeline.language.sentence import parse_word_range
from pipeline.language.word_lists import DEFINITE_DETERMINERS, parse_words

# Number of attempts to sample a paraphrase that differs from the source.
MAX_ATTEMPTS = 8
# A matched phrase that ends with one of these words was cut off, so the match is not used.
_INCOMPLETE_ENDINGS = parse_words(
    "is, are, that, which, who, the, this, a, an, or, and, does, do, has, have, wearing, holding, called, both, either, "
    "all, not, as, than, now, taken, shown, kept, found, seen, hung, built, made"
)
# Other words with these endings are participles, which belong to the verb: "Where is the man | looking?".
_PARTICIPLE_ENDINGS = ("ing", "ed")
_NO_PARTICIPLES = parse_words("""
    building, ceiling, painting, clothing, railing, awning, frosting, ring, string, wing, king, icing, earring, thing, topping,
    dressing, lighting, siding, swing, bedding, drawing, flooring, molding, pudding, stuffing, covering, carving, duckling,
    bed, shed, sled, weed, seed, moped, tweed, breed, flatbed
""")
# "Left" and "right" are also nouns ("on the left").
_PREPOSITIONS = {phrase.split()[0] for phrase in PREPOSITIONS} - parse_words("left, right")
# The head noun of a phrase is the word before the first of these words, or else the last word of the phrase.
_POST_NOUN_WORDS = (
    _PREPOSITIONS | DEFINITE_DETERMINERS | PERSONAL_PRONOUNS | parse_words("that, which, who, a, an")
)


class AlignedText(NamedTuple):
    """A text whose characters are aligned with a source text.

    Attributes:
        text: The text.
        source_offsets: For each character of the text, its offset in the source; -1 for a new character.
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
        options: The values that the last step of the program verifies or offers as a choice; () if there are
            none.
        names: All words of the object names in the program.
        is_nameless: Whether the program does not ask for a name, or asks for the name of an object that it
            calls "_"; None without a program.
    """

    options: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    is_nameless: bool | None = None


def paraphrase_questions(questions: Iterable[Question], split: Split, seed: int) -> Iterator[Question]:
    """Paraphrase the questions of a split.

    Equal texts get the same paraphrase. If an earlier question of the same image already has the paraphrase
    as its text, a question keeps its own text. A question whose text no template matches stays as it is, too.

    Args:
        questions: All questions.
        split: The split whose questions are paraphrased.
        seed: The random seed.

    Yields:
        All questions, in the order of `questions`. In a paraphrased question, `source_text` is the original
        text.
    """
    paraphrases: dict[str, AlignedText] = {}
    # Pairs of an image id and the text of a question about the image.
    image_texts: set[tuple[str, str]] = set()
    for question in questions:
        if question.split != split:
            yield question
            continue
        text = question.text
        if text not in paraphrases:
            paraphrases[text] = paraphrase_text(text, _read_program_info(question), seed)
        result = paraphrases[text]
        if result.text != text and (question.image_id, result.text) not in image_texts:
            annotations = _realign_annotations(question.annotations, text, result)
            question = replace(question, text=result.text, source_text=text, annotations=annotations)
        image_texts.add((question.image_id, question.text))
        yield question


def paraphrase_text(text: str, program_info: ProgramInfo, seed: int) -> AlignedText:
    """Paraphrase a text. The paraphrase has the letter case of the text.

    Args:
        text: The text.
        program_info: What the paraphraser uses of the program of the text.
        seed: The random seed. The result depends only on the text, the program and the seed.

    Returns:
        The paraphrase, or the text itself if no template matches.
    """
    rng = make_generator(seed, "paraphrase", text)
    source = AlignedText(to_sentence_case(text), tuple(range(len(text))))
    style = detect_case_style(text)
    # Templates begin with a capital, so the text must begin with a capital, too, to match them.
    if style.case == "lower" or not style.has_initial_capital:
        source = source._replace(text=capitalize_first(source.text))
    for _ in range(MAX_ATTEMPTS):
        result = source
        for group in CORRECTION_TEMPLATES:
            result = _rewrite_all_matches(group, result, program_info, rng)
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
    """Return a paraphrase in the letter case of its source.

    Words from the source keep their own letter case.
    """
    styled = apply_case_style(paraphrase.text, detect_case_style(text))
    # If the length changed ("ß" becomes "SS"), the source offsets would no longer fit.
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
    result, position = AlignedText("", ()), 0
    while match := _find_match(group, text.text, program_info, position, False):
        # A template must not change a word that is part of the name of an object in the program.
        if not program_info.names.isdisjoint(
            word for template in group.templates for word in PLACEHOLDER_PATTERN.sub(" ", template).split()
        ):
            break
        rewritten = _sample_rewrite(group, text, match, rng) or text.slice_text(*match.span())
        result = result.concatenate(text.slice_text(position, match.start())).concatenate(rewritten)
        position = match.end()
    return result.concatenate(text.slice_text(position))


def _find_match(
    group: TemplateGroup, text: str, program_info: ProgramInfo, position: int, is_full_match: bool
) -> re.Match[str] | None:
    """Return the first match of a template of a group at or after a position of the text.

    Args:
        group: The group of templates.
        text: The text to search.
        program_info: What the paraphraser uses of the program of the text.
        position: The first character at which the match may begin. It is ignored with `is_full_match`.
        is_full_match: Whether a template must match the whole text.
    """
    if group.is_nameless is not None and group.is_nameless != program_info.is_nameless:
        return None
    matches = []
    for template in group.templates:
        # Only templates with such a placeholder depend on the program. All other templates are compiled only
        # once.
        options = program_info.options if PROGRAM_PLACEHOLDER_PATTERN.search(template) else ()
        # A template with ">" is written but never matched, and a template with "<" is matched but never
        # written. Looking for the literal parts is much faster than compiling and matching.
        if template[0] == ">" or not all(literal in text for literal in get_literals(template)):
            continue
        pattern = compile_template(template.lstrip("<"), options, is_full_match)
        match = pattern and (pattern.fullmatch(text) if is_full_match else pattern.search(text, position))
        if match and _is_complete_match(template, match):
            matches.append(match)
    return min(matches, key=re.Match.start, default=None)


def _sample_rewrite(
    group: TemplateGroup, text: AlignedText, match: re.Match[str], rng: np.random.Generator
) -> AlignedText | None:
    """Fill a template of the group, chosen uniformly at random, with the parts of a match.

    Returns None if the match fits no template that may be written.
    """
    rewrites = [
        rewrite
        for template in group.templates
        if template[0] != "<" and (rewrite := _fill_template(template.lstrip(">"), text, match)) is not None
    ]
    if not rewrites:
        return None
    rewrite = rewrites[int(rng.integers(len(rewrites)))]
    # A capital at the start of the text stays at the start. Any other capital stays with its word ("Asian").
    if match.start() == 0 and match[0][0].isupper():
        return rewrite.replace_first_letter(rewrite.text[0].upper())
    return rewrite


def _fill_template(template: str, text: AlignedText, match: re.Match[str]) -> AlignedText | None:
    """Return a template filled with the parts of a match; None if the parts do not fit the template."""
    if not _is_complete_match(template, match):
        return None
    result, is_plural, parts = AlignedText("", ()), _detect_plural(match), match.groupdict()
    # Parts with an odd index are names of placeholders. The other parts are literal text.
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
    # The tail of the question (", red or blue") goes before the question mark.
    return (
        result.slice_text(0, -1).concatenate(tail).concatenate(result.slice_text(-1)) if tail.text else result
    )


def _is_complete_match(template: str, match: re.Match[str]) -> bool:
    """Return whether the phrases of a match are complete.

    A phrase that ends with a preposition ("the cup the spoon is in") is complete only at the end of a
    template.
    """
    # {the} and {who} are the placeholders for noun phrases.
    for name in ("the", "who"):
        words = (match.groupdict().get(name) or "").lower().split()
        if len(words) < 2:
            continue
        *_, before, last = words
        is_stranded = last in _POST_NOUN_WORDS and not template.endswith(f"{{{name}}}?")
        # After a determiner it is a noun ("the siding"), and after "is" it ends a relative clause.
        is_participle = (
            last.endswith(_PARTICIPLE_ENDINGS)
            and last not in _NO_PARTICIPLES
            and before not in DEFINITE_DETERMINERS | {"is", "are"}
        )
        if last in _INCOMPLETE_ENDINGS or is_stranded or is_participle:
            return False
    return True


def _detect_plural(match: re.Match[str]) -> bool | None:
    """Return whether the subject of a match is plural; None if this is not certain."""
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
    # A malformed program is ignored here. The stages that need the program report it.
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

    An annotation is left out if its words are gone or no longer adjacent.
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
