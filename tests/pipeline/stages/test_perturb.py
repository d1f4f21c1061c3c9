"""What perturb makes of GQA-like questions. The vocabularies leave one choice, so that what is expected is certain."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from pipeline.core.records import Candidate, ObjectEntry, Vocabulary
from pipeline.stages.perturb import PerturbParams, perturb, report, tally
from pipeline.words.word_classes import WordClasses
from tests.pipeline.perturbing.programs import program, question

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
        attribute_types=LOOKS,
        relations=dict.fromkeys(
            (*RELATIONS, "to the left of", "to the right of", "above", "below", "in front of", "behind"), 10
        ),
        categories=kinds or {},
        places={},
        weathers={},
        alternatives=CHOICES,
        described=dict.fromkeys(OPPOSITES, 10**9),
    )


def made(
    subset,
    text,
    semantic,
    words,
    answer="",
    annotations=None,
    preset="presuppositions",
    scenes=None,
    tags=None,
):
    """The text of the candidate, or why there is none."""
    asked = question(text, semantic, answer, annotations)
    tagged = WordClasses(words).classify(text, tags or plain_tags(text))
    candidates, dropped = perturb(
        [asked], {text: tagged}, words, scenes or {}, PerturbParams(preset=preset, even_words=False)
    )
    found = [row for row in (*candidates, *dropped) if row.subset == subset]
    assert len(found) == 1
    return found[0]


def plain_tags(text):
    """Every word a noun: what matters here is told by program and vocabulary."""
    tokens, start = [], 0
    for word in text.rstrip("?").split():
        start = text.index(word, start)
        tokens.append((start, start + len(word.rstrip(",")), "IN"))
        start += len(word)
    return tuple(tokens)


EASY = [  # text, program, answer, annotations, what the vocabulary offers, expected
    # one thing, singular
    (
        "What color is the cup?",
        "select: cup (1)->query: color [0]",
        "red",
        {},
        "kite",
        "What color is the kite?",
    ),
    (
        "What is the table made of?",
        "select: table (1)->query: material [0]",
        "wood",
        {},
        "kite",
        "What is the kite made of?",
    ),
    (
        "Which side of the photo is the dog on?",
        "select: dog (1)->query: hposition [0]",
        "left",
        {},
        "kite",
        "Which side of the photo is the kite on?",
    ),
    (
        "The cup is of what color?",
        "select: cup (1)->query: color [0]",
        "red",
        {},
        "kite",
        "The kite is of what color?",
    ),
    ("Is the cup red?", "select: cup (1)->verify color: red [0]", "yes", {}, "kite", "Is the kite red?"),
    (
        "Is the cup both red and large?",
        "select: cup (1)->verify color: red [0]->verify size: large [0]->and: [1, 2]",
        "yes",
        {},
        "kite",
        "Is the kite both red and large?",
    ),
    # names of several words
    (
        "What color is the traffic light?",
        "select: traffic light (1)->query: color [0]",
        "red",
        {},
        "teddy bear",
        "What color is the teddy bear?",
    ),
    (
        "What color are the traffic lights?",
        "select: traffic light (1)->query: color [0]",
        "red",
        {},
        "teddy bear",
        "What color are the teddy bears?",
    ),
    (
        "Is there a man near the fire hydrant?",
        "select: fire hydrant (1)->relate: man,near,s (2) [0]->exist: ? [1]",
        "yes",
        {},
        "teddy bear",
        "Is there a man near the teddy bear?",
    ),
    # other words than the program's, told by annotations
    (
        "What color is the garbage bin?",
        "select: trash can (7)->query: color [0]",
        "red",
        {"4:6": "7"},
        "kite",
        "What color is the kite?",
    ),
    (
        "What color is the sedan?",
        "select: car (7)->query: color [0]",
        "red",
        {"4": "7"},
        "kite",
        "What color is the kite?",
    ),
    (
        "What color are the trousers?",
        "select: pants (7)->query: color [0]",
        "red",
        {"4": "7"},
        "goggles",
        "What color are the goggles?",
    ),
    # number and agreement
    (
        "What color are the cups?",
        "select: cup (1)->query: color [0]",
        "red",
        {},
        "kite",
        "What color are the kites?",
    ),
    (
        "What color is the cup?",
        "select: cup (1)->query: color [0]",
        "red",
        {},
        "scissors",
        "What color are the scissors?",
    ),
    (
        "What color does the cup have?",
        "select: cup (1)->query: color [0]",
        "red",
        {},
        "scissors",
        "What color do the scissors have?",
    ),
    (
        "What's the cup on?",
        "select: cup (1)->relate: _,on,o (2) [0]->query: name [1]",
        "table",
        {},
        "scissors",
        "What are the scissors on?",
    ),
    (
        "The cup is of what color?",
        "select: cup (1)->query: color [0]",
        "red",
        {},
        "scissors",
        "The scissors are of what color?",
    ),
    (
        "What color are the pants?",
        "select: pants (1)->query: color [0]",
        "red",
        {},
        "kite",
        "What color is the kite?",
    ),
    (
        "What size is this cup?",
        "select: cup (1)->query: size [0]",
        "large",
        {},
        "scissors",
        "What size are these scissors?",
    ),
    (
        "What is to the left of the cup that is red?",
        "select: cup (1)->filter color: red [0]->relate: _,to the left of,s (2) [1]->query: name [2]",
        "dog",
        {},
        "scissors",
        "What is to the left of the scissors that are red?",
    ),
    (
        "Who is wearing a shirt?",
        "select: shirt (1)->relate: person,wearing,s (2) [0]->query: name [1]",
        "man",
        {},
        "kite",
        "Who is wearing a kite?",
    ),
    (
        "Who is wearing a shirt?",
        "select: shirt (1)->relate: person,wearing,s (2) [0]->query: name [1]",
        "man",
        {},
        "scissors",
        "Who is wearing scissors?",
    ),
    (
        "Who is wearing jeans?",
        "select: jeans (1)->relate: person,wearing,s (2) [0]->query: name [1]",
        "man",
        {},
        "kite",
        "Who is wearing a kite?",
    ),
    (
        "Who is wearing pants?",
        "select: pants (1)->relate: person,wearing,s (2) [0]->query: name [1]",
        "man",
        {},
        "umbrella",
        "Who is wearing an umbrella?",
    ),
    (
        "What is the grass near?",
        "select: grass (1)->relate: _,near,o (2) [0]->query: name [1]",
        "dog",
        {},
        "kite",
        "What is the kite near?",
    ),
    (
        "What color is the cup?",
        "select: cup (1)->query: color [0]",
        "red",
        {},
        "snow",
        "What color is the snow?",
    ),
    (
        "Who is holding a cup?",
        "select: cup (1)->relate: person,holding,s (2) [0]->query: name [1]",
        "man",
        {},
        "snow",
        "Who is holding snow?",
    ),
    (
        "The person in front of the cup wears what?",
        "select: cup (1)->relate: person,in front of,s (2) [0]->relate: _,wearing,o (3) [1]->query: name [2]",
        "hat",
        {},
        "scissors",
        "no other object fits",
    ),
    # a and an
    (
        "Is the man holding the cup near an apple?",
        "select: cup (1)->relate: man,holding,s (2) [0]->verify rel: apple,near,o (3) [1]",
        "yes",
        {},
        "igloo",
        "Is the man holding the igloo near an apple?",
    ),
    (
        "Who is holding a cup?",
        "select: cup (1)->relate: person,holding,s (2) [0]->query: name [1]",
        "man",
        {},
        "umbrella",
        "Who is holding an umbrella?",
    ),
    (
        "Who is holding an apple?",
        "select: apple (1)->relate: person,holding,s (2) [0]->query: name [1]",
        "man",
        {},
        "kite",
        "Who is holding a kite?",
    ),
    (
        "Who is holding a red cup?",
        "select: cup (1)->filter color: red [0]->relate: person,holding,s (2) [1]->query: name [2]",
        "man",
        {},
        "umbrella",
        "Who is holding a red umbrella?",
    ),
    # capitals
    (
        "Cups are on what?",
        "select: cup (1)->relate: _,on,o (2) [0]->query: name [1]",
        "table",
        {},
        "kite",
        "Kites are on what?",
    ),
    # only what is presupposed: "a hat" of "Is the man wearing a hat?" and what "Is there" asks stay
    (
        "Is the dog wearing a hat?",
        "select: dog (1)->verify rel: hat,wearing,o (-) [0]",
        "no",
        {},
        "kite",
        "Is the kite wearing a hat?",
    ),
    (
        "Is the dog to the left of the table?",
        "select: dog (1)->verify rel: table,to the left of,o (2) [0]",
        "no",
        {},
        "kite",
        "Is the kite to the left of the table?",
    ),
    (
        "Is there a red cup?",
        "select: cup (1)->filter color: red [0]->exist: ? [1]",
        "yes",
        {},
        "kite",
        "its objects are asked for, not presupposed",
    ),
    (
        "Are there cups or dogs?",
        "select: cup (1)->exist: ? [0]->select: dog (-)->exist: ? [2]->or: [1, 3]",
        "yes",
        {},
        "kite",
        "its objects are asked for, not presupposed",
    ),
    (
        "Is there a dog to the left of the cup?",
        "select: cup (1)->relate: dog,to the left of,s (2) [0]->exist: ? [1]",
        "yes",
        {},
        "kite",
        "Is there a dog to the left of the kite?",
    ),
    (
        "Is there a cow in a field?",
        "select: field (1)->relate: cow,in,s (2) [0]->exist: ? [1]",
        "yes",
        {},
        "kite",
        "its objects are asked for, not presupposed",
    ),
    # frame nouns and pronouns name nothing
    ("What place is this?", "select: scene->query: place [0]", "park", {}, "kite", "names no object"),
    (
        "Who is sitting?",
        "select: person (1)->filter pose: sitting [0]->query: name [1]",
        "man",
        {},
        "kite",
        "no other object fits",
    ),
    (
        "What is he holding?",
        "select: he (1)->relate: _,holding,o (2) [0]->query: name [1]",
        "cup",
        {},
        "kite",
        "names no object",
    ),
    (
        "Is this a train or a bus?",
        "select: this (3)->choose name: train|bus [0]",
        "train",
        {},
        "kite",
        "names no object",
    ),
    # where there is no cup, there is no other; a slice makes sense with its own word only
    (
        "What is near the other cup?",
        "select: cup (1)->relate: _,near,s (2) [0]->query: name [1]",
        "dog",
        {},
        "kite",
        "What is near the kite?",
    ),
    (
        "What color is the slice of pizza?",
        "select: pizza (1)->query: color [0]",
        "red",
        {},
        "kite",
        "only its own word makes sense there",
    ),
    # words that belong to the noun go with it; looks stay
    (
        "What is the small cup on?",
        "select: cup (1)->filter size: small [0]->relate: _,on,o (2) [1]->query: name [2]",
        "table",
        {},
        "kite",
        "What is the small kite on?",
    ),
    (
        "What is the cup that looks small on?",
        "select: cup (1)->filter size: small [0]->relate: _,on,o (2) [1]->query: name [2]",
        "table",
        {},
        "kite",
        "What is the kite that looks small on?",
    ),
]


@pytest.mark.parametrize(
    "text, semantic, answer, annotations, offer, expected",
    EASY,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_pt_easy_names_another_thing_where_one_is_taken_for_granted(
    text, semantic, answer, annotations, offer, expected
):
    row = made("pt-easy", text, semantic, vocabulary(offer), answer, annotations)
    assert (row.text if isinstance(row, Candidate) else row.reason) == expected


CATEGORIES = [  # a category gives way to another category, said as the sentence wants it
    (
        "What kind of vehicle is on the left?",
        "select: vehicle (1)->filter hposition: left [0]->query: name [1]",
        "What kind of furniture is on the left?",
    ),
    ("What vehicle is this?", "select: vehicle (1)->query: name [0]", "What PIECE of furniture is this?"),
    (
        "What is the large vehicle?",
        "select: vehicle (1)->filter size: large [0]->query: name [1]",
        "What is the large PIECE of furniture?",
    ),
    (
        "What are the large vehicles called?",
        "select: vehicle (1)->filter size: large [0]->query: name [1]",
        "What are the large PIECEs of furniture called?",
    ),
    (
        "What is the red clothing item called?",
        "select: clothing (1)->filter color: red [0]->query: name [1]",
        "What is the red PIECE of furniture called?",
    ),
    (
        "What piece of clothing is red?",
        "select: clothing (1)->filter color: red [0]->query: name [1]",
        "What PIECE of furniture is red?",
    ),
    (
        "What color is the vehicle?",
        "select: vehicle (1)->query: color [0]",
        "What color is the PIECE of furniture?",
    ),
]


@pytest.mark.parametrize("text, semantic, expected", CATEGORIES)
def test_pt_easy_puts_another_category_for_a_category_and_never_a_kind(text, semantic, expected):
    words = vocabulary(
        "table", "chair", "bench", kinds={"furniture": ("table", "chair", "bench"), "vehicle": ("bus", "car")}
    )
    assert made("pt-easy", text, semantic, words, "bus").text in (
        expected.replace("PIECE", "piece"),
        expected.replace("PIECE", "item"),
    )


HARD = [  # text, program, answer, looks that the vocabulary knows of a cup, expected
    # the other value of the same type, in the form that the place wants
    (
        "What is the red cup made of?",
        "select: cup (1)->filter color: red [0]->query: material [1]",
        "wood",
        "red blue wood metal large",
        "What is the blue cup made of?",
    ),
    (
        "What is the cup that is red near?",
        "select: cup (1)->filter color: red [0]->relate: _,near,o (2) [1]->query: name [2]",
        "table",
        "red blue",
        "What is the cup that is blue near?",
    ),
    (
        "What color is the cup made of metal?",
        "select: cup (1)->filter material: metal [0]->query: color [1]",
        "red",
        "wood metal red",
        "What color is the cup made of wood?",
    ),
    (
        "Which side is a large cup on?",
        "select: cup (1)->filter size: large [0]->query: hposition [1]",
        "left",
        "large small",
        "Which side is a small cup on?",
    ),
    (
        "Which side is an open cup on?",
        "select: cup (1)->filter: open [0]->query: hposition [1]",
        "left",
        "open closed red",
        "Which side is a closed cup on?",
    ),
    (
        "Which side is a young cup on?",
        "select: cup (1)->filter age: young [0]->query: hposition [1]",
        "left",
        "young old",
        "Which side is an old cup on?",
    ),
    (
        "Is the red cup large?",
        "select: cup (1)->filter color: red [0]->verify size: large [1]",
        "no",
        "red blue small large",
        "Is the blue cup large?",
    ),
    (
        "Who is holding the red cup that is large?",
        "select: cup (1)->filter color: red [0]->filter size: large [1]->relate: person,holding,s (2) [2]->query: name [3]",
        "man",
        "red blue small large",
        "Who is holding the blue cup that is small?",
    ),
    # the options of a choice are what is asked
    (
        "Is the cup red or white?",
        "select: cup (1)->choose color: red|white [0]",
        "red",
        "red blue",
        "its attributes are asked for, not presupposed",
    ),
    (
        "Is the cup white or red?",
        "select: cup (1)->choose color: white|red [0]",
        "red",
        "red blue",
        "its attributes are asked for, not presupposed",
    ),
    (
        "Is the cup open or closed?",
        "select: cup (1)->choose: open|closed [0]",
        "open",
        "open closed",
        "its attributes are asked for, not presupposed",
    ),
    # no other value of the type is known of this object, or none that may stand there; negated; several at a time
    (
        "What is the red cup near?",
        "select: cup (1)->filter color: red [0]->relate: _,near,o (2) [1]->query: name [2]",
        "table",
        "red wood large",
        "What is the blue cup near?",
    ),  # as of other things
    (
        "What is the cup that is not red near?",
        "select: cup (1)->filter color: not(red) [0]->relate: _,near,o (2) [1]->query: name [2]",
        "table",
        "red blue",
        "What is the cup that is red near?",
    ),
    (
        "What is the cup that is running near?",
        "select: cup (1)->filter activity: running [0]->relate: _,near,o (2) [1]->query: name [2]",
        "table",
        "running red",
        "What is the cup that is sleeping near?",
    ),
    (
        "What color is the standing cup?",
        "select: cup (1)->filter pose: standing [0]->query: color [1]",
        "red",
        "standing;taking a picture;red",
        "What color is the sitting cup?",
    ),
    # asked, not presupposed
    (
        "Is the cup red?",
        "select: cup (1)->verify color: red [0]",
        "yes",
        "red blue",
        "its attributes are asked for, not presupposed",
    ),
    (
        "Are there red cups?",
        "select: cup (1)->filter color: red [0]->exist: ? [1]",
        "yes",
        "red blue",
        "its attributes are asked for, not presupposed",
    ),
    ("What color is the cup?", "select: cup (1)->query: color [0]", "red", "red blue", "has no attribute"),
    # relations by their opposites
    (
        "What is to the left of the cup?",
        "select: cup (1)->relate: _,to the left of,s (2) [0]->query: name [1]",
        "dog",
        "red",
        "What is to the right of the cup?",
    ),
    (
        "What is the cup the dog is to the right of near?",
        "select: dog (1)->relate: cup,to the right of,o (2) [0]->relate: _,near,o (3) [1]->query: name [2]",
        "table",
        "red",
        "What is the cup the dog is to the left of near?",
    ),
    (
        "What color is the dog above the cup?",
        "select: cup (1)->relate: dog,above,s (2) [0]->query: color [1]",
        "red",
        "red",
        "What color is the dog below the cup?",
    ),
    (
        "Who is in front of the cup?",
        "select: cup (1)->relate: person,in front of,s (2) [0]->query: name [1]",
        "man",
        "red",
        "Who is behind the cup?",
    ),
    (
        "What is the cup behind of?",
        "select: cup (1)->relate: _,behind,o (2) [0]->query: name [1]",
        "dog",
        "red",
        "What is the cup in front of?",
    ),
    (
        "What color is the cup on the left side of the photo?",
        "select: cup (1)->filter hposition: left [0]->query: color [1]",
        "red",
        "red",
        "What color is the cup on the right side of the photo?",
    ),
    (
        "What color is the cup in the bottom of the photo?",
        "select: cup (1)->filter vposition: bottom [0]->query: color [1]",
        "red",
        "red",
        "What color is the cup in the top of the photo?",
    ),
    (
        "What is the young dog to the right of the cup doing?",
        "select: cup (1)->relate: dog,to the right of,s (2) [0]->filter age: young [1]->query: activity [2]",
        "running",
        "red",
        "What is the old dog to the left of the cup doing?",
    ),
    # relations that are asked, that have two sides, or no opposite
    (
        "Is the dog to the left or to the right of the cup?",
        "select: cup (1)->choose rel: dog,to the left of|to the right of,s (2) [0]",
        "left",
        "red",
        "has no attribute",
    ),
    (
        "Is the dog to the left of the cup?",
        "select: cup (1)->verify rel: dog,to the left of,s (2) [0]",
        "yes",
        "red",
        "has no attribute",
    ),
    (
        "Is the cup on the left?",
        "select: cup (1)->verify hposition: left [0]",
        "yes",
        "red",
        "has no attribute",
    ),
    (
        "What is near the cup?",
        "select: cup (1)->relate: _,near,s (2) [0]->query: name [1]",
        "dog",
        "red",
        "has no attribute",
    ),
    (
        "What color is the cup to the left of the other cup?",
        "select: cup (1)->relate: cup,to the left of,s (2) [0]->query: color [1]",
        "red",
        "red",
        "has no attribute",
    ),
    (
        "What color is the cup in the middle of the photo?",
        "select: cup (1)->filter hposition: middle [0]->query: color [1]",
        "red",
        "red",
        "What color is the cup on the ",
    ),
    (
        "What color is the cup in the middle?",
        "select: cup (1)->filter vposition: middle [0]->query: color [1]",
        "red",
        "red",
        "What color is the cup at the ",
    ),
    (
        "What color is the cup in the center of the photo?",
        "select: cup (1)->filter vposition: middle [0]->query: color [1]",
        "red",
        "red",
        "What color is the cup in the ",
    ),
]


@pytest.mark.parametrize(
    "text, semantic, answer, looks, expected", HARD, ids=lambda value: value if isinstance(value, str) else ""
)
def test_pt_hard_gives_the_same_thing_another_look_or_the_opposite_place(
    text, semantic, answer, looks, expected
):
    known = tuple(looks.split(";") if ";" in looks else looks.split())
    row = made("pt-hard", text, semantic, vocabulary("cup", looks=known, seen=()), answer)
    assert (row.text if isinstance(row, Candidate) else row.reason).startswith(expected)


def test_the_program_is_edited_in_step_with_the_text():
    text = "What is the red cup to the left of the dog made of?"
    semantic = (
        "select: dog (4)->relate: cup,to the left of,s (7) [0]->filter color: red [1]->query: material [2]"
    )
    words = vocabulary("cup", looks=("red", "blue", "wood"), seen=())
    hard = made("pt-hard", text, semantic, words)
    assert hard.text == "What is the blue cup to the right of the dog made of?"
    assert hard.program == program(
        "select: dog (4)->relate: cup,to the right of,s (-) [0]->filter color: blue [1]->query: material [2]"
    )
    assert [(e.kind, e.old, e.new, e.step) for e in hard.edits] == [
        ("attribute", "red", "blue", 2),
        ("relation", "to the left of", "to the right of", 1),
    ]
    assert all(text[e.start : e.end] == e.old for e in hard.edits)
    easy = made("pt-easy", text, semantic, vocabulary("kite"))
    # One offer: the first step in the program takes it, and none is left for the other.
    assert easy.program[0].argument == "kite (-)"
    assert easy.text == "What is the red cup to the left of the kite made of?"


def test_edits_are_spans_of_the_source_text_and_agreement_is_not_among_them():
    row = made(
        "pt-easy", "What color is the cup?", "select: cup (1)->query: color [0]", vocabulary("scissors")
    )
    assert row.text == "What color are the scissors?"
    assert [(e.start, e.end, e.old, e.new) for e in row.edits] == [(18, 21, "cup", "scissors")]


def test_a_thing_known_to_be_in_the_picture_is_not_put_in():
    words = vocabulary("kite", "vase")
    asked = [
        question("What color is the cup?", "select: cup (1)->query: color [0]", "red", question_id=f"q{i:02}")
        for i in range(20)
    ] + [question("Where is the kite?", "select: kite (2)->query: hposition [0]", "left", question_id="q99")]
    tags = {q.text: () for q in asked}
    candidates, _ = perturb(asked, tags, words, {}, PerturbParams())
    assert {c.text for c in candidates if c.subset == "pt-easy"} == {
        "What color is the vase?",
        "Where is the vase?",
    }


def test_what_may_be_the_same_thing_is_not_put_in():
    # A couch may be called sofa, furniture is what it is, a side couch ends in the same word, a man is a person.
    words = vocabulary("sofa", "side couch", kinds={"furniture": ("couch", "sofa", "side couch")})
    row = made("pt-easy", "What color is the couch?", "select: couch (1)->query: color [0]", words)
    assert row.reason == "no other object fits"


def test_man_gives_way_to_woman_but_not_to_another_word_for_a_person():
    people = {"person": ("man", "player", "woman")}
    row = made(
        "pt-easy",
        "What is the man on?",
        "select: man (1)->relate: _,on,o (2) [0]->query: name [1]",
        vocabulary("man", "player", "woman", kinds=people),
    )
    assert row.text == "What is the woman on?"


def test_a_replacement_has_been_seen_with_the_looks_and_relations_that_the_question_ascribes_to_it():
    words = vocabulary("kite")
    words.objects["wall"] = entry("wall", looks=("red",), seen=())
    for i in range(8):
        asked = question(
            "What is the dog wearing the red hat on?",
            "select: hat (1)->filter color: red [0]->relate: dog,wearing,s (2) [1]->relate: _,on,o (3) [2]->query: name [3]",
            question_id=f"q{i}",
        )
        candidates, _ = perturb([asked], {asked.text: ()}, words, {}, PerturbParams())
        assert not any("wall" in c.text for c in candidates if c.subset == "pt-easy")


def test_each_relation_is_put_in_as_often_as_it_is_taken_out():
    # 180 "on", 120 "in front of", 100 "behind": none is more than half of all, so that it can be done; "under",
    # which nobody says, is not said. A count of 400 draws has a standard deviation of at most 10.
    said = {"on": 180, "in front of": 120, "behind": 100}
    words = msgspec.structs.replace(vocabulary("cup", seen=()), described=said)
    relations = [relation for relation, count in said.items() for _ in range(count)]
    asked = [
        question(
            f"What is {relation} the cup?",
            f"select: cup (1)->relate: _,{relation},s (2) [0]->query: name [1]",
            "dog",
            question_id=f"q{i}",
        )
        for i, relation in enumerate(relations)
    ]
    tags = {f"What is {relation} the cup?": () for relation in said}

    def put(even_words: bool) -> Counter[str]:
        candidates, _ = perturb(asked, tags, words, {}, PerturbParams(even_words=even_words))
        return Counter(edit.new for c in candidates if c.subset == "pt-hard" for edit in c.edits)

    even = put(True)
    assert even.total() == 400 and all(abs(even[relation] - count) < 25 for relation, count in said.items())
    # By frequency alone: "on" in 180 / 280 of the 120 and 180 / 300 of the 100, about 137 times.
    assert put(False)["on"] < 155


def test_of_several_things_those_stay_that_are_too_seldom_put_in():
    # 200 times a man and a kite, and nobody says "vase" or "hat": so the man, the kite, or both have to give way to
    # them. Evened out, only one of them goes; else both do.
    words = vocabulary("man", "kite", "vase", "hat")
    text, semantic = (
        "Is the man near the kite?",
        "select: kite (1)->relate: man,near,s (2) [0]->verify pose: standing [1]",
    )
    asked = [question(text, semantic, "yes", question_id=f"q{i}") for i in range(200)]

    def edits(even_words: bool) -> set[int]:
        candidates, _ = perturb(asked, {text: ()}, words, {}, PerturbParams(even_words=even_words))
        return {len(c.edits) for c in candidates if c.subset == "pt-easy"}

    assert (edits(True), edits(False)) == ({1}, {2})


def test_looks_follow_their_real_frequencies():
    # 90 blue and 10 white cups: of 500 red ones about 450 become blue (standard deviation 6.7).
    words = vocabulary("cup", looks=("red",))
    words.objects["cup"] = msgspec.structs.replace(
        words.objects["cup"], attributes={"red": 5, "blue": 90, "white": 10}
    )
    words.attribute_types["white"] = "color"
    words.described.update({"red": 5, "blue": 90, "white": 10})
    asked = [
        question(
            "Where is the red cup?",
            "select: cup (1)->filter color: red [0]->query: hposition [1]",
            "left",
            question_id=f"q{i}",
        )
        for i in range(500)
    ]
    candidates, _ = perturb(asked, {"Where is the red cup?": ()}, words, {}, PerturbParams())
    blue = sum("blue" in c.text for c in candidates if c.subset == "pt-hard")
    assert 420 <= blue <= 480


def test_a_look_never_changes_its_type():
    words = vocabulary("cup")
    types = {**LOOKS, **dict.fromkeys(CHOICES, "choice")}
    for look, kind in LOOKS.items():
        asked = question(
            f"Where is the {look} cup?",
            f"select: cup (1)->filter {kind}: {look} [0]->query: hposition [1]",
            "left",
        )
        candidates, _ = perturb([asked], {asked.text: ()}, words, {}, PerturbParams())
        for candidate in (c for c in candidates if c.subset == "pt-hard"):
            assert (
                types.get(candidate.program[1].argument, kind) == kind
                and candidate.program[1].argument != look
            )


def test_the_same_seed_gives_the_same_edits_whatever_else_is_asked_and_another_seed_gives_others():
    words = vocabulary("kite", "vase", "ball", "drum", "igloo", "lemon")
    asked = [
        question("What color is the cup?", "select: cup (1)->query: color [0]", "red", question_id=f"q{i}")
        for i in range(30)
    ]
    tags = {asked[0].text: ()}

    def texts(questions, seed=1):
        return [c.text for c in perturb(questions, tags, words, {}, PerturbParams(seed=seed))[0]]

    assert texts(asked) == texts(asked[::-1])
    assert texts(asked[:5]) == [
        c.text
        for c in perturb(asked, tags, words, {}, PerturbParams())[0]
        if c.question_id in {q.question_id for q in asked[:5]}
    ]
    assert texts(asked) != texts(asked, seed=2)


def test_every_question_is_a_candidate_or_has_a_reason_in_each_subset():
    rows = [question(row[0], row[1], row[2], row[3], f"q{i}") for i, row in enumerate(EASY)]
    candidates, dropped = perturb(rows, {q.text: () for q in rows}, vocabulary("kite"), {}, PerturbParams())
    for counts in report(tally([*candidates, *dropped])).values():
        assert counts["questions"] == len(rows) == counts["candidates"] + sum(counts["unperturbed"].values())


def test_the_papers_rule_edits_blindly_what_is_asked_too():
    words = vocabulary("cup", "kite", looks=("red", "blue"))
    asked = "Is the cup red?"
    easy = made("pt-easy", asked, "select: cup (1)->verify color: red [0]", words, preset="paper")
    hard = made("pt-hard", asked, "select: cup (1)->verify color: red [0]", words, preset="paper")
    assert (easy.text, hard.text) == ("Is the kite red?", "Is the cup blue?")
    assert hard.edits[0].step == 1 and hard.program == program("select: cup (1)->verify color: blue [0]")
    exist = made("pt-easy", "Is there a cup?", "select: cup (1)->exist: ? [0]", words, preset="paper")
    assert exist.text == "Is there a kite?"
    both = made(
        "pt-hard",
        "Is the cup to the left or to the right of the dog?",
        "select: dog (1)->choose rel: cup,to the left of|to the right of,s (2) [0]",
        words,
        preset="paper",
    )
    assert (
        both.text == "Is the cup to the right or to the left of the dog?"
        or both.text == "Is the cup to the left or to the left of the dog?"
    )


def test_a_question_without_a_program_is_edited_in_its_definite_phrases_only():
    words = vocabulary("cup", "kite", looks=("red", "blue"))
    tags = (
        (0, 4, "WP"),
        (5, 7, "VBZ"),
        (8, 11, "DT"),
        (12, 15, "JJ"),
        (16, 19, "NN"),
        (20, 24, "VBN"),
        (25, 27, "IN"),
    )
    easy = made("pt-easy", "What is the red cup made of?", "", words, tags=tags)
    hard = made("pt-hard", "What is the red cup made of?", "", words, tags=tags)
    assert (easy.text, hard.text) == ("What is the red kite made of?", "What is the blue cup made of?")
    assert easy.program == () and easy.edits[0].step == -1
    assert made("pt-easy", "Is there a cup?", "", words).reason == "names no object"


def test_two_looks_of_one_thing_do_not_become_the_same():
    words = vocabulary("cup", looks=("red", "white", "blue", "green"))
    words.attribute_types.update(white="color", green="color")
    words.described.update(red=5, white=5, blue=5, green=5)
    asked = [
        question(
            "Where is the cup that is red and white?",
            "select: cup (1)->filter color: red [0]->filter color: white [1]->query: hposition [2]",
            "left",
            question_id=f"q{i}",
        )
        for i in range(20)
    ]
    candidates, _ = perturb(asked, {asked[0].text: ()}, words, {}, PerturbParams(even_words=False))
    assert {c.text for c in candidates if c.subset == "pt-hard"} == {
        "Where is the cup that is blue and green?",
        "Where is the cup that is green and blue?",
    }


def test_one_word_is_replaced_once_even_if_two_steps_name_it():
    words = vocabulary("kite", "vase")
    row = made(
        "pt-easy",
        "Is the person in front or behind the fence?",
        "select: person (2)->choose rel: person,in front of|behind,s (2) [0]",
        words,
        "front",
        {"2": "2"},
    )
    assert len(row.edits) == 1


def test_the_whole_compound_goes():
    """ "Laptop computer": with half of it kept, it would be a "kite computer"."""
    tags = ((0, 2, "VBZ"), (3, 6, "DT"), (7, 10, "NN"), (11, 19, "NN"), (20, 23, "JJ"))
    words = vocabulary("cup", "kite")
    row = made(
        "pt-easy", "Is the cup computer red?", "select: cup (1)->verify color: red [0]", words, tags=tags
    )
    assert row.text == "Is the kite red?"


def test_a_verb_that_the_tagger_takes_for_a_noun_ends_no_compound():
    tags = ((0, 4, "VBZ"), (5, 8, "DT"), (9, 12, "NN"), (13, 17, "NN"), (18, 21, "JJ"))
    row = made(
        "pt-easy",
        "Does the cup look red?",
        "select: cup (1)->verify color: red [0]",
        vocabulary("cup", "kite"),
        tags=tags,
    )
    assert row.text == "Does the kite look red?"
