"""Prompts of public sets and the reading of replies, against the authors' rules."""

import random
import re

import pytest

from pipeline.public_sets.author_prompts import (
    NO_OPTION,
    PROMPT_SOURCES,
    REPLY_SOURCES,
    SET_NAMES,
    find_option_letter,
    format_prompt,
    mm_upd_letters,
    parse_replies,
    parse_reply,
)
from pipeline.public_sets.items import SetItem
from tests.public_sets import author_scripts

SEEDS = range(10)


def upd(options, kind="upd", upd_type="aad", question_type="base", masked="", **fields):
    details = {"type": kind, "upd_type": upd_type, "question_type": question_type, "masked_answer": masked}
    return SetItem(
        "1", "", "What is on the mat?", dict(zip("ABCDE", options, strict=False)), details=details, **fields
    )


def with_details(question="Is it red?", options=(), **details):
    return SetItem("1", "", question, dict(zip("ABCD", options, strict=False)), details=details)


def test_sources_are_of_known_sets_and_name_a_commit():
    for sources in (PROMPT_SOURCES, REPLY_SOURCES):
        assert set(sources) <= set(SET_NAMES)
        assert all(re.match(r"[\w-]+/[\w-]+ [0-9a-f]{7}, ", source) for source in sources.values())


def test_unknown_sets_and_different_numbers_are_refused():
    with pytest.raises(ValueError, match="unknown set 'pope'"):
        format_prompt("pope", with_details())
    with pytest.raises(ValueError):
        parse_replies("POPE", [with_details()], [])


# Prompts


@pytest.mark.parametrize(
    "name", ["POPE", "RePOPE", "HallusionBench", "AMBER", "CP-Bench", "VQA v2", "VizWiz", "GQA"]
)
def test_some_sets_ask_the_question_alone(name):
    assert format_prompt(name, with_details("Is there a dog in the image?")) == "Is there a dog in the image?"


@pytest.mark.parametrize(
    ("upd_type", "question_type", "end"),
    [
        ("aad", "base", ""),
        ("aad", "option", "Answer with the option's letter from the given choices directly."),
        ("ivqd", "original", "Answer with the option's letter from the given choices directly."),
        ("iasd", "inst", 'If all the options are incorrect, answer "F. None of the above".'),
        (
            "ivqd",
            "inst",
            'If the given image is irrelevant to the question, answer "F. The image and question are irrelevant."',
        ),
    ],
)
def test_prompts_of_mm_upd(upd_type, question_type, end):
    item = upd(["cat", "dog"], upd_type=upd_type, question_type=question_type, hint="Look.")
    assert format_prompt("MM-UPD", item) == f"Look.\nWhat is on the mat?\nA. cat\nB. dog\n{end}"


def test_natural_bench_has_no_space_before_the_instruction():
    yes_no, choice = (with_details(Question_Type=kind) for kind in ("yes_no", "multiple_choice"))
    assert format_prompt("NaturalBench", yes_no) == "Is it red?Please answer Yes or No."
    assert format_prompt("NaturalBench", choice).endswith(
        "red?Please output the letter corresponding to the correct option."
    )


def test_prompts_of_tubench():
    code = format_prompt("TUBench", with_details(dataset="UCR"))
    assert code.startswith(
        "Is it red? Please analyze the given image and question step by step. If you find the question"
    )
    assert code.endswith(
        'answer either "Yes" or "No". Give your answer first and then output the explanation.'
    )
    angle = with_details("The angle is ()", ["1°", "2°"], dataset="UGeoQA")
    assert format_prompt("TUBench", angle).startswith(
        "The angle is ? Answer Choices: (a) 1° (b) 2°. Please analyze"
    )


# Reading replies


@pytest.mark.parametrize("name", ["POPE", "RePOPE"])
@pytest.mark.parametrize("seed", SEEDS)
def test_pope_is_read_as_by_the_authors(name, seed):
    pick = random.Random(seed)
    words = [
        "No",
        "no",
        "not",
        "NO",
        "Yes",
        "there",
        "is",
        "a",
        "dog",
        "nothing",
        ",",
        ".",
        ". ",
        "no,",
        " ",
        "\n",
    ]
    replies = [
        pick.choice(["", " "]).join(pick.choice(words) for _ in range(pick.randint(0, 6))) for _ in range(300)
    ]
    found = parse_replies(name, [with_details()] * len(replies), replies)
    assert found == [author_scripts.pope_reading(reply) for reply in replies]
    assert {"yes", "no"} == set(found)


def test_replies_to_pope():
    item = with_details("Is there a dog in the image?")
    # Only the first sentence counts, "NO" is not in the authors' list, and an empty reply is a "yes".
    replies = ["No.", "Yes. No.", "NO", "", "I do not see a dog", "<think>no dog</think>Yes"]
    assert parse_replies("POPE", [item] * len(replies), replies) == ["no", "yes", "yes", "yes", "no", "yes"]


@pytest.mark.parametrize("seed", SEEDS)
def test_letters_of_options_are_read_as_by_mm_upds_authors(seed):
    pick = random.Random(seed)
    parts = [*"ABCDEFGH", *"ab", ".", ")", ",", "(", " ", "or", "(A)", "(B)", "\n"]
    for _ in range(1000):
        reply = "".join(pick.choice(parts) for _ in range(pick.randint(0, 5)))
        letters = pick.sample("ABCDEFG", pick.randint(1, 6))
        assert find_option_letter(reply, letters) == (author_scripts.upd_letter(reply, letters) or "")


@pytest.mark.parametrize("question_type", ["base", "option", "inst", "original"])
@pytest.mark.parametrize("upd_type", ["aad", "iasd", "ivqd"])
@pytest.mark.parametrize("kind", ["standard", "upd"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_letters_that_mm_upds_script_adds(count, kind, upd_type, question_type):
    item = upd("vwxyz"[:count], kind, upd_type, question_type)
    valid, right = author_scripts.upd_letters({**item.details, "options": item.options})
    added = mm_upd_letters(item)
    assert {*item.options, *added.refusals, added.removed_answer} - {""} == set(valid)
    if kind == "upd":
        assert {*added.refusals, added.removed_answer} - {""} == set(right)


def test_replies_to_mm_upd():
    item = upd(["cat", "red dog"], masked="horse")
    expected = {
        "B": "B",
        "B. red dog": "B",
        "(A)": "A",
        # Several letters: none by the rule, and two options are named.
        "A. cat or B. red dog": NO_OPTION,
        # The options of the question are A and B, the removed answer is C, a refusal D; a bare "F" is none of these letters.
        "F": NO_OPTION,
        "D.": "D",
        "Cat.": "A",
        "It is a red dog on a mat": "B",
        "horse": "C",
        "": NO_OPTION,
        "I cannot answer this question from the image.": "D",
        "a zebra": NO_OPTION,
    }
    assert (
        dict(zip(expected, parse_replies("MM-UPD", [item] * len(expected), [*expected]), strict=True))
        == expected
    )
    assert parse_reply("MM-UPD", upd(["cat", "dog"], question_type="inst"), "F. None of the above") == "F"
    assert (
        parse_reply("MM-UPD", upd(["cat", "None of the above"], question_type="option"), "None of the above")
        == "B"
    )


def test_replies_to_hallusion_bench():
    item = with_details("Is the left circle larger than the right circle?")
    expected = {
        "Yes, the left circle is larger. No doubt.": "yes",
        "**No**": "no",
        "I cannot tell without an image.": "unknown",
        "": "unknown",
        "The answer is no": "no",
    }
    assert (
        dict(zip(expected, parse_replies("HallusionBench", [item] * 5, [*expected]), strict=True)) == expected
    )


@pytest.mark.parametrize("kind", ["yes_no", "multiple_choice"])
@pytest.mark.parametrize("seed", SEEDS)
def test_natural_bench_is_read_as_by_the_authors(seed, kind):
    pick = random.Random(seed)
    words = ["yes", "No", "YES", "not", "nose", "A", "a", "B", "b.", "Ab", "dog", ",", "-", "is"]
    replies = [
        pick.choice(["", " "]).join(pick.choice(words) for _ in range(pick.randint(0, 5))) for _ in range(500)
    ]
    found = parse_replies("NaturalBench", [with_details(Question_Type=kind)] * len(replies), replies)
    names = {1: "yes", 0: "no", -1: "unknown"} if kind == "yes_no" else {1: "A", 0: "B", -1: "unknown"}
    assert found == [names[author_scripts.natural_bench_reading(reply, kind)] for reply in replies]
    assert set(found) == set(names.values())


def test_replies_to_amber():
    replies = ["Yes", "No", "no, there is none", "Perhaps", ""]
    assert parse_replies("AMBER", [with_details()] * 5, replies) == ["yes", "no", "no", "unknown", "unknown"]


@pytest.mark.parametrize("seed", SEEDS)
def test_yes_no_questions_of_tubench_are_read_as_by_the_authors(seed):
    pick = random.Random(seed)
    # The tokenizer of the authors' script. It comes with Label Studio's client.
    tokenizer, names = (
        pytest.importorskip("nltk.tokenize").NLTKWordTokenizer(),
        {"Yes": "yes", "No": "no", "Unanswerable": "unanswerable", -1: "unknown"},
    )
    words = [
        "Yes",
        "No",
        "Unanswerable",
        "no-one",
        "noted",
        "yesterday",
        "the dog",
        "yes/no",
        "**No**",
        "'yes'",
        '"No"',
        "(no)",
    ]
    marks = [" ", ". ", ", ", "\n", ": ", "! ", " - ", "; ", "--", "... "]
    item = with_details(dataset=pick.choice(["UCR", "UVQA"]))
    for _ in range(300):
        reply = "".join(pick.choice(words) + pick.choice(marks) for _ in range(pick.randint(0, 3)))
        # A sentence ends where white space follows its mark, which a model of sentences decides in the authors' script.
        sentences = re.split(r"(?<=[.?!])\s+", reply.lower().strip())
        tokens = [token for sentence in sentences for token in tokenizer.tokenize(sentence)]
        assert parse_reply("TUBench", item, reply) == names[author_scripts.tubench_word(tokens)], reply


@pytest.mark.parametrize("seed", SEEDS)
def test_choices_of_tubench_are_read_as_by_the_authors(seed):
    pick = random.Random(seed)
    parts = [
        "a",
        "b",
        "C",
        "d",
        "(a)",
        "B)",
        "answer: c",
        "answer is d",
        "option b",
        ".",
        " ",
        "Unanswerable",
        "40°",
        "50°",
        "x",
    ]
    options = ["40°", "50°", "x y", "90°"]
    item = with_details("How large?", options, dataset=pick.choice(["UGeoQA", "UTabMWP"]))
    names = {f"({letter.lower()})": letter for letter in "ABCD"} | {
        "Unanswerable": "unanswerable",
        -1: "unknown",
    }
    seen = set()
    for _ in range(1000):
        reply = "".join(pick.choice(parts) for _ in range(pick.randint(0, 3)))
        found = parse_reply("TUBench", item, reply)
        assert found == names[author_scripts.tubench_choice(reply, options)]
        seen.add(found)
    assert seen == set(names.values())


def test_replies_to_cp_bench():
    item = with_details("What color is the dog's collar?", tag="cpq")
    expected = {"The collar is red.": "accept", "There is no dog in the image.": "reject", "": "NA"}
    assert dict(zip(expected, parse_replies("CP-Bench", [item] * 3, [*expected]), strict=True)) == expected


def test_replies_to_tdiuc():
    item = with_details("What color is the dog?", question_type="color")
    expected = {
        "Red.": "red",
        "doesnotapply": "doesnotapply",
        "There is no dog in the image.": "doesnotapply",
    }
    assert dict(zip(expected, parse_replies("TDIUC", [item] * 3, [*expected]), strict=True)) == expected


def test_free_text_is_kept_or_shortened():
    for name in ("VizWiz", "UNK-VQA", "VQA v2"):
        assert parse_reply(name, with_details(), " Dark red.\n") == "Dark red."
    for name in ("GQA", "RGQA"):
        assert parse_reply(name, with_details(), "<think>blue</think> Dark red.\n") == "dark red"
