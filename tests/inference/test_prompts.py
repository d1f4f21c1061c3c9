import hashlib

import pytest

from pipeline.core.errors import UserError
from pipeline.inference.prompts import PROMPTS, get_prompt


def test_the_question_stands_in_each_prompt_as_it_is():
    for prompt in PROMPTS.values():
        assert "Is {it} red?" in prompt.format_question("Is {it} red?")
    assert "Is it red?" in PROMPTS["ask-first"].format_first_turn("Is it red?")
    assert PROMPTS["short-answer"].format_first_turn("Is it red?") == ""


def test_only_one_prompt_offers_to_refuse():
    assert [name for name, prompt in PROMPTS.items() if "unanswerable" in prompt.template] == ["abstain"]


def test_the_hash_is_of_all_texts_and_of_nothing_else():
    word = PROMPTS["short-answer"]
    # by hand: sha256 of '["", "", "{question}\\nAnswer with a word or a short phrase."]'
    text = '["", "", "{question}\\nAnswer with a word or a short phrase."]'
    assert word.hash == hashlib.sha256(text.encode()).hexdigest()[:12]
    assert word._replace(help="other").hash == word.hash
    changed = [word._replace(template="?"), word._replace(first_turn_template="?"), word._replace(system="?")]
    assert len({word.hash, *(prompt.hash for prompt in changed)}) == 4


def test_an_unknown_prompt_is_refused_with_the_names_there_are():
    with pytest.raises(UserError, match="--prompt short: .* short-answer, abstain, ask-first, bare"):
        get_prompt("short")
