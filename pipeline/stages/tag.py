"""Say what every word of every distinct question is: a thing, a look, a relation, a frame of the question, or
none.

Reads   ingest/questions.jsonl, ingest/pictures.jsonl, vocabulary/vocabulary.json
Writes  tags.jsonl    Tagged, one per distinct text of the benchmark's pictures, sorted by text
        tag.json      how many texts, and how many words of each class
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from pipeline.core.errors import run
from pipeline.core.files import lines, read_json, read_jsonl, replacing, write_json
from pipeline.core.parallel import Workers, processes
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import Picture, Question, Tagged, Vocabulary
from pipeline.words.tagger import BATCH, Tagger
from pipeline.words.word_classes import WordClasses

WORTH = 20_000  # texts for which another process, with a tagger of its own, is worth its start


def tag(texts: Iterable[str], classes: WordClasses, tagger: Tagger) -> Iterator[Tagged]:
    """Tag each distinct text once, sorted."""
    distinct = sorted(set(texts))
    for text, tokens in zip(distinct, tagger.tag(distinct), strict=True):
        yield Tagged(text=text, words=classes.classify(text, tokens))


@dataclass(frozen=True, slots=True)
class Tools:
    """What texts are tagged with."""

    classes: WordClasses
    tagger: Tagger

    @classmethod
    def read(cls, folders: Folders) -> Tools:
        vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
        return cls(WordClasses(vocabulary), Tagger())


def tagged(tools: Tools, texts: tuple[str, ...]) -> tuple[bytes, Counter[str]]:
    """Texts tagged, as lines of tags.jsonl; and how many words there are of each class."""
    rows = list(tag(texts, tools.classes, tools.tagger))
    return lines(rows), Counter(word.kind for row in rows for word in row.words)


def main() -> None:
    folders = Folders()
    ingest, out = folders.stage("ingest"), folders.stage("tag")
    shown = {picture.picture_id for picture in read_jsonl(ingest / "pictures.jsonl", Picture)}
    texts = {
        question.text
        for question in read_jsonl(ingest / "questions.jsonl", Question)
        if question.picture_id in shown
    }
    # Whole batches of the tagger, so that it sees the same ones in however many processes.
    ordered = iter(sorted(texts))
    batches = list(iter(lambda: tuple(islice(ordered, BATCH)), ()))
    counts: Counter[str] = Counter()
    with (
        Workers(partial(Tools.read, folders), processes(len(texts), WORTH)) as workers,
        replacing(out / "tags.jsonl") as file,
    ):
        for rows, words in track(workers.map(tagged, batches, 1), "tag", len(batches), "thousand"):
            file.write(rows)
            counts.update(words)
    write_json(out / "tag.json", {"texts": len(texts), "words": dict(sorted(counts.items()))})
    done("tag", f"{len(texts):,} distinct texts", out)


if __name__ == "__main__":
    run(main)
