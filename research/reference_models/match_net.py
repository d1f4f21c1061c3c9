"""The VQA model: match words with regions in three glances, and compute a logit for each answer.

The features of a region are log-probabilities of names and attributes, or any other features. A glance is an
attention step: a bilinear match of the meaning of some words with every region. For example, the match of
"red cup" is the sum of two log-probabilities, and the best match shows whether there is a red cup. A glance
also checks whether the region that it attends to has the properties that the question asks about, and uses
the positions of regions relative to the regions of earlier glances. Text-only nets have no regions. With
`match=False`, the net has no checks and no best matches, which makes it a BUTD (bottom-up top-down attention,
Anderson et al. 2018).

Padding has no effect: the logits of a question do not depend on the other questions of a batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

# Number of word attentions of a glance for checks, in addition to the word attention that selects the region.
NUM_CHECKS = 4
KEY_SIZE = 48
# Number of features that describe the position of one box relative to another.
RELATIVE_BOX_SIZE = 14
EXTRA_HEADS = ("branch", "multi_branch", "k_plus_1")


@dataclass(frozen=True)
class NetShape:
    """The sizes of a net. The names of the fields are stored in the files of nets.

    Attributes:
        words: Size of the vocabulary.
        answers: Number of answers K; 1 for a net whose only output is whether the question is answerable.
        region: Number d of features of a region.
        head: Name of an extra head in `EXTRA_HEADS`; "" for none.
        blind: Whether the net is text-only, without regions.
        match: Whether the net uses checks and best matches.
        glances: Number of glances.
        word_width: Size of word embeddings.
        width: Size of the fused vector of a glance.
        joint: Size of the input of the classifier.
    """

    words: int
    answers: int
    region: int
    head: str = ""
    blind: bool = False
    match: bool = True
    glances: int = 3
    word_width: int = 80
    width: int = 96
    joint: int = 160


class Output(NamedTuple):
    """The output of a net for b questions.

    Attributes:
        logits: Logits [b, K] of the answers.
        features: Input of the classifier [b, joint].
        head_logits: Name of an extra head -> its logits [b].
        attention: Attention [b, glances, M] over regions; None for a text-only net.
    """

    logits: Tensor
    features: Tensor
    head_logits: Mapping[str, Tensor]
    attention: Tensor | None


class MatchNet(nn.Module):
    """The VQA model.

    Args:
        shape: Sizes of the net.
        mean: Mean [d] of the features of the training regions (`compute_feature_moments`); None for 0.
        spread: Standard deviation [d] of the features of the training regions; None for 1.
    """

    mean: Tensor
    spread: Tensor

    def __init__(
        self, shape: NetShape, mean: np.ndarray | None = None, spread: np.ndarray | None = None
    ) -> None:
        super().__init__()
        self.shape = shape
        sentence, width = 2 * shape.word_width, shape.width
        self.embed = nn.Embedding(shape.words, shape.word_width, padding_idx=0)
        self.reader = nn.GRU(shape.word_width, shape.word_width, batch_first=True, bidirectional=True)
        joined = sentence
        if not shape.blind:
            self.register_buffer(
                "mean", torch.zeros(shape.region) if mean is None else torch.from_numpy(mean)
            )
            self.register_buffer(
                "spread", torch.ones(shape.region) if spread is None else torch.from_numpy(spread)
            )
            # 8 additional features describe the position of the box in the image.
            self.meaning = nn.Linear(sentence, shape.region + 8)
            self.word_keys, self.attend = (
                nn.Linear(sentence, KEY_SIZE),
                nn.Linear(sentence, (1 + NUM_CHECKS) * KEY_SIZE),
            )
            self.see, self.ask = nn.Linear(shape.region + 8, width), nn.Linear(sentence, width)
            self.ask_of_two = nn.Linear(sentence, width)
            self.carry, self.norm = nn.Linear(width, sentence), nn.LayerNorm(sentence)
            self.glances = nn.ModuleList(_Glance(sentence, earlier) for earlier in range(shape.glances))
            joined += (shape.glances + 1) * width
            if shape.match:
                self.scalars = nn.Linear(shape.glances * (2 + NUM_CHECKS), 64)
                joined += 64
        self.join = nn.Linear(joined, shape.joint)
        self.answer = nn.Linear(shape.joint, shape.answers + (shape.head == "k_plus_1"))
        nn.init.constant_(self.answer.bias, -4.0 if shape.answers > 1 else 0.0)
        if shape.head == "branch":
            self.branch = nn.Sequential(nn.Linear(shape.joint, 128), nn.ReLU(), nn.Linear(128, 1))
        if shape.head == "multi_branch":
            self.taps = nn.ModuleList(nn.Linear(width, 64) for _ in range(shape.glances))
            self.branch = nn.Sequential(
                nn.Linear(64 * shape.glances + shape.joint, 128), nn.ReLU(), nn.Linear(128, 1)
            )

    @property
    def device(self) -> torch.device:
        """Return the device of the weights. All inputs must be on this device."""
        return self.embed.weight.device

    def forward(
        self,
        tokens: Tensor,
        features: Tensor | None = None,
        boxes: Tensor | None = None,
        image_of: Tensor | None = None,
    ) -> Output:
        """Return the output for b questions.

        Args:
            tokens: Token ids [b, L].
            features: Features of regions [b, M, d]; None for a text-only net.
            boxes: Boxes of regions [b, M, 4]; None for a text-only net.
            image_of: If `features` and `boxes` are given for p distinct images instead of b questions: index
                [b] of the image of each question. Otherwise None.
        """
        words, is_word, sentence = self._encode_question(tokens)
        parts, fused, attention = [sentence], [], None
        if not self.shape.blind:
            assert features is not None and boxes is not None
            regions = torch.cat([(features - self.mean) / self.spread, encode_boxes(boxes)], -1)
            if image_of is not None:
                regions, boxes = regions[image_of], boxes[image_of]
            attended, fused, scalars, attention = self._run_glances(words, is_word, sentence, regions, boxes)
            parts += [*fused, self.ask_of_two(sentence) * attended[0] * attended[1] / 4]
            if self.shape.match:
                parts.append(functional.relu(self.scalars(torch.cat(scalars, -1))))
        hidden = functional.relu(self.join(torch.cat(parts, -1)))
        logits = self.answer(hidden)
        return Output(
            logits[:, : self.shape.answers],
            hidden,
            self._compute_head_logits(logits, hidden, fused),
            attention,
        )

    def _encode_question(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return contextual word vectors [b, L, s], a mask of the words that are not padding [b, L], and
        sentence vectors [b, s].
        """
        is_word = tokens != 0
        lengths = is_word.sum(1).clamp(min=1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(tokens), lengths, batch_first=True, enforce_sorted=False
        )
        states, last = self.reader(packed)
        words, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=tokens.shape[1])
        return words, is_word, torch.cat([last[0], last[1]], -1)

    def _run_glances(
        self, words: Tensor, is_word: Tensor, sentence: Tensor, regions: Tensor, boxes: Tensor
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor], Tensor]:
        """Return for each glance the attended region, the region fused with the words, and the scalars; and
        all attention.
        """
        keys, state = self.word_keys(words), sentence
        attended, fused, scalars, attention, attended_boxes = [], [], [], [], []
        for glance in self.glances:
            # Word attention for selecting the region and for the checks, [b, 1 + NUM_CHECKS, s].
            query = self.attend(state).view(len(words), 1 + NUM_CHECKS, KEY_SIZE) + glance.asks
            scores = torch.bmm(query, keys.transpose(1, 2)).masked_fill(~is_word[:, None], -1e4)
            phrases = torch.bmm(torch.softmax(scores, -1), words)
            meaning = self.meaning(phrases[:, 0])
            match = torch.bmm(regions, meaning[..., None])[..., 0] / 4
            match = match + glance(phrases[:, 0], boxes, attended_boxes)
            weights = torch.softmax(match, -1)
            region = torch.bmm(weights[:, None], regions)[:, 0]  # [b, d + 8]
            # The result is meaning(phrases[:, 1:]) @ region, computed in an order that needs a fifth of the
            # operations.
            projected = functional.linear(region, self.meaning.weight.T)
            checks = torch.bmm(phrases[:, 1:], projected[..., None])[..., 0]
            checks = checks + (region @ self.meaning.bias)[:, None]
            scalars += [match.amax(-1, keepdim=True), torch.logsumexp(match, -1, keepdim=True), checks / 4]
            attended_boxes.append(torch.bmm(weights[:, None], boxes)[:, 0])
            attended.append(self.see(region))
            fused.append(attended[-1] * self.ask(phrases[:, 0]))
            attention.append(weights)
            state = self.norm(state + self.carry(fused[-1]))
        return attended, fused, scalars, torch.stack(attention, 1)

    def _compute_head_logits(self, logits: Tensor, hidden: Tensor, fused: list[Tensor]) -> dict[str, Tensor]:
        if self.shape.head == "k_plus_1":
            return {"k_plus_1": logits[:, -1]}
        if self.shape.head == "branch":
            return {"branch": self.branch(hidden)[:, 0]}
        if self.shape.head == "multi_branch":
            taps = [torch.tanh(tap(part)) for tap, part in zip(self.taps, fused, strict=True)]
            return {"multi_branch": self.branch(torch.cat([*taps, hidden], -1))[:, 0]}
        return {}


class _Glance(nn.Module):
    """The parameters of one glance: word attention, and weights of the positions relative to earlier glances."""

    def __init__(self, sentence: int, earlier: int) -> None:
        super().__init__()
        self.asks = nn.Parameter(torch.randn(1 + NUM_CHECKS, KEY_SIZE) / KEY_SIZE**0.5)
        self.direction = nn.Linear(sentence, earlier * RELATIVE_BOX_SIZE) if earlier else None

    def forward(self, phrase: Tensor, boxes: Tensor, attended_boxes: list[Tensor]) -> Tensor | float:
        """Return the score [b, M] of the position of each region relative to the boxes of earlier glances."""
        if self.direction is None:
            return 0.0
        positions = torch.cat([encode_relative_boxes(boxes, box) for box in attended_boxes], -1)
        return torch.bmm(positions, self.direction(phrase)[..., None])[..., 0]


def encode_boxes(boxes: Tensor) -> Tensor:
    """Encode boxes [..., 4] as center, size and edges, each from -1 to 1, [..., 8]."""
    center, size = (boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]
    return torch.cat([center, size, boxes], -1) * 2 - 1


def encode_relative_boxes(boxes: Tensor, reference_box: Tensor) -> Tensor:
    """Encode the positions of boxes [b, M, 4] relative to one box [b, 4], as [b, M, RELATIVE_BOX_SIZE]."""
    other = reference_box[:, None]
    offset = (boxes[..., :2] + boxes[..., 2:] - other[..., :2] - other[..., 2:]) / 2
    after, before = boxes[..., :2] - other[..., 2:], other[..., :2] - boxes[..., 2:]
    gaps = torch.maximum(after, before)
    lower_edge = boxes[..., 3:] - other[..., 3:]
    distance = (boxes - other).abs().sum(-1, keepdim=True)
    parts = [offset, torch.tanh(8 * offset), torch.tanh(8 * after), torch.tanh(8 * before), gaps, lower_edge]
    near = torch.exp(-8 * distance)
    return torch.cat([*parts, torch.tanh(8 * lower_edge), near, torch.ones_like(lower_edge)], -1)
