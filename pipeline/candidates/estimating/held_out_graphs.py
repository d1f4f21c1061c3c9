"""Questions at images whose graph is hidden and then shown: what the probability of an answer is fitted on.

What is known of such an image is what its own questions tell, as of the benchmark's images. It is asked questions of other
images, and its own with a thing, a look or a relation replaced. Whether they have an answer the graph says, taken as complete.

It is not: of a published graph some facts are missing. A thing that is not listed makes a question look unanswerable; one that
is not listed beside another of its name makes "the cup" look as if it were the only one. Only the first can be counted,
by the images' own questions, all of which have an answer: `own_answerable` is the share that has one by the graph.
On the sample, whose graphs lack a fifth of their facts, both about even out, and to correct the first alone is worse: with rates
divided by that share the expected calibration error on images held out rises from 0.01 to 0.04. So nothing is corrected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from pipeline.candidates.estimating.answerability import compute_features, estimate_claims
from pipeline.candidates.estimating.claims import ClaimEstimator, extract_program_claims
from pipeline.core.json_files import content_hash
from pipeline.core.randomness import make_generator
from pipeline.core.records import Answerability, Question, SceneGraph, Vocabulary
from pipeline.language.functional_programs import (
    OBJECT_SET_VERBS,
    Operation,
    Program,
    is_existence_question,
    parse_program,
)
from pipeline.language.lexicon import Lexicon
from pipeline.language.relations import get_excluded_relations
from pipeline.verifier.evidence import Evidence, build_scene_evidence
from pipeline.verifier.partial_graphs import build_partial_graph, build_question_evidence
from pipeline.verifier.verification import execute_program

MAX_IMAGES = 2_000  # some thousands of cases tell six weights to two places
MAX_EDITED_QUESTIONS, MAX_FOREIGN_QUESTIONS = (
    8,
    8,
)  # questions of each image that are edited, and those of others that are asked of it


class TrainingCase(NamedTuple):
    """A question at an image whose graph is hidden: its features, and whether it has an answer by the graph."""

    image_id: str
    features: list[float]
    is_answerable: bool


class HeldOutCases(NamedTuple):
    """All cases; of the images' own questions how many there are, and how many have an answer by the graph."""

    cases: list[TrainingCase]
    num_own: int
    num_own_answerable: int


def sample_images(image_ids: Sequence[str], max_images: int = MAX_IMAGES) -> list[str]:
    """Images to fit on, drawn by lot."""
    return sorted(sorted(image_ids, key=lambda key: content_hash("estimate", key))[:max_images])


def build_training_cases(
    scenes: Mapping[str, SceneGraph],
    questions: Mapping[str, Sequence[Question]],
    vocabulary: Vocabulary,
    claim_estimator: ClaimEstimator,
    seed: int,
) -> HeldOutCases:
    """Judge questions at images with hidden graphs.

    Args:
        scenes: published graphs, of the images to fit on. questions: those of these images, by image id.
    """
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    own = {key: [q for q in questions.get(key, ()) if q.program] for key in scenes}
    asked = [
        parse_program(q.program, q.question_id)
        for key in sorted(own)
        for q in own[key]
        if not is_existence_question(q)
    ]
    swap = ProgramEditor(vocabulary, lexicon)
    cases: list[TrainingCase] = []
    true: Counter[Answerability] = Counter()  # of the images' own questions
    for key in sorted(scenes):
        rng = make_generator(seed, "estimate", key)
        shown = build_scene_evidence(msgspec.structs.replace(scenes[key], is_complete=True), lexicon)
        graph = build_partial_graph(questions.get(key, ()), lexicon) if own[key] else None
        told = build_question_evidence(graph, lexicon) if graph else None
        programs = [parse_program(q.program, q.question_id) for q in own[key]]
        true.update(_determine_answerability(program, shown) for program in programs)
        drawn = rng.permutation(len(asked))[:MAX_FOREIGN_QUESTIONS].tolist()
        tried = [(asked[i], False) for i in drawn if asked[i] not in programs]
        tried += [
            (edited, True) for p in programs[:MAX_EDITED_QUESTIONS] if (edited := swap(p, rng)) is not None
        ]
        cases.extend(_make_cases(key, tried, told, shown, claim_estimator))
    return HeldOutCases(cases, true["answerable"] + true["unanswerable"], true["answerable"])


def _make_cases(
    key: str,
    tried: Sequence[tuple[Program, bool]],
    told: Evidence | None,
    shown: Evidence,
    beliefs: ClaimEstimator,
) -> Iterator[TrainingCase]:
    """The cases among questions that were tried: not those that what is told answers, as `screen` drops them."""
    for program, edited in tried:
        evident = execute_program(program, told).answerability if told else "unknown"
        true = _determine_answerability(program, shown)
        if evident != "answerable" and true != "unknown":
            row = compute_features(
                estimate_claims(extract_program_claims(program), told, beliefs),
                evident == "unanswerable",
                edited,
            )
            yield TrainingCase(key, row, true == "answerable")


def _determine_answerability(program: Program, shown: Evidence) -> Answerability:
    """Whether a question has an answer by a graph. That no colour is listed of a cup does not say that it has none."""
    outcome = execute_program(program, shown)
    unsaid = outcome.category == "no valid answer" and program[-1].verb in ("query", "same", "different")
    return "unknown" if unsaid else outcome.answerability


class ProgramEditor:
    """Edits of programs like those that `perturb` makes of questions: another thing, look or relation, as often as questions
    take such for granted."""

    def __init__(self, vocabulary: Vocabulary, lexicon: Lexicon) -> None:
        self._lexicon, self._attribute_counts = lexicon, vocabulary.attributes
        self._object_counts = {
            name: vocabulary.presupposed_objects.get(name, 0) + 1 for name in sorted(vocabulary.objects)
        }

    def __call__(self, program: Program, rng: np.random.Generator) -> Program | None:
        """The program with one word replaced, drawn by lot; None if it has none that could be."""
        asked_for = (
            (i, o) for i, o in enumerate(program) if o.verb in OBJECT_SET_VERBS and not o.is_asserted
        )
        choices = [
            (i, offer) for i, operation in asked_for for offer in self._iter_replacements(operation) if offer
        ]
        if not choices:
            return None
        index, words = choices[rng.integers(len(choices))]
        total = np.cumsum([float(weight) for weight in words.values()])
        word = list(words)[int(np.searchsorted(total, rng.random() * total[-1], side="right"))]
        operation = program[index]
        changed = {"name": word} if words is self._object_counts else {"values": (word,)}
        if word == operation.name and words is self._object_counts:
            return None
        return (*program[:index], msgspec.structs.replace(operation, **changed), *program[index + 1 :])

    def _iter_replacements(self, operation: Operation) -> Iterator[Mapping[str, int]]:
        """The words that each word of a step can be replaced by, with weights."""
        value = operation.values[0] if operation.values else ""
        type_ = self._lexicon.get_attribute_type(value)
        if operation.name in self._lexicon.categories or operation.name in self._object_counts:
            yield self._object_counts
        if operation.verb == "filter" and type_ and not operation.is_negated:
            of_type = (
                word for word in self._attribute_counts if self._lexicon.get_attribute_type(word) == type_
            )
            yield {word: self._attribute_counts[word] for word in of_type if word != value}
        if operation.verb == "relate":
            yield dict.fromkeys(get_excluded_relations(value), 1)
