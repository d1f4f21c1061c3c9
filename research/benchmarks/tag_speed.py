"""How fast questions get their word classes, next to all of spaCy's components on every question.

    OMP_NUM_THREADS=1 python -m research.benchmarks.tag_speed               the sample's questions, half of them repeats as in GQA
    OMP_NUM_THREADS=1 python -m research.benchmarks.tag_speed --questions 12578

Both take the same list of questions, of which the share `--distinct` has a text of its own. `ours` tags each distinct text
once, by the tagger and the attribute ruler alone, and checks every word against the vocabulary. Target: at least 4 times
the questions per second.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipeline.core.errors import Problems
from pipeline.language.tagger import BATCH, MODEL, Tagger
from pipeline.language.word_classification import WordClasses, tagged
from pipeline.sources import gqa_files
from pipeline.verifier.vocabulary import VocabularyParams, count_vocabulary
from research.benchmarks.harness import command, tell, timed

SOURCE = Path("data/sample/source")


def main(questions: int = 4000, distinct: float = 0.5) -> None:
    problems = Problems("sample")
    asked = list(gqa_files.questions(SOURCE, ("testdev", "train", "val"), problems))
    scenes = list(gqa_files.scenes(SOURCE / "sceneGraphs", ("train", "val"), problems))
    problems.raise_if_any()
    classes = WordClasses(count_vocabulary(scenes, asked, VocabularyParams(), lambda *_: ()))
    rng = np.random.default_rng(0)
    own = sorted({question.text for question in asked})[: int(questions * distinct)]
    texts = [*own, *rng.choice(own, questions - len(own)).tolist()]
    rng.shuffle(texts)

    import spacy

    whole, tagger = spacy.load(MODEL), Tagger()
    _ = list(whole.pipe(texts[:100])), list(tagger.tag(texts[:100]))  # both warm
    _, peer = timed(lambda: list(whole.pipe(texts, batch_size=BATCH)))
    rows, ours = timed(lambda: list(tagged(texts, classes, tagger)))
    tell(f"{questions:,} questions, {len(rows):,} distinct texts", ours, "all of spaCy, every question", peer)
    print(f"ours {questions / ours[0]:,.0f} questions/s, all of spaCy {questions / peer[0]:,.0f}")


if __name__ == "__main__":
    command(main)
