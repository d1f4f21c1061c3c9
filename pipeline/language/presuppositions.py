"""Find the presuppositions of a question: what must hold so that it has an answer.

    "What is the red cup to the left of the plate made of?"
        fixed: the cup, its color, the plate, and that the cup is to the left of the plate
    "What animal is to the left of the plate?"
        fixed: the plate; query-only: an animal, and where it is
    "Who is wearing a hat?"
        query-only: a person, a hat, and that it is worn
    "Is the cup red?", "Is there a cup?", "Is it a red cup?"
        asserted: red, a cup, a red cup

A presupposition is query-only if it concerns only what the question asks for. If it fails, "nothing",
"nobody" or "none" is a true answer, and often another object fits. What a question asserts is no
presupposition, as the answer may be no. The values of `verify` and the options of a choice are always
asserted.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass, replace

from pipeline.core.records import EditKind
from pipeline.language.functional_programs import (
    NON_ATTRIBUTE_TYPES,
    OBJECT_SET_VERBS,
    POSITION_TYPES,
    SCENE,
    Operation,
    Program,
    find_root_step,
)
from pipeline.language.noun_phrases import (
    NO_MODIFIERS,
    REFERRING_PRONOUNS,
    Modifiers,
    expand_noun,
    find_phrase_start,
    parse_postmodifier,
)
from pipeline.language.sentence import Sentence, Span
from pipeline.language.word_lists import DEFINITE_DETERMINERS, DETERMINERS


@dataclass(frozen=True, slots=True)
class Presupposition:
    """A presupposition of a question.

    Attributes:
        kind: "object", "attribute", or "relation" for relations and positions ("on the left").
        step: the step of the program, or -1 if only the text expresses it.
        value_index: the index of the step's value, or -1 for the step's name.
        span: where it stands in the text.
        word: the name, attribute or relation as the program writes it.
        phrase_start: the token that starts an object's noun phrase (its determiner), otherwise -1.
        object_step: the step that names the object, or -1.
        is_query_only: whether it concerns only what the question asks for.
        is_negated: whether the attribute must be absent ("not red").
        type: the type of an attribute or position, or "" if not given.
        modifiers: what the text says of an object and the program does not.
        has_unparsed_modifiers: whether the text says more of an object than can be parsed, so that the object
            cannot be replaced safely.
    """

    kind: EditKind
    step: int
    value_index: int
    span: Span
    word: str
    phrase_start: int = -1
    object_step: int = -1
    is_query_only: bool = False
    is_negated: bool = False
    type: str = ""
    modifiers: Modifiers = NO_MODIFIERS
    has_unparsed_modifiers: bool = False


@dataclass(frozen=True, slots=True)
class Presuppositions:
    """All presuppositions of a question.

    Attributes:
        objects: objects that it names.
        pronouns: persons and objects that pronouns stand for ("he", "it").
        attributes: attributes of objects.
        relations: relations and positions of objects.
        asserted_kinds: the kinds of what the question asserts.
    """

    objects: tuple[Presupposition, ...] = ()
    pronouns: tuple[Presupposition, ...] = ()
    attributes: tuple[Presupposition, ...] = ()
    relations: tuple[Presupposition, ...] = ()
    asserted_kinds: frozenset[EditKind] = frozenset()


def find_presuppositions(program: Program, sentence: Sentence) -> Presuppositions:
    """Return the presuppositions of a question.

    Args:
        program: the parsed program.
        sentence: the question's text, aligned with the program (`align_program`).
    """
    phrases = _find_noun_phrases(sentence)
    asserted = find_asserted_steps(program, sentence, phrases)
    query_only = _find_query_only_steps(program, sentence, phrases)
    objects: list[Presupposition] = []
    attributes: list[Presupposition] = []
    for step, (span, start) in phrases.items():
        if step not in asserted:
            of_text = list(_find_text_attributes(sentence, span, start, step))
            postmodifier = parse_postmodifier(sentence, span.end_token)
            more_attributes, relations = postmodifier or NO_MODIFIERS
            obj = Presupposition(
                "object",
                step,
                -1,
                span,
                program[step].name,
                phrase_start=start,
                object_step=step,
                is_query_only=step in query_only,
                modifiers=((*(row.word for row in of_text), *more_attributes), relations),
                has_unparsed_modifiers=postmodifier is None,
            )
            objects.append(obj)
            attributes += (replace(row, is_query_only=obj.is_query_only) for row in of_text)
    if not objects and all(operation.name != SCENE for operation in program):
        objects = list(_find_who(program, sentence)) or list(_find_definite_objects(sentence))
        attributes += [
            row
            for obj in objects
            for row in _find_text_attributes(sentence, obj.span, obj.phrase_start, obj.step)
        ]
    of_steps = list(_find_in_steps(program, sentence, asserted, query_only))
    attributes += [row for row in of_steps if row.kind == "attribute"]
    return Presuppositions(
        objects=tuple(objects),
        pronouns=tuple(_find_pronouns(program, sentence)),
        attributes=tuple(attributes),
        relations=tuple(row for row in of_steps if row.kind == "relation"),
        asserted_kinds=_collect_asserted_kinds(program, asserted),
    )


def _find_in_steps(
    program: Program, sentence: Sentence, asserted: Container[int], query_only: Container[int]
) -> Iterator[Presupposition]:
    """Yield the attributes and relations of steps whose objects are not asserted."""
    for (step, value_index), span in sorted(sentence.value_spans.items()):
        operation = program[step]
        object_step = find_root_step(program, step) if operation.verb in OBJECT_SET_VERBS else -1
        if object_step >= 0 and object_step not in asserted:
            yield Presupposition(
                _get_edit_kind(operation),
                step,
                value_index,
                span,
                operation.values[value_index],
                object_step=object_step,
                is_query_only=object_step in query_only,
                is_negated=operation.is_negated,
                type=operation.type,
            )


def _get_edit_kind(operation: Operation) -> EditKind:
    """Return "relation" for relations and positions, otherwise "attribute"."""
    spatial = operation.verb == "relate" or operation.type in POSITION_TYPES | {"rel"}
    return "relation" if spatial else "attribute"


def _collect_asserted_kinds(program: Program, asserted: Collection[int]) -> frozenset[EditKind]:
    stated = (
        operation
        for step, operation in enumerate(program)
        if operation.values
        and (operation.verb not in OBJECT_SET_VERBS or find_root_step(program, step) in asserted)
    )
    kinds: set[EditKind] = {
        _get_edit_kind(operation)
        for operation in stated
        if operation.type not in NON_ATTRIBUTE_TYPES - {"rel"}
    }
    if asserted:
        kinds.add("object")
    return frozenset(kinds)


def _find_pronouns(program: Program, sentence: Sentence) -> Iterator[Presupposition]:
    for step, operation in enumerate(program):
        if span := sentence.find_pronoun(operation.name):
            yield Presupposition("object", step, -1, span, operation.name, span.first_token, step)


def find_queried_step(program: Program) -> int | None:
    """Return the step of the object whose name the question asks for, or None if there is none."""
    return find_root_step(program, program[-1].inputs[0]) if program and program[-1].type == "name" else None


def _find_query_only_steps(
    program: Program, sentence: Sentence, phrases: Mapping[int, tuple[Span, int]]
) -> set[int]:
    """Return the steps whose objects need not exist.

    These are the object that is asked for, unless it is definite ("the animal on the left"), and the objects
    of indefinite phrases related to it ("Who is wearing A HAT?").
    """
    asked = find_queried_step(program)
    # "Is the animal a cow?" presupposes an animal.
    if asked is None or program[-1].verb == "verify":
        return set()
    if asked in phrases:
        span, start = phrases[asked]
        # "What animal IS IT?" presupposes that it is an animal.
        is_asked_of_it = (
            sentence.get_token(span.end_token) in ("is", "are")
            and sentence.get_token(span.end_token + 1) in REFERRING_PRONOUNS
        )
        if _is_definite(sentence, start) or is_asked_of_it:
            return set()
    query_only = [asked]
    for step in query_only:
        other = find_root_step(program, program[step].inputs[0]) if program[step].verb == "relate" else step
        if other != step and other in phrases and not _is_definite(sentence, phrases[other][1]):
            query_only.append(other)
    return set(query_only)


def _is_definite(sentence: Sentence, start: int) -> bool:
    """Return whether a phrase presupposes its object: "the cup", "the girl's cup"."""
    return sentence.get_token(start) in DEFINITE_DETERMINERS or sentence.get_token(start) == "'s"


def _find_noun_phrases(sentence: Sentence) -> dict[int, tuple[Span, int]]:
    """Return for each step that the text names its noun and the token that starts the noun's phrase."""
    return {step: expand_noun(sentence, span) for step, span in sorted(sentence.name_spans.items())}


def find_asserted_steps(
    program: Program, sentence: Sentence, phrases: Mapping[int, tuple[Span, int]] | None = None
) -> set[int]:
    """Return the steps whose objects the question asserts instead of presupposing them.

    These are the objects that an `exist` asks for and the indefinite phrases of a statement: "wearing A HAT",
    "Is there a cup on A TABLE?", "Is it A CUP?".

    Args:
        program: the parsed program.
        sentence: the question's text, aligned with the program.
        phrases: the noun phrases of the steps, or None to find them.
    """
    phrases = _find_noun_phrases(sentence) if phrases is None else phrases
    exists = any(operation.verb == "exist" for operation in program)
    related = {i for o in program if o.verb == "verify" and o.type == "rel" for i in o.inputs}
    asserted = set()
    for step, operation in enumerate(program):
        if not operation.name:
            continue
        is_in_statement = exists or operation.verb == "verify" or step in related
        is_definite = operation.verb != "verify"
        if step in phrases:
            start = phrases[step][1]
            is_definite = _is_definite(sentence, start)
            is_in_statement = is_in_statement or _is_predicate_noun(sentence, start)
        if operation.is_asserted or (is_in_statement and not is_definite):
            asserted.add(step)
    return asserted


def _is_predicate_noun(sentence: Sentence, start: int) -> bool:
    """Return whether a phrase says what something is: "Is this A YOUNG WOMAN?"."""
    # Go back over the attributes of a phrase without a determiner: "Are they YOUNG women?".
    while sentence.is_matched(start - 1) or sentence.get_word_class(start - 1) == "attribute":
        start -= 1
    return sentence.get_previous_token(start) in REFERRING_PRONOUNS and sentence.get_previous_token(
        start - 1
    ) in ("is", "are")


def _find_text_attributes(sentence: Sentence, span: Span, start: int, step: int) -> Iterator[Presupposition]:
    """Yield the attributes in a noun's phrase that no step has.

    GQA's programs leave out the attributes of the object that a choice is about.
    """
    for index in range(start, span.first_token):
        if (
            sentence.get_word_class(index) == "attribute"
            and sentence.is_word_unmatched(index)
            and sentence.get_previous_token(index) != "not"
        ):
            word = sentence.tagged_words[index].name
            yield Presupposition("attribute", -1, 0, sentence.get_word_span(index), word, object_step=step)


def _find_who(program: Program, sentence: Sentence) -> Iterator[Presupposition]:
    # "Who is standing?" presupposes a person.
    step = find_queried_step(program)
    if step is not None and program[step].name == "person" and sentence.get_token(0) == "who":
        yield Presupposition(
            "object", step, -1, sentence.make_span(0, 1), "person", 0, step, is_query_only=True
        )


def _find_definite_objects(sentence: Sentence) -> Iterator[Presupposition]:
    """Yield the objects after "the" that no step names.

    These are all objects of a question without a program, and objects that GQA's program leaves out. Of "Is
    he in front of the wall?" it names a man and no wall.
    """
    last = 0
    for index, word in sorted(sentence.tagged_words.items()):
        if word.word_class == "object" and not sentence.matched[index] and index >= last:
            span, start = expand_noun(sentence, sentence.get_word_span(index))
            last = span.end_token
            following = sentence.tokens[last : min(last + 3, sentence.num_content_tokens)]
            postmodifier = parse_postmodifier(sentence, last)
            # "the cup THE man holds", "the cup MADE of glass".
            has_clause = not DETERMINERS.isdisjoint(following[:1]) or (
                following[:1] == ("made",) and following[2:] != ()
            )
            if start < span.first_token and _is_definite(sentence, start):
                of_text = (row.word for row in _find_text_attributes(sentence, span, start, -1))
                attributes, relations = postmodifier or NO_MODIFIERS
                adjacent = _find_adjacent_relations(sentence, span, start)
                yield Presupposition(
                    "object",
                    -1,
                    -1,
                    span,
                    word.name,
                    phrase_start=start,
                    modifiers=((*of_text, *attributes), (*relations, *adjacent)),
                    has_unparsed_modifiers=has_clause or postmodifier is None,
                )


def _find_adjacent_relations(sentence: Sentence, span: Span, start: int) -> Iterator[tuple[str, str, str]]:
    """Yield the relations next to a noun's phrase as (relation, the noun's role, the other object's name)."""
    nouns = [index for index, word in sorted(sentence.tagged_words.items()) if word.word_class == "object"]
    for index, word in sorted(sentence.tagged_words.items()):
        end = sentence.get_word_span(index).end_token
        if word.word_class == "relation" and word.name != "of" and end == start:
            others = [sentence.tagged_words[noun].name for noun in nouns if noun < index]
            yield word.name, "o", (others or [""])[-1]
        elif word.word_class == "relation" and index == span.end_token:
            others = [
                sentence.tagged_words[noun].name for noun in nouns if find_phrase_start(sentence, noun) == end
            ]
            yield word.name, "s", (others or [""])[0]
