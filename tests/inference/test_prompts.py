import hashlib

import pytest

from pipeline.core.errors import UserError
from pipeline.inference.prompts import PROMPTS, get_prompt


def test_each_prompt_contains_the_question_unchanged():
    for prompt in PROMPTS.values():
        assert "Is {it} red?" in prompt.format_question("Is {it} red?")
    assert "Is it red?" in PROMPTS["ask-first"].format_first_turn("Is it red?")
    assert PROMPTS["short-answer"].format_first_turn("Is it red?") == ""


def test_only_one_prompt_offers_to_abstain():
    assert [name for name, prompt in PROMPTS.items() if "unanswerable" in prompt.template] == ["abstain"]


def test_the_hash_covers_all_texts_and_nothing_else():
    word = PROMPTS["short-answer"]
    # by hand: sha256 of '["", "", "{question}\\nAnswer with a word or a short phrase."]'
    text = '["", "", "{question}\\nAnswer with a word or a short phrase."]'
    assert word.hash == hashlib.sha256(text.encode()).hexdigest()[:12]
    assert word._replace(help="other").hash == word.hash
    changed = [word._replace(template="?"), word._replace(first_turn_template="?"), word._replace(system="?")]
    assert len({word.hash, *(prompt.hash for prompt in changed)}) == 4


def test_an_unknown_prompt_is_rejected_with_the_known_names():
    with pytest.raises(UserError, match="--prompt short: .* short-answer, abstain, ask-first, bare"):
        get_prompt("short")
