"""How many questions a second perturb and screen together take on one core, after tagging.

    OMP_NUM_THREADS=1 python benchmarks/perturb.py

The sample's testdev questions, PT-Easy and PT-Hard candidates of each, judged by what the picture's other questions
tell; everything that `main` does but for reading and writing. Limit: at least 1,500 questions/s. Beside it the bare
floor: parsing each program once and nothing else.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from pipeline.core.errors import Problems
from pipeline.judge.programs import parse
from pipeline.language.classes import WordClasses
from pipeline.language.tagger import Tagger
from pipeline.sources import gqa
from pipeline.stages.perturb import PerturbParams, perturb
from pipeline.stages.screen import screen
from pipeline.stages.tag import tag
from pipeline.stages.vocabulary import VocabularyParams, collect

SOURCE = Path("data/sample/source")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="the fastest of so many runs counts")
    a = parser.parse_args()
    problems = Problems("sample")
    every = list(gqa.questions(SOURCE, ("testdev", "train", "val"), problems))
    scenes = list(gqa.scenes(SOURCE / "sceneGraphs", ("train", "val"), problems))
    problems.raise_if_any()
    vocabulary = collect(scenes, every, VocabularyParams())
    questions = [question for question in every if question.split == "testdev"]
    tags = {row.text: row.words for row in tag([q.text for q in questions], WordClasses(vocabulary), Tagger())}

    times: dict[str, list[float]] = {"parsing": [], "perturb": [], "screen": [], "both": []}
    for _ in range(a.repeat):
        start = time.process_time()
        for question in questions:
            parse(question.program, question.question_id)
        parsed = time.process_time()
        candidates, _ = perturb(questions, tags, vocabulary, {}, PerturbParams())
        perturbed = time.process_time()
        screen(candidates, questions, {}, vocabulary)
        screened = time.process_time()
        for name, seconds in zip(times, (parsed - start, perturbed - parsed, screened - perturbed, screened - parsed), strict=True):
            times[name].append(seconds)
    print(f"{len(questions):,} questions, {len(candidates):,} candidates; seconds of one core")
    for name, seconds in times.items():
        print(f"{name:<8} {len(questions) / min(seconds):9,.0f} questions/s" + "   (limit 1,500)" * (name == "both"))


if __name__ == "__main__":
    main()
