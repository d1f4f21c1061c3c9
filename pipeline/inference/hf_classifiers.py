"""ViLT and LXMERT for `hf-vqa`: classify into a fixed list of answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from ..core.atomic_files import sha256_file
from ..core.errors import UserError
from ..core.images import WHITE, load_rgb
from .hf_vqa_base import ImageQuestion, VqaModel, VqaModelSettings, VqaPrediction, load_answer_vocabulary


class Vilt(VqaModel):
    """ViLT. It was trained with sigmoids and binary cross-entropy times K, for K answers."""

    def __init__(self, name: str, settings: VqaModelSettings, config: Any) -> None:
        super().__init__(name, settings, config)
        self.processor = transformers.AutoProcessor.from_pretrained(name, **self.hub_kwargs)
        self.answer_vocabulary = load_answer_vocabulary(settings, config, config.num_labels)
        self.model_info["activation"] = settings.activation

    def predict(self, questions: Sequence[ImageQuestion]) -> list[VqaPrediction]:
        texts, max_length = [one.question for one in questions], self.config.max_position_embeddings
        is_truncated = [len(ids) > max_length for ids in self.processor.tokenizer(texts).input_ids]
        settings = {"padding": True, "truncation": True, "max_length": max_length, "return_tensors": "pt"}
        inputs = self.processor(
            images=[load_rgb(one.image_bytes, background=WHITE) for one in questions], text=texts, **settings
        )
        # ViLT shuffles the patches on every call, even in evaluation mode. The seed makes the order the same
        # for every call.
        with torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(0)
            return self.pick_answers(self.model(**self.to_device(inputs)).logits, is_truncated)


class Lxmert(VqaModel):
    """LXMERT.

    It needs region features of a Faster R-CNN from a file, because transformers does not have this detector.
    """

    def __init__(self, name: str, settings: VqaModelSettings, config: Any) -> None:
        if not settings.features_file:
            raise UserError(
                "LXMERT needs region features of a Faster R-CNN, which transformers does not have: give --model-arg "
                "features_file=FILE.npz with ids [n] (the release's image ids), features [n, 36, 2048] and boxes [n, 36, 4] (left, top, "
                "right, bottom, as fractions of the image)"
            )
        self._row_of_image, self._features, self._boxes = _load_regions(Path(settings.features_file))
        super().__init__(name, settings, config)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(name, **self.hub_kwargs)
        self.answer_vocabulary = load_answer_vocabulary(settings, config, config.num_qa_labels)
        self.model_info |= {
            "activation": settings.activation,
            "features": sha256_file(settings.features_file),
        }

    def predict(self, questions: Sequence[ImageQuestion]) -> list[VqaPrediction]:
        if missing := sorted({one.image_id for one in questions} - self._row_of_image.keys()):
            raise ValueError(f"{self.settings.features_file}: no features of image {missing[0]!r}")
        texts, max_length = [one.question for one in questions], self.config.max_position_embeddings
        is_truncated = [len(ids) > max_length for ids in self.tokenizer(texts).input_ids]
        inputs = self.tokenizer(
            texts, padding=True, truncation=True, max_length=max_length, return_tensors="pt"
        )
        rows = [self._row_of_image[one.image_id] for one in questions]
        regions = {"visual_feats": self._features[rows], "visual_pos": self._boxes[rows]}
        inputs |= {name: torch.from_numpy(value.astype(np.float32)) for name, value in regions.items()}
        with torch.inference_mode():
            return self.pick_answers(
                self.model(**self.to_device(inputs)).question_answering_score, is_truncated
            )


def _load_regions(path: Path) -> tuple[dict[str, int], np.ndarray, np.ndarray]:
    """Read image id -> row, the features [n, regions, d] and the boxes [n, regions, 4] of a features file.

    Raises:
        UserError: The file cannot be read, or its arrays have other names, shapes or ranges.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            ids, features, boxes = (file[name] for name in ("ids", "features", "boxes"))
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise UserError(
            f"features_file={path}: wanted an .npz with ids, features and boxes ({error})"
        ) from error
    if features.ndim != 3 or boxes.shape != (*features.shape[:2], 4) or features.shape[:1] != ids.shape:
        raise UserError(
            f"features_file={path}: ids {ids.shape}, features {features.shape} and boxes {boxes.shape} do not fit together; "
            "wanted [n], [n, regions, d] and [n, regions, 4]"
        )
    if boxes.size and not (boxes.min() >= 0 and boxes.max() <= 1):
        raise UserError(
            f"features_file={path}: boxes from {boxes.min()} to {boxes.max()}; wanted fractions of the image, 0 to 1"
        )
    return {str(image): row for row, image in enumerate(ids.tolist())}, features, boxes
