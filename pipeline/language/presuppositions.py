"""Find the presuppositions of a question: what must hold so that it has an answer.

    "What is the red cup to the left of the plate made of?"
        fixed: the cup, its color, the plate, and that the cup is to the left of the plate
    "What animal is to the left of the plate?"
        fixed: the plate; query-only: an animal, and where the animal is
    "Who is wearing a hat?"
        query-only: a person, a hat, and that the person wears the hat
    "Is the cup red?", "Is there a cup?", "Is it a red cup?"
        asserted: red, a cup, a red cup

A presupposition is fixed if the question has no answer when the presupposition fails. It is query-only if it
concerns only what the question asks for. If a query-only presupposition fails, "nothing", "nobody" or "none"
is a true answer, and often another object fits.

What a question asks to confirm ("Is the cup RED?") is not presupposed, because the answer may be no. This
module calls it asserted. The values of the program steps `verify` and `choose` are always asserted.
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
        kind: "object", "attribute" or "relation". Positions ("on the left") count as relations.
        step: Index of the program step; -1 if only the text expresses the presupposition.
        value_index: Index of the value in the step; -1 for the name of the step; 0 for an attribute that only
            the text expresses.
        span: Where the presupposition stands in the text.
        word: The name, attribute or relation as the program writes it. If only the text expresses it, its
            name in the vocabulary.
        phrase_start: First token of an object's noun phrase, which is the determiner if there is one; -1 for
            attributes and relations.
        object_step: Index of the step that names the object; -1 if no step names it.
        is_query_only: Whether the presupposition concerns only what the question asks for.
        is_negated: Whether the attribute must be absent ("not red").
        type: Type of an attribute or position; "" if not given.
        modifiers: Attributes and relations of an object that only the text states.
        has_unparsed_modifiers: Whether the text states something about an object that cannot be parsed, so
            that the object cannot be replaced safely.
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
        objects: Objects that the question names.
        pronouns: Persons and objects that pronouns stand for ("he", "it").
        attributes: Attributes of objects.
        relations: Relations and positions of objects.
        asserted_kinds: Kinds of what the question asks to confirm.
    """

    objects: tuple[Presupposition, ...] = ()
    pronouns: tuple[Presupposition, ...] = ()
    attributes: tuple[Presupposition, ...] = ()
    relations: tuple[Presupposition, ...] = ()
    asserted_kinds: frozenset[EditKind] = frozenset()


def find_presuppositions(program: Program, sentence: Sentence) -> Presuppositions:
    """Return the presuppositions of a question.

    Args:
        program: The parsed program.
        sentence: The text of the question, aligned with the program (`align_program`).
    """
    phrases = _find_noun_phrases(sentence)
    asserted = find_asserted_steps(program, sentence, phrases)
    query_only = _find_query_only_steps(program, sentence, phrases)
    objects: list[Presupposition] = []
    attributes: list[Presupposition] = []
    for step, (span, start) in phrases.items():
        if step not in asserted:
            text_attributes = list(_find_text_attributes(sentence, span, start, step))
            postmodifier = parse_postmodifier(sentence, span.end_token)
            more_attributes, relations = postmodifier or NO_MODIFIERS
            presupposed_object = Presupposition(
                "object",
                step,
                -1,
                span,
                program[step].name,
                phrase_start=start,
                object_step=step,
                is_query_only=step in query_only,
                modifiers=((*(attribute.word for attribute in text_attributes), *more_attributes), relations),
                has_unparsed_modifiers=postmodifier is None,
            )
            objects.append(presupposed_object)
            attributes += (
                replace(attribute, is_query_only=presupposed_object.is_query_only)
                for attribute in text_attributes
            )
    if not objects and all(operation.name != SCENE for operation in program):
        objects = list(_find_person_of_who(program, sentence)) or list(_find_definite_objects(sentence))
        attributes += [
            attribute
            for found in objects
            for attribute in _find_text_attributes(sentence, found.span, found.phrase_start, found.step)
        ]
    step_presuppositions = list(_find_step_attributes_and_relations(program, sentence, asserted, query_only))
    attributes += [found for found in step_presuppositions if found.kind == "attribute"]
    return Presuppositions(
        objects=tuple(objects),
        pronouns=tuple(_find_pronouns(program, sentence)),
        attributes=tuple(attributes),
        relations=tuple(found for found in step_presuppositions if found.kind == "relation"),
        asserted_kinds=_collect_asserted_kinds(program, asserted),
    )


def _find_step_attributes_and_relations(
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
    asserting_operations = (
        operation
        for step, operation in enumerate(program)
        if operation.values
        and (operation.verb not in OBJECT_SET_VERBS or find_root_step(program, step) in asserted)
    )
    kinds: set[EditKind] = {
        _get_edit_kind(operation)
        for operation in asserting_operations
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
    """Return the step of the object whose name the question asks for; None if the question asks for no name."""
    return find_root_step(program, program[-1].inputs[0]) if program and program[-1].type == "name" else None


def _find_query_only_steps(
    program: Program, sentence: Sentence, phrases: Mapping[int, tuple[Span, int]]
) -> set[int]:
    """Return the steps whose objects need not exist.

    These are the step of the object that the question asks for, unless its phrase is definite ("the animal on
    the left"), and the steps of objects that are related to that object by an indefinite phrase ("Who is
    wearing A HAT?").
    """
    asked = find_queried_step(program)
    # "Is the animal a cow?" presupposes an animal.
    if asked is None or program[-1].verb == "verify":
        return set()
    if asked in phrases:
        span, start = phrases[asked]
        # "What animal IS IT?" presupposes that the object is an animal.
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
    """Return whether a phrase that starts at a token presupposes its object: "the cup", "the girl's cup"."""
    return sentence.get_token(start) in DEFINITE_DETERMINERS or sentence.get_token(start) == "'s"


def _find_noun_phrases(sentence: Sentence) -> dict[int, tuple[Span, int]]:
    """Return the noun phrase of each step whose object the text names: the span of the noun, and the first
    token.
    """
    return {step: expand_noun(sentence, span) for step, span in sorted(sentence.name_spans.items())}


def find_asserted_steps(
    program: Program, sentence: Sentence, phrases: Mapping[int, tuple[Span, int]] | None = None
) -> set[int]:
    """Return the steps whose objects the question asks to confirm instead of presupposing them.

    These are the objects that a step `exist` asks for, and the objects of indefinite phrases in what the
    question asks to confirm: "Is the man wearing A HAT?", "Is there a cup on A TABLE?", "Is it A CUP?".

    Args:
        program: The parsed program.
        sentence: The text of the question, aligned with the program.
        phrases: The noun phrases of the steps; None to find them.
    """
    phrases = _find_noun_phrases(sentence) if phrases is None else phrases
    exists = any(operation.verb == "exist" for operation in program)
    related = {
        index
        for operation in program
        if operation.verb == "verify" and operation.type == "rel"
        for index in operation.inputs
    }
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
    """Return whether the phrase that starts at a token says what something is: "Is this A YOUNG WOMAN?"."""
    # If the phrase has no determiner, go back over the attributes before the noun: "Are they YOUNG women?".
    while sentence.is_matched(start - 1) or sentence.get_word_class(start - 1) == "attribute":
        start -= 1
    return sentence.get_previous_token(start) in REFERRING_PRONOUNS and sentence.get_previous_token(
        start - 1
    ) in ("is", "are")


def _find_text_attributes(sentence: Sentence, span: Span, start: int, step: int) -> Iterator[Presupposition]:
    """Yield the attributes that stand in the phrase of a noun but in no step of the program.

    GQA's programs leave out the attributes of the object of a step `choose`.
    """
    for index in range(start, span.first_token):
        if (
            sentence.get_word_class(index) == "attribute"
            and sentence.is_word_unmatched(index)
            and sentence.get_previous_token(index) != "not"
        ):
            word = sentence.tagged_words[index].name
            yield Presupposition("attribute", -1, 0, sentence.get_word_span(index), word, object_step=step)


def _find_person_of_who(program: Program, sentence: Sentence) -> Iterator[Presupposition]:
    """Yield the person that a question with "who" presupposes: "Who is standing?"."""
    step = find_queried_step(program)
    if step is not None and program[step].name == "person" and sentence.get_token(0) == "who":
        yield Presupposition(
            "object", step, -1, sentence.make_span(0, 1), "person", 0, step, is_query_only=True
        )


def _find_definite_objects(sentence: Sentence) -> Iterator[Presupposition]:
    """Yield the objects after a definite determiner ("the", "his") that no step names.

    These are all definite objects of a question without a program, and objects that GQA's program leaves out.
    For "Is he in front of the wall?", the program names a man but no wall.
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
                text_attributes = (found.word for found in _find_text_attributes(sentence, span, start, -1))
                attributes, relations = postmodifier or NO_MODIFIERS
                adjacent = _find_adjacent_relations(sentence, span, start)
                yield Presupposition(
                    "object",
                    -1,
                    -1,
                    span,
                    word.name,
                    phrase_start=start,
                    modifiers=((*text_attributes, *attributes), (*relations, *adjacent)),
                    has_unparsed_modifiers=has_clause or postmodifier is None,
                )


def _find_adjacent_relations(sentence: Sentence, span: Span, start: int) -> Iterator[tuple[str, str, str]]:
    """Yield the relations directly before and after the phrase of a noun.

    Yields:
        Name of the relation, role of the noun ("s": subject, "o": object), and name of the other object (""
        if the text names none).
    """
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
