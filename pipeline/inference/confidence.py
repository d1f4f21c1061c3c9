"""Confidences that a question is answerable, from what a model says: in [0, 1], or None where nothing tells.

Log probabilities are lists of mappings as servers of OpenAI's form give them: token, logprob and, if there are any,
bytes and top_logprobs, a list of the same. `answers` are readings of `abstention.read`: 1 answers, 0 refuses, 0.5
unclear.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..scoring.abstention import ABSTAINED, ANSWERED, UNCLEAR
from ..scoring.normalize import normalize_answer
from ..scoring.reasoning_parser import extract_final_answer

TokenLogprobs = Sequence[Mapping[str, Any]]


def token_probability(reply: str, tokens: TokenLogprobs, answered: float) -> float | None:
    """The probability of the answer's tokens, exp of the sum of their log probabilities; 0 for a refusal, whose words'
    probability says how sure the wording is. Thoughts before the answer and end marks do not count. None without log
    probabilities, or where the answer does not stand in the tokens.

    >>> said = [{"token": "dark", "logprob": math.log(0.5)}, {"token": " red", "logprob": math.log(0.8)}]
    >>> round(token_probability("dark red", [*said, {"token": "</s>", "logprob": -1.0}], 1.0), 6)
    0.4
    """
    if answered == ABSTAINED:
        return 0.0
    wanted, end, parts = reply.strip().encode(), 0, []
    for token in (spoken_tokens := _final_answer_tokens(tokens)):
        start, end = end, end + len(_token_bytes(token))
        parts.append((start, end, float(token["logprob"])))
    place = b"".join(map(_token_bytes, spoken_tokens)).find(wanted)
    if not wanted or place < 0:
        return None
    inside = [logprob for start, end, logprob in parts if start < place + len(wanted) and end > place]
    return _clip_probability(math.exp(min(math.fsum(inside), 0.0)))  # NaN stays NaN in this order


def p_true(tokens: TokenLogprobs) -> float | None:
    """The probability of yes beside no, at the first word that was said: p(yes) / (p(yes) + p(no)) over the likeliest
    tokens there that read so (Kadavath et al., 2022, arXiv:2207.05221, who ask whether an answer is true). None without
    log probabilities of the tokens not chosen, or where neither is among them.

    >>> top = [{"token": "Yes", "logprob": math.log(0.6)}, {"token": " no", "logprob": math.log(0.2)}]
    >>> round(p_true([{"token": "Yes", "logprob": math.log(0.6), "top_logprobs": top}]), 6)
    0.75
    """
    for token in _final_answer_tokens(tokens):
        if any(letter.isalpha() for letter in token["token"]):
            said = {"yes": 0.0, "no": 0.0}
            for other in token.get("top_logprobs") or ():
                word = other["token"].strip(" \n▁Ġ*\"'.,:").lower()
                if word in said:
                    said[word] += math.exp(other["logprob"])
            total = sum(said.values())
            return _clip_probability(said["yes"] / total) if total else None
    return None


def verbalized_confidence(reply: str) -> float | None:
    """The number from 0 to 100 in the reply, over 100. None where there is no number, or several, or one out of range,
    or one on another scale: of 10, or with a decimal point up to 1.

    >>> verbal("I am 85% sure."), verbal("85 out of 100"), verbal("85/100"), verbal("0.9"), verbal("10/10"), verbal("very")
    (0.85, 0.85, 0.85, None, None, None)
    """
    said = re.sub(r"(?i)\s*(/|out of|of)\s*100\b", "", extract_final_answer(reply).text)
    numbers = {text.rstrip(".") for text in re.findall(r"[-−–.]?\d[\d.,]*", said)}
    if (
        re.search(r"(?i)\d\s*(/|out of|of)\s*\d", said)
        or len(numbers) != 1
        or not re.fullmatch(r"\d+(\.\d+)?", text := numbers.pop())
    ):
        return None
    number = float(text)
    return None if number > 100 or ("." in text and number <= 1) else number / 100


def answer_agreement(
    replies: Sequence[str], answered: Sequence[float], num_truncated: int = 0
) -> float | None:
    """The share of all replies that give the commonest answer, normalised as VQA does; refusals count against it, and so
    do those that were cut off, of which there are `cut` more.

    >>> agreement(["Red.", "red", "blue", "unanswerable"], [1.0, 1.0, 1.0, 0.0])
    0.5
    """
    place = find_most_common(replies, answered)
    if not replies:
        return None
    said = [normalize_answer(reply) for reply in replies]
    same = [answer for one, answer in zip(said, answered, strict=True) if one == said[place]]
    return sum(answer != ABSTAINED for answer in same) / (len(replies) + num_truncated)


def find_most_common(replies: Sequence[str], answered: Sequence[float]) -> int:
    """The place of the first reply that gives the commonest answer; 0 where all refuse.

    >>> commonest(["blue", "red", "Red.", "unanswerable", "unanswerable"], [1.0, 1.0, 1.0, 0.0, 0.0])
    1
    """
    pairs = zip(replies, answered, strict=True)
    said = [None if answer == ABSTAINED else normalize_answer(reply) for reply, answer in pairs]
    counts = Counter(text for text in said if text is not None)
    return said.index(counts.most_common(1)[0][0]) if counts else 0


def abstention_confidence(answered: float) -> float:
    """1 for a reply that answers, 0 for one that refuses, 0.5 where the reader is not sure.

    >>> refusal(1.0)
    1.0
    """
    return float(answered)


def read_yes_no(reply: str) -> float:
    """Does a reply to a question of yes or no say yes? 1, or 0 for no, or 0.5.

    >>> says_yes("Yes."), says_yes("**No**, it cannot."), says_yes("Perhaps")
    (1.0, 0.0, 0.5)
    """
    found = re.search(r"(?i)\b(yes|no)\b", extract_final_answer(reply).text)
    return UNCLEAR if not found else ANSWERED if found[1].lower() == "yes" else ABSTAINED


def _final_answer_tokens(tokens: TokenLogprobs) -> TokenLogprobs:
    """The tokens of the final answer: without the reasoning before it and without marks like "<s>"."""
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
