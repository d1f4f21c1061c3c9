"""Say what every word of every distinct question is: a thing, a look, a relation, a frame of the question, or
none.

Reads   ingest/questions.jsonl, ingest/pictures.jsonl, vocabulary/vocabulary.json
Writes  tags.jsonl    Tagged, one per distinct text of the benchmark's pictures, sorted by text
        tag.json      how many texts, and how many words of each class
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from pipeline.core.errors import run
from pipeline.core.files import read_json, read_jsonl, write_json, write_jsonl
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import Picture, Question, Tagged, Vocabulary
from pipeline.language.classes import WordClasses
from pipeline.language.tagger import Tagger


def tag(texts: Iterable[str], classes: WordClasses, tagger: Tagger) -> Iterator[Tagged]:
    """Tag each distinct text once, sorted."""
    distinct = sorted(set(texts))
    for text, tokens in zip(distinct, tagger.tag(distinct), strict=True):
        yield Tagged(text=text, words=classes.classify(text, tokens))


def main() -> None:
    folders = Folders()
    ingest, out = folders.stage("ingest"), folders.stage("tag")
    shown = {picture.picture_id for picture in read_jsonl(ingest / "pictures.jsonl", Picture)}
    texts = {
        question.text
        for question in read_jsonl(ingest / "questions.jsonl", Question)
        if question.picture_id in shown
    }
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    tagged = list(track(tag(texts, WordClasses(vocabulary), Tagger()), "tag", total=len(texts), unit="text"))
    write_jsonl(out / "tags.jsonl", tagged)
    counts = Counter(word.kind for row in tagged for word in row.words)
    write_json(out / "tag.json", {"texts": len(tagged), "words": dict(sorted(counts.items()))})
    done("tag", f"{len(tagged):,} distinct texts", out)


if __name__ == "__main__":
    run(main)
