"""Classify whether a reply answers its question or abstains, with a small recurrent network.

A bidirectional gated recurrent unit (GRU) encodes the question and, separately, the reply. Every word of the
reply attends to the words of the question (dot-product attention). A second GRU encodes the reply together
with the attended words, as in ESIM (Chen et al., ACL 2017). The classifier is an ensemble: the log-odds of
several networks of the same architecture are averaged. `research/studies/abstention_training.py` trains the
networks, and `rgqa study abstention-classifier` measures the error of the ensemble on held-out replies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .abstention_features import NUM_WORD_FEATURES, compute_word_features, tokenize_pair

WEIGHTS_FILE = Path(__file__).with_name("abstention_classifier.npz")
# The first two words of the vocabulary.
PADDING_TOKEN, UNKNOWN_TOKEN = "<padding>", "<unknown>"
# Maximum number of words of the replies in a batch, including padding.
MAX_TOKENS_PER_BATCH = 4096
Weights = Mapping[str, np.ndarray]


class AbstentionClassifier(NamedTuple):
    """An ensemble of networks and their vocabulary.

    Attributes:
        vocabulary: Word -> its row in `embeddings`.
        embeddings: [words, size], the vector of each word.
        ensemble: For each network, its weight arrays by name.
    """

    vocabulary: Mapping[str, int]
    embeddings: np.ndarray
    ensemble: Sequence[Weights]

    def predict_abstention(self, questions: Sequence[str], replies: Sequence[str]) -> np.ndarray:
        """Return for each reply the probability that it abstains from answering its question, [n]."""
        pairs = list(dict.fromkeys(zip(questions, replies, strict=True)))
        found = dict(
            zip(pairs, self._predict_pairs([tokenize_pair(*pair) for pair in pairs]).tolist(), strict=True)
        )
        return np.array([found[pair] for pair in zip(questions, replies, strict=True)], float)

    def _predict_pairs(self, pairs: Sequence[tuple[list[str], list[str]]]) -> np.ndarray:
        log_odds = np.zeros(len(pairs))
        for rows in _batches_by_length([len(said) for _, said in pairs]):
            read = self.encode_batch([pairs[row] for row in rows])
            log_odds[rows] = np.mean([_compute_log_odds(weights, *read) for weights in self.ensemble], axis=0)
        return 1 / (1 + np.exp(-log_odds))

    def encode_batch(self, pairs: Sequence[tuple[list[str], list[str]]]) -> tuple[np.ndarray, ...]:
        """Encode questions and replies.

        Returns:
            For the questions and then for the replies: word embeddings [pairs, longest, size], word features
            [pairs, longest, NUM_WORD_FEATURES], and the padding mask [pairs, longest, 1].
        """
        columns = [list(side) for side in zip(*pairs, strict=True)]
        flags = [list(side) for side in zip(*(compute_word_features(*pair) for pair in pairs), strict=True)]
        read: list[np.ndarray] = []
        for texts, marks in zip(columns, flags, strict=True):
            longest = max(map(len, texts))
            places = np.zeros((len(texts), longest), int)
            marked = np.zeros((len(texts), longest, NUM_WORD_FEATURES), np.float32)
            for row, (words, mark) in enumerate(zip(texts, marks, strict=True)):
                places[row, : len(words)] = [self.vocabulary.get(word, 1) for word in words]
                marked[row, : len(words)] = mark
            read += [self.embeddings[places], marked, marked[..., -1:]]
        return tuple(read)


@lru_cache(maxsize=1)
def load_abstention_classifier() -> AbstentionClassifier:
    """Load the classifier that is shipped with the scorers."""
    with np.load(WEIGHTS_FILE, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    words = bytes(arrays.pop("words")).decode().split("\n")
    vectors = arrays.pop("vectors") * arrays.pop("scales")[:, None].astype(np.float32)
    count = len({name.split("/")[0] for name in arrays})
    networks = [
        {
            name.partition("/")[2]: values.astype(np.float32)
            for name, values in arrays.items()
            if name.startswith(f"{number}/")
        }
        for number in range(count)
    ]
    return AbstentionClassifier({word: place for place, word in enumerate(words)}, vectors, networks)


def _batches_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield batches of indices of pairs whose replies have similar lengths."""
    rows = sorted(range(len(lengths)), key=lengths.__getitem__)
    while rows:
        count = max(1, MAX_TOKENS_PER_BATCH // lengths[rows[0]])
        while count > 1 and count * lengths[rows[:count][-1]] > MAX_TOKENS_PER_BATCH:
            count //= 2
        yield rows[:count]
        rows = rows[count:]


def _compute_log_odds(
    weights: Weights,
    question: np.ndarray,
    question_flags: np.ndarray,
    in_question: np.ndarray,
    reply: np.ndarray,
    reply_flags: np.ndarray,
    in_reply: np.ndarray,
) -> np.ndarray:
    """Return the log-odds of abstaining, [pairs].

    The arguments after `weights` are the results of `encode_batch`.
    """
    asked = _bidirectional_gru(
        weights, "question", _project_words(weights, question, question_flags), in_question
    )
    said = _bidirectional_gru(weights, "reply", _project_words(weights, reply, reply_flags), in_reply)
    likeness = said @ asked.transpose(0, 2, 1) * (2 / np.sqrt(said.shape[-1]))
    attention = np.exp(likeness - likeness.max(axis=-1, keepdims=True)) * in_question.transpose(0, 2, 1)
    found = (attention / attention.sum(axis=-1, keepdims=True)) @ asked
    compared = np.concatenate([said, found, said * found, np.abs(said - found)], axis=-1)
    beside = np.maximum(_linear(weights, "compare", compared), 0)
    read = _bidirectional_gru(weights, "verdict", np.concatenate([beside, reply_flags], axis=-1), in_reply)
    size, last = read.shape[-1] // 2, in_reply.sum(axis=1).astype(int)[:, 0] - 1
    pooled = [
        np.where(in_reply > 0, read, -np.inf).max(axis=1),
        (read * in_reply).sum(axis=1) / in_reply.sum(axis=1),
        read[np.arange(len(read)), last, :size],
        read[:, 0, size:],
    ]
    hidden = np.maximum(_linear(weights, "hidden", np.concatenate(pooled, axis=-1)), 0)
    return _linear(weights, "out", hidden)[:, 0]


def _project_words(weights: Weights, vectors: np.ndarray, flags: np.ndarray) -> np.ndarray:
    return np.concatenate([np.maximum(_linear(weights, "words", vectors), 0), flags], axis=-1)


def _linear(weights: Weights, name: str, values: np.ndarray) -> np.ndarray:
    return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _bidirectional_gru(weights: Weights, name: str, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Apply a gated recurrent unit (Cho et al., EMNLP 2014) to [pairs, words, size] in both directions.

    The states of both directions are concatenated. Padding leaves the state unchanged.
    """
    ways = []
    for way in ("", "_reverse"):
        of_input, of_state = weights[f"{name}.weight_ih_l0{way}"].T, weights[f"{name}.weight_hh_l0{way}"].T
        driven = values @ of_input + weights[f"{name}.bias_ih_l0{way}"]
        bias, size = weights[f"{name}.bias_hh_l0{way}"], len(of_state)
        state = np.zeros((len(values), size), np.float32)
        states = np.zeros((*values.shape[:2], size), np.float32)
        steps = range(values.shape[1])
        for step in steps if not way else reversed(steps):
            drive, recurrent = driven[:, step], state @ of_state + bias
            reset, update = np.split(_sigmoid(drive[:, : 2 * size] + recurrent[:, : 2 * size]), 2, axis=1)
            candidate = np.tanh(drive[:, 2 * size :] + reset * recurrent[:, 2 * size :])
            state = state + mask[:, step] * (1 - update) * (candidate - state)
            states[:, step] = state * mask[:, step]
        ways.append(states)
    return np.concatenate(ways, axis=-1)


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return 0.5 * (np.tanh(0.5 * values) + 1)
