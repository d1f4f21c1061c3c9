"""VQA models of transformers that are no chats, each behind the same call; they are given the bare question."""

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
    """A question of an image. `image`: the bytes of its file; `image_id`: by which features are looked up."""

    question: str
    image_bytes: bytes
    image_id: str = ""


class VqaPrediction(NamedTuple):
    """`probability`: of the answer; `distribution`: of all answers [K], None of a model that writes them; `cut`: the question had
    more words than the model takes; `unfinished`: the answer had not come to its end."""

    answer: str
    probability: float
    distribution: np.ndarray | None = None
    is_question_truncated: bool = False
    is_answer_truncated: bool = False


@dataclass(frozen=True)
class VqaModelSettings:
    """`revision`: a commit of the hub, "" for its newest; `device`: "" for a GPU if there is one; `answers`: a file with a line
    for each answer; `features`: LXMERT's regions; `activation`: one of ACTIVATIONS."""

    revision: str = ""
    device: str = ""
    answers_file: str = ""
    features_file: str = ""
    activation: str = "sigmoid"


class VqaModel:
    """A model on its device, ready to answer.

    Attributes:
        answers: the names of its K answers; empty for a model that writes them.
        about: what a result has to name: class, revision or the weights' hash, device, activation.
    """

    answer_vocabulary: tuple[str, ...] = ()

    def __init__(self, name: str, settings: VqaModelSettings, config: Any) -> None:
        self.device = settings.device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.settings, self.config, self.hub_kwargs = (
            settings,
            config,
            {"revision": settings.revision or None},
        )
        kind = getattr(transformers, f"{type(self).__name__}ForQuestionAnswering")
        self.model: Any = kind.from_pretrained(name, **self.hub_kwargs).eval().to(self.device)
        self.model_info = {
            "class": kind.__name__,
            "revision": get_weights_revision(name, settings.revision),
            "device": self.device,
        }

    @abstractmethod
    def predict(self, questions: Sequence[ImageQuestion]) -> list[VqaPrediction]:
        """An answer to each question.

        Raises:
            ValueError: an image that cannot be read, or something that the model needs is missing.
        """

    def to_device(self, inputs: Any) -> dict[str, torch.Tensor]:
        return {name: value.to(self.device) for name, value in inputs.items()}

    def pick_answers(self, logits: torch.Tensor, is_truncated: Sequence[bool]) -> list[VqaPrediction]:
        """The likeliest answer of each row of logits [n, K]."""
        sigmoid = self.settings.activation == "sigmoid"
        table = (logits.double().sigmoid() if sigmoid else logits.double().softmax(-1)).cpu().numpy()
        return [
            VqaPrediction(self.answer_vocabulary[row.argmax()], float(row.max()), row, was_cut)
            for row, was_cut in zip(table, is_truncated, strict=True)
        ]


def load_answer_vocabulary(settings: VqaModelSettings, config: Any, num_answers: int) -> tuple[str, ...]:
    """The names of a classifier's answers: of the user's file, else of its configuration.

    Raises:
        UserError: neither has as many names as the model has answers.
    """
    if settings.answers_file:
        names, where = read_answers_file(Path(settings.answers_file)), settings.answers_file
    else:
        names, where = (
            tuple(str(config.id2label[place]) for place in sorted(config.id2label)),
            "its configuration",
        )
    if len(names) != num_answers or (
        not settings.answers_file and all(name.startswith("LABEL_") for name in names)
    ):
        raise UserError(
            f"the model has {format_count(num_answers, 'answer')}, and {where} does not name them: give answers=FILE, a line for each in their order"
        )
    return names


def read_answers_file(path: Path) -> tuple[str, ...]:
    """A line for each answer.

    Raises:
        UserError: no such file, no line, or one twice.
    """
    try:
        names = tuple(path.read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"answers={path}: cannot be read ({error})") from error
    if not names or len(set(names)) != len(names):
        raise UserError(
            f"answers={path}: {format_count(len(names), 'line')}, {len(set(names))} of them different; wanted each answer once"
        )
    return names


def get_weights_revision(name: str, revision: str) -> str:
    """Of a model that was loaded the hub's commit, or of a folder the hash of its weights. transformers 5 does not tell which
    commit a branch was at, but where the hub keeps what it fetched the folder is called so."""
    if Path(name).is_dir():
        return hash_weights(Path(name))
    kept = huggingface_hub.try_to_load_from_cache(name, "config.json", revision=revision or None)
    return Path(kept).parent.name if isinstance(kept, str) else ""


def hash_weights(folder: Path) -> str:
    """SHA-256 over the files with the weights of a folder, in the order of their names; "" where there are none."""
    found = sorted(path for path in folder.glob("*") if path.suffix in (".safetensors", ".bin"))
    return "sha256:" + hashlib.sha256("".join(map(sha256_file, found)).encode()).hexdigest() if found else ""


def explain_load_error(model: str, name: str, error: Exception) -> str:
    """One line on a model that transformers does not load; `name`: of the hub, or a folder."""
    offline = os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")
    why = " (HF_HUB_OFFLINE is set: nothing is fetched)" if offline and not Path(name).is_dir() else ""
    return f"{model} cannot be loaded{why}: {str(error).splitlines()[0]}"
