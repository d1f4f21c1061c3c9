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
from pipeline.language.functional_programs import FINDS, NO_LOOK, POSITIONS, SCENE, Operation, Program, root
from pipeline.language.noun_phrases import NOTHING, POINTING, Said, clause, phrase_start, whole_noun
from pipeline.language.sentence import Sentence, Span
from pipeline.language.word_lists import DEFINITE, DETERMINERS


@dataclass(frozen=True, slots=True)
class Premise:
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
    value: int
    span: Span
    word: str
    start: int = -1
    of: int = -1
    weak: bool = False
    denied: bool = False
    type: str = ""
    said: Said = NOTHING
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Premises:
    """All premises of a question.

    Attributes:
        persons: those that pronouns stand for ("he"), and things ("it").
        asserted: the kinds of what it asserts.
    """

    things: tuple[Premise, ...] = ()
    persons: tuple[Premise, ...] = ()
    looks: tuple[Premise, ...] = ()
    relations: tuple[Premise, ...] = ()
    asserted: frozenset[EditKind] = frozenset()


def premises(program: Program, sentence: Sentence) -> Premises:
    """What a question takes for granted, as far as its program and its words tell."""
    phrases = _phrases(sentence)
    asserted, weak = asserted_steps(program, sentence, phrases), _weak(program, sentence, phrases)
    things, looks = [], []
    for step, (span, start) in phrases.items():
        if step not in asserted:
            own, more = list(_own_looks(sentence, span, start, step)), clause(sentence, span.last)
            attributes, relations = more or NOTHING
            said = (*(look.word for look in own), *attributes), relations
            thing = Premise("object", step, -1, span, program[step].name, start, step, step in weak)
            things.append(replace(thing, said=said, closed=more is None))
            looks += (replace(look, weak=thing.weak) for look in own)
    if not things and all(operation.name != SCENE for operation in program):
        things = list(_who(program, sentence)) or list(_definite(sentence))
        looks += [
            look for thing in things for look in _own_looks(sentence, thing.span, thing.start, thing.step)
        ]
    rows = list(_said_by_steps(program, sentence, asserted, weak))
    looks += [row for row in rows if row.kind == "attribute"]
    places = [row for row in rows if row.kind == "relation"]
    kinds = _kinds_asserted(program, asserted)
    return Premises(tuple(things), tuple(_persons(program, sentence)), tuple(looks), tuple(places), kinds)


def _said_by_steps(
    program: Program, sentence: Sentence, asserted: Container[int], weak: Container[int]
) -> Iterator[Premise]:
    """The looks and relations that steps have, of things that are not asserted, where their words stand in the text."""
    for (step, value), span in sorted(sentence.values.items()):
        operation, of = program[step], root(program, step) if program[step].verb in FINDS else -1
        if of >= 0 and of not in asserted:
            kind, word = _kind(operation), operation.values[value]
            yield Premise(
                kind, step, value, span, word, -1, of, of in weak, operation.negated, operation.type
            )


def _kind(operation: Operation) -> EditKind:
    """Whether a step says how a thing looks or where it is."""
    spatial = operation.verb == "relate" or operation.type in POSITIONS | {"rel"}
    return "relation" if spatial else "attribute"


def _kinds_asserted(program: Program, asserted: Collection[int]) -> frozenset[EditKind]:
    said = (
        operation
        for step, operation in enumerate(program)
        if operation.values and (operation.verb not in FINDS or root(program, step) in asserted)
    )
    kinds: set[EditKind] = {_kind(operation) for operation in said if operation.type not in NO_LOOK - {"rel"}}
    if asserted:
        kinds.add("object")
    return frozenset(kinds)


def _persons(program: Program, sentence: Sentence) -> Iterator[Premise]:
    for step, operation in enumerate(program):
        if span := sentence.pronoun(operation.name):
            yield Premise("object", step, -1, span, operation.name, span.first, step)


def asked_step(program: Program) -> int | None:
    """The step that names what the question asks to be named."""
    return root(program, program[-1].inputs[0]) if program and program[-1].type == "name" else None


def _weak(program: Program, sentence: Sentence, phrases: Mapping[int, tuple[Span, int]]) -> set[int]:
    """The steps of what need not be there: the thing asked for, but for "the animal on the left" and "this animal", and
    what an indefinite phrase relates to it: "Who is wearing A HAT?"."""
    asked = asked_step(program)
    if asked is None or program[-1].verb == "verify":  # "Is the animal a cow?": there has to be one
        return set()
    if asked in phrases:
        span, start = phrases[asked]
        # "What animal IS IT?" presupposes that it is an animal. The text may end after the noun.
        is_asked_of_it = (
            sentence.token(span.last) in ("is", "are") and sentence.token(span.last + 1) in POINTING
        )
        if _is_definite(sentence, start) or is_asked_of_it:
            return set()
    weak = [asked]
    for step in weak:
        other = root(program, program[step].inputs[0]) if program[step].verb == "relate" else step
        if other != step and other in phrases and not _is_definite(sentence, phrases[other][1]):
            weak.append(other)
    return set(weak)


def _is_definite(sentence: Sentence, start: int) -> bool:
    """Whether a phrase that starts there says that there is such a thing: "the cup", "the girl's cup"."""
    return sentence.token(start) in DEFINITE or sentence.token(start) == "'s"


def _phrases(sentence: Sentence) -> dict[int, tuple[Span, int]]:
    """The noun of each step that the text names, and the token that starts its phrase."""
    return {step: whole_noun(sentence, span) for step, span in sorted(sentence.names.items())}


def asserted_steps(
    program: Program, sentence: Sentence, phrases: Mapping[int, tuple[Span, int]] | None = None
) -> set[int]:
    """The steps of the things that are asserted: what an `exist` asks, and what an indefinite phrase brings up in a
    statement: "wearing A HAT", "to the right of A MAN", "Is there a cup on A TABLE?", "Is it A CUP?"."""
    phrases = _phrases(sentence) if phrases is None else phrases
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
            stated = stated or _is_one(sentence, start)
        if operation.asserted or (stated and not definite):
            asserted.add(step)
    return asserted


def _is_one(sentence: Sentence, start: int) -> bool:
    """Whether a phrase says what something is: "Is this A YOUNG WOMAN?"."""
    while sentence.is_taken(start - 1) or sentence.kind(start - 1) == "attribute":  # "Are they YOUNG women?"
        start -= 1
    return sentence.before(start) in POINTING and sentence.before(start - 1) in ("is", "are")


def _own_looks(sentence: Sentence, span: Span, start: int, step: int) -> Iterator[Premise]:
    """The looks in a noun's phrase that no step has: GQA's programs leave out those of what a choice is about."""
    for index in range(start, span.first):
        if sentence.kind(index) == "attribute" and sentence.free(index) and sentence.before(index) != "not":
            word = sentence.tags[index].name
            yield Premise("attribute", -1, 0, sentence.word_at(index), word, of=step)


def _who(program: Program, sentence: Sentence) -> Iterator[Premise]:
    """ "Who is standing?" names a person in a word of its own."""
    step = asked_step(program)
    if step is not None and program[step].name == "person" and sentence.token(0) == "who":
        yield Premise("object", step, -1, sentence.span(0, 1), "person", 0, step, weak=True)


def _definite(sentence: Sentence) -> Iterator[Premise]:
    """The things that no step of a program names and that stand after "the": all of a question without a program, and of
    "Is he in front of the wall?" GQA's program names a man and no wall."""
    last = 0
    for index, word in sorted(sentence.tags.items()):
        if word.kind == "object" and not sentence.taken[index] and index >= last:
            span, start = whole_noun(sentence, sentence.word_at(index))
            last, following = span.last, sentence.tokens[span.last : min(span.last + 3, sentence.end)]
            said = clause(sentence, last)
            of_it = not DETERMINERS.isdisjoint(following[:1]) or (
                following[:1] == ("made",) and following[2:] != ()
            )
            if start < span.first and _is_definite(sentence, start):
                looks = (look.word for look in _own_looks(sentence, span, start, -1))
                attributes, relations = said or NOTHING
                more = (*looks, *attributes), (*relations, *_around(sentence, span, start))
                yield Premise(
                    "object", -1, -1, span, word.name, start, said=more, closed=of_it or said is None
                )


def _around(sentence: Sentence, span: Span, start: int) -> Iterator[tuple[str, str, str]]:
    """The relations that stand right before and right behind a noun's phrase: (relation, its role in it, the other thing)."""
    nouns = [index for index, word in sorted(sentence.tags.items()) if word.kind == "object"]
    for index, word in sorted(sentence.tags.items()):
        end = sentence.word_at(index).last
        if word.kind == "relation" and word.name != "of" and end == start:
            others = [sentence.tags[noun].name for noun in nouns if noun < index]
            yield word.name, "o", (others or [""])[-1]
        elif word.kind == "relation" and index == span.last:
            others = [sentence.tags[noun].name for noun in nouns if phrase_start(sentence, noun) == end]
            yield word.name, "s", (others or [""])[0]
