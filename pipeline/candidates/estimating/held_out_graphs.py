"""Build the training cases of the answerability estimate.

A training case is a question about an image whose scene graph is held out.
Only what an image's own questions state is used as evidence, as for the images of the benchmark. The image is
paired with questions of other images, and with its own questions after an object, an attribute or a relation
was replaced. The held-out graph then says whether each question is answerable. For this purpose the graph is
treated as complete.

Published graphs are not complete. If the graph omits an object, a question looks unanswerable. If the graph
omits a second object of the same name, "the cup" looks unique. Only the first fault can be measured: all own
questions of the images are answerable, and `num_own_answerable` counts the own questions that are answerable
by the graph. The graphs of the sample lack a fifth of their facts. There the two faults nearly cancel, and
correcting only the first fault makes the estimate worse. (Dividing by its rate raises the expected
calibration error on held-out images from 0.01 to 0.04.) So neither fault is corrected.
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

# Maximum number of images. The cases of so many images determine the six weights to two places.
MAX_IMAGES = 2_000
# Maximum number of the image's own questions that are edited, and of questions of other images, per image.
MAX_EDITED_QUESTIONS, MAX_FOREIGN_QUESTIONS = 8, 8


class TrainingCase(NamedTuple):
    """A question about an image whose graph is held out.

    Attributes:
        image_id: The id of the image.
        features: The features of the question, see `answerability.compute_features`.
        is_answerable: Whether the question is answerable by the held-out graph.
    """

    image_id: str
    features: list[float]
    is_answerable: bool


class HeldOutCases(NamedTuple):
    """All training cases.

    Attributes:
        cases: The cases.
        num_own: The number of the images' own questions for which the graph determines the answerability.
        num_own_answerable: How many of these own questions are answerable by the graph.
    """

    cases: list[TrainingCase]
    num_own: int
    num_own_answerable: int


def sample_images(image_ids: Sequence[str], max_images: int = MAX_IMAGES) -> list[str]:
    """Sample the images on which the weights are fitted, at random but reproducibly."""
    return sorted(sorted(image_ids, key=lambda key: content_hash("estimate", key))[:max_images])


def build_training_cases(
    scenes: Mapping[str, SceneGraph],
    questions: Mapping[str, Sequence[Question]],
    vocabulary: Vocabulary,
    claim_estimator: ClaimEstimator,
    seed: int,
) -> HeldOutCases:
    """Build cases from questions about images with held-out graphs.

    Args:
        scenes: Image id -> published graph, for the images on which the weights are fitted.
        questions: Image id -> questions about the image.
        vocabulary: The vocabulary of the data set.
        claim_estimator: The estimator of the claims' probabilities.
        seed: Seed of the sampled questions and edits.
    """
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    own = {key: [q for q in questions.get(key, ()) if q.program] for key in scenes}
    asked = [
        parse_program(q.program, q.question_id)
        for key in sorted(own)
        for q in own[key]
        if not is_existence_question(q)
    ]
    edit = ProgramEditor(vocabulary, lexicon)
    cases: list[TrainingCase] = []
    own_counts: Counter[Answerability] = Counter()
    for key in sorted(scenes):
        rng = make_generator(seed, "estimate", key)
        shown = build_scene_evidence(msgspec.structs.replace(scenes[key], is_complete=True), lexicon)
        graph = build_partial_graph(questions.get(key, ()), lexicon) if own[key] else None
        evidence = build_question_evidence(graph, lexicon) if graph else None
        programs = [parse_program(q.program, q.question_id) for q in own[key]]
        own_counts.update(_determine_answerability(program, shown) for program in programs)
        sampled = rng.permutation(len(asked))[:MAX_FOREIGN_QUESTIONS].tolist()
        tried = [(asked[i], False) for i in sampled if asked[i] not in programs]
        tried += [
            (edited, True) for p in programs[:MAX_EDITED_QUESTIONS] if (edited := edit(p, rng)) is not None
        ]
        cases.extend(_make_cases(key, tried, evidence, shown, claim_estimator))
    return HeldOutCases(
        cases, own_counts["answerable"] + own_counts["unanswerable"], own_counts["answerable"]
    )


def _make_cases(
    key: str,
    tried: Sequence[tuple[Program, bool]],
    evidence: Evidence | None,
    shown: Evidence,
    claim_estimator: ClaimEstimator,
) -> Iterator[TrainingCase]:
    """Yield the cases of one image.

    Questions that are answerable by the known evidence are skipped, because the stage screen drops such
    candidates.
    """
    for program, edited in tried:
        by_evidence = execute_program(program, evidence).answerability if evidence else "unknown"
        true = _determine_answerability(program, shown)
        if by_evidence != "answerable" and true != "unknown":
            row = compute_features(
                estimate_claims(extract_program_claims(program), evidence, claim_estimator),
                by_evidence == "unanswerable",
                edited,
            )
            yield TrainingCase(key, row, true == "answerable")


def _determine_answerability(program: Program, shown: Evidence) -> Answerability:
    """Return whether a question is answerable by a graph.

    If the graph lists no value of the type that the question asks for, the result is "unknown". A cup without
    a listed color still has a color.
    """
    outcome = execute_program(program, shown)
    is_unlisted = outcome.category == "no valid answer" and program[-1].verb in ("query", "same", "different")
    return "unknown" if is_unlisted else outcome.answerability


class ProgramEditor:
    """Edits programs in the same way as the stage perturb edits questions.

    An object, an attribute or a relation is replaced. Objects are sampled as often as questions presuppose
    them, and attributes as often as scene graphs list them.
    """

    def __init__(self, vocabulary: Vocabulary, lexicon: Lexicon) -> None:
        self._lexicon, self._attribute_counts = lexicon, vocabulary.attributes
        self._object_counts = {
            name: vocabulary.presupposed_objects.get(name, 0) + 1 for name in sorted(vocabulary.objects)
        }

    def __call__(self, program: Program, rng: np.random.Generator) -> Program | None:
        """Return the program with a random word replaced, or None if no word can be replaced."""
        selecting = (
            (i, o) for i, o in enumerate(program) if o.verb in OBJECT_SET_VERBS and not o.is_asserted
        )
        choices = [
            (i, offer) for i, operation in selecting for offer in self._iter_replacements(operation) if offer
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
        """For each word of a step that can be replaced, yield the replacements with their weights."""
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
