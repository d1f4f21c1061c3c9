"""Train a small transformer that predicts from the text alone whether a question is edited.

With a few thousand short texts, a transformer alone learns less than a linear model of word n-grams: AUROC
0.62 against 0.66 on 413 pairs made by the paper's rules, whatever its depth and width. Pretraining it to find
replaced words in the source's questions does not help. Its logit is therefore added to that of an n-gram
model, and both are trained together ("wide and deep", Cheng et al. 2016). The n-grams represent single words,
the transformer their combinations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.benchmark.auditing.attack_evaluation import Folds, compute_word_tfidf
from pipeline.benchmark.auditing.ngram_model import tokenize
from pipeline.core.errors import UserError

# Number of words of a text that are used.
MAX_TOKENS = 48


class TransformerConfig(NamedTuple):
    """Size and training of the transformer.

    Attributes:
        width: Dimension of its vectors.
        layers, heads: Numbers of layers and of attention heads.
        epochs: Passes over the training texts.
        batch_size: Texts of a step.
        learning_rate: Maximum learning rate.
        n_gram_learning_rate: Maximum learning rate of the n-grams' weights.
        dropout: Proportion of values that are dropped.
        mask_rate: Proportion of words that are masked in each pass, so that the model does not memorise
            texts.
    """

    width: int = 64
    layers: int = 2
    heads: int = 4
    epochs: int = 14
    batch_size: int = 64
    learning_rate: float = 1e-3
    n_gram_learning_rate: float = 0.1
    dropout: float = 0.2
    mask_rate: float = 0.15


class WordEncoder(nn.Module):
    """Embed words and their positions: int64 [b, l] (0 is padding, 1 is masked) -> float32 [b, l, width]."""

    def __init__(self, words: int, plan: TransformerConfig) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, plan.width), nn.Embedding(MAX_TOKENS, plan.width)
        for table in (self.words, self.places):
            nn.init.normal_(table.weight, std=0.02)
        layer = nn.TransformerEncoderLayer(
            plan.width,
            plan.heads,
            4 * plan.width,
            plan.dropout,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.before = nn.Sequential(nn.LayerNorm(plan.width), nn.Dropout(plan.dropout))
        self.layers = nn.TransformerEncoder(layer, plan.layers, enable_nested_tensor=False)
        self.after = nn.LayerNorm(plan.width)

    def forward(self, words: Tensor) -> Tensor:
        seen = self.before(self.words(words) + self.places(torch.arange(words.shape[1])))
        return self.after(self.layers(seen, src_key_padding_mask=words == 0))


class PretrainedEncoder(nn.Module):
    """Embed words with a model of the library `transformers`, with the interface of `WordEncoder`."""

    def __init__(self, model: Any, hidden: int, nothing: int) -> None:
        super().__init__()
        self.model, self.hidden, self.nothing = model, hidden, nothing

    def forward(self, words: Tensor) -> Tensor:
        shown = torch.where(words == 1, self.hidden, torch.where(words == 0, self.nothing, words - 2))
        return self.model(input_ids=shown, attention_mask=(words != 0).long()).last_hidden_state


class EditClassifier(nn.Module):
    """Return logits [b] that texts are edited, from the encoder's mean and maximum vectors and from word
    n-grams.
    """

    def __init__(self, encoder: nn.Module, width: int, n_grams: int, dropped: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(nn.Dropout(dropped), nn.Linear(2 * width, 1))
        self.n_grams = nn.EmbeddingBag(n_grams, 1, mode="sum")
        nn.init.zeros_(self.n_grams.weight)

    def forward(self, words: Tensor, n_grams: Any) -> Tensor:
        """Return logits [b] from words, int64 [b, l], and TF-IDF of n-grams, sparse [b, n_grams]."""
        seen, there = self.encoder(words), (words != 0)[..., None]
        mean = (seen * there).sum(1) / there.sum(1)
        highest = seen.masked_fill(~there, -1e4).amax(1)
        columns, starts = (
            torch.from_numpy(part.astype(np.int64)) for part in (n_grams.indices, n_grams.indptr)
        )
        values = torch.from_numpy(n_grams.data.astype(np.float32))
        said = self.n_grams(columns, starts[:-1], per_sample_weights=values)
        return (self.head(torch.cat([mean, highest], -1)) + said)[:, 0]


def score_with_transformer(
    texts: Sequence[str],
    folds: Folds,
    config: TransformerConfig | None = None,
    init_checkpoint: Path | None = None,
) -> np.ndarray:
    """Return out-of-fold scores [n], as `TEXT_ATTACKERS` do. NaN if there are fewer groups than folds.

    Args:
        texts: The texts.
        folds: Labels and folds.
        config: Size and training; None is the default.
        init_checkpoint: A folder with a checkpoint of `transformers` from which each fold starts. None trains
            from scratch.

    Raises:
        UserError: `transformers` is not installed, or the folder has no checkpoint.
    """
    config = config or TransformerConfig()
    result = np.full(len(texts), np.nan)
    n_grams = compute_word_tfidf(texts).tocsr()
    words, encoder = (
        _make_new_encoder(texts, config)
        if init_checkpoint is None
        else _load_pretrained_encoder(texts, init_checkpoint)
    )
    labels = torch.tensor(folds.labels, dtype=torch.float32)
    for train, test in folds.split_rows():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(folds.seed)
            made, width = encoder()
            net = EditClassifier(made, width, n_grams.shape[1], config.dropout)
            _train_classifier(net, words, n_grams, labels, torch.from_numpy(train), config)
        net.eval()
        with torch.no_grad():
            for rows in torch.from_numpy(test).split(512):
                result[rows.numpy()] = net(_trim_padding(words[rows]), n_grams[rows.numpy()]).double().numpy()
    return np.round(result, 6)


def _train_classifier(
    net: EditClassifier, words: Tensor, n_grams: Any, labels: Tensor, train: Tensor, plan: TransformerConfig
) -> None:
    """Train on the rows `train` with a one-cycle learning rate."""
    deep = [*net.encoder.parameters(), *net.head.parameters()]
    rates = [plan.learning_rate, plan.n_gram_learning_rate]
    optimiser = torch.optim.AdamW(
        [
            {"params": part, "lr": rate}
            for part, rate in zip((deep, net.n_grams.parameters()), rates, strict=True)
        ]
    )
    steps = plan.epochs * math.ceil(len(train) / plan.batch_size)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rates, total_steps=steps + 1, pct_start=0.2)
    net.train()
    for _ in range(plan.epochs):
        for rows in train[torch.randperm(len(train))].split(plan.batch_size):
            read = _trim_padding(words[rows])
            read = torch.where((torch.rand(read.shape) < plan.mask_rate) & (read != 0), 1, read)
            logits = net(read, n_grams[rows.numpy()])
            loss = nn.functional.binary_cross_entropy_with_logits(logits, labels[rows])
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimiser.step()
            schedule.step()


def _trim_padding(words: Tensor) -> Tensor:
    """Remove the columns that are padding in all rows."""
    return words[:, : int((words != 0).sum(1).max())]


def _pad(numbers: Sequence[Sequence[int]]) -> Tensor:
    """Return int64 [n, l], padded with 0."""
    longest = min(max(map(len, numbers)), MAX_TOKENS)
    return torch.tensor([[*row[:longest], *[0] * (longest - len(row))] for row in numbers])


def _make_new_encoder(texts: Sequence[str], plan: TransformerConfig) -> tuple[Tensor, Any]:
    """Return the texts as token ids, and a function that makes an encoder for them."""
    # "" stands for the whole text, so that no row is empty.
    read = [["", *tokenize(text)] for text in texts]
    numbers = {word: number for number, word in enumerate(sorted({word for row in read for word in row}), 2)}
    rows = _pad([[numbers[word] for word in row] for row in read])
    return rows, lambda: (WordEncoder(len(numbers) + 2, plan), plan.width)


def _load_pretrained_encoder(texts: Sequence[str], init: Path) -> tuple[Tensor, Any]:
    """Return the texts as token numbers (plus 2), and a function that loads the checkpoint.

    Raises:
        UserError: `transformers` is not installed, or the folder has no checkpoint of it.
    """
    try:
        from transformers import AutoModel, AutoTokenizer  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UserError(
            "--init-checkpoint needs the library transformers. Run pip install transformers."
        ) from error
    try:
        tokens = AutoTokenizer.from_pretrained(init, local_files_only=True)
        model: Any = AutoModel.from_pretrained(init, local_files_only=True)
    except (OSError, ValueError) as error:
        raise UserError(f"{init}: cannot be read as a checkpoint of transformers: {error}") from error
    hidden, nothing = (number or 0 for number in (tokens.mask_token_id, tokens.pad_token_id))
    rows = _pad([[number + 2 for number in row] for row in tokens(list(texts))["input_ids"]])
    return rows, lambda: (PretrainedEncoder(deepcopy(model), hidden, nothing), model.config.hidden_size)
