"""What may be wrong with a candidate: the question is unsound whatever the picture shows (it offers one choice twice,
speaks of what cannot be, gives its answer away, is badly said), or it has an answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.core.records import Candidate, Edit, Judgement, Question, Step, Vocabulary
from pipeline.programs.operations import OVERLAPPING, SCENE, Operation, parse, root
from pipeline.words.likeness import same_answer, similar
from pipeline.words.relations import PREPOSITIONS, antonym
from pipeline.words.word_tables import DEFINITE, DETERMINERS, words

Fault = str | bool | None  # what is wrong; True where the rule's reason says it all; false where nothing is
NOT_JUDGED = Judgement(answerability="unknown")
# "Is it to the right or to the right of ...": the same words on both sides of "or", and the word after them.
_TWICE = re.compile(r"(?<![\w-])(?<!light )(?<!dark )([\w-]+(?: [\w-]+){0,5}) or \1(?![\w-])(?: ([\w-]+))?")
_MIXED = frozenset(("color", "pattern", "material"))  # "the shirt that looks yellow and white" may be there
_NO_LOOKS = frozenset(("", "name", "rel", "place", "room", "location"))  # types
_ASKED = re.compile(r"\b(color|colour|material|pattern|shape|size)\b", re.IGNORECASE)
_YES_NO = re.compile(r"(is|are|do|does)\b", re.IGNORECASE)
# "What color are the black shoes?": between the word that asks and the noun phrase that it asks of.
_BETWEEN = frozenset(("of", "is", "are", "does", "do", "the", "you", "think"))
# There another noun phrase starts.
_NEXT_PHRASE = words(
    "of, in, on, to, near, next, behind, above, below, under, beside, with, by, that, which, who, wearing, holding"
)
# Slips that GQA's own templates make and that an edited question inherits. (A released source question may keep them: it
# is GQA's. An edited one is ours, and a reader should not trip over it.)
_SLIPS = {  # how they are seen: what is wrong
    r"\b(?:behind|beside|near|above|below|under|underneath|beneath) of\b": "a preposition too many",
    r"\bthe (?:\w+ ){1,3}(?:that|which|who) (?:to|on|in|under|underneath|behind|above|below|near|beside)\b": (
        "a clause without a verb"
    ),
    r"\bare (?:it|this|that)\?": "several that are one",
    r"\bis (?:these|those|they)\b": "one that is several",
    r"^how\b.* called\b": "not how one asks for a name",
    r"^where\b[^?]* (?:on|in|at|under|behind|front of|left of|right of)\?": "a place asked for twice",
    r"\b(\w+) \1\b": "a word said twice",
}
_NAMED = frozenset(("select", "relate", "verify", "choose"))  # verbs whose argument may end in object ids


@dataclass(frozen=True)
class ScreenCase:
    """A candidate with what is known of it.

    Attributes:
        question: the picture's own one that it was made from; None for another picture's question.
        judgement: of the candidate, by the evidence.
        asked: plain texts of the questions already asked of the picture.
        kept: plain texts of the picture's candidates of the same subset that stay.
    """

    candidate: Candidate
    vocabulary: Vocabulary
    question: Question | None = None
    judgement: Judgement = NOT_JUDGED
    asked: Collection[str] = ()
    kept: Collection[str] = ()

    @cached_property
    def program(self) -> Sequence[Operation]:
        """The candidate's program, () if it has none.

        Raises:
            UserError: it is malformed.
        """
        candidate = self.candidate
        return parse(candidate.program, candidate.candidate_id) if candidate.program else ()


def same_choice_in_program(case: ScreenCase) -> Fault:
    """Two equal options of a `choose`."""
    for operation in case.program:
        if operation.verb == "choose" and len(set(operation.values)) < len(operation.values):
            return " or ".join(operation.values)
    return None


def same_choice_in_words(case: ScreenCase) -> Fault:
    """Two equal options in the words of the question, whatever its program says.

    A word after the second option may make another thing of it ("a car or a car park"). None does so that
    starts a noun phrase, nor "side", "part", and the "of" of "to the left of".
    """
    text = case.candidate.text.lower()
    for option, following in _TWICE.findall(text) if " or " in text else ():
        goes_on = following not in DETERMINERS | {"", "side", "part"}
        if not goes_on or f"{option} {following}" in PREPOSITIONS:
            return f"{option} or {option}"
    return None


def looks_that_exclude_each_other(case: ScreenCase) -> Fault:
    """Two looks of one thing of which it can only have one: old and young, red and not red."""
    for operation in case.program:
        if operation.verb != "filter":
            continue
        look, one_at_a_time = operation.values[0], operation.type not in OVERLAPPING | _MIXED
        for other in looks(case.program, operation.inputs[0]):
            other_look, neither_denied = other.values[0], not (operation.negated or other.negated)
            if look == other_look and operation.negated != other.negated:
                return f"{look} and not {look}"
            same_type = operation.type == other.type and one_at_a_time
            if neither_denied and same_type and not similar(look, other_look):
                return f"{look} and {other_look}"
    return None


def asked_look_is_named(case: ScreenCase) -> Fault:
    """It asks for the colour of something black, or whether something red is red."""
    for operation in case.program:
        if operation.verb not in ("query", "verify", "choose") or not operation.inputs:
            continue
        for look in looks(case.program, operation.inputs[0]):
            if operation.type not in _NO_LOOKS and look.type == operation.type and not look.negated:
                return f"it asks for the {operation.type} of something {look.values[0]}"
            if not operation.type and look.values[0] in operation.values:
                return f"it asks of something {look.values[0]} whether it is"
    return None


def asked_name_is_put_in(case: ScreenCase) -> Fault:
    """It asks for the name of what it names since it was edited: that of "the couch", not of "the furniture".
    (Source questions ask so of categories alone, of some that the vocabulary does not know.)"""
    put_in = {edit.step for edit in case.candidate.edits if edit.kind == "object"}
    for step in _asked_for_their_names(case):
        name = case.program[step].name
        if step in put_in and name not in case.vocabulary.categories:
            return f"it asks for the name of a {name}"
    return None


def there_and_back(case: ScreenCase) -> Fault:
    """ "What is to the left of the cup that is to the right of the lamp?": the lamp."""
    program = case.program
    for step in _asked_for_their_names(case):
        outer = program[step]
        inner = program[root(program, outer.inputs[0])] if outer.verb == "relate" else outer
        if outer.verb != "relate" or inner.verb != "relate":
            continue
        same = inner.values == outer.values and inner.subject != outer.subject
        opposite = antonym(inner.values[0]) == outer.values[0] and inner.subject == outer.subject
        if same or opposite:
            return f"the {program[root(program, inner.inputs[0])].name} that the text names is an answer"
    return None


def asked_look_is_said(case: ScreenCase) -> Fault:
    """Without a program its words tell: it asks for a type of look and says one of the thing."""
    text, types = case.candidate.text, case.vocabulary.attribute_types
    asked = _ASKED.search(text)
    if case.program or asked is None or _YES_NO.match(text):
        return None
    type_ = asked[1].lower().replace("colour", "color")
    after = re.findall(r"[\w-]+", text[asked.end() :].lower())
    while after and after[0] in _BETWEEN:
        after.pop(0)
    for word in after:
        if word in _NEXT_PHRASE:
            return None
        if types.get(word) == type_:
            return f"it asks for the {type_} of something {word}"
    return None


def slip_of_grammar(case: ScreenCase) -> Fault:
    """The first slip in the text of an edited question: "What is the man that to the left of the cup wearing?"."""
    if not case.candidate.edits:
        return None
    return next((what for seen, what in _SLIPS.items() if re.search(seen, case.candidate.text, re.I)), None)


def plain(text: str) -> str:
    """A text without capitals, doubled blanks and the mark at its end: equal for texts that ask the same way."""
    return " ".join(text.rstrip("?. ").lower().split())


def edited_without_effect(case: ScreenCase) -> Fault:
    """It still asks what its source asks: the same text, or the options of a choice in another order."""
    candidate, question = case.candidate, case.question
    if question is None:
        return None
    text, source = plain(candidate.text), plain(question.text)
    if text == source:
        return True
    if candidate.program and question.program:
        return [_meaning(step) for step in candidate.program] == [_meaning(step) for step in question.program]
    return " or " in candidate.text and sorted(text.split()) == sorted(source.split())


def asked_already(case: ScreenCase) -> Fault:
    """The picture's own questions have it."""
    return plain(case.candidate.text) in case.asked


def proposed_before(case: ScreenCase) -> Fault:
    """Another candidate of the picture and subset, which stays, has the same text."""
    return plain(case.candidate.text) in case.kept


def edits_only_what_is_asserted(case: ScreenCase) -> Fault:
    """Every edit is of something that the question asks or states, none of something it takes for granted."""
    edits, question = case.candidate.edits, case.question
    if not edits or question is None or not question.program or any(edit.step < 0 for edit in edits):
        return None
    program = parse(question.program, question.question_id)
    return all(_asserted(program[edit.step], edit, question) for edit in edits)


def answerable_anywhere(case: ScreenCase) -> Fault:
    """It has an answer at every picture."""
    return bool(case.program) and always_answerable(case.program)


def answerable_by_evidence(case: ScreenCase) -> Fault:
    """The judge knows the answer."""
    return case.judgement.answerability == "answerable" and case.judgement.evidence


def always_answerable(program: Sequence[Operation]) -> bool:
    """Whether a question has an answer at every picture: what place it shows, whether there is something."""
    last = program[-1]
    if last.verb in ("query", "verify") or (last.verb == "choose" and last.type == "location"):
        return program[last.inputs[0]].name == SCENE and last.type in ("place", "room", "location")
    truths = ("exist", "and", "or")
    return last.verb in truths and all(step.asserted or step.verb in truths for step in program)


def looks(program: Sequence[Operation], index: int) -> list[Operation]:
    """The filters right on the thing that a step finds, the outermost first."""
    filters = []
    while program[index].verb == "filter":
        filters.append(program[index])
        index = program[index].inputs[0]
    return filters


def _asked_for_their_names(case: ScreenCase) -> list[int]:
    """The steps that name what the question asks to be named."""
    return [
        root(case.program, operation.inputs[0])
        for operation in case.program
        if operation.verb == "query" and operation.type == "name" and operation.inputs
    ]


def _meaning(step: Step) -> tuple[str, object]:
    """A step without object ids, and the options of a choice without their order."""
    argument = step.argument.strip()
    if step.operation.split()[0] in _NAMED and not argument.startswith("not("):
        argument = argument.partition("(")[0].strip()
    return step.operation, frozenset(re.split(r"[|,]", argument)) if "|" in argument else argument


def _asserted(operation: Operation, edit: Edit, question: Question) -> bool:
    """Whether what an edit took out is asked or stated by its operation."""
    old = edit.old.lower()
    if operation.asserted:
        return True
    if operation.verb == "choose" and operation.type == "rel":
        return any(old in option for option in operation.values)
    if operation.verb == "choose":  # without the right option none holds; the wrong one may well be another
        return not same_answer(old, question.answer)
    if operation.verb == "verify" and operation.type == "rel":
        before = question.text[: edit.start].lower().split()[-3:]
        return operation.name not in old or DEFINITE.isdisjoint(before)
    return operation.verb not in ("select", "filter", "relate")
