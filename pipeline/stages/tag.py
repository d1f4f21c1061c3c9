"""Say what every word of every distinct question is: a thing, a look, a relation, a frame of the question, or
none.

Reads   ingest/questions.jsonl, ingest/pictures.jsonl, vocabulary/vocabulary.json
Writes  tags.jsonl    Tagged: one per distinct text of the benchmark's pictures, sorted by text
        tag.json      how many texts, and how many words of each class
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from pipeline.core.atomic_files import replacing
from pipeline.core.errors import counted, run
from pipeline.core.json_files import lines
from pipeline.core.parallel import ordered_map, processes
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Picture
from pipeline.language.tagger import BATCH, Tagger
from pipeline.language.word_classification import WordClasses, tagged

WORTH = 20_000  # texts for which another process, with a tagger of its own, is worth its start


def read_tools(folders: Folders) -> tuple[WordClasses, Tagger]:
    """What texts are tagged with."""
    return WordClasses(folders.vocabulary()), Tagger()


def tag(tools: tuple[WordClasses, Tagger], texts: list[str]) -> tuple[bytes, Counter[str]]:
    """Texts tagged, as lines of tags.jsonl; and how many words there are of each class."""
    rows = list(tagged(texts, *tools))
    return lines(rows), Counter(word.kind for row in rows for word in row.words)


def main() -> None:
    folders = Folders()
    shown = {picture.picture_id for picture in folders.rows(Picture)}
    texts = sorted({question.text for question in folders.asked(shown)})
    # Whole batches of the tagger, so that it sees the same ones in however many processes.
    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    counts: Counter[str] = Counter()
    with replacing(folders.stage("tag") / "tags.jsonl") as file:
        results = ordered_map(tag, batches, partial(read_tools, folders), processes(len(texts), WORTH), 1)
        for rows, words in track(results, "tag", len(batches), "thousand"):
            file.write(rows)
            counts.update(words)
    report = {"texts": len(texts), "words": counts}
    folders.finish("tag", counted(len(texts), "distinct text"), {"tag.json": report})


if __name__ == "__main__":
    run(main)
