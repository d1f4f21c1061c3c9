"""The common interface of the VQA models of transformers that take a question and an image instead of chat
messages.
"""

from __future__ import annotations

import hashlib
import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import huggingface_hub
import numpy as np
import torch
import transformers

from ..core.atomic_files import sha256_file
from ..core.errors import UserError, format_count

ACTIVATIONS = ("sigmoid", "softmax")


class ImageQuestion(NamedTuple):
    """A question about an image.

    Attributes:
        question: Text of the question.
        image_bytes: The bytes of the image file.
        image_id: Key of the image in a file of features.
    """

    question: str
    image_bytes: bytes
    image_id: str = ""


class VqaPrediction(NamedTuple):
    """An answer to a question.

    Attributes:
        answer: Text of the answer.
        probability: Probability of the answer, in [0, 1].
        distribution: Probabilities of all K answers; None if the model generates its answer.
        is_question_truncated: Whether the question has more tokens than the model accepts.
        is_answer_truncated: Whether the length limit was reached before the end of the answer.
    """

    answer: str
    probability: float
    distribution: np.ndarray | None = None
    is_question_truncated: bool = False
    is_answer_truncated: bool = False


@dataclass(frozen=True)
class VqaModelSettings:
    """Settings of a model, as given by `--model-arg`.

    Attributes:
        revision: Commit, branch or tag on the Hugging Face Hub; "" for the newest.
        device: Device of torch; "" for a GPU if there is one.
        answers_file: File with one answer per line; "" for the answers in the configuration of the model.
        features_file: File with the region features for LXMERT; "" for other models.
        activation: One of `ACTIVATIONS`.
    """

    revision: str = ""
    device: str = ""
    answers_file: str = ""
    features_file: str = ""
    activation: str = "sigmoid"


class VqaModel:
    """A model on its device, in evaluation mode.

    Attributes:
        answer_vocabulary: The K answers of the model; empty if the model generates its answers.
        model_info: Class, revision or hash of the weights, device, and activation, for run.json.
    """

    answer_vocabulary: tuple[str, ...] = ()

    def __init__(self, name: str, settings: VqaModelSettings, config: Any) -> None:
        self.device = settings.device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.settings, self.config = settings, config
        self.hub_kwargs = {"revision": settings.revision or None}
        kind = getattr(transformers, f"{type(self).__name__}ForQuestionAnswering")
        self.model: Any = kind.from_pretrained(name, **self.hub_kwargs).eval().to(self.device)
        self.model_info = {
            "class": kind.__name__,
            "revision": get_weights_revision(name, settings.revision),
            "device": self.device,
        }

    @abstractmethod
    def predict(self, questions: Sequence[ImageQuestion]) -> list[VqaPrediction]:
        """Answer each question.

        Raises:
            ValueError: An image cannot be read, or has no features.
        """

    def to_device(self, inputs: Any) -> dict[str, torch.Tensor]:
        return {name: value.to(self.device) for name, value in inputs.items()}

    def pick_answers(self, logits: torch.Tensor, is_truncated: Sequence[bool]) -> list[VqaPrediction]:
        """Return the most likely answer of each row of logits [n, K]."""
        is_sigmoid = self.settings.activation == "sigmoid"
        table = (logits.double().sigmoid() if is_sigmoid else logits.double().softmax(-1)).cpu().numpy()
        return [
            VqaPrediction(self.answer_vocabulary[row.argmax()], float(row.max()), row, truncated)
            for row, truncated in zip(table, is_truncated, strict=True)
        ]


def load_answer_vocabulary(settings: VqaModelSettings, config: Any, num_answers: int) -> tuple[str, ...]:
    """Return the answers of a classifier, from the user's file or else from the configuration of the model.

    Raises:
        UserError: The number of answers differs from the number of outputs of the model.
    """
    if settings.answers_file:
        names, where = read_answers_file(Path(settings.answers_file)), settings.answers_file
    else:
        names, where = (
            tuple(str(config.id2label[i]) for i in sorted(config.id2label)),
            "its configuration",
        )
    if len(names) != num_answers or (
        not settings.answers_file and all(name.startswith("LABEL_") for name in names)
    ):
        raise UserError(
            f"the model has {format_count(num_answers, 'answer')}, and {where} does not name them; give --model-arg answers_file=FILE "
            "with one answer per line, in the order of the model's outputs"
        )
    return names


def read_answers_file(path: Path) -> tuple[str, ...]:
    """Read a file with one answer per line.

    Raises:
        UserError: The file cannot be read, is empty, or contains an answer twice.
    """
    try:
        names = tuple(path.read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"answers_file={path}: cannot be read ({error})") from error
    if not names or len(set(names)) != len(names):
        raise UserError(
            f"answers_file={path}: {format_count(len(names), 'line')}, {len(set(names))} of them different; wanted each answer once"
        )
    return names


def get_weights_revision(name: str, revision: str) -> str:
    """Return the commit of a model that was loaded from the hub, or the hash of the weights of a local
    folder.

    transformers 5 does not report the commit of a branch. So the commit is read from the cache of the hub,
    whose folders have the commit as name.
    """
    if Path(name).is_dir():
        return hash_weights(Path(name))
    cached = huggingface_hub.try_to_load_from_cache(name, "config.json", revision=revision or None)
    return Path(cached).parent.name if isinstance(cached, str) else ""


def hash_weights(folder: Path) -> str:
    """Return the SHA-256 of the weight files of a folder, in the order of their names; "" if there are none."""
    files = sorted(path for path in folder.glob("*") if path.suffix in (".safetensors", ".bin"))
    return "sha256:" + hashlib.sha256("".join(map(sha256_file, files)).encode()).hexdigest() if files else ""


def explain_load_error(model: str, name: str, error: Exception) -> str:
    """Return the message for a model that transformers cannot load.

    Args:
        model: Name of the model as the user typed it.
        name: Name on the Hugging Face Hub, or a folder.
        error: The exception that transformers raised.
    """
    offline = os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")
    why = " (HF_HUB_OFFLINE is set, so nothing is downloaded)" if offline and not Path(name).is_dir() else ""
    return f"{model} cannot be loaded{why}: {str(error).splitlines()[0]}"
