"""Verdicts of simulated annotators, who are told what is in the pictures: the complete truth, or in a rehearsal incomplete
graphs taken as complete. Both are marked."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pipeline.core.files import read_json, read_jsonl
from pipeline.core.paths import Folders
from pipeline.core.records import Picture, Scene, Task, TaskQuestion, Verdict, Vocabulary
from pipeline.judge.facts import facts_of
from pipeline.judge.judgement import judge
from pipeline.judge.reconstruct import Reconstructed, facts_known
from pipeline.sources import gqa_files
from pipeline.words.lexicon import Lexicon
from simulation.annotators import annotate, rehearse
from simulation.word_senses import WordSenses


def simulated(folders: Folders, tasks: Sequence[Task], votes: int, seed: int) -> list[Verdict]:
    """Verdicts from the complete truth.

    Raises:
        UserError: there is none.
    """
    pictures = read_jsonl(folders.stage("ingest") / "pictures.jsonl", Picture)
    truth = gqa_files.truth(folders.truth, (row.split for row in pictures))
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    words = WordSenses(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    return annotate(tasks, truth, words, votes, seed)


def rehearsed(folders: Folders, tasks: Sequence[Task], votes: int, seed: int) -> list[Verdict]:
    """Verdicts from the graphs that there are, published or put together from questions, as if they were complete."""
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    wanted = {task.picture_id for task in tasks}
    facts = {
        graph.picture_id: facts_known(graph, lexicon, complete=True)
        for graph in read_jsonl(folders.stage("vocabulary") / "reconstructed.jsonl", Reconstructed)
        if graph.picture_id in wanted
    }
    facts |= {
        scene.picture_id: facts_of(msgspec.structs.replace(scene, complete=True), lexicon)
        for scene in read_jsonl(folders.stage("ingest") / "scenes.jsonl", Scene)
        if scene.picture_id in wanted
    }

    def look(question: TaskQuestion, picture_id: str) -> str:
        judgement = judge(question.program, facts.get(picture_id), question.text)
        if judgement.answerability == "answerable":
            return ""
        return "unclear" if judgement.answerability == "unknown" else judgement.category or "unclear"

    return rehearse(tasks, look, votes, seed)
