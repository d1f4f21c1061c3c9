"""Questions in GQA's schema: their form, their proportions, entailment, and that they depend only on the seed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import pytest

from pipeline.core.records import SceneGraph
from research.synthetic_world.question_proposals import ProposedQuestion
from research.synthetic_world.questions import generate_questions, is_entailed, to_gqa
from research.synthetic_world.scene_graphs import build_complete_graph
from research.synthetic_world.scenes import generate_scenes
from tests.research.synthetic_world.kitchen import asked, pairs, scene

# GQA's schema.

QUESTION_KEYS = {
    "annotations",
    "answer",
    "entailed",
    "equivalent",
    "fullAnswer",
    "groups",
    "imageId",
    "isBalanced",
    "question",
    "semantic",
    "semanticStr",
    "types",
}
OPERATION = re.compile(
    r"select|exist|and|or|common"
    r"|(filter|verify|choose)( (color|material|pattern|size|pose|age|[hv]position))?"
    r"|relate|verify rel|choose rel|choose name|(verify|choose) (location|place|weather)|query"
    r"|(same|different) (color|material)"
)
ARGUMENT = {
    "select": r"scene|[a-z ]+ \((-|\d+(,\d+)*)\)",
    "relate": r"(_|[a-z ]+),[a-z ]+,[so] \((-|\d+)\)",
    "verify rel": r"[a-z ]+,[a-z ]+,[so] \(\d+\)",
    "choose rel": r"[a-z ]+,[a-z ]+\|[a-z ]+,s \(\d+\)",
    "exist": r"\?",
    "and": "",
    "or": "",
    "common": "",
    "filter": r"[a-z]+|not\([a-z]+\)",
    "verify": r"[a-z ]+",
    "choose": r"[a-z ]+\|[a-z ]+",
    "query": "name|color|material|pattern|size|pose|age|hposition|place|weather",
}


def test_a_question_becomes_an_entry_of_gqa() -> None:
    park = scene({"7": ("dog", (20, 200, 70, 50), "brown lying")}, [], location="park", weather="sunny")
    wanted = "What is the brown dog doing?"
    entry = next(to_gqa(q) for q in asked(park, rounds=400, per_image=4) if q.text == wanted)
    assert {key: entry[key] for key in QUESTION_KEYS - {"entailed", "equivalent"}} == {
        "imageId": "n000042",
        "question": "What is the brown dog doing?",
        "answer": "lying",
        "fullAnswer": "The dog is lying.",
        "isBalanced": True,
        "groups": {"global": "pose", "local": "10q-dog_pose"},
        "types": {"detailed": "activity", "semantic": "attr", "structural": "query"},
        "semantic": [
            {"operation": "select", "argument": "dog (7)", "dependencies": []},
            {"operation": "filter color", "argument": "brown", "dependencies": [0]},
            {"operation": "query", "argument": "pose", "dependencies": [1]},
        ],
        "semanticStr": "select: dog (7)->filter color: brown [0]->query: pose [1]",
        "annotations": {"question": {"3:5": "7"}, "answer": {}, "fullAnswer": {"1": "7"}},
    }


def test_all_entries_have_the_keys_and_forms_of_gqa(drawn) -> None:
    for entry in map(to_gqa, drawn):
        assert set(entry) == QUESTION_KEYS
        assert set(entry["types"]) == {"detailed", "semantic", "structural"}
        assert set(entry["annotations"]) == {"question", "answer", "fullAnswer"}
        assert set(entry["groups"]) == {"global", "local"} and entry["groups"]["global"] != ""
        assert entry["isBalanced"] is True
        assert entry["fullAnswer"].endswith(".") and entry["question"].endswith("?")
        for place, step in enumerate(entry["semantic"]):
            operation = step["operation"]
            assert OPERATION.fullmatch(operation), operation
            form = ARGUMENT.get(operation) or ARGUMENT.get(operation.split()[0], "")
            assert re.fullmatch(form, step["argument"]), (operation, step["argument"])
            assert all(dependency < place for dependency in step["dependencies"])


def test_annotated_words_end_with_what_the_object_is_called(drawn) -> None:
    names = {
        item.object_id: item.name
        for world in generate_scenes(5, "val", 120)
        for item in build_complete_graph(world).objects
    }
    general = {
        "person",
        "animal",
        "furniture",
        "appliance",
        "device",
        "dish",
        "container",
        "fruit",
        "food",
        "clothing",
        "item",
        "vehicle",
        "toy",
        "plant",
    }
    plurals = {"man": "men", "woman": "women", "shelf": "shelves"}
    for question in drawn:
        for text, marks in (
            (question.text, question.annotations),
            (question.full_answer, question.full_answer_annotations),
            (question.answer, question.answer_annotations),
        ):
            said = re.sub(r"[?,.]", "", text).split()
            for span, object_id in marks.items():
                start, end = map(int, span.split(":")) if ":" in span else (int(span), int(span) + 1)
                last = said[end - 1].lower()
                head = names[object_id].split()[-1]
                assert start < end <= len(said)
                names_it = {head, head + "s", head + "es", plurals.get(head), *general}
                assert last in names_it, (question.text, span)


def test_ids_are_unique_digits_that_begin_with_the_images(drawn) -> None:
    assert len({question.question_id for question in drawn}) == len(drawn) == 120 * 13
    assert all(q.question_id[:-2] == q.image_id.lstrip("n") and q.question_id.isdigit() for q in drawn)


def test_all_structural_and_semantic_types_occur_in_gqas_proportions(drawn) -> None:
    structural = Counter(question.structural for question in drawn)
    share = {name: count / len(drawn) for name, count in structural.items()}
    assert 0.43 < share["query"] < 0.55 and 0.15 < share["verify"] < 0.27 and 0.09 < share["choose"] < 0.17
    assert 0.09 < share["logical"] < 0.18 and 0.02 < share["compare"] < 0.07
    assert {question.semantic for question in drawn} == {"obj", "attr", "cat", "rel", "global"}
    assert len({question.detailed for question in drawn}) > 60


# Language.


def test_the_language_is_varied(drawn) -> None:
    assert len({question.text for question in drawn}) > 0.9 * len(drawn)
    by_type = defaultdict(set)
    for question in drawn:
        by_type[question.detailed].add(" ".join(question.text.split()[:3]))
    common = ("directOf", "material", "positionQuery", "relS", "chooseAttr")
    assert all(len(by_type[name]) >= 4 for name in common)


def test_no_question_tells_of_an_object_what_it_asks_of_it(drawn, of_kitchen) -> None:
    # Not "Is the red chair red?": among the filters right before the last steps none is of the type asked.
    for question in (*drawn, *of_kitchen):
        for step in question.program:
            verb, _, kind = step.operation.partition(" ")
            if verb in ("verify", "choose") and kind not in ("rel", "name", "location", "place", "weather"):
                before = question.program[step.dependencies[0]]
                while before.operation.startswith("filter"):
                    assert before.operation != f"filter {kind}" or not kind, question.text
                    before = question.program[before.dependencies[0]]


def test_yes_is_as_common_as_no(drawn) -> None:
    # About 550 fair coin tosses: five standard deviations are 0.11.
    answers = Counter(question.answer for question in drawn)
    assert 0.39 < answers["yes"] / (answers["yes"] + answers["no"]) < 0.61


def test_most_questions_presuppose_something(drawn) -> None:
    tells = [q for q in drawn if any(s.operation.startswith(("filter", "relate")) for s in q.program)]
    assert len(tells) > 0.7 * len(drawn)


# Entailed and equivalent questions.


def test_a_color_that_was_asked_for_settles_whether_it_is_that_color(of_kitchen) -> None:
    found = [
        (a, b)
        for a, b in pairs(of_kitchen)
        if a.detailed in ("directOf", "directWhich") and b.program[-1].operation == "verify color"
    ]
    assert found
    for a, b in found:
        assert b.answer == ("yes" if b.program[-1].argument == a.answer else "no"), (a.text, b.text)


@pytest.mark.parametrize(
    ("known", "needed", "follows"),
    [
        (("rel", "1", "to the left of", "2"), ("rel", "2", "to the right of", "1"), True),
        (("rel", "1", "to the left of", "2"), ("no rel", "1", "to the right of", "2"), True),
        (("rel", "1", "to the left of", "2"), ("rel", "1", "to the right of", "2"), False),
        (("rel", "1", "on", "2"), ("rel", "2", "on", "1"), False),
        (("no rel", "1", "above", "2"), ("rel", "1", "below", "2"), False),  # beside it, perhaps
        (("name", "1", "cup"), ("some", "cup"), True),
        (("some", "cup"), ("name", "1", "cup"), False),
        (("place", "kitchen"), ("location", "indoors"), True),
        (("location", "outdoors"), ("place", "park"), False),
        (("weather", "rainy"), ("location", "outdoors"), True),
    ],
)
def test_what_follows_from_a_fact(known: tuple[str, ...], needed: tuple[str, ...], follows: bool) -> None:
    assert is_entailed(knowing(asserts=[known]), knowing(needs=[[needed]])) is follows


def test_one_of_several_ways_to_know_is_enough_and_all_of_one_way_are_needed() -> None:
    red, cup = ("attr", "1", "red"), ("name", "1", "cup")
    assert is_entailed(knowing(asserts=[red]), knowing(needs=[[cup, red], [red]]))
    assert not is_entailed(knowing(asserts=[red]), knowing(needs=[[cup, red]]))
    assert not is_entailed(knowing(asserts=[red]), knowing(needs=[]))


def knowing(asserts=(), needs=()) -> ProposedQuestion:
    return ProposedQuestion(
        detailed="",
        text="",
        answer="",
        full_answer="",
        program=(),
        question_marks={},
        full_marks={},
        answer_marks={},
        group_global="",
        group_local="",
        target="",
        topic=(),
        asserted_facts=frozenset(asserts),
        required_facts=tuple(frozenset(way) for way in needs),
    )


def test_equivalent_questions_have_one_answer_and_entail_each_other(drawn) -> None:
    by_id = {question.question_id: question for question in drawn}
    rephrased = [question for question in drawn if len(question.equivalent) > 1]
    assert rephrased
    assert all(question.equivalent[0] == question.question_id for question in drawn)
    for question in rephrased:
        for other in map(by_id.__getitem__, question.equivalent[1:]):
            assert other.answer == question.answer and other.text != question.text
            assert other.question_id in question.entailed and question.question_id in other.entailed
            assert other.image_id == question.image_id


# Determinism.


def test_an_images_questions_depend_on_the_seed_and_the_image_alone() -> None:
    images = [build_complete_graph(world) for world in generate_scenes(5, "val", 4)]
    forth, back = generate_questions(images, 1, 5), generate_questions(images[::-1], 1, 5)
    assert sorted(forth, key=lambda q: q.question_id) == sorted(back, key=lambda q: q.question_id)
    assert generate_questions(images, 1, 5) == forth
    assert generate_questions(images, 2, 5) != forth


def test_an_incomplete_scene_is_an_error() -> None:
    published = SceneGraph(image_id="n000001", split="val", width=448, height=336, objects=())
    with pytest.raises(ValueError, match="n000001"):
        generate_questions([published], 1)
