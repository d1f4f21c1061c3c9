from dataclasses import replace

import msgspec
import pytest

from pipeline.candidates.perturbing.edit_slots import find_object_slots
from pipeline.candidates.perturbing.object_edits import collect_constraints, extract_program_constraints
from pipeline.candidates.perturbing.plausibility import ObjectConstraints, PlausibilityModel
from pipeline.candidates.perturbing.replacements import PerturbParams, ReplacementSampler
from pipeline.core.records import Candidate
from pipeline.language.functional_programs import parse_program
from pipeline.language.word_classification import WordClassifier
from tests.candidates.perturbing.in_memory import case_of, perturb
from tests.candidates.perturbing.object_cases import EASY
from tests.candidates.perturbing.small_vocabulary import entry, made, plain_tags, vocabulary
from tests.notation import question, steps


@pytest.mark.parametrize(
    "text, semantic, answer, annotations, offer, expected",
    EASY,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_pt_easy_replaces_a_presupposed_object(text, semantic, answer, annotations, offer, expected):
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


def test_an_object_known_to_be_in_the_image_is_not_inserted():
    words = vocabulary("kite", "vase")
    asked = [
        question("What color is the cup?", "select: cup (1)->query: color [0]", "red", question_id=f"q{i:02}")
        for i in range(20)
    ] + [question("Where is the kite?", "select: kite (2)->query: hposition [0]", "left", question_id="q99")]
    tags = {q.text: () for q in asked}
    candidates, _ = perturb(asked, tags, words, PerturbParams())
    assert {c.text for c in candidates if c.subset == "pt-easy"} == {
        "What color is the vase?",
        "Where is the vase?",
    }


def test_a_confusable_object_is_not_inserted():
    # A couch may be called sofa, furniture is what it is, a side couch ends in the same word, a man is a person.
    words = vocabulary("sofa", "side couch", kinds={"furniture": ("couch", "sofa", "side couch")})
    row = made("pt-easy", "What color is the couch?", "select: couch (1)->query: color [0]", words)
    assert row.reason == "no other object fits"


def test_man_is_replaced_by_woman_but_not_by_another_word_for_a_person():
    people = {"person": ("man", "player", "woman")}
    row = made(
        "pt-easy",
        "What is the man on?",
        "select: man (1)->relate: _,on,o (2) [0]->query: name [1]",
        vocabulary("man", "player", "woman", kinds=people),
    )
    assert row.text == "What is the woman on?"


def test_a_replacement_was_observed_with_the_attributes_and_relations_of_the_question():
    words = vocabulary("kite")
    words.objects["wall"] = entry("wall", looks=("red",), seen=())
    for i in range(8):
        asked = question(
            "What is the dog wearing the red hat on?",
            "select: hat (1)->filter color: red [0]->relate: dog,wearing,s (2) [1]->relate: _,on,o (3) [2]->query: name [3]",
            question_id=f"q{i}",
        )
        candidates, _ = perturb([asked], {asked.text: ()}, words, PerturbParams())
        assert not any("wall" in c.text for c in candidates if c.subset == "pt-easy")


def test_an_attribute_that_only_the_text_states_constrains_the_replacement():
    words = vocabulary("box", looks=("wood",), seen=("to the left of",))
    words.objects["dog"] = entry("dog", looks=("old",), seen=("to the left of",))
    text = "Is the wood gate to the left or to the right of her?"
    tagged = WordClassifier(words).classify(text, plain_tags(text))
    semantic = "select: she (1)->choose rel: gate,to the left of|to the right of,s (2) [0]"
    for i in range(12):
        asked = question(text, semantic, question_id=f"q{i}")
        (easy, *_), _ = perturb([asked], {text: tagged}, words, PerturbParams())
        assert easy.text == "Is the wood box to the left or to the right of her?"


def test_the_second_of_two_objects_is_sampled_given_the_first():
    names = ("cup", "table", "dog", "boat", "lake", "bird", "branch", "book", "shelf", "car", "road", "rug")
    words = msgspec.structs.replace(vocabulary(*names, seen=()), presupposed_objects=dict.fromkeys(names, 1))
    asked = [
        question(
            "What color is the cat on the couch?",
            "select: couch (1)->relate: cat,on,s (2) [0]->query: color [1]",
            "red",
            question_id=f"q{i}",
            image_id=f"n{i}",
        )
        for i in range(60)
    ]
    candidates, _ = perturb(asked, {asked[0].text: ()}, words, PerturbParams())
    model = PlausibilityModel(words, sorted((*names, "cat", "couch")))
    pairs = {
        (c.program[1].argument.split(",")[0], c.program[0].argument.split(" ")[0])
        for c in candidates
        if c.subset == "pt-easy"
    }
    assert len(pairs) >= 6 and all(model.score_relation(subject, "on", other) for subject, other in pairs)


SAID = [  # program, the step that names the thing, what is said of it
    (
        "select: cup (1)->filter color: red [0]->query: material [1]",
        0,
        ObjectConstraints(attributes=(("red",),), types=("material",)),
    ),
    ("select: cup (1)->filter color: not(red) [0]->query: name [1]", 0, ObjectConstraints(types=("color",))),
    (
        "select: table (1)->relate: cup,on,s (2) [0]->query: color [1]",
        0,
        ObjectConstraints(relations=(("on", "o", "cup"),)),
    ),
    (
        "select: table (1)->relate: cup,on,s (2) [0]->query: color [1]",
        1,
        ObjectConstraints(relations=(("on", "s", "table"),), types=("color",)),
    ),
    (
        "select: fence (1)->choose material: wood|metal [0]",
        0,
        ObjectConstraints(attributes=(("wood", "metal"),)),
    ),
    ("select: door (1)->choose : open|closed [0]", 0, ObjectConstraints(attributes=(("open", "closed"),))),
    (
        "select: cup (1)->filter hposition: left [0]->query: name [1]",
        0,
        ObjectConstraints(types=("hposition",)),
    ),  # what is on the left is no sky
]


@pytest.mark.parametrize("semantic, step, expected", SAID)
def test_constraints_collect_what_the_question_says_of_an_object(semantic, step, expected):
    assert extract_program_constraints(parse_program(steps(semantic)), step) == expected


PERSONS = [  # question, program, edited
    ("What is he on?", "select: he (1)->relate: _,on,o (2) [0]->query: name [1]", "What is she on?"),
    (
        "Are there cups behind her?",
        "select: she (1)->relate: cup,behind,s (-) [0]->exist: ? [1]",
        "Are there cups behind him?",
    ),
]


@pytest.mark.parametrize("text, semantic, edited", PERSONS)
def test_he_and_she_are_swapped_if_nothing_else_can_be(text, semantic, edited):
    row = made("pt-easy", text, semantic, vocabulary("kite"))
    assert row.text == edited
    assert row.program[0].argument == (
        "she (-)" if "he (" in semantic and "she (" not in semantic else "he (-)"
    )


def test_he_stays_where_a_woman_is_known_to_be():
    words, (text, semantic, _) = vocabulary("man", "woman"), PERSONS[0]
    known = question(
        "How tall is the woman?", "select: woman (7)->query: height [0]", "tall", question_id="q2"
    )
    rows, _ = perturb([question(text, semantic), known], {text: (), known.text: ()}, words, PerturbParams())
    assert "What is she on?" not in {row.text for row in rows}


KIN = [  # question, program, whether only its own kind takes the place of the first thing
    ("What color is the girl's hair?", "select: girl (1)->relate: hair,of,s (2) [0]->query: color [1]", True),
    ("Is the dog older than the cat?", "select: dog (1)->select: cat (2)->choose older: ? [0, 1]", True),
    ("What is the man wearing?", "select: man (1)->relate: _,wearing,o (2) [0]->query: name [1]", False),
]


@pytest.mark.parametrize("text, semantic, kin", KIN)
def test_an_owner_of_parts_and_what_is_compared_give_way_to_their_own_kind(text, semantic, kin):
    case = case_of(text, semantic)
    slots, _ = find_object_slots(case)
    assert collect_constraints(case, slots[0], ()).same_category is kin


def test_without_a_program_the_queried_attribute_belongs_to_the_first_object():
    text, words = "What color is the cup near the table?", vocabulary("cup", "table")
    tags = ((0, 4, "WP"), (5, 10, "NN"), (11, 13, "VBZ"), (14, 17, "DT"), (18, 21, "NN"), (22, 26, "IN"), (27, 30, "DT"), (31, 36, "NN"))  # fmt: skip
    case = case_of(text, "", WordClassifier(words).classify(text, tags))
    case = replace(case, replacements=ReplacementSampler(words, PerturbParams()))
    asked_of = {slot.word: collect_constraints(case, slot, ()).types for slot in find_object_slots(case)[0]}
    assert asked_of == {"cup": ("color",), "table": ()}


def title(text):
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


@pytest.mark.parametrize("style", [str.upper, str.lower, title])
@pytest.mark.parametrize("row", EASY)
def test_words_put_in_follow_the_letter_case_of_the_text(row, style):
    text, program, answer, annotations, names, _ = row
    words = vocabulary(*names.split(", "))
    found, plain = (
        made("pt-easy", said, program, words, answer, annotations) for said in (style(text), text)
    )
    assert (found.text, type(found)) == (style(plain.text), type(plain))


@pytest.mark.parametrize("mark", ["", ".", "...", "?!", " 🙂", "\n"])
@pytest.mark.parametrize("preset", ["presuppositions", "paper"])
def test_a_text_without_a_question_mark_is_edited_as_one_with(mark, preset):
    semantic = "select: cup (1)->query: color [0]"
    words, tags = vocabulary("kite", "cup"), plain_tags("What color is the cup")
    found = made("pt-easy", f"What color is the cup{mark}", semantic, words, preset=preset, tags=tags)
    assert found.text == f"What color is the kite{mark}"
