"""Vocabularies that leave one choice, so that the expected result is certain."""

from pipeline.candidates.perturbing.replacements import PerturbParams
from pipeline.core.records import ObjectEntry, Vocabulary
from pipeline.language.word_classification import WordClassifier
from tests.candidates.perturbing.in_memory import perturb
from tests.notation import question

LOOKS = {
    "red": "color",
    "blue": "color",
    "wood": "material",
    "metal": "material",
    "large": "size",
    "small": "size",
    "young": "age",
    "old": "age",
    "standing": "pose",
    "sitting": "pose",
    "happy": "face expression",
    "sad": "face expression",
    "running": "activity",
    "taking a picture": "pose",
}


# Described so often that any other relation is drawn once in a thousand million times.
OPPOSITES = ("to the left of", "to the right of", "above", "below", "in front of", "behind")


CHOICES = {
    "open": ("closed",),
    "closed": ("open",),
    "long sleeved": ("sleeveless",),
    "sleeveless": ("long sleeved",),
}


RELATIONS = ("on", "in", "wearing", "holding", "sitting on", "under")


KINDS = {
    "animal": ("zebra", "giraffe"),
    "furniture": ("table", "chair", "bench"),
    "clothing": ("hat", "jeans"),
}


def entry(name: str, looks: tuple[str, ...] = (), seen: tuple[str, ...] = RELATIONS) -> ObjectEntry:
    return ObjectEntry(
        name=name,
        count=10,
        number="singular",
        attributes=dict.fromkeys(looks or (*LOOKS, *CHOICES), 5),
        subject_of=dict.fromkeys(seen, 5),
        object_of=dict.fromkeys(seen, 5),
    )


def vocabulary(
    *names: str, looks: tuple[str, ...] = (), kinds: dict | None = None, seen: tuple[str, ...] = RELATIONS
) -> Vocabulary:
    """Only `names`, each seen with all looks (or `looks`) and in all relations (or those `seen`)."""
    return Vocabulary(
        objects={name: entry(name, looks, seen) for name in names},
        attributes=dict.fromkeys((*LOOKS, *CHOICES), 5),
        attribute_types=dict(LOOKS),
        relations=dict.fromkeys(
            (*RELATIONS, "to the left of", "to the right of", "above", "below", "in front of", "behind"), 10
        ),
        categories=kinds or {},
        locations={},
        weathers={},
        attribute_alternatives=dict(CHOICES),
        presupposed_properties=dict.fromkeys(OPPOSITES, 10**9),
    )


def made(
    subset,
    text,
    semantic,
    words,
    answer="",
    annotations=None,
    preset="presuppositions",
    tags=None,
):
    """The text of the candidate, or why there is none."""
    asked = question(text, semantic, answer, annotations)
    tagged = WordClassifier(words).classify(text, tags or plain_tags(text))
    candidates, dropped = perturb(
        [asked], {text: tagged}, words, PerturbParams(preset=preset, balance_words=False), anything_fits=True
    )
    found = [row for row in (*candidates, *dropped) if row.subset == subset]
    assert len(found) == 1
    return found[0]


def plain_tags(text):
    """Tag every word as a noun. Here only the program and the vocabulary matter."""
    tokens, start = [], 0
    for word in text.rstrip("?").split():
        start = text.index(word, start)
        tokens.append((start, start + len(word.rstrip(",")), "IN"))
        start += len(word)
    return tuple(tokens)
