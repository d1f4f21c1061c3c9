"""Measure how often the verifier reaches a verdict, and how often it is right, as graphs get less complete.

Command: `rgqa study verifier-completeness`. The questions of a file get simulated complete graphs
(`simulated_graphs`), which are the truth. Then facts of all graphs are omitted at random: objects, and
attributes and relations of the remaining ones (a relation and its inverse are one fact). The vocabulary is
counted on what is left, questions are perturbed, and the verifier judges the perturbed candidates and
questions about other images. The truth comes from the program executor of the simulated annotators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from pipeline.candidates.perturbing.perturb_image import PerturbInputs, perturb_image
from pipeline.candidates.perturbing.replacements import PerturbParams, ReplacementSampler
from pipeline.candidates.screening.screen_checks import is_always_answerable
from pipeline.core.errors import Problems, format_count
from pipeline.core.jsonl_index import group_by
from pipeline.core.progress import track
from pipeline.core.randomness import make_generator
from pipeline.core.records import (
    Answerability,
    Candidate,
    Question,
    SceneGraph,
    Split,
    TaggedText,
    VerifierResult,
)
from pipeline.language.functional_programs import parse_program
from pipeline.language.lexicon import Lexicon
from pipeline.language.relations import INVERSES, canonicalize_relation
from pipeline.language.tagger import Tagger
from pipeline.language.word_classification import WordClassifier, tag_texts
from pipeline.sources import gqa_files
from pipeline.verifier.graph_completeness import EstimatedGraphCompleteness, estimate_annotation_recall
from pipeline.verifier.partial_graphs import PartialGraph, build_partial_graph
from pipeline.verifier.verification import build_evidence, verify_question
from pipeline.verifier.vocabulary import VocabularyParams, build_vocabulary
from research.simulated_annotators.answerability import true_answerability
from research.simulated_annotators.word_senses import WordSenses
from research.studies.simulated_graphs import GraphSimulator

OMISSION_RATES = (0.0, 0.2, 0.5, 0.8)
OTHER_IMAGE = "other image"
VOCABULARY_PARAMS = VocabularyParams(use_default="never", min_count=1, min_members=2)


@dataclass(frozen=True, slots=True)
class VerifiedCase:
    """A question that was verified for an image, and its true answerability.

    Attributes:
        group: Its subset, or `OTHER_IMAGE`.
    """

    group: str
    text: str
    judgement: VerifierResult
    expected: Answerability

    @property
    def is_decided(self) -> bool:
        return self.judgement.answerability != "unknown"

    @property
    def is_correct(self) -> bool:
        return self.judgement.answerability == self.expected


def measure_verifier_completeness(source: Path, split: Split, seed: int, num_examples: int) -> str:
    """Return the table in Markdown, and `num_examples` wrong verdicts of each of its rows.

    Args:
        source: A folder with GQA's files of questions.
        split: The split of its questions.
        seed: Seed of the simulated graphs and of the omitted facts.
        num_examples: Wrong verdicts to print.
    """
    problems = Problems(str(source))
    rows = [row for row in gqa_files.read_questions(source, (split,), problems) if row.program and row.answer]
    problems.raise_if_any()
    asked = group_by(rows, lambda row: row.image_id)
    vocabulary = build_vocabulary(
        (), rows, VOCABULARY_PARAMS, lambda lexicon, _: reconstruct_graphs(asked, lexicon)
    )
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    worlds = GraphSimulator(asked, reconstruct_graphs(asked, lexicon), vocabulary, seed)
    made = [
        worlds.simulate_scene(image_id)
        for image_id in track(sorted(worlds.facts), "simulated graphs", unit="image")
    ]
    tags = {
        row.text: row
        for row in tag_texts(sorted({row.text for row in rows}), WordClassifier(vocabulary), Tagger())
    }
    answered = sum(len(questions) for _, questions in made)
    things = sum(len(scene.objects) for scene, _ in made) / len(made)
    lines = [
        f"{answered:,} of {format_count(len(rows), 'question')} have their answer in simulated graphs of {format_count(len(made), 'image')}, with"
        f" {things:.1f} objects on average.",
        "",
        "| omitted | estimated recall | questions | verified | decided | accuracy | called unanswerable | accuracy | called answerable | accuracy |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    wrong = []
    for omission_rate in OMISSION_RATES:
        recall, cases = verify_cases(made, tags, worlds.words, omission_rate, seed)
        estimates = ", ".join(f"{rate:.0%}" for rate in recall.values())
        for group, some in sorted(group_by(cases, lambda case: case.group).items(), reverse=True):
            lines.append(
                f"| {omission_rate:.0%} | {estimates} | {group} | {' | '.join(format_counts(some))} |"
            )
            mistakes = [case for case in some if case.is_decided and not case.is_correct]
            for case in mistakes[:num_examples]:
                verdict = f"{case.judgement.answerability}, {case.judgement.detail}"
                wrong.append(
                    f"- {omission_rate:.0%}, {group}: {case.text} Verdict: {verdict}; truth: {case.expected}"
                )
    legend = "`estimated recall`: proportions of attributes, objects and relations that the graphs are estimated to list. Cases with unknown truth are left out."
    return "\n".join([*lines, "", legend, *wrong])


def reconstruct_graphs(asked: Mapping[str, Sequence[Question]], lexicon: Lexicon) -> list[PartialGraph]:
    """Return the partial graphs of images, sorted by id."""
    return [graph for key in sorted(asked) if (graph := build_partial_graph(asked[key], lexicon))]


def format_counts(cases: Sequence[VerifiedCase]) -> list[str]:
    """Return the cells of a row: cases, decided ones, correct ones; then decided and correct ones of each
    verdict.
    """
    decided = [case for case in cases if case.is_decided]
    cells = [
        f"{len(cases):,}",
        _format_proportion(decided, len(cases)),
        _format_proportion([c for c in decided if c.is_correct], len(decided)),
    ]
    for side in ("unanswerable", "answerable"):
        said = [case for case in decided if case.judgement.answerability == side]
        cells += [f"{len(said):,}", _format_proportion([case for case in said if case.is_correct], len(said))]
    return cells


def _format_proportion(some: Sequence[VerifiedCase], whole: int) -> str:
    return f"{len(some):,} ({len(some) / whole:.1%})" if whole else "-"


def verify_cases(
    simulated_graphs: Sequence[tuple[SceneGraph, Sequence[Question]]],
    tags: Mapping[str, TaggedText],
    words: WordSenses,
    omission_rate: float,
    seed: int,
) -> tuple[dict[str, float], list[VerifiedCase]]:
    """Verify perturbed questions, and questions about other images, with graphs of which facts are omitted.

    Returns:
        The estimated annotation recall by kind of fact, and the cases whose truth is known.
    """
    scenes = [
        omit_facts(scene, omission_rate, make_generator(seed, "left out", scene.image_id))
        for scene, _ in simulated_graphs
    ]
    asked = {scene.image_id: list(questions) for scene, questions in simulated_graphs}
    vocabulary = build_vocabulary(
        scenes, (q for some in asked.values() for q in some), VOCABULARY_PARAMS, lambda *_: ()
    )
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    recall = estimate_annotation_recall(scenes, asked, lexicon)
    completeness = EstimatedGraphCompleteness(msgspec.structs.replace(vocabulary, annotation_recall=recall))
    partial = {graph.image_id: graph for graph in reconstruct_graphs(asked, lexicon)}
    published = {scene.image_id: scene for scene in scenes}
    facts = {
        key: build_evidence(key, published, partial, lexicon, completeness=completeness) for key in asked
    }
    inputs = PerturbInputs(
        asked, facts.get, tags, ReplacementSampler(vocabulary, PerturbParams(balance_words=False))
    )
    ids = sorted(asked)
    cases = []
    for scene, questions in track(simulated_graphs, f"{omission_rate:.0%} omitted", unit="image"):
        own, rng = scene.image_id, make_generator(seed, "foreign", scene.image_id)
        asked_here = [row for row in perturb_image(inputs, own) if isinstance(row, Candidate) and row.program]
        tried = [(row.subset, row.text, row.program) for row in asked_here]
        others = [
            asked[ids[i]]
            for i in rng.integers(len(ids), size=max(len(questions), 1)).tolist()
            if ids[i] != own
        ]
        foreign = [
            row
            for some in others
            for row in some
            if not is_always_answerable(parse_program(row.program, row.text))
        ]
        tried += [(OTHER_IMAGE, row.text, row.program) for row in foreign]
        for sort, text, program in tried:
            truth = true_answerability(program, scene, words)
            if truth != "unknown":
                cases.append(VerifiedCase(sort, text, verify_question(program, facts[own], text), truth))
    return recall, cases


def omit_facts(scene: SceneGraph, omission_rate: float, rng: np.random.Generator) -> SceneGraph:
    """Omit facts of a graph at random, as facts are missing in published graphs."""
    stay = {thing.object_id for thing in scene.objects if rng.random() >= omission_rate}
    gone: dict[frozenset[tuple[str, str, str]], bool] = {}

    def kept(subject: str, name: str, other: str) -> bool:
        inverse = INVERSES.get(canonicalize_relation(name))
        fact = frozenset(
            [(subject, name, other), (other, inverse, subject)] if inverse else [(subject, name, other)]
        )
        if fact not in gone:
            gone[fact] = bool(rng.random() < omission_rate)
        return other in stay and not gone[fact]

    things = [
        msgspec.structs.replace(
            thing,
            attributes=tuple(value for value in thing.attributes if rng.random() >= omission_rate),
            relations=tuple(r for r in thing.relations if kept(thing.object_id, r.name, r.object_id)),
        )
        for thing in scene.objects
        if thing.object_id in stay
    ]
    place, weather = (
        value if rng.random() >= omission_rate else "" for value in (scene.location, scene.weather)
    )
    return msgspec.structs.replace(
        scene, objects=tuple(things), location=place, weather=weather, is_complete=False
    )
