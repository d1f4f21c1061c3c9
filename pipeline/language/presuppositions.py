"""What a question takes for granted: its premises, without one of which it has no answer, or asks for another thing.

    "What is the red cup to the left of the plate made of?"   fixed: the cup, that it is red, the plate, where the cup is
    "What animal is to the left of the plate?"                fixed: the plate; weak: an animal, where it is
    "Who is wearing a hat?"                                   weak: a person, a hat, that it is worn
    "Is the cup red?" "Is there a cup?" "Is it a red cup?"    asserted, no premise: red, a cup, a red cup

Where what is asked for is not there, "nothing", "nobody" or "none" is a true answer, and often there is another such thing:
a premise of it is weak. What is asserted may be anything: the answer is no. The values of `verify` and the options of a
choice are always asserted.
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
    """Something that a question takes for granted.

    Attributes:
        kind: a thing is an "object", a look an "attribute"; where a thing is, be it "on the left", a "relation".
        step, value: the program's step, and which of its values (-1: its name); step -1: the text alone says it.
        span: where it stands. word: what the program calls it. type: of a look or a position, "" if not said.
        weak: it is a thing that the question asks for, or said of one. denied: "not red".
        start: the token at which its noun phrase starts (its determiner); things only.
        of: the step that names the thing.
        said: what more the text says of a thing than the program.
        closed: the text says more of a thing than can be read, so that nothing else may be put there.
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
    """All premises of a question.

    Attributes:
        persons: those that pronouns stand for ("he"), and things ("it").
        asserted: the kinds of what it asserts.
    """

    objects: tuple[Presupposition, ...] = ()
    pronouns: tuple[Presupposition, ...] = ()
    attributes: tuple[Presupposition, ...] = ()
    relations: tuple[Presupposition, ...] = ()
    asserted_kinds: frozenset[EditKind] = frozenset()


def find_presuppositions(program: Program, sentence: Sentence) -> Presuppositions:
    """What a question takes for granted, as far as its program and its words tell."""
    phrases = _find_noun_phrases(sentence)
    asserted, weak = (
        find_asserted_steps(program, sentence, phrases),
        _find_query_only_steps(program, sentence, phrases),
    )
    things, looks = [], []
    for step, (span, start) in phrases.items():
        if step not in asserted:
            own, more = (
                list(_find_text_attributes(sentence, span, start, step)),
                parse_postmodifier(sentence, span.end_token),
            )
            attributes, relations = more or NO_MODIFIERS
            said = (*(look.word for look in own), *attributes), relations
            thing = Presupposition("object", step, -1, span, program[step].name, start, step, step in weak)
            things.append(replace(thing, modifiers=said, has_unparsed_modifiers=more is None))
            looks += (replace(look, is_query_only=thing.is_query_only) for look in own)
    if not things and all(operation.name != SCENE for operation in program):
        things = list(_find_who(program, sentence)) or list(_find_definite_objects(sentence))
        looks += [
            look
            for thing in things
            for look in _find_text_attributes(sentence, thing.span, thing.phrase_start, thing.step)
        ]
    rows = list(_find_in_steps(program, sentence, asserted, weak))
    looks += [row for row in rows if row.kind == "attribute"]
    places = [row for row in rows if row.kind == "relation"]
    kinds = _collect_asserted_kinds(program, asserted)
    return Presuppositions(
        tuple(things), tuple(_find_pronouns(program, sentence)), tuple(looks), tuple(places), kinds
    )


def _find_in_steps(
    program: Program, sentence: Sentence, asserted: Container[int], weak: Container[int]
) -> Iterator[Presupposition]:
    """The looks and relations that steps have, of things that are not asserted, where their words stand in the text."""
    for (step, value), span in sorted(sentence.value_spans.items()):
        operation, of = (
            program[step],
            find_root_step(program, step) if program[step].verb in OBJECT_SET_VERBS else -1,
        )
        if of >= 0 and of not in asserted:
            kind, word = _get_edit_kind(operation), operation.values[value]
            yield Presupposition(
                kind, step, value, span, word, -1, of, of in weak, operation.is_negated, operation.type
            )


def _get_edit_kind(operation: Operation) -> EditKind:
    """Whether a step says how a thing looks or where it is."""
    spatial = operation.verb == "relate" or operation.type in POSITION_TYPES | {"rel"}
    return "relation" if spatial else "attribute"


def _collect_asserted_kinds(program: Program, asserted: Collection[int]) -> frozenset[EditKind]:
    said = (
        operation
        for step, operation in enumerate(program)
        if operation.values
        and (operation.verb not in OBJECT_SET_VERBS or find_root_step(program, step) in asserted)
    )
    kinds: set[EditKind] = {
        _get_edit_kind(operation) for operation in said if operation.type not in NON_ATTRIBUTE_TYPES - {"rel"}
    }
    if asserted:
        kinds.add("object")
    return frozenset(kinds)


def _find_pronouns(program: Program, sentence: Sentence) -> Iterator[Presupposition]:
    for step, operation in enumerate(program):
        if span := sentence.find_pronoun(operation.name):
            yield Presupposition("object", step, -1, span, operation.name, span.first_token, step)


def find_queried_step(program: Program) -> int | None:
    """The step that names what the question asks to be named."""
    return find_root_step(program, program[-1].inputs[0]) if program and program[-1].type == "name" else None


def _find_query_only_steps(
    program: Program, sentence: Sentence, phrases: Mapping[int, tuple[Span, int]]
) -> set[int]:
    """The steps of what need not be there: the thing asked for, but for "the animal on the left" and "this animal", and
    what an indefinite phrase relates to it: "Who is wearing A HAT?"."""
    asked = find_queried_step(program)
    if asked is None or program[-1].verb == "verify":  # "Is the animal a cow?": there has to be one
        return set()
    if asked in phrases:
        span, start = phrases[asked]
        # "What animal IS IT?" presupposes that it is an animal. The text may end after the noun.
        is_asked_of_it = (
            sentence.get_token(span.end_token) in ("is", "are")
            and sentence.get_token(span.end_token + 1) in REFERRING_PRONOUNS
        )
        if _is_definite(sentence, start) or is_asked_of_it:
            return set()
    weak = [asked]
    for step in weak:
        other = find_root_step(program, program[step].inputs[0]) if program[step].verb == "relate" else step
        if other != step and other in phrases and not _is_definite(sentence, phrases[other][1]):
            weak.append(other)
    return set(weak)


def _is_definite(sentence: Sentence, start: int) -> bool:
    """Whether a phrase that starts there says that there is such a thing: "the cup", "the girl's cup"."""
    return sentence.get_token(start) in DEFINITE_DETERMINERS or sentence.get_token(start) == "'s"


def _find_noun_phrases(sentence: Sentence) -> dict[int, tuple[Span, int]]:
    """The noun of each step that the text names, and the token that starts its phrase."""
    return {step: expand_noun(sentence, span) for step, span in sorted(sentence.name_spans.items())}


def find_asserted_steps(
    program: Program, sentence: Sentence, phrases: Mapping[int, tuple[Span, int]] | None = None
) -> set[int]:
    """The steps of the things that are asserted: what an `exist` asks, and what an indefinite phrase brings up in a
    statement: "wearing A HAT", "to the right of A MAN", "Is there a cup on A TABLE?", "Is it A CUP?"."""
    phrases = _find_noun_phrases(sentence) if phrases is None else phrases
    exists = any(operation.verb == "exist" for operation in program)
    related = {i for o in program if o.verb == "verify" and o.type == "rel" for i in o.inputs}
    asserted = set()
    for step, operation in enumerate(program):
        if not operation.name:
            continue
        stated, definite = exists or operation.verb == "verify" or step in related, operation.verb != "verify"
        if step in phrases:
            start = phrases[step][1]
            definite = _is_definite(sentence, start)
            stated = stated or _is_predicate_noun(sentence, start)
        if operation.is_asserted or (stated and not definite):
            asserted.add(step)
    return asserted


def _is_predicate_noun(sentence: Sentence, start: int) -> bool:
    """Whether a phrase says what something is: "Is this A YOUNG WOMAN?"."""
    while (
        sentence.is_matched(start - 1) or sentence.get_word_class(start - 1) == "attribute"
    ):  # "Are they YOUNG women?"
        start -= 1
    return sentence.get_previous_token(start) in REFERRING_PRONOUNS and sentence.get_previous_token(
        start - 1
    ) in ("is", "are")


def _find_text_attributes(sentence: Sentence, span: Span, start: int, step: int) -> Iterator[Presupposition]:
    """The looks in a noun's phrase that no step has: GQA's programs leave out those of what a choice is about."""
    for index in range(start, span.first_token):
        if (
            sentence.get_word_class(index) == "attribute"
            and sentence.is_word_unmatched(index)
            and sentence.get_previous_token(index) != "not"
        ):
            word = sentence.tagged_words[index].name
            yield Presupposition("attribute", -1, 0, sentence.get_word_span(index), word, object_step=step)


def _find_who(program: Program, sentence: Sentence) -> Iterator[Presupposition]:
    """ "Who is standing?" names a person in a word of its own."""
    step = find_queried_step(program)
    if step is not None and program[step].name == "person" and sentence.get_token(0) == "who":
        yield Presupposition(
            "object", step, -1, sentence.make_span(0, 1), "person", 0, step, is_query_only=True
        )


def _find_definite_objects(sentence: Sentence) -> Iterator[Presupposition]:
    """The things that no step of a program names and that stand after "the": all of a question without a program, and of
    "Is he in front of the wall?" GQA's program names a man and no wall."""
    last = 0
    for index, word in sorted(sentence.tagged_words.items()):
        if word.word_class == "object" and not sentence.matched[index] and index >= last:
            span, start = expand_noun(sentence, sentence.get_word_span(index))
            last, following = (
                span.end_token,
                sentence.tokens[span.end_token : min(span.end_token + 3, sentence.num_content_tokens)],
            )
            said = parse_postmodifier(sentence, last)
            of_it = not DETERMINERS.isdisjoint(following[:1]) or (
                following[:1] == ("made",) and following[2:] != ()
            )
            if start < span.first_token and _is_definite(sentence, start):
                looks = (look.word for look in _find_text_attributes(sentence, span, start, -1))
                attributes, relations = said or NO_MODIFIERS
                more = (*looks, *attributes), (*relations, *_find_adjacent_relations(sentence, span, start))
                yield Presupposition(
                    "object",
                    -1,
                    -1,
                    span,
                    word.name,
                    start,
                    modifiers=more,
                    has_unparsed_modifiers=of_it or said is None,
                )


def _find_adjacent_relations(sentence: Sentence, span: Span, start: int) -> Iterator[tuple[str, str, str]]:
    """The relations that stand right before and right behind a noun's phrase: (relation, its role in it, the other thing)."""
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
