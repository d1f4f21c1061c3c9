"""How fast questions get their word classes, next to all of spaCy's components on every question.

    OMP_NUM_THREADS=1 python benchmarks/tag_speed.py               the sample's questions, half of them repeats as in GQA
    OMP_NUM_THREADS=1 python benchmarks/tag_speed.py --questions 12578

Both take the same list of questions. `ours` tags each distinct text once, by the tagger and the attribute ruler
alone, and checks every word against the vocabulary. Target: at least 4 times the questions per second.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from pipeline.core.errors import Problems, run
from pipeline.counting.vocabulary_counts import VocabularyParams, count_vocabulary
from pipeline.sources import gqa_files
from pipeline.words.tagger import BATCH, MODEL, Tagger
from pipeline.words.word_classes import WordClasses, tagged

SOURCE = Path("data/sample/source")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=4000)
    parser.add_argument(
        "--distinct", type=float, default=0.5, help="share of questions whose text is their own"
    )
    a = parser.parse_args()
    problems = Problems("sample")
    questions = list(gqa_files.questions(SOURCE, ("testdev", "train", "val"), problems))
    scenes = list(gqa_files.scenes(SOURCE / "sceneGraphs", ("train", "val"), problems))
    problems.raise_if_any()
    vocabulary = count_vocabulary(scenes, questions, VocabularyParams(), lambda *_: ())
    classes = WordClasses(vocabulary)
    rng = np.random.default_rng(0)
    own = sorted({question.text for question in questions})[: int(a.questions * a.distinct)]
    texts = [*own, *rng.choice(own, a.questions - len(own)).tolist()]
    rng.shuffle(texts)

    import spacy

    whole, tagger = spacy.load(MODEL), Tagger()
    list(whole.pipe(texts[:100])), list(tagger.tag(texts[:100]))  # both warm
    start = time.perf_counter()
    for _ in whole.pipe(texts, batch_size=BATCH):
        pass
    peer = len(texts) / (time.perf_counter() - start)
    start = time.perf_counter()
    rows = list(tagged(texts, classes, tagger))
    ours = len(texts) / (time.perf_counter() - start)
    print(f"{len(texts):,} questions, {len(rows):,} distinct texts")
    print(f"all of spaCy, every question {peer:8,.0f} questions/s")
    print(f"ours                         {ours:8,.0f} questions/s   {ours / peer:.1f} times (target 4)")


if __name__ == "__main__":
    run(main)
