"""Compute the confidence that a question is answerable from a model's replies: in [0, 1], or None if the
replies give none.

Log probabilities of tokens are lists of mappings, as OpenAI-compatible servers return them. A mapping has the
keys `token` and `logprob`, and optionally `bytes` and `top_logprobs`, a list of mappings of the same kind.
The argument `answered` is a result of `classify_abstention`: 1 if a reply answers, 0 if a reply abstains, 0.5
if this is unclear.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..scoring.abstention import ABSTAINED
from ..scoring.normalize import normalize_answer
from ..scoring.reasoning_parser import extract_final_answer

TokenLogprobs = Sequence[Mapping[str, Any]]


def token_probability(reply: str, tokens: TokenLogprobs, answered: float) -> float | None:
    """Return the probability of the answer's tokens, the exponential of the sum of their log probabilities.

    Neither end markers nor tokens of the reasoning before the answer count.

    Args:
        reply: The final answer.
        tokens: Log probabilities of the tokens of the reply.
        answered: 1, 0 or 0.5. The confidence of an abstaining reply is 0, because the probability of its
            words only says how certain the wording is.

    Returns:
        The probability; None without log probabilities, or if the tokens do not contain the answer.

    >>> tokens = [{"token": "dark", "logprob": math.log(0.5)}, {"token": " red", "logprob": math.log(0.8)}]
    >>> round(token_probability("dark red", [*tokens, {"token": "</s>", "logprob": -1.0}], 1.0), 6)
    0.4
    """
    if answered == ABSTAINED:
        return 0.0
    answer, end, spans = reply.strip().encode(), 0, []
    for token in (answer_tokens := _final_answer_tokens(tokens)):
        start, end = end, end + len(_token_bytes(token))
        spans.append((start, end, float(token["logprob"])))
    position = b"".join(map(_token_bytes, answer_tokens)).find(answer)
    if not answer or position < 0:
        return None
    inside = [logprob for start, end, logprob in spans if start < position + len(answer) and end > position]
    # min() with NaN first returns NaN, which _clip_probability turns into None.
    return _clip_probability(math.exp(min(math.fsum(inside), 0.0)))


def p_true(tokens: TokenLogprobs) -> float | None:
    """Return p(yes) / (p(yes) + p(no)) at the first word of a reply.

    p(yes) and p(no) are summed over those of the most likely tokens that are spellings of yes or no. Kadavath
    et al. (2022, arXiv:2207.05221) use this method to ask a model whether an answer is true.

    Args:
        tokens: Log probabilities of the tokens of the reply, with `top_logprobs`.

    Returns:
        The probability; None without `top_logprobs`, or if neither yes nor no is among the most likely
        tokens.

    >>> top = [{"token": "Yes", "logprob": math.log(0.6)}, {"token": " no", "logprob": math.log(0.2)}]
    >>> round(p_true([{"token": "Yes", "logprob": math.log(0.6), "top_logprobs": top}]), 6)
    0.75
    """
    for token in _final_answer_tokens(tokens):
        if any(letter.isalpha() for letter in token["token"]):
            probability = {"yes": 0.0, "no": 0.0}
            for other in token.get("top_logprobs") or ():
                word = other["token"].strip(" \n▁Ġ*\"'.,:").lower()
                if word in probability:
                    probability[word] += math.exp(other["logprob"])
            total = sum(probability.values())
            return _clip_probability(probability["yes"] / total) if total else None
    return None


def verbalized_confidence(reply: str) -> float | None:
    """Return the number from 0 to 100 in a reply, divided by 100.

    Returns:
        The confidence; None if the reply has no number or several different numbers, or if the number is out
        of range or on another scale ("9/10", "0.9").

    >>> [verbalized_confidence(reply) for reply in ("I am 85% sure.", "85 out of 100", "85/100")]
    [0.85, 0.85, 0.85]
    >>> [verbalized_confidence(reply) for reply in ("0.9", "10/10", "very")]
    [None, None, None]
    """
    answer = re.sub(r"(?i)\s*(/|out of|of)\s*100\b", "", extract_final_answer(reply).text)
    numbers = {text.rstrip(".") for text in re.findall(r"[-−–.]?\d[\d.,]*", answer)}
    if (
        re.search(r"(?i)\d\s*(/|out of|of)\s*\d", answer)
        or len(numbers) != 1
        or not re.fullmatch(r"\d+(\.\d+)?", text := numbers.pop())
    ):
        return None
    number = float(text)
    return None if number > 100 or ("." in text and number <= 1) else number / 100


def answer_agreement(
    replies: Sequence[str], answered: Sequence[float], num_truncated: int = 0
) -> float | None:
    """Return the proportion of replies that give the most common answer, normalized as in VQA
    (self-consistency).

    Abstaining and truncated replies count in the total, but never as agreeing.

    Args:
        replies: Texts of the replies.
        answered: For each reply 1, 0 or 0.5.
        num_truncated: Number of additional replies that were truncated.

    Returns:
        The proportion, in [0, 1]; None if there is no complete reply.

    >>> answer_agreement(["Red.", "red", "blue", "unanswerable"], [1.0, 1.0, 1.0, 0.0])
    0.5
    """
    best = find_most_common(replies, answered)
    if not replies:
        return None
    texts = [normalize_answer(reply) for reply in replies]
    labels = [label for text, label in zip(texts, answered, strict=True) if text == texts[best]]
    return sum(label != ABSTAINED for label in labels) / (len(replies) + num_truncated)


def find_most_common(replies: Sequence[str], answered: Sequence[float]) -> int:
    """Return the index of the first reply that gives the most common answer; 0 if all replies abstain.

    >>> find_most_common(["blue", "red", "Red.", "unanswerable", "unanswerable"], [1.0, 1.0, 1.0, 0.0, 0.0])
    1
    """
    pairs = zip(replies, answered, strict=True)
    texts = [None if label == ABSTAINED else normalize_answer(reply) for reply, label in pairs]
    counts = Counter(text for text in texts if text is not None)
    return texts.index(counts.most_common(1)[0][0]) if counts else 0


def abstention_confidence(answered: float) -> float:
    """Return 1 for a reply that answers, 0 for a reply that abstains, 0.5 if the abstention classifier is not
    sure.

    >>> abstention_confidence(1.0)
    1.0
    """
    return float(answered)


def read_yes_no(reply: str) -> float:
    """Return 1 if a reply to a yes-no question says yes, 0 if it says no, 0.5 if neither.

    >>> read_yes_no("Yes."), read_yes_no("**No**, it cannot."), read_yes_no("Perhaps")
    (1.0, 0.0, 0.5)
    """
    found = re.search(r"(?i)\b(yes|no)\b", extract_final_answer(reply).text)
    return 0.5 if not found else 1.0 if found[1].lower() == "yes" else 0.0


def _final_answer_tokens(tokens: TokenLogprobs) -> TokenLogprobs:
    """Return the tokens of the final answer, without the reasoning before it and without markers such as
    "<s>".
    """
    text, ends = "", [0]
    for token in tokens:
        text += token["token"]
        ends.append(len(text))
    answer = extract_final_answer(text)
    return [
        token
        for token, start, end in zip(tokens, ends, ends[1:], strict=False)
        if start < answer.end
        and end > answer.start
        and (extract_final_answer(token["token"]).text or not token["token"].strip())
    ]


def _token_bytes(token: Mapping[str, Any]) -> bytes:
    given = token.get("bytes")
    return bytes(given) if given else re.sub("[▁Ġ]", " ", token["token"]).encode()


def _clip_probability(value: float) -> float | None:
    return min(1.0, value) if math.isfinite(value) else None
