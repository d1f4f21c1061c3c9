"""The answer net: words are matched with regions, three glances one after the other, and each answer gets a logit of its own.

Regions come as features that hold log-probabilities of names and looks (or any features); a glance is a bilinear match
of what the words mean with every region, so "red cup" adds up the two log-probabilities, and its best match tells
whether there is one. A glance also checks what is asserted of the thing it rests on, and sees where the other regions lie
from where the earlier glances rested. Blind nets see no regions; `match=False` leaves out checks and best matches (a BUTD).

Padding changes nothing: a question gives the same logits alone as beside longer ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

NUM_CHECKS = 4  # word attentions of a glance beside the one that says where to look
KEY_SIZE = 48
RELATIVE_BOX_SIZE = 14  # numbers that say how a box lies to another
EXTRA_HEADS = ("branch", "multi_branch", "k_plus_1")


@dataclass(frozen=True)
class NetShape:
    """What a net is built for. `region`: numbers of each region d. `head`: "", or one of HEADS beside the answers.
    `answers` is 1 for a net that only tells whether there is an answer."""

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
    """Logits [b, K]; features [b, joint], what the classifier reads; extra: logits [b] by head; attention [b, glances, M]
    over regions (none in a blind net)."""

    logits: Tensor
    features: Tensor
    head_logits: Mapping[str, Tensor]
    attention: Tensor | None


class MatchNet(nn.Module):
    """`net(tokens [b, L], features [b, M, d], boxes [b, M, 4]) -> Output`. `mean` and `spread` [d] are of the regions that it is
    trained on (`region_store.moments`)."""

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
            self.meaning = nn.Linear(sentence, shape.region + 8)  # 8: where a box lies in the image
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
        """Where its weights lie; all that it is given has to lie there, too."""
        return self.embed.weight.device

    def forward(
        self,
        tokens: Tensor,
        features: Tensor | None = None,
        boxes: Tensor | None = None,
        image_of: Tensor | None = None,
    ) -> Output:
        """With `image_of` [b] features and boxes are of distinct images, and row i asks about the one at image_of[i]."""
        words, there, sentence = self._encode_question(tokens)
        parts, fused, attention = [sentence], [], None
        if not self.shape.blind:
            assert features is not None and boxes is not None
            regions = torch.cat([(features - self.mean) / self.spread, encode_boxes(boxes)], -1)
            if image_of is not None:
                regions, boxes = regions[image_of], boxes[image_of]
            seen, fused, scalars, attention = self._run_glances(words, there, sentence, regions, boxes)
            parts += [*fused, self.ask_of_two(sentence) * seen[0] * seen[1] / 4]
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
        """Words in their context [b, L, s], where there are words [b, L], the whole question [b, s]."""
        there = tokens != 0
        lengths = there.sum(1).clamp(min=1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(tokens), lengths, batch_first=True, enforce_sorted=False
        )
        read, last = self.reader(packed)
        words, _ = nn.utils.rnn.pad_packed_sequence(read, batch_first=True, total_length=tokens.shape[1])
        return words, there, torch.cat([last[0], last[1]], -1)

    def _run_glances(
        self, words: Tensor, there: Tensor, sentence: Tensor, regions: Tensor, boxes: Tensor
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor], Tensor]:
        """For each glance: what it rests on, that fused with what is asked, and its scalars; and all attention."""
        keys, state = self.word_keys(words), sentence
        seen, fused, scalars, attention, seats = [], [], [], [], []
        for glance in self.glances:
            # What the words say of where to look and of what to check, [b, 1 + CHECKS, s].
            asks = self.attend(state).view(len(words), 1 + NUM_CHECKS, KEY_SIZE) + glance.asks
            scores = torch.bmm(asks, keys.transpose(1, 2)).masked_fill(~there[:, None], -1e4)
            heard = torch.bmm(torch.softmax(scores, -1), words)
            meant = self.meaning(heard[:, 0])
            match = torch.bmm(regions, meant[..., None])[..., 0] / 4 + glance(heard[:, 0], boxes, seats)
            weights = torch.softmax(match, -1)
            rest = torch.bmm(weights[:, None], regions)[:, 0]  # [b, r]
            # meaning(what else is heard) @ rest, in the order that takes a fifth of the work
            turned = functional.linear(rest, self.meaning.weight.T)
            checks = torch.bmm(heard[:, 1:], turned[..., None])[..., 0] + (rest @ self.meaning.bias)[:, None]
            scalars += [match.amax(-1, keepdim=True), torch.logsumexp(match, -1, keepdim=True), checks / 4]
            seats.append(torch.bmm(weights[:, None], boxes)[:, 0])
            seen.append(self.see(rest))
            fused.append(seen[-1] * self.ask(heard[:, 0]))
            attention.append(weights)
            state = self.norm(state + self.carry(fused[-1]))
        return seen, fused, scalars, torch.stack(attention, 1)

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
    """What the glances do not share: where each listens, and what it makes of where the earlier ones rested."""

    def __init__(self, sentence: int, earlier: int) -> None:
        super().__init__()
        self.asks = nn.Parameter(torch.randn(1 + NUM_CHECKS, KEY_SIZE) / KEY_SIZE**0.5)
        self.direction = nn.Linear(sentence, earlier * RELATIVE_BOX_SIZE) if earlier else None

    def forward(self, heard: Tensor, boxes: Tensor, seats: list[Tensor]) -> Tensor | float:
        """What it counts for each region [b, M] that it lies as it does to where earlier glances rested."""
        if self.direction is None:
            return 0.0
        spots = torch.cat([encode_relative_boxes(boxes, seat) for seat in seats], -1)
        return torch.bmm(spots, self.direction(heard)[..., None])[..., 0]


def encode_boxes(boxes: Tensor) -> Tensor:
    """Where boxes [..., 4] lie: middle, size and edges, in -1 to 1, [..., 8]."""
    middle, size = (boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]
    return torch.cat([middle, size, boxes], -1) * 2 - 1


def encode_relative_boxes(boxes: Tensor, reference_box: Tensor) -> Tensor:
    """How boxes [b, M, 4] lie to one box [b, 4] each: [b, M, SPOT]."""
    other = reference_box[:, None]
    apart = (boxes[..., :2] + boxes[..., 2:] - other[..., :2] - other[..., 2:]) / 2  # middles
    after, before = boxes[..., :2] - other[..., 2:], other[..., :2] - boxes[..., 2:]  # gaps to either side
    gaps = torch.maximum(after, before)
    low = boxes[..., 3:] - other[..., 3:]  # lower edges
    close = (boxes - other).abs().sum(-1, keepdim=True)
    parts = [apart, torch.tanh(8 * apart), torch.tanh(8 * after), torch.tanh(8 * before), gaps, low]
    return torch.cat([*parts, torch.tanh(8 * low), torch.exp(-8 * close), torch.ones_like(low)], -1)
