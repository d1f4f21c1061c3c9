"""Classify the words of every distinct question text as object, attribute, relation, word of the question
frame, or other.

Reads   ingest/questions.jsonl, ingest/images.jsonl, vocabulary/vocabulary.json
Writes  tags.jsonl    TaggedText: one per distinct text about the benchmark's images, sorted by text
        tag.json      number of texts, and of words of each class
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import format_count, run_command
from pipeline.core.json_files import encode_jsonl
from pipeline.core.parallel import choose_num_workers, ordered_map
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import ImageRecord
from pipeline.language.tagger import BATCH_SIZE, Tagger
from pipeline.language.word_classification import WordClassifier, tag_texts

# Number of texts for which starting another process, with a tagger of its own, saves time.
TEXTS_PER_PROCESS = 20_000


def load_tagger(folders: DatasetFolders) -> tuple[WordClassifier, Tagger]:
    """Load the word classifier and the part-of-speech tagger."""
    return WordClassifier(folders.read_vocabulary()), Tagger()


def tag_block(tagger_inputs: tuple[WordClassifier, Tagger], texts: list[str]) -> tuple[bytes, Counter[str]]:
    """Tag texts, and return the lines for tags.jsonl and the number of words of each class."""
    rows = list(tag_texts(texts, *tagger_inputs))
    return encode_jsonl(rows), Counter(word.word_class for row in rows for word in row.words)


def main() -> None:
    folders = DatasetFolders()
    shown = {image.image_id for image in folders.read_records(ImageRecord)}
    texts = sorted({question.text for question in folders.read_questions_about(shown)})
    # Each worker gets whole batches, so that the tagger sees the same batches with any number of processes.
    batches = [texts[start : start + BATCH_SIZE] for start in range(0, len(texts), BATCH_SIZE)]
    counts: Counter[str] = Counter()
    with atomic_write(folders.stage_dir("tag") / "tags.jsonl") as file:
        results = ordered_map(
            tag_block,
            batches,
            partial(load_tagger, folders),
            choose_num_workers(len(texts), TEXTS_PER_PROCESS),
            1,
        )
        for rows, words in track(results, "tag", len(batches), "thousand"):
            file.write(rows)
            counts.update(words)
    report = {"texts": len(texts), "words": counts}
    folders.write_stage_outputs("tag", format_count(len(texts), "distinct text"), {"tag.json": report})


if __name__ == "__main__":
    run_command(main)
