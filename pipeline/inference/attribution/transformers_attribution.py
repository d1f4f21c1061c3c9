"""What a model of transformers looked at: ViLT by attention rollout, BLIP and LXMERT by cross-attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from pipeline.core.errors import UserError
from pipeline.inference.attribution.attention_rollout import compute_rollout, place_on_patches
from pipeline.inference.attribution.attribution_maps import normalize_map, rasterize_boxes
from pipeline.inference.attribution.cross_attention import average_cross_attention, average_over_words
from pipeline.inference.attribution.panels import METHOD_TITLES, Attribution, BoxMark, Panel
from pipeline.inference.hf_vqa_base import ImageQuestion, VqaModel

HF_MODEL_PREFIX = "hf-vqa/"
MAX_MARKED_REGIONS = 8  # regions that are marked


class TransformersAttributor:
    """ViLT, BLIP or LXMERT, from the hub or a folder.

    Args:
        model: hf-vqa/NAME_OR_FOLDER. settings: as `rgqa run --model-arg` takes them.

    Raises:
        UserError: it cannot be loaded.
    """

    def __init__(self, model: str, settings: dict[str, str]) -> None:
        from pipeline.inference.hf_vqa import load_vqa_model

        self.net: VqaModel = load_vqa_model(model.removeprefix(HF_MODEL_PREFIX), dict(settings))
        self.model_type = self.net.config.model_type

    def attribute(self, image: Path, texts: Sequence[str], image_id: str = "") -> list[Attribution]:
        """What it made of questions of one image.

        Raises:
            UserError: the image is missing or cannot be read, or has no features (LXMERT).
        """
        panels = {"vilt": _vilt_panels, "blip": _blip_panels, "lxmert": _lxmert_panels}[self.model_type]
        sightings = []
        try:
            for text in texts:
                with record_attention(self.net.model, self.model_type) as calls:
                    (said,) = self.net.predict([ImageQuestion(text, image.read_bytes(), image_id)])
                sightings.append(Attribution(said.answer, said.probability, panels(calls[0], self.net)))
        except (OSError, ValueError) as error:
            raise UserError(f"{image}: {error}") from error
        return sightings


class RecordedCall(NamedTuple):
    """A call of the model that answered: what it was given, what it gave, and of ViLT where its patches lie, [P, 2] (row, column)
    in the order that it drew for them, and rows and columns of all."""

    inputs: dict[str, Any]
    outputs: Any
    patch_positions: np.ndarray | None = None
    patch_grid_shape: tuple[int, int] = (0, 0)


@contextmanager
def record_attention(model: Any, model_type: str) -> Iterator[list[RecordedCall]]:
    """Note the attention of a model (of BLIP: of what reads the question) while it answers, so that what is shown is the very look
    by which it answered. ViLT takes its patches in a random order, which only a result of `visual_embed` tells."""
    calls: list[RecordedCall] = []
    orders: list[tuple[Any, Any]] = []
    reader = model.text_encoder if model_type == "blip" else model
    before = reader.register_forward_pre_hook(
        lambda _, args, named: (args, {**named, "output_attentions": True, "return_dict": True}),
        with_kwargs=True,
    )

    def note(_: Any, args: Any, given: dict[str, Any], gave: Any) -> None:
        places, shape = orders[-1] if orders else (None, (0, 0))
        calls.append(RecordedCall(given, gave, places, shape))

    after = reader.register_forward_hook(note, with_kwargs=True)
    embeddings = model.vilt.embeddings if model_type == "vilt" else None
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


def _vilt_panels(call: RecordedCall, net: Any) -> tuple[Panel, ...]:
    """ViLT: words first, then a token for the whole image, then patches; it answers from its first token."""
    assert call.patch_positions is not None
    total = compute_rollout([_to_numpy(layer[0]) for layer in call.outputs.attentions])
    patches = total[0, call.inputs["input_ids"].shape[1] + 1 :]
    return (
        Panel(
            "rollout",
            METHOD_TITLES["rollout"],
            place_on_patches(patches, call.patch_positions, call.patch_grid_shape),
        ),
    )


def _blip_panels(call: RecordedCall, net: Any) -> tuple[Panel, ...]:
    """BLIP: words on patches; the vision tower's first token is for the whole image."""
    table = average_cross_attention(
        [_to_numpy(layer[0]) for layer in call.outputs.cross_attentions], first_region=1
    )
    side = net.config.vision_config.image_size // net.config.vision_config.patch_size
    ids = call.inputs["input_ids"][0].tolist()
    return tuple(
        Panel(method, title, normalize_map(row.reshape(side, side)), is_collapsed=method != "cross-attention")
        for method, title, row in _word_rows(table, net.processor.tokenizer, ids)
    )


def _lxmert_panels(call: RecordedCall, net: Any) -> tuple[Panel, ...]:
    """LXMERT: words on the regions that were brought."""
    table = average_cross_attention([_to_numpy(layer[0]) for layer in call.outputs.cross_encoder_attentions])
    boxes, ids = _to_numpy(call.inputs["visual_pos"][0]), call.inputs["input_ids"][0].tolist()
    return tuple(
        Panel(
            method,
            title,
            rasterize_boxes(row, boxes),
            _mark_strongest(row, boxes),
            is_collapsed=method != "cross-attention",
        )
        for method, title, row in _word_rows(table, net.tokenizer, ids)
    )


def _word_rows(table: np.ndarray, tokenizer: Any, ids: Sequence[int]) -> list[tuple[str, str, np.ndarray]]:
    """Method, title and weights [M] of the question as a whole, and of each of its words. Marks such as [CLS] are no words."""
    marks = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    counted = [token not in marks for token in ids]
    tokens = tokenizer.convert_ids_to_tokens(ids)
    whole = ("cross-attention", METHOD_TITLES["cross-attention"], average_over_words(table, counted))
    each = [
        (f"word-{place}", f"Its word {token!r}", row)
        for place, (token, row, is_word) in enumerate(zip(tokens, table, counted, strict=True))
        if is_word
    ]
    return [whole, *each]


def _mark_strongest(weights: np.ndarray, boxes: np.ndarray) -> tuple[BoxMark, ...]:
    order = np.argsort(-weights, kind="stable")[:MAX_MARKED_REGIONS].tolist()
    return tuple(
        BoxMark(f"region {place + 1}", tuple(boxes[place].tolist()), float(weights[place])) for place in order
    )


def _to_numpy(values: torch.Tensor) -> np.ndarray:
    return values.detach().float().cpu().numpy()
