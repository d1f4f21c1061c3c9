"""Paraphrases and their templates."""

import msgspec
import pytest

from pipeline.core.randomness import make_generator
from pipeline.core.records import Question, Step
from pipeline.language import paraphrase
from pipeline.language.paraphrase import AlignedText, ProgramInfo, paraphrase_questions, paraphrase_text
from pipeline.language.paraphrase_templates import (
    CORRECTION_TEMPLATES,
    PHRASE_TEMPLATES,
    QUESTION_TEMPLATES,
    compile_template,
)
from tests.notation import steps

# Paraphrase
# Paraphrases keep the program's meaning, and annotations keep pointing to their words.


def asked(text, program="", key="1", image="p", annotations=None, split="val"):
    return Question(
        question_id=key,
        image_id=image,
        split=split,
        text=text,
        answer="red",
        program=steps(program) if program else (),
        annotations=annotations or {},
    )


NOTHING = ProgramInfo()


def paraphrase_with_all_seeds(text, known=NOTHING, seeds=60):
    return {paraphrase_text(text, known, seed).text for seed in range(seeds)}


COLOUR = "select: cup (7)->query: color [0]"


def test_equal_texts_get_equal_paraphrases_and_keep_their_source():
    questions = [asked("What color is the cup?", COLOUR, str(n), f"p{n}") for n in range(5)]
    said = list(paraphrase_questions(questions, "val", 3))
    assert len({question.text for question in said}) == 1
    assert said[0].text != "What color is the cup?"
    assert {question.source_text for question in said} == {"What color is the cup?"}
    kept = [msgspec.structs.replace(q, text="What color is the cup?", source_text="") for q in said]
    # Programs, answers and ids do not change.
    assert kept == questions


def test_other_splits_and_unmatched_texts_stay():
    questions = [asked("What color is the cup?", COLOUR, split="train"), asked("Hmm, well?", key="2")]
    assert list(paraphrase_questions(questions, "val", 3)) == questions


def test_a_paraphrase_never_duplicates_another_text_of_the_image():
    first, second = "What color is the cup?", "Which color is the cup?"
    for seed in range(40):
        texts = [
            q.text
            for q in paraphrase_questions([asked(first, COLOUR), asked(second, COLOUR, "2")], "val", seed)
        ]
        assert len(set(texts)) == 2
    same = [{paraphrase_text(text, NOTHING, seed).text for text in (first, second)} for seed in range(40)]
    # Some seeds give both texts the same paraphrase.
    assert min(map(len, same)) == 1


def test_every_matched_text_is_changed():
    for text in ("Who is wearing the scarf?", "What kind of tool is this?", "Is there a judge in the photo?"):
        assert text not in paraphrase_with_all_seeds(text)


def test_verbs_agree_with_the_matched_subject():
    known = ProgramInfo(is_nameless=True)
    assert {"What are the judges wearing?", "The judges wear what?"} <= paraphrase_with_all_seeds(
        "What do the judges wear?", known
    )
    assert {"The judge wears what?", "What does the judge wear?"} <= paraphrase_with_all_seeds(
        "What is the judge wearing?", known
    )
    trousers = paraphrase_with_all_seeds("What is the color of the trousers?")
    assert "The trousers are what color?" in trousers
    assert not any(
        " is the trousers" in text or "trousers is" in text or "trousers has" in text for text in trousers
    )


def test_a_phrase_that_ends_with_a_preposition_stays_at_the_end():
    said = paraphrase_with_all_seeds("What color is the table the cup is on?")
    assert "Of what color is the table the cup is on?" in said
    assert not any("is on is" in text or "is on has" in text or "on have" in text for text in said)


def test_templates_depend_on_whether_the_queried_object_has_a_name():
    """In "What is the tool the judge sits on?", "the tool the judge sits on" is no subject with a verb."""
    text = "What is the tool the judge sits on?"
    assert all(
        said.startswith(("What is the", "What's the"))
        for said in paraphrase_with_all_seeds(text, ProgramInfo(is_nameless=False))
    )
    named = paraphrase_with_all_seeds("What is the tool on the table?", ProgramInfo(is_nameless=False))
    assert "The tool on the table is called what?" in named
    assert "The judge is on what?" in paraphrase_with_all_seeds(
        "What is the judge on?", ProgramInfo(is_nameless=True)
    )


def test_a_picture_on_the_wall_is_not_replaced_by_photo():
    text = "Is there a lamp in the picture?"
    assert "Is there a lamp in the photo?" in paraphrase_with_all_seeds(text)
    assert not any(
        "photo" in said
        for said in paraphrase_with_all_seeds(text, ProgramInfo(names=frozenset(("picture",))))
    )


def test_options_are_split_as_in_the_program():
    known = ProgramInfo(options=("short sleeved", "sleeveless"))
    said = paraphrase_with_all_seeds("Is the gown short sleeved or sleeveless?", known)
    assert said == {
        "Is the gown sleeveless or short sleeved?",
        "Do you think the gown is sleeveless or short sleeved?",
        "Do you think the gown is short sleeved or sleeveless?",
    }
    assert paraphrase_with_all_seeds("Is the gown short sleeved or sleeveless?") == {
        "Is the gown short sleeved or sleeveless?"
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("What is the man that is on the left holding?", "The man on the left holds what?"),
        ("What color is the cup?", "Of what color is the cup?"),
        ("What is the color of the cup of the man?", "The cup of the man is what color?"),
    ],
)
def test_annotations_move_with_their_words(before, after):
    """The words "cup" and "man" are annotated by their positions in both texts, counted from 0."""
    words = lambda text: {w.strip("?").lower(): str(n) for n, w in enumerate(text.split())}  # noqa: E731
    annotated = {name: key for name, key in (("cup", "7"), ("man", "8")) if name in words(before)}
    annotations = {words(before)[name]: key for name, key in annotated.items()}
    question = asked(
        before, "select: man (8)->relate: _,holding,o (9) [0]->query: name [1]", annotations=annotations
    )
    said = {}
    for seed in range(400):
        for row in paraphrase_questions([question], "val", seed):
            said[row.text] = row.annotations
    assert said[after] == {words(after)[name]: key for name, key in annotated.items()}


def test_an_annotation_of_several_words_moves_whole_or_is_removed():
    question = asked("What color is the big cup?", COLOUR, annotations={"4:6": "7", "0:2": "8"})
    rows = {
        row.text: row.annotations
        for seed in range(200)
        for row in paraphrase_questions([question], "val", seed)
    }
    assert rows["The big cup is what color?"] == {"1:3": "7"}


def test_an_annotation_of_separated_words_is_removed_and_one_of_a_single_letter_stays():
    program = "select: x (7)->verify color: red [0]"
    question = asked("Is the x red?", program, annotations={"1:4": "8", "2": "7"})
    rows = {
        row.text: row.annotations
        for seed in range(40)
        for row in paraphrase_questions([question], "val", seed)
    }
    assert rows["Do you think the x is red?"] == {"4": "7"}


def test_a_malformed_program_is_ignored():
    broken = msgspec.structs.replace(
        asked("What color is the cup?"), program=(Step(operation="fly", argument="", dependencies=()),)
    )
    assert [row.text != broken.text for row in paraphrase_questions([broken], "val", 1)] == [True]


def test_an_interrogative_who_is_no_relative_pronoun():
    assert all(text.startswith("Who") for text in paraphrase_with_all_seeds("Who is in front of the table?"))
    assert "Is the lamp in front of the table red?" in paraphrase_with_all_seeds(
        "Is the lamp that is in front of the table red?"
    )


def title(text):
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


@pytest.mark.parametrize("style", [str.upper, str.lower, title])
def test_paraphrases_keep_the_letter_case_of_the_source(style):
    text = "Who is wearing the shirt?"
    texts = {paraphrase_text(style(text), ProgramInfo(), seed).text for seed in range(20)}
    assert (
        texts == {style(paraphrase_text(text, ProgramInfo(), seed).text) for seed in range(20)}
        and len(texts) > 2
    )


def test_a_capital_inside_a_text_stays_with_its_word():
    known = ProgramInfo(("young", "asian"))
    texts = {paraphrase_text("Is the man Asian or young?", known, seed).text for seed in range(20)}
    assert "Is the man young or Asian?" in texts and not any("Young" in text for text in texts)


# Faults that were found by reading paraphrases of GQA's questions, and of questions in the style of VQA v2.


@pytest.mark.parametrize(
    ("text", "paraphrase"),
    [
        (
            "What does the man that to the left of the clock hold?",
            "What does the man to the left of the clock hold?",
        ),
        ("What color is the cat the fence is behind of?", "Of what color is the cat the fence is behind?"),
        ("How are this animals called?", "These animals are called what?"),
        ("What animals are it?", "Which animals are these?"),
        ("Is there either any cow or fence in the picture?", "Can you see any cow or fence in the photo?"),
        ("How the chair that is made of wood is called?", "What is the chair that is made of wood called?"),
        ("Which color do you think is the box?", "What color is the box?"),
    ],
)
def test_mistakes_of_the_source_are_corrected(text, paraphrase):
    assert paraphrase in paraphrase_with_all_seeds(text, seeds=300)


@pytest.mark.parametrize(
    "text",
    [
        "What is the vehicle that the cat is on called?",
        "What is the name on the sign?",
    ],
)
def test_a_name_is_not_asked_for_twice(text):
    said = paraphrase_with_all_seeds(text, ProgramInfo(is_nameless=False))
    assert not any("called called" in row or ("the name" in row and "called" in row) for row in said)
    assert not any("name of the name" in row or ("name of" in row and "called" in row) for row in said)


def test_both_stays_with_its_adjectives():
    known = ProgramInfo(options=("still", "blue"))
    said = paraphrase_with_all_seeds("Is the folding chair both still and blue?", known)
    assert "Do you think the folding chair is both still and blue?" in said
    assert not any("both is" in row for row in said)


def test_have_large_size_becomes_is_large():
    known = ProgramInfo(options=("large", "blue"))
    said = paraphrase_with_all_seeds("Does the flag have large size and blue color?", known)
    # Either order of the adjectives, as a question or after "Do you think".
    assert said == {
        "Is the flag large and blue?",
        "Is the flag blue and large?",
        "Do you think the flag is large and blue?",
        "Do you think the flag is blue and large?",
    }


@pytest.mark.parametrize(
    "text",
    [
        "Where is the man looking?",
        "Where is the train parked?",
        "What is it?",
        "Who is it?",
        "Is the man driving on the right?",
        "Is the clock on the left the same as on the right?",
        "If it rains, do you need a coat or an umbrella?",
    ],
)
def test_what_no_template_can_say_stays(text):
    assert paraphrase_with_all_seeds(text) == {text}


def test_a_noun_that_ends_like_a_participle_is_moved():
    for text in ("Where is the painting?", "Where is the red building?", "Where is the bed?"):
        assert len(paraphrase_with_all_seeds(text)) == 2
    assert "The car the man is driving is what color?" in paraphrase_with_all_seeds(
        "What color is the car the man is driving?", seeds=200
    )


def test_the_part_after_a_comma_may_be_a_clause():
    said = paraphrase_with_all_seeds("In this photo, is the man sitting or standing?")
    assert "In this picture, is the man sitting or standing?" in said
    assert all(", is the man" in row for row in said)


# Paraphrase templates
# Every group of templates produces its example, and templates match what they should.


KNOWN = ProgramInfo(options=("red", "blue"), is_nameless=True)
STRIPED = ProgramInfo(options=("blue", "long striped"))
NAMED = ProgramInfo(is_nameless=False)


def choose_program_info(group):
    return NAMED if group.is_nameless is False else STRIPED if "striped" in group.example else KNOWN


GROUPS = [*QUESTION_TEMPLATES, *PHRASE_TEMPLATES, *CORRECTION_TEMPLATES]


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
    assert read(", {option} or {second_option}?", "What is it, a saw or a file?", whole=False) == {
        "option": "a saw",
        "second_option": "a file",
    }
