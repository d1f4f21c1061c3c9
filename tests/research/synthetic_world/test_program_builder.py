"""GQA's programs, built step by step. The expected strings are in GQA's notation."""

from pipeline.language.functional_programs import parse_program
from research.synthetic_world.program_builder import (
    add_filter,
    add_joining_step,
    add_step,
    combine_programs,
    concatenate_programs,
    start_program,
    to_semantic_string,
    typed_operation,
)


def test_a_chain_takes_what_the_step_before_yields():
    program = start_program("furniture (17)", ("filter color", "brown"), ("query", "name"))
    assert to_semantic_string(program) == "select: furniture (17)->filter color: brown [0]->query: name [1]"


def test_attributes_without_a_type_in_gqa_are_filtered_without_one():
    assert (
        typed_operation("filter", "red") == "filter color"
        and typed_operation("verify", "wood") == "verify material"
    )
    assert (
        typed_operation("filter", "open")
        == typed_operation("filter", "full")
        == typed_operation("filter", "on")
        == "filter"
    )
    assert (
        to_semantic_string(add_filter(start_program("box (2)"), "open"))
        == "select: box (2)->filter: open [0]"
    )


def test_a_negated_filter_says_not():
    assert (
        to_semantic_string(add_filter(start_program("cup (1)"), "red", negated=True))
        == "select: cup (1)->filter color: not(red) [0]"
    )


def test_the_second_programs_dependencies_move_along():
    cup, table = start_program("cup (1)", ("filter color", "red")), start_program("table (2)")
    assert to_semantic_string(concatenate_programs(cup, add_step(table, "exist", "?"))) == (
        "select: cup (1)->filter color: red [0]->select: table (2)->exist: ? [2]"
    )


def test_a_last_step_takes_what_both_programs_yield():
    cup, table = start_program("cup (1)", ("filter color", "red")), start_program("table (2)")
    assert to_semantic_string(combine_programs("same color", cup, table)) == (
        "select: cup (1)->filter color: red [0]->select: table (2)->same color:  [1, 2]"
    )


def test_a_step_may_take_any_steps_before_it():
    program = add_joining_step(
        add_joining_step(start_program("cup (1)"), "verify color", "red", [0]), "verify material", "wood", [0]
    )
    assert [step.dependencies for step in add_joining_step(program, "and", "", (1, 2))] == [
        (),
        (0,),
        (0,),
        (1, 2),
    ]


def test_what_is_built_is_read_by_the_pipelines_own_parser():
    program = add_step(add_filter(start_program("cup (1)"), "red"), "relate", "table,on,o (2)")
    operations = parse_program(add_step(program, "query", "name"), "01")
    assert [operation.verb for operation in operations] == ["select", "filter", "relate", "query"]
    assert operations[2].object_ids == ("2",) and operations[2].values == ("on",)
