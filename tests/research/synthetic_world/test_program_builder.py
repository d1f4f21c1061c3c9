"""GQA's programs, built step by step; the expected strings are written as GQA writes them."""

from pipeline.language.functional_programs import parse
from research.synthetic_world.program_builder import (
    after,
    chain,
    combine,
    filter_by,
    join,
    semantic_string,
    then,
    typed,
)


def test_a_chain_takes_what_the_step_before_yields():
    program = chain("furniture (17)", ("filter color", "brown"), ("query", "name"))
    assert semantic_string(program) == "select: furniture (17)->filter color: brown [0]->query: name [1]"


def test_attributes_without_a_type_in_gqa_are_filtered_without_one():
    assert typed("filter", "red") == "filter color" and typed("verify", "wood") == "verify material"
    assert typed("filter", "open") == typed("filter", "full") == typed("filter", "on") == "filter"
    assert semantic_string(filter_by(chain("box (2)"), "open")) == "select: box (2)->filter: open [0]"


def test_a_negated_filter_says_not():
    assert (
        semantic_string(filter_by(chain("cup (1)"), "red", negated=True))
        == "select: cup (1)->filter color: not(red) [0]"
    )


def test_the_second_programs_dependencies_move_along():
    cup, table = chain("cup (1)", ("filter color", "red")), chain("table (2)")
    assert semantic_string(after(cup, then(table, "exist", "?"))) == (
        "select: cup (1)->filter color: red [0]->select: table (2)->exist: ? [2]"
    )


def test_a_last_step_takes_what_both_programs_yield():
    cup, table = chain("cup (1)", ("filter color", "red")), chain("table (2)")
    assert semantic_string(combine("same color", cup, table)) == (
        "select: cup (1)->filter color: red [0]->select: table (2)->same color:  [1, 2]"
    )


def test_a_step_may_take_any_steps_before_it():
    program = join(join(chain("cup (1)"), "verify color", "red", [0]), "verify material", "wood", [0])
    assert [step.dependencies for step in join(program, "and", "", (1, 2))] == [(), (0,), (0,), (1, 2)]


def test_what_is_built_is_read_by_the_pipelines_own_parser():
    program = then(filter_by(chain("cup (1)"), "red"), "relate", "table,on,o (2)")
    operations = parse(then(program, "query", "name"), "01")
    assert [operation.verb for operation in operations] == ["select", "filter", "relate", "query"]
    assert operations[2].object_ids == ("2",) and operations[2].values == ("on",)
