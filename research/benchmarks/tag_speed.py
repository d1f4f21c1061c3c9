"""Measure the speed of part-of-speech tagging and vocabulary lookup, compared with the full spaCy pipeline on every question.

    OMP_NUM_THREADS=1 python -m research.benchmarks.tag_speed               the sample's questions, half of them repeats as in GQA
    OMP_NUM_THREADS=1 python -m research.benchmarks.tag_speed --questions 12578

Both process the same list of questions; the proportion `--distinct` of them has distinct texts. `ours` tags
each distinct text once, with the tagger and the attribute ruler only, and looks up every word in the
vocabulary. Target: at least 4 times as many questions per second.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipeline.core.errors import Problems
from pipeline.language.tagger import BATCH_SIZE, SPACY_MODEL, Tagger
from pipeline.language.word_classification import WordClassifier, tag_texts
from pipeline.sources import gqa_files
from pipeline.verifier.vocabulary import VocabularyParams, build_vocabulary
from research.benchmarks.harness import print_comparison, run_benchmark, time_call

SOURCE = Path("data/sample/source")


def main(questions: int = 4000, distinct: float = 0.5) -> None:
    problems = Problems("sample")
    asked = list(gqa_files.read_questions(SOURCE, ("testdev", "train", "val"), problems))
    scenes = list(gqa_files.read_scene_graphs(SOURCE / "sceneGraphs", ("train", "val"), problems))
    problems.raise_if_any()
    classes = WordClassifier(
        build_vocabulary(scenes, asked, VocabularyParams(use_default="never"), lambda *_: ())
    )
    rng = np.random.default_rng(0)
    own = sorted({question.text for question in asked})[: int(questions * distinct)]
    texts = [*own, *rng.choice(own, questions - len(own)).tolist()]
    rng.shuffle(texts)

    import spacy

    whole, tagger = spacy.load(SPACY_MODEL), Tagger()
    _ = list(whole.pipe(texts[:100])), list(tagger.tag(texts[:100]))  # warm-up
    _, peer = time_call(lambda: list(whole.pipe(texts, batch_size=BATCH_SIZE)))
    rows, ours = time_call(lambda: list(tag_texts(texts, classes, tagger)))
    print_comparison(
        f"{questions:,} questions, {len(rows):,} distinct texts",
        ours,
        "full spaCy pipeline on every question",
        peer,
    )
    print(f"ours {questions / ours[0]:,.0f} questions/s, full spaCy pipeline {questions / peer[0]:,.0f}")


if __name__ == "__main__":
    run_benchmark(main)
