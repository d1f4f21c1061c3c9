"""Questions at pictures whose graph is hidden and then shown: what the probability of an answer is fitted on.

What is known of such a picture is what its own questions tell, as of the benchmark's pictures. It is asked questions of other
pictures, and its own with a thing, a look or a relation replaced. Whether they have an answer the graph says, taken as complete.

It is not: of a published graph some facts are missing. A thing that is not listed makes a question look unanswerable; one that
is not listed beside another of its name makes "the cup" look as if it were the only one. Only the first can be counted,
by the pictures' own questions, all of which have an answer: `own_answerable` is the share that has one by the graph.
On the sample, whose graphs lack a fifth of their facts, both about even out, and to correct the first alone is worse: with rates
divided by that share the expected calibration error on pictures held out rises from 0.01 to 0.04. So nothing is corrected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from pipeline.candidates.estimating.answerability import features, probable
from pipeline.candidates.estimating.claims import Beliefs, claims
from pipeline.core.json_files import content_key
from pipeline.core.randomness import generator
from pipeline.core.records import Answerability, Question, Scene, Vocabulary
from pipeline.language.functional_programs import FINDS, Operation, Program, is_existence, parse
from pipeline.language.lexicon import Lexicon
from pipeline.language.relations import exclusive
from pipeline.verifier.evidence import Facts, facts_of
from pipeline.verifier.partial_graphs import facts_known, reconstruct
from pipeline.verifier.verification import execute

PICTURES = 2_000  # some thousands of cases tell six weights to two places
OWN, FOREIGN = 8, 8  # questions of each picture that are edited, and those of others that are asked of it


class Case(NamedTuple):
    """A question at a picture whose graph is hidden: its features, and whether it has an answer by the graph."""

    picture_id: str
    row: list[float]
    answerable: bool


class HiddenGraphs(NamedTuple):
    """All cases; of the pictures' own questions how many there are, and how many have an answer by the graph."""

    cases: list[Case]
    own: int
    own_answerable: int


def drawn_pictures(picture_ids: Sequence[str], most: int = PICTURES) -> list[str]:
    """Pictures to fit on, drawn by lot."""
    return sorted(sorted(picture_ids, key=lambda key: content_key("estimate", key))[:most])


def hidden_graphs(
    scenes: Mapping[str, Scene],
    questions: Mapping[str, Sequence[Question]],
    vocabulary: Vocabulary,
    beliefs: Beliefs,
    seed: int,
) -> HiddenGraphs:
    """Judge questions at pictures with hidden graphs.

    Args:
        scenes: published graphs, of the pictures to fit on. questions: those of these pictures, by picture id.
    """
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    own = {key: [q for q in questions.get(key, ()) if q.program] for key in scenes}
    asked = [parse(q.program, q.question_id) for key in sorted(own) for q in own[key] if not is_existence(q)]
    swap = Swaps(vocabulary, lexicon)
    cases: list[Case] = []
    true: Counter[Answerability] = Counter()  # of the pictures' own questions
    for key in sorted(scenes):
        rng = generator(seed, "estimate", key)
        shown = facts_of(msgspec.structs.replace(scenes[key], complete=True), lexicon)
        graph = reconstruct(questions.get(key, ()), lexicon) if own[key] else None
        told = facts_known(graph, lexicon) if graph else None
        programs = [parse(q.program, q.question_id) for q in own[key]]
        true.update(_true(program, shown) for program in programs)
        drawn = rng.permutation(len(asked))[:FOREIGN].tolist()
        tried = [(asked[i], False) for i in drawn if asked[i] not in programs]
        tried += [(edited, True) for p in programs[:OWN] if (edited := swap(p, rng)) is not None]
        cases.extend(_cases(key, tried, told, shown, beliefs))
    return HiddenGraphs(cases, true["answerable"] + true["unanswerable"], true["answerable"])


def _cases(
    key: str, tried: Sequence[tuple[Program, bool]], told: Facts | None, shown: Facts, beliefs: Beliefs
) -> Iterator[Case]:
    """The cases among questions that were tried: not those that what is told answers, as `screen` drops them."""
    for program, edited in tried:
        evident = execute(program, told).answerability if told else "unknown"
        true = _true(program, shown)
        if evident != "answerable" and true != "unknown":
            row = features(probable(claims(program), told, beliefs), evident == "unanswerable", edited)
            yield Case(key, row, true == "answerable")


def _true(program: Program, shown: Facts) -> Answerability:
    """Whether a question has an answer by a graph. That no colour is listed of a cup does not say that it has none."""
    outcome = execute(program, shown)
    unsaid = outcome.category == "no valid answer" and program[-1].verb in ("query", "same", "different")
    return "unknown" if unsaid else outcome.answerability


class Swaps:
    """Edits of programs like those that `perturb` makes of questions: another thing, look or relation, as often as questions
    take such for granted."""

    def __init__(self, vocabulary: Vocabulary, lexicon: Lexicon) -> None:
        self._lexicon, self._looks = lexicon, vocabulary.attributes
        self._names = {name: vocabulary.asked.get(name, 0) + 1 for name in sorted(vocabulary.objects)}

    def __call__(self, program: Program, rng: np.random.Generator) -> Program | None:
        """The program with one word replaced, drawn by lot; None if it has none that could be."""
        asked_for = ((i, o) for i, o in enumerate(program) if o.verb in FINDS and not o.asserted)
        choices = [(i, offer) for i, operation in asked_for for offer in self._offers(operation) if offer]
        if not choices:
            return None
        index, words = choices[rng.integers(len(choices))]
        total = np.cumsum([float(weight) for weight in words.values()])
        word = list(words)[int(np.searchsorted(total, rng.random() * total[-1], side="right"))]
        operation = program[index]
        changed = {"name": word} if words is self._names else {"values": (word,)}
        if word == operation.name and words is self._names:
            return None
        return (*program[:index], msgspec.structs.replace(operation, **changed), *program[index + 1 :])

    def _offers(self, operation: Operation) -> Iterator[Mapping[str, int]]:
        """The words that each word of a step can be replaced by, with weights."""
        value = operation.values[0] if operation.values else ""
        type_ = self._lexicon.type_of(value)
        if operation.name in self._lexicon.categories or operation.name in self._names:
            yield self._names
        if operation.verb == "filter" and type_ and not operation.negated:
            of_type = (word for word in self._looks if self._lexicon.type_of(word) == type_)
            yield {word: self._looks[word] for word in of_type if word != value}
        if operation.verb == "relate":
            yield dict.fromkeys(exclusive(value), 1)
