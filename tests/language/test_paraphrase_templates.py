"""Every group of templates produces its example, and templates match what they should."""

import pytest

from pipeline.core.randomness import make_generator
from pipeline.language import paraphrase
from pipeline.language.paraphrase import AlignedText, ProgramInfo
from pipeline.language.paraphrase_templates import (
    CONTRACTION_TEMPLATES,
    PHRASE_TEMPLATES,
    QUESTION_TEMPLATES,
    compile_template,
)

KNOWN = ProgramInfo(options=("red", "blue"), is_nameless=True)
STRIPED = ProgramInfo(options=("blue", "long striped"))
NAMED = ProgramInfo(is_nameless=False)


def choose_program_info(group):
    return NAMED if group.is_nameless is False else STRIPED if "striped" in group.example else KNOWN


GROUPS = [*QUESTION_TEMPLATES, *PHRASE_TEMPLATES, CONTRACTION_TEMPLATES]


def sample_paraphrases(group, text, known=KNOWN):
    """Return the paraphrases of a text that a group gives in many samples."""
    said, rng = AlignedText(text, tuple(range(len(text)))), make_generator(1, text)
    if group not in QUESTION_TEMPLATES:
        return {paraphrase._rewrite_all_matches(group, said, known, rng).text for _ in range(200)}
    match = paraphrase._find_match(group, text, known, 0, True)
    return {paraphrase._sample_rewrite(group, said, match, rng).text for _ in range(200)} if match else {text}


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.example)
def test_a_group_produces_its_example_paraphrase(group):
    assert group.example_paraphrase in sample_paraphrases(group, group.example, choose_program_info(group))


@pytest.mark.parametrize("group", QUESTION_TEMPLATES, ids=lambda group: group.example)
def test_the_first_group_that_matches_an_example_is_its_own(group):
    fitting = [
        other
        for other in QUESTION_TEMPLATES
        if paraphrase._find_match(other, group.example, choose_program_info(group), 0, True)
    ]
    assert fitting[0] is group


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.example)
def test_a_group_matches_its_own_paraphrases(group):
    """A template that is written but never matched would leave such texts of a source unchanged."""
    known = choose_program_info(group)
    hidden = {template for template in group.templates if template[0] == ">"}
    for text in sample_paraphrases(group, group.example, known) if not hidden else ():
        assert sample_paraphrases(group, text, known) == sample_paraphrases(group, group.example, known), text


def read(template, text, options=(), whole=True):
    pattern = compile_template(template, options, whole)
    match = pattern.fullmatch(text) if whole else pattern.search(text)
    return match and {name: found for name, found in match.groupdict().items() if found}


def test_a_phrase_ends_where_the_longest_activity_begins():
    template = "What {be} {who} {doing}?"
    assert read(template, "What is the judge sitting on?") == {
        "be": "is",
        "who": "the judge",
        "doing": "sitting on",
    }
    assert read(template, "What is the judge on the bench reading?") == {
        "be": "is",
        "who": "the judge on the bench",
        "doing": "reading",
    }
    assert read(template, "What is she reading?")["who"] == "she"
    assert read(template, "What is a judge reading?") is None


def test_the_part_after_a_comma_is_matched_separately():
    found = read("What color {be} {the}?", "What color are the lamps, red or blue?")
    assert found == {"be": "are", "the": "the lamps", "tail": ", red or blue"}


def test_options_are_those_of_the_program_in_either_order():
    template = "{be} {the} {look}?"
    found = read(template, "Is the lamp blue or dark red?", ("dark red", "blue"))
    assert found == {"be": "Is", "the": "the lamp", "look": "blue or dark red"}
    assert read(template, "Is the lamp red?", ("red",))["look"] == "red"
    assert compile_template(template, (), True) is None
    assert compile_template("{one} or {two}?", ("red",), False) is None


def test_phrase_templates_match_whole_words():
    assert read("or is it", "Is it red or is it blue?", whole=False) == {}
    assert read("What is", "What isn't blue?", whole=False) is None
    assert read(", {x} or {y}?", "What is it, a saw or a file?", whole=False) == {"x": "a saw", "y": "a file"}
