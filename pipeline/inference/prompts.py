"""What a model is asked about a question, word by word. A result names the prompt and the hash of its texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from ..core.errors import UserError
from ..scoring.items import BenchmarkItem

UNANSWERABLE = "unanswerable"  # what a model is told to say where there is no answer


class Prompt(NamedTuple):
    """Attributes:
    help: one line on it.
    text: around `{question}`; the image stands before it.
    first: a turn before that one, around `{question}`; "" if there is none. Then `text` is asked whatever was said.
    system: "" for none.
    """

    name: str
    help: str
    template: str
    first_turn_template: str = ""
    system: str = ""

    @property
    def hash(self) -> str:
        """Tells a change of any text: 12 hexadecimal digits of SHA-256."""
        return hash_texts(self.system, self.first_turn_template, self.template)

    def format_question(self, question: str) -> str:
        """
        >>> PROMPTS["word"].asked("Is it red?")
        'Is it red?\\nAnswer with a word or a short phrase.'
        """
        return self.template.replace("{question}", question)

    def format_first_turn(self, question: str) -> str:
        """The turn before; "" if there is none."""
        return self.first_turn_template.replace("{question}", question)


def hash_texts(*texts: str) -> str:
    """12 hexadecimal digits of SHA-256 of the texts.

    >>> hash_of("a", "b") == hash_of("ab", "")
    False
    """
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:12]


_SHORT_ANSWER_INSTRUCTION = "Answer with a word or a short phrase."
PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt("word", "asks for a word or a short phrase", f"{{question}}\n{_SHORT_ANSWER_INSTRUCTION}"),
        Prompt(
            "refuse",
            f'offers to say "{UNANSWERABLE}"',
            "{question}\nAnswer with a word or a phrase. If the picture does not show what is asked about, answer: "
            + UNANSWERABLE,
        ),
        Prompt(
            "ask",
            "asks first, in a turn of its own, whether there is an answer",
            f"{{question}}\n{_SHORT_ANSWER_INSTRUCTION}",
            first_turn_template="Can this question be answered from what the picture shows? Reply with yes or no.\n{question}",
        ),
        Prompt("bare", "the question alone, for models that classify", "{question}"),
    )
}


def get_prompt(name: str) -> Prompt:
    """
    Raises:
        UserError: there is none of this name.
    """
    if name not in PROMPTS:
        raise UserError(f"no prompt {name!r}; there are {', '.join(PROMPTS)}")
    return PROMPTS[name]


def sample_few_shot_examples(items: Sequence[BenchmarkItem], count: int, seed: int) -> list[BenchmarkItem]:
    """Examples drawn from split validation, as many unanswerable as answerable, by turns.

    Raises:
        UserError: the count is odd, or validation has too few of a kind.
    """
    if not count:
        return []
    validation = sorted((item for item in items if item.split == "validation"), key=lambda item: item.id)
    kinds = [[item for item in validation if not item.answers], [item for item in validation if item.answers]]
    most = 2 * min(map(len, kinds))
    if count < 0 or count % 2 or count > most:
        raise UserError(
            f"{count} examples: wanted an even number from 0 to {most}, half of them unanswerable"
        )
    draw = Random(seed)
    drawn = [draw.sample(kind, count // 2) for kind in kinds]
    return [item for pair in zip(*drawn, strict=True) for item in pair]
