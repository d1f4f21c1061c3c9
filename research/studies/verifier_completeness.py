"""`rgqa study judge-completeness`: how much the judge decides and how much of that is right, against how complete the graphs
are.

The questions of a file get complete made-up graphs (`standin_graphs`), which are the truth. Then a share of the facts is left out of
all graphs at random: of the objects, of the attributes and relations of the rest (a relation and its inverse are one
fact). On what is left the vocabulary is counted, questions are perturbed, and the judge judges the perturbed candidates, and
questions asked of other pictures. What is true is told by the reader of the truth that simulated annotators have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from pipeline.candidates.perturbing.perturb_image import PerturbInputs, perturb_picture
from pipeline.candidates.perturbing.replacements import PerturbParams, Replacements
from pipeline.candidates.screening.screen_checks import always_answerable
from pipeline.core.errors import Problems, counted
from pipeline.core.jsonl_index import grouped
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Answerability, Candidate, Judgement, Question, Scene, Split, Tagged
from pipeline.language.functional_programs import parse
from pipeline.language.lexicon import Lexicon
from pipeline.language.relations import INVERSES, plain_relation
from pipeline.language.tagger import Tagger
from pipeline.language.word_classification import WordClasses, tagged
from pipeline.sources import gqa_files
from pipeline.verifier.graph_completeness import LeftOut, share_listed
from pipeline.verifier.partial_graphs import Reconstructed, reconstruct
from pipeline.verifier.verification import evidence_for, judge
from pipeline.verifier.vocabulary import VocabularyParams, count_vocabulary
from research.simulated_annotators.answerability import what_is_so
from research.simulated_annotators.word_senses import WordSenses
from research.studies.simulated_graphs import Worlds

LEFT_OUT = (0.0, 0.2, 0.5, 0.8)
FOREIGN = "of another picture"
COUNTED = VocabularyParams(min_count=1, min_members=2)


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A question judged at a picture, and what is true. `sort`: which subset it belongs to, or that it is of another
    picture."""

    sort: str
    text: str
    judgement: Judgement
    expected: Answerability

    @property
    def decided(self) -> bool:
        return self.judgement.answerability != "unknown"

    @property
    def right(self) -> bool:
        return self.judgement.answerability == self.expected


def judge_completeness(like: Path, split: Split, seed: int, show: int) -> str:
    """The table in Markdown, and `show` wrong verdicts of each of its rows."""
    problems = Problems(str(like))
    rows = [row for row in gqa_files.questions(like, (split,), problems) if row.program and row.answer]
    problems.raise_if_any()
    asked = grouped(rows, lambda row: row.picture_id)
    vocabulary = count_vocabulary((), rows, COUNTED, lambda lexicon, _: partial_graphs(asked, lexicon))
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    worlds = Worlds(asked, partial_graphs(asked, lexicon), vocabulary, seed)
    made = [
        worlds.scene(picture_id)
        for picture_id in track(sorted(worlds.facts), "stand-in graphs", unit="picture")
    ]
    tags = {
        row.text: row for row in tagged(sorted({row.text for row in rows}), WordClasses(vocabulary), Tagger())
    }
    answered = sum(len(questions) for _, questions in made)
    things = sum(len(scene.objects) for scene, _ in made) / len(made)
    lines = [
        f"{answered:,} of {counted(len(rows), 'question')} have their answer in made-up graphs of {counted(len(made), 'picture')}, with"
        f" {things:.1f} things on average.",
        "",
        "| left out | held to be listed | questions | judged | decided | right | unanswerable | right | answerable | right |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    wrong = []
    for left_out in LEFT_OUT:
        listed, cases = judged(made, tags, worlds.words, left_out, seed)
        told = ", ".join(f"{share:.0%}" for share in listed.values())
        for sort, some in sorted(grouped(cases, lambda case: case.sort).items(), reverse=True):
            lines.append(f"| {left_out:.0%} | {told} | {sort} | {' | '.join(figures(some))} |")
            mistakes = [case for case in some if case.decided and not case.right]
            for case in mistakes[:show]:
                said = f"{case.judgement.answerability}, {case.judgement.detail}"
                wrong.append(f"- {left_out:.0%}, {sort}: {case.text} Judged {said}; it is {case.expected}")
    legend = "`held to be listed`: shares of attributes, objects, relations. Cases of which the truth does not tell are left out."
    return "\n".join([*lines, "", legend, *wrong])


def partial_graphs(asked: Mapping[str, Sequence[Question]], lexicon: Lexicon) -> list[Reconstructed]:
    """The partial graphs of pictures, sorted by id."""
    return [graph for key in sorted(asked) if (graph := reconstruct(asked[key], lexicon))]


def figures(cases: Sequence[JudgedCase]) -> list[str]:
    """Cells of a row: cases, those decided, the right ones of these; the same of either verdict."""
    decided = [case for case in cases if case.decided]
    cells = [f"{len(cases):,}", _of(decided, len(cases)), _of([c for c in decided if c.right], len(decided))]
    for side in ("unanswerable", "answerable"):
        said = [case for case in decided if case.judgement.answerability == side]
        cells += [f"{len(said):,}", _of([case for case in said if case.right], len(said))]
    return cells


def _of(some: Sequence[JudgedCase], whole: int) -> str:
    return f"{len(some):,} ({len(some) / whole:.1%})" if whole else "-"


def judged(
    made: Sequence[tuple[Scene, Sequence[Question]]],
    tags: Mapping[str, Tagged],
    words: WordSenses,
    left_out: float,
    seed: int,
) -> tuple[dict[str, float], list[JudgedCase]]:
    """Judge perturbed and foreign questions by graphs of which a share is left out.

    Returns:
        The shares that the graphs are held to list; the cases of which the truth is clear.
    """
    scenes = [without(scene, left_out, generator(seed, "left out", scene.picture_id)) for scene, _ in made]
    asked = {scene.picture_id: list(questions) for scene, questions in made}
    vocabulary = count_vocabulary(
        scenes, (q for some in asked.values() for q in some), COUNTED, lambda *_: ()
    )
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    listed = share_listed(scenes, asked, lexicon)
    unlisted = LeftOut(msgspec.structs.replace(vocabulary, listed=listed))
    told = {graph.picture_id: graph for graph in partial_graphs(asked, lexicon)}
    published = {scene.picture_id: scene for scene in scenes}
    facts = {key: evidence_for(key, published, told, lexicon, unlisted=unlisted) for key in asked}
    inputs = PerturbInputs(asked, facts.get, tags, Replacements(vocabulary, PerturbParams(even_words=False)))
    ids = sorted(asked)
    cases = []
    for scene, questions in track(made, f"{left_out:.0%} left out", unit="picture"):
        own, rng = scene.picture_id, generator(seed, "foreign", scene.picture_id)
        asked_here = [
            row for row in perturb_picture(inputs, own) if isinstance(row, Candidate) and row.program
        ]
        tried = [(row.subset, row.text, row.program) for row in asked_here]
        others = [
            asked[ids[i]]
            for i in rng.integers(len(ids), size=max(len(questions), 1)).tolist()
            if ids[i] != own
        ]
        foreign = [
            row for some in others for row in some if not always_answerable(parse(row.program, row.text))
        ]
        tried += [(FOREIGN, row.text, row.program) for row in foreign]
        for sort, text, program in tried:
            truth = what_is_so(program, scene, words)
            if truth != "unknown":
                cases.append(JudgedCase(sort, text, judge(program, facts[own], text), truth))
    return listed, cases


def without(scene: Scene, left_out: float, rng: np.random.Generator) -> Scene:
    """A graph of which a share of the facts is left out, as a published one."""
    stay = {thing.object_id for thing in scene.objects if rng.random() >= left_out}
    gone: dict[frozenset[tuple[str, str, str]], bool] = {}

    def kept(subject: str, name: str, other: str) -> bool:
        inverse = INVERSES.get(plain_relation(name))
        fact = frozenset(
            [(subject, name, other), (other, inverse, subject)] if inverse else [(subject, name, other)]
        )
        if fact not in gone:
            gone[fact] = bool(rng.random() < left_out)
        return other in stay and not gone[fact]

    things = [
        msgspec.structs.replace(
            thing,
            attributes=tuple(value for value in thing.attributes if rng.random() >= left_out),
            relations=tuple(r for r in thing.relations if kept(thing.object_id, r.name, r.object_id)),
        )
        for thing in scene.objects
        if thing.object_id in stay
    ]
    place, weather = (value if rng.random() >= left_out else "" for value in (scene.location, scene.weather))
    return msgspec.structs.replace(
        scene, objects=tuple(things), location=place, weather=weather, complete=False
    )
