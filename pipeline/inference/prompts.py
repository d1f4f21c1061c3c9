"""The prompts of `rgqa run`: the text around each question.

Results state the name of the prompt and a hash of its texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from ..core.errors import UserError
from ..scoring.items import BenchmarkItem

# Maximum length of a reply in tokens, for prompts that ask for an answer alone.
DEFAULT_MAX_TOKENS = 64
# The reply that prompt `abstain` asks for if a question has no answer.
UNANSWERABLE = "unanswerable"


class Prompt(NamedTuple):
    """The messages around a question.

    Attributes:
        name: Name in `--prompt` and in run.json.
        help: One-line description.
        template: Text of the message, with `{question}`. The image comes before the text.
        first_turn_template: Text of a message that is sent before `template`, with `{question}`; "" for none.
            `template` is sent afterwards, whatever the model replies.
        system: System message; "" for none.
        max_tokens: Maximum length of a reply in tokens, unless `--max-tokens` gives another one.
    """

    name: str
    help: str
    template: str
    first_turn_template: str = ""
    system: str = ""
    max_tokens: int = DEFAULT_MAX_TOKENS

    @property
    def hash(self) -> str:
        """Hash of all texts. It is in run.json, so that changes of the texts are noticed."""
        return hash_texts(self.system, self.first_turn_template, self.template)

    def format_question(self, question: str) -> str:
        """Return the text of the message that asks a question.

        >>> PROMPTS["short-answer"].format_question("Is it red?")
        'Is it red?\\nAnswer with a word or a short phrase.'
        """
        return self.template.replace("{question}", question)

    def format_first_turn(self, question: str) -> str:
        """Return the text of the message before the question; "" if there is none."""
        return self.first_turn_template.replace("{question}", question)


def hash_texts(*texts: str) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256 of the texts.

    >>> hash_texts("a", "b") == hash_texts("ab", "")
    False
    """
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:12]


_SHORT_ANSWER_INSTRUCTION = "Answer with a word or a short phrase."
PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "short-answer",
            "ask for a word or a short phrase",
            f"{{question}}\n{_SHORT_ANSWER_INSTRUCTION}",
        ),
        Prompt(
            "abstain",
            f'ask for a word or a phrase, and offer the reply "{UNANSWERABLE}"',
            "{question}\nAnswer with a word or a phrase. If the picture does not show what is asked about, answer: "
            + UNANSWERABLE,
        ),
        Prompt(
            "ask-first",
            "first ask, in a separate turn, whether the question can be answered",
            f"{{question}}\n{_SHORT_ANSWER_INSTRUCTION}",
            first_turn_template="Can this question be answered from what the picture shows? Reply with yes or no.\n{question}",
        ),
        Prompt(
            "explain",
            f'like abstain, and ask for a sentence that says what is wrong after "{UNANSWERABLE}"',
            "{question}\nAnswer with a word or a phrase. If the picture does not show what is asked about, answer: "
            + UNANSWERABLE
            + ". Then say in one sentence what in the question does not fit the picture, and what is there instead.",
            max_tokens=256,
        ),
        Prompt("bare", "send the question only, for hf-vqa models", "{question}"),
    )
}


def get_prompt(name: str) -> Prompt:
    """Return the prompt of this name.

    Raises:
        UserError: There is no such prompt.
    """
    if name not in PROMPTS:
        raise UserError(f"--prompt {name}: no such prompt; choose from {', '.join(PROMPTS)}")
    return PROMPTS[name]


def sample_few_shot_examples(items: Sequence[BenchmarkItem], count: int, seed: int) -> list[BenchmarkItem]:
    """Sample examples from split validation, alternating between unanswerable and answerable items.

    Args:
        items: Items of the benchmark.
        count: Number of examples. It must be even.
        seed: Random seed.

    Raises:
        UserError: The count is odd, or the split has too few unanswerable or answerable items.
    """
    if not count:
        return []
    validation = sorted((item for item in items if item.split == "validation"), key=lambda item: item.id)
    kinds = [[item for item in validation if not item.answers], [item for item in validation if item.answers]]
    largest = 2 * min(map(len, kinds))
    if count < 0 or count % 2 or count > largest:
        raise UserError(
            f"--shots {count}: wanted an even number from 0 to {largest}, as half of the examples are unanswerable"
        )
    random = Random(seed)
    sampled = [random.sample(kind, count // 2) for kind in kinds]
    return [item for pair in zip(*sampled, strict=True) for item in pair]
