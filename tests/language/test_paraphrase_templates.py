"""The table of wordings, row by row: what each example may become, and that no row is written so that it does nothing."""

import pytest

from pipeline.core.randomness import make_generator
from pipeline.language import paraphrase
from pipeline.language.paraphrase import AlignedText, ProgramInfo
from pipeline.language.paraphrase_templates import CONTRACTION_TEMPLATES, PHRASE_TEMPLATES, QUESTION_TEMPLATES

KNOWN = ProgramInfo(options=("red", "blue"), is_nameless=True)
STRIPED = ProgramInfo(options=("blue", "long striped"))
NAMED = ProgramInfo(is_nameless=False)


def known_of(row):
    return NAMED if row.is_nameless is False else STRIPED if "striped" in row.example else KNOWN


ROWS = [*QUESTION_TEMPLATES, *PHRASE_TEMPLATES, CONTRACTION_TEMPLATES]


def all_wordings(row, text, known=KNOWN):
    """What a row may make of a text, in many draws."""
    said, rng = AlignedText(text, tuple(range(len(text)))), make_generator(1, text)
    if row not in QUESTION_TEMPLATES:
        return {paraphrase._rewrite_all_matches(row, said, known, rng).text for _ in range(200)}
    match = paraphrase._find_match(row, text, known, 0, True)
    return {paraphrase._sample_rewrite(row, said, match, rng).text for _ in range(200)} if match else {text}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.example)
def test_a_row_makes_of_its_text_what_it_says(row):
    assert row.example_paraphrase in all_wordings(row, row.example, known_of(row))


@pytest.mark.parametrize("row", QUESTION_TEMPLATES, ids=lambda row: row.example)
def test_the_first_row_that_fits_a_frames_text_is_its_own(row):
    fitting = [
        other
        for other in QUESTION_TEMPLATES
        if paraphrase._find_match(other, row.example, known_of(row), 0, True)
    ]
    assert fitting[0] is row


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.example)
def test_what_a_row_says_it_reads_as_one_of_its_own(row):
    """A wording that is said in one run and read in none would leave its texts as they are in a second source."""
    known = known_of(row)
    hidden = {wording for wording in row.templates if wording[0] == ">"}
    for text in all_wordings(row, row.example, known) if not hidden else ():
        assert all_wordings(row, text, known) == all_wordings(row, row.example, known), text
