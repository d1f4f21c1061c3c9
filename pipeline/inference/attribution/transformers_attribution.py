"""Attribute the answers of transformers models: ViLT by attention rollout, BLIP and LXMERT by
cross-attention.
"""

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
MAX_MARKED_REGIONS = 8


class TransformersAttributor:
    """Attributor for ViLT, BLIP and LXMERT.

    Args:
        model: Name of the model, hf-vqa/NAME_OR_FOLDER.
        settings: Settings of the model, as for `rgqa run --model-arg`.

    Raises:
        UserError: The model cannot be loaded.
    """

    def __init__(self, model: str, settings: dict[str, str]) -> None:
        from pipeline.inference.hf_vqa import load_vqa_model

        self.net: VqaModel = load_vqa_model(model.removeprefix(HF_MODEL_PREFIX), dict(settings))
        self.model_type = self.net.config.model_type

    def attribute(self, image: Path, texts: Sequence[str], image_id: str = "") -> list[Attribution]:
        """Return the attribution of each question about an image.

        Raises:
            UserError: The image cannot be read, or has no features (LXMERT).
        """
        panels = {"vilt": _vilt_panels, "blip": _blip_panels, "lxmert": _lxmert_panels}[self.model_type]
        attributions = []
        try:
            for text in texts:
                with record_attention(self.net.model, self.model_type) as calls:
                    (prediction,) = self.net.predict([ImageQuestion(text, image.read_bytes(), image_id)])
                panel_tuple = panels(calls[0], self.net)
                attributions.append(Attribution(prediction.answer, prediction.probability, panel_tuple))
        except (OSError, ValueError) as error:
            raise UserError(f"{image}: {error}") from error
        return attributions


class RecordedCall(NamedTuple):
    """A recorded forward pass of a model.

    Attributes:
        inputs: Keyword arguments of the forward pass.
        outputs: Result of the forward pass.
        patch_positions: Row and column of each patch [P, 2], in the order of ViLT's tokens; None for other
            models.
        patch_grid_shape: Number of rows and columns of ViLT's grid of patches.
    """

    inputs: dict[str, Any]
    outputs: Any
    patch_positions: np.ndarray | None = None
    patch_grid_shape: tuple[int, int] = (0, 0)


@contextmanager
def record_attention(model: Any, model_type: str) -> Iterator[list[RecordedCall]]:
    """Record the forward passes of a model, with their attention, while the model answers.

    For BLIP, the forward passes of the text encoder are recorded. ViLT shuffles its patches, so the result of
    `visual_embed` is recorded, too, because only this result has the order of the patches.
    """
    calls: list[RecordedCall] = []
    orders: list[tuple[Any, Any]] = []
    encoder = model.text_encoder if model_type == "blip" else model
    before = encoder.register_forward_pre_hook(
        lambda _, args, kwargs: (args, {**kwargs, "output_attentions": True, "return_dict": True}),
        with_kwargs=True,
    )

    def record(_: Any, args: Any, inputs: dict[str, Any], outputs: Any) -> None:
        positions, shape = orders[-1] if orders else (None, (0, 0))
        calls.append(RecordedCall(inputs, outputs, positions, shape))

    after = encoder.register_forward_hook(record, with_kwargs=True)
    embeddings = model.vilt.embeddings if model_type == "vilt" else None
    if embeddings is not None:
        original = embeddings.visual_embed

        def embed(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            positions, shape = result[2]
            orders.append((positions[0].cpu().numpy(), tuple(int(side) for side in shape)))
            return result

        embeddings.visual_embed = embed
    try:
        yield calls
    finally:
        before.remove()
        after.remove()
        if embeddings is not None:
            # Removing the attribute of the instance restores the method of the class.
            del embeddings.visual_embed


def _vilt_panels(call: RecordedCall, net: Any) -> tuple[Panel, ...]:
    """Make the panels of ViLT.

    The tokens of ViLT are the words, one token for the whole image, and the patches. The answer is predicted
    from the first token.
    """
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
    """Make the panels of BLIP: attention of words to patches.

    The first token of the vision encoder is the whole image.
    """
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
    """Make the panels of LXMERT: attention of words to the regions of the features file."""
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
    """Return method, title and weights [M], first for the whole question, then for each word (not for [CLS]
    and the like).
    """
    special_tokens = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    is_word = [token not in special_tokens for token in ids]
    tokens = tokenizer.convert_ids_to_tokens(ids)
    whole = ("cross-attention", METHOD_TITLES["cross-attention"], average_over_words(table, is_word))
    words = [
        (f"word-{i}", f"Cross-attention of the word {token!r}", row)
        for i, (token, row, counts) in enumerate(zip(tokens, table, is_word, strict=True))
        if counts
    ]
    return [whole, *words]


def _mark_strongest(weights: np.ndarray, boxes: np.ndarray) -> tuple[BoxMark, ...]:
    order = np.argsort(-weights, kind="stable")[:MAX_MARKED_REGIONS].tolist()
    return tuple(BoxMark(f"region {i + 1}", tuple(boxes[i].tolist()), float(weights[i])) for i in order)


def _to_numpy(values: torch.Tensor) -> np.ndarray:
    return values.detach().float().cpu().numpy()
