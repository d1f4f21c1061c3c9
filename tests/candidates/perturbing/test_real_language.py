"""Test what may be edited in questions phrased like GQA's, and how the edited text reads. The questions were written for this test.

A row: question, program, the objects that may be replaced (PT-Easy), the attributes and relations that may be replaced (PT-Hard), an object of
the vocabulary, and the question with that object; "" if there is nothing to swap.
"""

from __future__ import annotations

import pytest

from pipeline.candidates.perturbing.edit_kinds import UNCONDITIONAL_EDITS
from pipeline.candidates.perturbing.edit_slots import find_attribute_and_relation_slots, find_object_slots
from pipeline.candidates.perturbing.replacements import PerturbParams
from pipeline.core.records import Candidate, ObjectEntry, Vocabulary
from pipeline.language.tagger import Tagger
from pipeline.language.word_classification import WordClassifier
from tests.candidates.perturbing.in_memory import case_of, perturb
from tests.notation import question

TYPES = {
    "red": "color",
    "blue": "color",
    "white": "color",
    "green": "color",
    "wood": "material",
    "metal": "material",
    "cloth": "material",
    "large": "size",
    "small": "size",
    "young": "age",
    "old": "age",
    "sitting": "pose",
    "standing": "pose",
    "happy": "face expression",
}
RELATIONS = (
    "on",
    "in",
    "of",
    "near",
    "wearing",
    "holding",
    "riding",
    "sitting on",
    "standing on",
    "under",
    "with",
    "eating",
)

CASES = [
    # names of several words
    (
        "What color is the traffic light?",
        "select: traffic light (1)->query: color [0]",
        "traffic light",
        "",
        "kite",
        "What color is the kite?",
    ),
    (
        "Is the tv stand on the left of the photo?",
        "select: tv stand (1)->verify hposition: left [0]",
        "tv stand",
        "",
        "umbrella",
        "Is the umbrella on the left of the photo?",
    ),
    (
        "Does the hot dog look large?",
        "select: hot dog (1)->verify size: large [0]",
        "hot dog",
        "",
        "kite",
        "Does the kite look large?",
    ),
    (
        "What are the teddy bears on?",
        "select: teddy bears (1)->relate: _,on,o (2) [0]->query: name [1]",
        "teddy bears",
        "on",
        "kite",
        "What are the kites on?",
    ),
    (
        "Who is sitting on the parking meter?",
        "select: parking meter (1)->relate: person,sitting on,s (2) [0]->query: name [1]",
        "parking meter",
        "on",
        "kite",
        "Who is sitting on the kite?",
    ),
    (
        "What is in the shopping cart?",
        "select: shopping cart (1)->relate: _,in,s (2) [0]->query: name [1]",
        "shopping cart",
        "in",
        "boat",
        "What is in the boat?",
    ),
    # plural, plural only
    (
        "What color are the curtains?",
        "select: curtains (1)->query: color [0]",
        "curtains",
        "",
        "lamp",
        "What color are the lamps?",
    ),
    (
        "Are these shoes red?",
        "select: shoes (1)->verify color: red [0]",
        "shoes",
        "",
        "kite",
        "Are these kites red?",
    ),
    (
        "Do the men look old?",
        "select: men (1)->verify age: old [0]",
        "men",
        "",
        "kite",
        "Do the kites look old?",
    ),
    (
        "Are the scissors small?",
        "select: scissors (1)->verify size: small [0]",
        "scissors",
        "",
        "kite",
        "Is the kite small?",
    ),
    (
        "Which color do the jeans have?",
        "select: jeans (1)->query: color [0]",
        "jeans",
        "",
        "kite",
        "Which color does the kite have?",
    ),
    (
        "What color is the kite?",
        "select: kite (1)->query: color [0]",
        "kite",
        "",
        "sunglasses",
        "What color are the sunglasses?",
    ),
    (
        "Does the shelf look small?",
        "select: shelf (1)->verify size: small [0]",
        "shelf",
        "",
        "goggles",
        "Do the goggles look small?",
    ),
    (
        "What is the shelf near?",
        "select: shelf (1)->relate: _,near,o (2) [0]->query: name [1]",
        "shelf",
        "",
        "stairs",
        "What are the stairs near?",
    ),
    (
        "What is near that shelf?",
        "select: shelf (1)->relate: _,near,s (2) [0]->query: name [1]",
        "shelf",
        "",
        "stairs",
        "What is near those stairs?",
    ),
    # mass nouns
    (
        "What is in the water?",
        "select: water (1)->relate: _,in,s (2) [0]->query: name [1]",
        "water",
        "in",
        "boat",
        "What is in the boat?",
    ),
    (
        "Is the rice white?",
        "select: rice (1)->verify color: white [0]",
        "rice",
        "",
        "umbrella",
        "Is the umbrella white?",
    ),
    (
        "What color is that bowl?",
        "select: bowl (1)->query: color [0]",
        "bowl",
        "",
        "grass",
        "What color is that grass?",
    ),
    (
        "Who is holding a bowl?",
        "select: bowl (1)->relate: person,holding,s (2) [0]->query: name [1]",
        "bowl",
        "",
        "bread",
        "Who is holding bread?",
    ),
    (
        "Is the small cup on the left?",
        "select: cup (1)->filter size: small [0]->verify hposition: left [1]",
        "cup",
        "small",
        "water",
        "",
    ),
    # articles
    (
        "Who is holding a phone?",
        "select: phone (1)->relate: person,holding,s (2) [0]->query: name [1]",
        "phone",
        "",
        "umbrella",
        "Who is holding an umbrella?",
    ),
    (
        "Who is eating an apple?",
        "select: apple (1)->relate: person,eating,s (2) [0]->query: name [1]",
        "apple",
        "",
        "banana",
        "Who is eating a banana?",
    ),
    (
        "Who here is wearing trousers?",
        "select: pants (1)->relate: person,wearing,s (2) [0]->query: name [1]",
        "trousers",
        "",
        "apron",
        "Who here is wearing an apron?",
    ),
    # pronouns and people
    (
        "What is she holding?",
        "select: she (1)->relate: _,holding,o (2) [0]->query: name [1]",
        "",
        "",
        "kite",
        "What is he holding?",
    ),
    (
        "Is the bag to the right of him?",
        "select: he (1)->verify rel: bag,to the right of,s (2) [0]",
        "bag",
        "",
        "kite",
        "Is the kite to the right of him?",
    ),
    (
        "Is he wearing a tie?",
        "select: he (1)->verify rel: tie,wearing,o (2) [0]",
        "",
        "",
        "kite",
        "Is she wearing a tie?",
    ),
    (
        "What is the man eating?",
        "select: man (1)->relate: _,eating,o (2) [0]->query: name [1]",
        "man",
        "",
        "woman",
        "What is the woman eating?",
    ),
    (
        "What is the man eating?",
        "select: man (1)->relate: _,eating,o (2) [0]->query: name [1]",
        "man",
        "",
        "player",
        "",
    ),
    (
        "The person near the door is holding what?",
        "select: door (1)->relate: person,near,s (2) [0]->relate: _,holding,o (3) [1]->query: name [2]",
        "door;person",
        "",
        "kite",
        "The person near the kite is holding what?",
    ),
    # compounds
    (
        "Is the baseball player young?",
        "select: baseball player (1)->verify age: young [0]",
        "baseball player",
        "",
        "cat",
        "Is the cat young?",
    ),
    (
        "Is the adult man standing?",
        "select: man (1)->verify pose: standing [0]",
        "adult man",
        "",
        "cat",
        "Is the cat standing?",
    ),
    (
        "What color is the laptop computer?",
        "select: laptop (1)->query: color [0]",
        "laptop computer",
        "",
        "kite",
        "What color is the kite?",
    ),
    (
        "What is on the counter top?",
        "select: counter (1)->relate: _,on,s (2) [0]->query: name [1]",
        "counter top",
        "on",
        "kite",
        "What is on the kite?",
    ),
    (
        "What is in the grass field?",
        "select: grass (1)->relate: field,of,s (2) [0]->relate: _,in,s (3) [1]->query: name [2]",
        "grass",
        "in",
        "kite",
        "",
    ),
    # possessives: only what has such a part may own it
    (
        "Is the girl's hair red?",
        "select: girl (1)->relate: hair,of,s (2) [0]->verify color: red [1]",
        "girl;hair",
        "",
        "kite",
        "Is the girl's kite red?",
    ),
    (
        "What color is the dog's collar?",
        "select: dog (1)->relate: collar,of,s (2) [0]->query: color [1]",
        "dog;collar",
        "",
        "kite",
        "What color is the dog's kite?",
    ),
    (
        "Is her umbrella red?",
        "select: she (1)->relate: umbrella,of,s (2) [0]->verify color: red [1]",
        "umbrella",
        "",
        "kite",
        "Is her kite red?",
    ),
    # portions, and what makes sense with its own word only
    (
        "What is next to the slice of pizza?",
        "select: pizza (1)->relate: _,next to,s (2) [0]->query: name [1]",
        "",
        "",
        "kite",
        "",
    ),
    (
        "Is the cat next to the other cat?",
        "select: cat (1)->verify rel: cat,next to,s (2) [0]",
        "other cat",
        "",
        "kite",
        "Is the cat next to the kite?",
    ),
    (
        "Is he in front of or behind the kite?",
        "select: he (1)->choose rel: man,in front of|behind,s (1) [0]",
        "kite",
        "",
        "vase",
        "Is he in front of or behind the vase?",
    ),
    (
        "Is the tall man wearing shorts?",
        "select: man (1)->filter height: tall [0]->verify rel: shorts,wearing,o (2) [1]",
        "man",
        "tall",
        "cat",
        "Is the tall cat wearing shorts?",
    ),
    (
        "What is the piece of furniture made of?",
        "select: furniture (1)->query: material [0]",
        "piece of furniture",
        "",
        "kite",
        "",
    ),
    # one noun, or none
    (
        "Who is standing here?",
        "select: person (1)->filter pose: standing [0]->query: name [1]",
        "Who",
        "standing",
        "kite",
        "",
    ),
    (
        "Who in the image is happy?",
        "select: person (1)->filter face expression: happy [0]->query: name [1]",
        "Who",
        "happy",
        "kite",
        "",
    ),
    (
        "Who is playing here?",
        "select: person (1)->filter activity: playing [0]->query: name [1]",
        "Who",
        "playing",
        "kite",
        "",
    ),
    ("What room is this?", "select: scene->query: room [0]", "", "", "kite", ""),
    ("How is the weather there?", "select: scene->query: weather [0]", "", "", "kite", ""),
    (
        "Is that place indoors or outdoors?",
        "select: scene->choose location: indoors|outdoors [0]",
        "",
        "",
        "kite",
        "",
    ),
    # negation
    (
        "What is on the table that is not red?",
        "select: table (1)->filter color: not(red) [0]->relate: _,on,s (2) [1]->query: name [2]",
        "table",
        "not red;on",
        "kite",
        "What is on the kite that is not red?",
    ),
    (
        "Which kind of furniture isn't large?",
        "select: furniture (1)->filter size: not(large) [0]->query: name [1]",
        "furniture",
        "isn't large",
        "kite",
        "",
    ),
    (
        "Are the chairs that aren't wooden small?",
        "select: chairs (1)->filter material: not(wood) [0]->verify size: small [1]",
        "chairs",
        "aren't wooden",
        "kite",
        "Are the kites that aren't wooden small?",
    ),
    (
        "Is there any cup that is not white?",
        "select: cup (1)->filter color: not(white) [0]->exist: ? [1]",
        "",
        "",
        "kite",
        "",
    ),
    # both ... and, several looks
    (
        "Is the bowl both white and small?",
        "select: bowl (1)->verify color: white [0]->verify size: small [0]->and: [1, 2]",
        "bowl",
        "",
        "kite",
        "Is the kite both white and small?",
    ),
    (
        "Are both the cups and the bowl white?",
        "select: cups (1)->verify color: white [0]->select: bowl (2)->verify color: white [2]->and: [1, 3]",
        "cups;bowl",
        "",
        "kite",
        "Are both the kites and the bowl white?",
    ),
    (
        "Are there both forks and cups in the photo?",
        "select: fork (1)->exist: ? [0]->select: cup (-)->exist: ? [2]->and: [1, 3]",
        "",
        "",
        "kite",
        "",
    ),
    (
        "Where is the cup that is red and white?",
        "select: cup (1)->filter color: red [0]->filter color: white [1]->query: hposition [2]",
        "cup",
        "red;white",
        "kite",
        "Where is the kite that is red and white?",
    ),
    # choices: what is offered is asked
    (
        "What is the path made of, cobblestone or brick?",
        "select: path (1)->choose material: brick|cobblestone [0]",
        "path",
        "",
        "kite",
        "What is the kite made of, cobblestone or brick?",
    ),
    (
        "Is the red cup on the left or on the right?",
        "select: cup (1)->filter color: red [0]->choose hposition: left|right [1]",
        "cup",
        "red",
        "kite",
        "Is the red kite on the left or on the right?",
    ),
    (
        "Is the cup to the left or to the right of the bowl on the left?",
        "select: bowl (1)->filter hposition: left [0]->choose rel: cup,to the left of|to the right of,s (2) [1]",
        "bowl;cup",
        "left",
        "kite",
        "Is the cup to the left or to the right of the kite on the left?",
    ),
    (
        "Is the dog in front of or behind the bench?",
        "select: bench (1)->choose rel: dog,behind|in front of,s (2) [0]",
        "bench;dog",
        "",
        "kite",
        "Is the dog in front of or behind the kite?",
    ),
    (
        "What animal is this, a cow or a goat?",
        "select: animal (1)->choose name: cow|goat [0]",
        "",
        "",
        "kite",
        "",
    ),
    (
        "What is the man holding, a phone or a camera?",
        "select: man (1)->relate: _,holding,o (2) [0]->choose name: camera|phone [1]",
        "man",
        "",
        "cat",
        "What is the cat holding, a phone or a camera?",
    ),
    # comparatives and comparisons
    (
        "Who is older, the man or the boy?",
        "select: man (1)->select: boy (2)->choose older: ? [0, 1]",
        "man;boy",
        "",
        "woman",
        "Who is older, the woman or the boy?",
    ),
    (
        "Which is healthier, the salad or the cake?",
        "select: salad (1)->select: cake (2)->choose healthier: ? [0, 1]",
        "salad;cake",
        "",
        "kite",
        "",
    ),
    (
        "Do the shirt and the tie have the same color?",
        "select: shirt (1)->select: tie (2)->same color: [0, 1]",
        "shirt;tie",
        "",
        "kite",
        "Do the kite and the tie have the same color?",
    ),
    (
        "Are the plate and the bowl made of different materials?",
        "select: plate (1)->select: bowl (2)->different material: [0, 1]",
        "plate;bowl",
        "",
        "kite",
        "Are the kite and the bowl made of different materials?",
    ),
    (
        "What do both the bench and the fence have in common?",
        "select: bench (1)->select: fence (2)->common: [0, 1]",
        "bench;fence",
        "",
        "kite",
        "What do both the kite and the fence have in common?",
    ),
    (
        "Are all the animals of the same species?",
        "select: animal (1)->same: type [0]",
        "animals",
        "",
        "kite",
        "",
    ),
    ("Are all these animals goats?", "select: animal (1)->same: type [0]", "", "", "kite", ""),
    # relative clauses
    (
        "What color is the hat that the boy is wearing?",
        "select: boy (1)->relate: hat,wearing,o (2) [0]->query: color [1]",
        "boy;hat",
        "",
        "cat",
        "What color is the hat that the cat is wearing?",
    ),
    (
        "What is the bag the cat is to the left of?",
        "select: cat (1)->relate: bag,to the left of,o (2) [0]->query: name [1]",
        "cat;bag",
        "to the left of",
        "kite",
        "What is the bag the kite is to the left of?",
    ),
    (
        "Is the man who is standing on the road old?",
        "select: road (1)->relate: man,standing on,s (2) [0]->verify age: old [1]",
        "road;man",
        "on",
        "boat",
        "Is the man who is standing on the boat old?",
    ),
    (
        "What is the animal that is sitting called?",
        "select: animal (1)->filter pose: sitting [0]->query: name [1]",
        "animal",
        "sitting",
        "kite",
        "",
    ),
    # looks and places, presupposed or asked
    (
        "What is the red cup made of?",
        "select: cup (1)->filter color: red [0]->query: material [1]",
        "cup",
        "red",
        "kite",
        "What is the red kite made of?",
    ),
    ("Is the cup red?", "select: cup (1)->verify color: red [0]", "cup", "", "kite", "Is the kite red?"),
    (
        "What is under the wooden table?",
        "select: table (1)->filter material: wood [0]->relate: _,under,s (2) [1]->query: name [2]",
        "table",
        "under;wooden",
        "kite",
        "What is under the wooden kite?",
    ),
    (
        "What color is the cup in the middle of the photo?",
        "select: cup (1)->filter vposition: middle [0]->query: color [1]",
        "cup",
        "middle",
        "kite",
        "What color is the kite in the middle of the photo?",
    ),
    (
        "What is the size of the cup at the bottom of the picture?",
        "select: cup (1)->filter vposition: bottom [0]->query: size [1]",
        "cup",
        "bottom",
        "kite",
        "What is the size of the kite at the bottom of the picture?",
    ),
    (
        "What color do you think the cup on the right side is?",
        "select: cup (1)->filter hposition: right [0]->query: color [1]",
        "cup",
        "right",
        "kite",
        "What color do you think the kite on the right side is?",
    ),
    # whether there is something
    (
        "Is there a cup on the table?",
        "select: table (1)->relate: cup,on,s (2) [0]->exist: ? [1]",
        "table",
        "",
        "kite",
        "Is there a cup on the kite?",
    ),
    (
        "Do you see any cats behind the red fence?",
        "select: fence (1)->filter color: red [0]->relate: cats,behind,s (2) [1]->exist: ? [2]",
        "fence",
        "red",
        "kite",
        "Do you see any cats behind the red kite?",
    ),
    ("Are there red cups?", "select: cup (1)->filter color: red [0]->exist: ? [1]", "", "", "kite", ""),
    (
        "Is there a cow in a field?",
        "select: field (1)->relate: cow,in,s (2) [0]->exist: ? [1]",
        "",
        "",
        "kite",
        "",
    ),
    (
        "Is there a cat to the left of the dog near the door?",
        "select: door (1)->relate: dog,near,s (2) [0]->relate: cat,to the left of,s (3) [1]->exist: ? [2]",
        "door;dog",
        "",
        "kite",
        "Is there a cat to the left of the dog near the kite?",
    ),
]

FRAME_WORDS = (
    "color",
    "side",
    "photo",
    "image",
    "kind",
    "species",
    "weather",
    "room",
    "common",
    "material",
    "image",
)


def entry(name: str) -> ObjectEntry:
    return ObjectEntry(
        name=name,
        count=10,
        number="singular",
        attributes=dict.fromkeys((*TYPES, "playing"), 5),
        subject_of=dict.fromkeys(RELATIONS, 5),
        object_of=dict.fromkeys(RELATIONS, 5),
    )


def vocabulary(name: str) -> Vocabulary:
    """One thing, seen with every look and in every relation."""
    people = ("man", "woman", "player")
    return Vocabulary(
        objects={name: entry(name)},
        attributes=dict.fromkeys(TYPES, 5),
        attribute_types=TYPES,
        relations=dict.fromkeys(RELATIONS, 5),
        categories={"person": people, "animal": ("dog", "cat"), "furniture": ("table", "chair")},
        locations={},
        weathers={},
    )


@pytest.fixture(scope="module")
def tags():
    texts = sorted({row[0] for row in CASES})
    classes = WordClassifier(vocabulary("kite"))
    return {
        text: classes.classify(text, found) for text, found in zip(texts, Tagger().tag(texts), strict=True)
    }


def ids(value):
    return value if isinstance(value, str) and value.endswith("?") else ""


@pytest.mark.parametrize("text, semantic, things, looks, offer, expected", CASES, ids=ids)
def test_only_what_is_taken_for_granted_may_be_edited(text, semantic, things, looks, offer, expected, tags):
    case = case_of(text, semantic, tags[text])
    sentence = case.sentence
    said_things = [sentence.get_text(slot.span) for slot in find_object_slots(case)[0]]
    assert said_things == [*filter(None, things.split(";"))]
    slots, _ = find_attribute_and_relation_slots(case)
    slots += [swap.slot for kind in UNCONDITIONAL_EDITS["pt-hard"] for swap in kind(case)]
    said = sorted({sentence.get_text(slot.span).removesuffix(" side") for slot in slots})
    assert said == sorted(filter(None, looks.split(";")))
    assert not any(word in (*" ".join([*said_things, *said]).split(),) for word in FRAME_WORDS)


@pytest.mark.parametrize("text, semantic, things, looks, offer, expected", CASES, ids=ids)
def test_the_edited_question_reads_as_english(text, semantic, things, looks, offer, expected, tags):
    candidates, dropped = perturb(
        [question(text, semantic)], {text: tags[text]}, vocabulary(offer), PerturbParams(), anything_fits=True
    )
    made = [row for row in (*candidates, *dropped) if row.subset == "pt-easy"]
    assert [row.text if isinstance(row, Candidate) else "" for row in made] == [expected]
