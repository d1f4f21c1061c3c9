"""Parsing of every operation of GQA's programs, and the faults of malformed programs."""

from __future__ import annotations

import msgspec
import pytest

from pipeline.core.errors import UserError
from pipeline.core.records import Question, Step
from pipeline.language.functional_programs import (
    MULTI_VALUED_TYPES,
    NON_ATTRIBUTE_TYPES,
    POSITION_TYPES,
    POSITION_VALUES,
    describe_objects,
    describe_relation,
    get_display_name,
    is_existence_question,
    parse_program,
)
from tests.notation import steps

# Program, fields of its last operation that differ from the defaults.
OPERATIONS = [
    ("select: tennis racket (12)->exist: ? [0]", {"verb": "exist", "inputs": (0,)}),
    ("select: dog (1)->query: hposition [0]", {"verb": "query", "type": "hposition", "inputs": (0,)}),
    (
        "select: dog (1)->verify color: light blue  [0]",
        {"verb": "verify", "type": "color", "values": ("light blue",), "inputs": (0,)},
    ),
    (
        "select: dog (1)->verify: short sleeved [0]",
        {"verb": "verify", "values": ("short sleeved",), "inputs": (0,)},
    ),
    (
        "select: dog (1)->verify size: not(small) [0]",
        {"verb": "verify", "type": "size", "values": ("small",), "is_negated": True, "inputs": (0,)},
    ),
    (
        "select: dog (1)->verify rel: purse,to the right of,s (9) [0]",
        {
            "verb": "verify",
            "type": "rel",
            "name": "purse",
            "values": ("to the right of",),
            "is_subject": True,
            "object_ids": ("9",),
            "inputs": (0,),
        },
    ),
    (
        "select: dog (1)->verify rel: watch,wearing,o (-) [0]",
        {
            "verb": "verify",
            "type": "rel",
            "name": "watch",
            "values": ("wearing",),
            "is_absent": True,
            "inputs": (0,),
        },
    ),
    ("select: dog (1)->choose: on|off [0]", {"verb": "choose", "values": ("on", "off"), "inputs": (0,)}),
    (
        "select: dog (1)->choose color: red|light blue [0]",
        {"verb": "choose", "type": "color", "values": ("red", "light blue"), "inputs": (0,)},
    ),
    (
        "select: dog (1)->choose name: cow|sheep [0]",
        {"verb": "choose", "type": "name", "values": ("cow", "sheep"), "inputs": (0,)},
    ),
    (
        "select: dog (1)->choose vposition: top|bottom [0]",
        {"verb": "choose", "type": "vposition", "values": ("top", "bottom"), "inputs": (0,)},
    ),
    (
        "select: dog (1)->choose rel: kite,to the left of|to the right of,s (7) [0]",
        {
            "verb": "choose",
            "type": "rel",
            "name": "kite",
            "values": ("to the left of", "to the right of"),
            "is_subject": True,
            "object_ids": ("7",),
            "inputs": (0,),
        },
    ),
    (
        "select: scene->choose location: outdoors|indoors [0]",
        {"verb": "choose", "type": "location", "values": ("outdoors", "indoors"), "inputs": (0,)},
    ),
    ("select: scene->query: place [0]", {"verb": "query", "type": "place", "inputs": (0,)}),
    (
        "select: dog (1)->select: cat (2)->same color:  [0, 1]",
        {"verb": "same", "type": "color", "inputs": (0, 1)},
    ),
    ("select: animal (1)->same: type [0]", {"verb": "same", "type": "type", "inputs": (0,)}),
    (
        "select: dog (1)->select: cat (2) ->different color:  [0, 1]",
        {"verb": "different", "type": "color", "inputs": (0, 1)},
    ),
    ("select: dog (1)->select: cat (2)->common:  [0, 1]", {"verb": "common", "inputs": (0, 1)}),
    (
        "select: dog (1)->exist: ? [0]->select: cat (-) ->exist: ? [2]->and:  [1, 3]",
        {"verb": "and", "inputs": (1, 3)},
    ),
    (
        "select: dog (1)->exist: ? [0]->select: cat (-) ->exist: ? [2]->or:  [1, 3]",
        {"verb": "or", "inputs": (1, 3)},
    ),
]


@pytest.mark.parametrize(("program", "fields"), OPERATIONS)
def test_the_last_step_is_parsed_into_its_fields(program, fields):
    last = msgspec.structs.asdict(parse_program(steps(program))[-1])
    defaults = {
        "type": "",
        "name": "",
        "values": (),
        "is_negated": False,
        "is_subject": False,
        "object_ids": (),
        "is_absent": False,
        "inputs": (),
        "is_asserted": False,
    }
    assert last == defaults | fields


@pytest.mark.parametrize(
    ("step", "fields"),
    [
        ("select: computer mouse (219,220)", ("select", "computer mouse", (), ("219", "220"))),
        ("select: gloves (-) ", ("select", "gloves", (), ())),
        ("select: table", ("select", "table", (), ())),
        ("select: this (2)", ("select", "this", (), ("2",))),
    ],
)
def test_a_selection_names_objects_with_or_without_ids(step, fields):
    first = parse_program(steps(f"{step}->exist: ? [0]"))[0]
    assert (first.verb, first.name, first.values, first.object_ids) == fields


def test_a_relation_says_whether_the_named_object_is_its_subject():
    program = parse_program(
        steps(
            "select: man (1)->relate: _,wearing,o (2) [0]->relate: cup,on top of,s (3) [1]->query: name [2]"
        )
    )
    assert [(o.name, o.values, o.is_subject, o.object_ids) for o in program[1:3]] == [
        ("_", ("wearing",), False, ("2",)),
        ("cup", ("on top of",), True, ("3",)),
    ]


def test_a_filter_may_be_negated_and_typed_by_several_words():
    program = parse_program(steps("select: man (1)->filter face expression: not(happy) [0]->query: name [1]"))
    assert (program[1].type, program[1].values, program[1].is_negated) == (
        "face expression",
        ("happy",),
        True,
    )


@pytest.mark.parametrize(
    ("program", "asserted"),
    [
        # It asks whether there is a cat left of the red table, and presupposes the red table.
        ("select: table (1)->filter color: red [0]->relate: cat,to the left of,s (-) [1]->exist: ? [2]", [2]),
        ("select: table (1)->filter color: red [0]->exist: ? [1]", [0, 1]),
        ("select: table (1)->relate: cat,on,s (2) [0]->filter color: black [1]->exist: ? [2]", [1, 2]),
        (
            "select: table (1)->exist: ? [0]->select: cat (-)->filter color: red [2]->exist: ? [3]->or:  [1, 4]",
            [0, 2, 3],
        ),
        ("select: table (1)->filter color: red [0]->query: material [1]", []),
        ("select: table (1)->verify color: red [0]", []),
    ],
)
def test_what_an_existence_question_asks_is_not_presupposed(program, asserted):
    assert [
        index for index, operation in enumerate(parse_program(steps(program))) if operation.is_asserted
    ] == asserted


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        ("select: dog (1)->count: ? [0]", "unknown operation 'count'"),
        ("select: dog (1->query: color [0]", "object id in parentheses"),
        ("select: (1)->query: color [0]", "object id in parentheses"),
        ("select: dog (1)->relate: cat,on (2) [0]->query: color [1]", "`name,relation,s`"),
        ("select: dog (1)->relate: cat,on,x (2) [0]->query: color [1]", "`name,relation,s`"),
        ("select: dog (1)->choose color: red [0]", "at least two options"),
        ("select: dog (1)->choose rel: cat,on,s (2) [0]", "at least two options"),
        ("select: dog (1)->choose color: red| [0]", "at least two options"),
        ("select: dog (1)->query:  [0]", "asks for no type"),
        ("select: dog (1)->filter color:  [0]->exist: ? [1]", "names no attribute"),
        ("select: dog (1)->filter color: not() [0]->exist: ? [1]", "names no attribute"),
        ("select: dog (1)->same:  [0]", "compares no type"),
        ("select: dog (1)->query: color [1]", "builds on step 1, which is not an earlier step"),
        ("select: dog (1)->query: color", "takes 1 earlier steps, got 0"),
        ("select: dog (1)->select: cat (2)->and:  [0, 1]", "which is neither true nor false"),
        ("select: dog (1)->exist: ? [0]->query: color [1]", "which selects no objects"),
        ("select: dog (1)->filter color: red [0]", "the last step is filter, which asks nothing"),
    ],
)
def test_a_malformed_program_is_refused_with_its_question_and_fault(program, fault):
    with pytest.raises(UserError) as error:
        parse_program(steps(program), "201307251")
    assert "201307251" in error.value.problems[0]
    assert fault in "\n".join(error.value.problems[1:])


def test_all_faults_of_a_program_are_reported_at_once():
    program = (
        Step(operation="find", argument="dog", dependencies=()),
        Step(operation="choose color", argument="red", dependencies=(0,)),
    )
    with pytest.raises(UserError) as error:
        parse_program(program, "7")
    assert len(error.value.problems) == 3
    with pytest.raises(UserError, match="no steps"):
        parse_program((), "7")


def test_choose_older_is_parsed_as_compare():
    older = parse_program(steps("select: man (1)->select: boy (2)->choose older: ? [0, 1]"))[2]
    assert (older.verb, older.type, older.values, older.inputs) == ("compare", "older", (), (0, 1))
    with pytest.raises(UserError, match="takes 2 earlier steps, got 1"):
        parse_program(steps("select: man (1)->choose older: ? [0]"))


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("select: cup (1)->query: color [0]", "cup"),
        ("select: _ (1)->query: color [0]", "object"),
        ("select: cup (1)->filter color: red [0]->query: size [1]", "red cup"),
        ("select: cup (1)->filter color: not(red) [0]->query: size [1]", "not red cup"),
        (
            "select: table (1)->filter color: red [0]->relate: cup,on,s (2) [1]->query: size [2]",
            "cup on red table",
        ),
        ("select: man (1)->relate: hat,wearing,o (2) [0]->query: color [1]", "hat (man wearing it)"),
    ],
)
def test_objects_are_described_in_words(program, words):
    operations = parse_program(steps(program))
    assert describe_objects(operations, operations[-1].inputs[0]) == words


def test_each_offered_relation_is_described():
    program = parse_program(steps("select: table (1)->choose rel: cup,on|under,s (2) [0]"))
    assert get_display_name(program[1]) == "cup"
    assert [describe_relation(program, program[1], value) for value in program[1].values] == [
        "cup on table",
        "cup under table",
    ]


def test_positions_are_thirds_of_the_image():
    assert {type_: len(values) for type_, values in POSITION_VALUES.items()} == dict.fromkeys(
        POSITION_TYPES, 3
    )
    assert all("middle" in values for values in POSITION_VALUES.values())


def test_groups_of_types_do_not_overlap():
    assert (
        not NON_ATTRIBUTE_TYPES & POSITION_TYPES
        and not MULTI_VALUED_TYPES & POSITION_TYPES
        and not NON_ATTRIBUTE_TYPES & MULTI_VALUED_TYPES
    )


def test_an_object_has_one_color_and_one_size_at_a_time():
    assert MULTI_VALUED_TYPES.isdisjoint({"color", "size", "material", "pose"})


def question(question_id="1", image_id="a", text="What color is the cup?", detailed="", steps=()):
    program = tuple(
        Step(operation=operation, argument="", dependencies=dependencies) for operation, dependencies in steps
    )
    return Question(
        question_id=question_id,
        image_id=image_id,
        split="testdev",
        text=text,
        answer="x",
        detailed=detailed,
        program=program,
    )


@pytest.mark.parametrize(
    ("detailed", "steps", "expected"),
    [
        # The detailed type alone is enough.
        ("existRelSC", (("select", ()), ("exist", (0,))), True),
        ("", (("select", ()), ("exist", (0,))), True),
        ("", (("select", ()), ("exist", (0,)), ("select", ()), ("exist", (2,)), ("or", (1, 3))), True),
        ("", (("select", ()), ("exist", (0,)), ("select", ()), ("exist", (2,)), ("and", (1, 3))), True),
        (
            "verifyAttrsC",
            (("select", ()), ("verify color", (0,)), ("verify size", (0,)), ("and", (1, 2))),
            False,
        ),
        # One side presupposes the object.
        (
            "",
            (("select", ()), ("exist", (0,)), ("verify size", (0,)), ("and", (1, 2))),
            False,
        ),
        ("relVerify", (("select", ()), ("verify rel", (0,))), False),
        ("", (("select", ()), ("query", (0,))), False),
    ],
)
def test_the_type_or_the_last_step_identifies_existence_questions(detailed, steps, expected):
    assert is_existence_question(question(detailed=detailed, steps=steps)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Is there a dog?", True),
        ("Are there any cats in the photo?", True),
        ("Do you see forks?", True),
        ("Is the dog there?", False),
        ("What is there?", False),
    ],
)
def test_without_type_and_program_the_first_words_identify_existence_questions(text, expected):
    assert is_existence_question(question(text=text)) is expected
    assert not is_existence_question(
        question(text=text, detailed="query", steps=(("select", ()), ("query", (0,))))
    )
