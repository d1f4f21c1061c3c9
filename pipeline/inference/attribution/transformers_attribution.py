"""What a model of transformers looked at: ViLT by attention rollout, BLIP and LXMERT by cross-attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from pipeline.core.errors import UserError
from pipeline.inference.attribution.attention_rollout import on_patches, rollout
from pipeline.inference.attribution.attribution_maps import grid_of, spread
from pipeline.inference.attribution.cross_attention import of_words, words_on_regions
from pipeline.inference.attribution.panels import METHODS, Marked, Panel, Sighting
from pipeline.inference.hf_vqa_base import AnswerNet, ShownQuestion

PREFIX = "hf-vqa/"
STRONGEST = 8  # regions that are marked


class TransformersSight:
    """ViLT, BLIP or LXMERT, from the hub or a folder.

    Args:
        model: hf-vqa/NAME_OR_FOLDER. settings: as `rgqa run --model-arg` takes them.

    Raises:
        UserError: it cannot be loaded.
    """

    def __init__(self, model: str, settings: dict[str, str]) -> None:
        from pipeline.inference.hf_vqa import load_net

        self.net: AnswerNet = load_net(model.removeprefix(PREFIX), dict(settings))
        self.kind = self.net.config.model_type

    def look(self, picture: Path, texts: Sequence[str], picture_id: str = "") -> list[Sighting]:
        """What it made of questions of one picture.

        Raises:
            UserError: the picture is missing or cannot be read, or has no features (LXMERT).
        """
        panels = {"vilt": _rolled_out, "blip": _on_patches, "lxmert": _on_regions}[self.kind]
        sightings = []
        try:
            for text in texts:
                with watched(self.net.model, self.kind) as calls:
                    (said,) = self.net.say([ShownQuestion(text, picture.read_bytes(), picture_id)])
                sightings.append(Sighting(said.answer, said.probability, panels(calls[0], self.net)))
        except (OSError, ValueError) as error:
            raise UserError(f"{picture}: {error}") from error
        return sightings


class Watched(NamedTuple):
    """A call of the model that answered: what it was given, what it gave, and of ViLT where its patches lie, [P, 2] (row, column)
    in the order that it drew for them, and rows and columns of all."""

    given: dict[str, Any]
    gave: Any
    places: np.ndarray | None = None
    shape: tuple[int, int] = (0, 0)


@contextmanager
def watched(model: Any, kind: str) -> Iterator[list[Watched]]:
    """Note the attention of a model (of BLIP: of what reads the question) while it answers, so that what is shown is the very look
    by which it answered. ViLT takes its patches in a random order, which only a result of `visual_embed` tells."""
    calls: list[Watched] = []
    orders: list[tuple[Any, Any]] = []
    reader = model.text_encoder if kind == "blip" else model
    before = reader.register_forward_pre_hook(
        lambda _, args, named: (args, {**named, "output_attentions": True, "return_dict": True}),
        with_kwargs=True,
    )

    def note(_: Any, args: Any, given: dict[str, Any], gave: Any) -> None:
        places, shape = orders[-1] if orders else (None, (0, 0))
        calls.append(Watched(given, gave, places, shape))

    after = reader.register_forward_hook(note, with_kwargs=True)
    embeddings = model.vilt.embeddings if kind == "vilt" else None
    if embeddings is not None:
        original = embeddings.visual_embed

        def embed(*args: Any, **named: Any) -> Any:
            result = original(*args, **named)
            places, shape = result[2]
            orders.append((places[0].cpu().numpy(), tuple(int(side) for side in shape)))
            return result

        embeddings.visual_embed = embed
    try:
        yield calls
    finally:
        before.remove()
        after.remove()
        if embeddings is not None:
            del embeddings.visual_embed  # the class has the original


def _rolled_out(call: Watched, net: Any) -> tuple[Panel, ...]:
    """ViLT: words first, then a token for the whole picture, then patches; it answers from its first token."""
    assert call.places is not None
    total = rollout([_numpy(layer[0]) for layer in call.gave.attentions])
    patches = total[0, call.given["input_ids"].shape[1] + 1 :]
    return (Panel("rollout", METHODS["rollout"], on_patches(patches, call.places, call.shape)),)


def _on_patches(call: Watched, net: Any) -> tuple[Panel, ...]:
    """BLIP: words on patches; the vision tower's first token is for the whole picture."""
    table = words_on_regions([_numpy(layer[0]) for layer in call.gave.cross_attentions], first=1)
    side = net.config.vision_config.image_size // net.config.vision_config.patch_size
    ids = call.given["input_ids"][0].tolist()
    return tuple(
        Panel(method, title, grid_of(row.reshape(side, side)), folded=method != "cross-attention")
        for method, title, row in _rows(table, net.processor.tokenizer, ids)
    )


def _on_regions(call: Watched, net: Any) -> tuple[Panel, ...]:
    """LXMERT: words on the regions that were brought."""
    table = words_on_regions([_numpy(layer[0]) for layer in call.gave.cross_encoder_attentions])
    boxes, ids = _numpy(call.given["visual_pos"][0]), call.given["input_ids"][0].tolist()
    return tuple(
        Panel(method, title, spread(row, boxes), _strongest(row, boxes), folded=method != "cross-attention")
        for method, title, row in _rows(table, net.tokenizer, ids)
    )


def _rows(table: np.ndarray, tokenizer: Any, ids: Sequence[int]) -> list[tuple[str, str, np.ndarray]]:
    """Method, title and weights [M] of the question as a whole, and of each of its words. Marks such as [CLS] are no words."""
    marks = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    counted = [token not in marks for token in ids]
    tokens = tokenizer.convert_ids_to_tokens(ids)
    whole = ("cross-attention", METHODS["cross-attention"], of_words(table, counted))
    each = [
        (f"word-{place}", f"Its word {token!r}", row)
        for place, (token, row, is_word) in enumerate(zip(tokens, table, counted, strict=True))
        if is_word
    ]
    return [whole, *each]


def _strongest(weights: np.ndarray, boxes: np.ndarray) -> tuple[Marked, ...]:
    order = np.argsort(-weights, kind="stable")[:STRONGEST].tolist()
    return tuple(
        Marked(f"region {place + 1}", tuple(boxes[place].tolist()), float(weights[place])) for place in order
    )


def _numpy(values: torch.Tensor) -> np.ndarray:
    return values.detach().float().cpu().numpy()
