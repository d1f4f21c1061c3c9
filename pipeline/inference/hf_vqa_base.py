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
from ..core.errors import UserError, counted

ACTIVATIONS = ("sigmoid", "softmax")


class ShownQuestion(NamedTuple):
    """A question of a picture. `picture`: the bytes of its file; `picture_id`: by which features are looked up."""

    question: str
    picture: bytes
    picture_id: str = ""


class NetAnswer(NamedTuple):
    """`probability`: of the answer; `distribution`: of all answers [K], None of a model that writes them; `cut`: the question had
    more words than the model takes; `unfinished`: the answer had not come to its end."""

    answer: str
    probability: float
    distribution: np.ndarray | None = None
    cut: bool = False
    unfinished: bool = False


@dataclass(frozen=True)
class NetSettings:
    """`revision`: a commit of the hub, "" for its newest; `device`: "" for a GPU if there is one; `answers`: a file with a line
    for each answer; `features`: LXMERT's regions; `activation`: one of ACTIVATIONS."""

    revision: str = ""
    device: str = ""
    answers: str = ""
    features: str = ""
    activation: str = "sigmoid"


class AnswerNet:
    """A model on its device, ready to answer.

    Attributes:
        answers: the names of its K answers; empty for a model that writes them.
        about: what a result has to name: class, revision or the weights' hash, device, activation.
    """

    answers: tuple[str, ...] = ()

    def __init__(self, name: str, settings: NetSettings, config: Any) -> None:
        self.device = settings.device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.settings, self.config, self.more = settings, config, {"revision": settings.revision or None}
        kind = getattr(transformers, f"{type(self).__name__}ForQuestionAnswering")
        self.model: Any = kind.from_pretrained(name, **self.more).eval().to(self.device)
        self.about = {
            "class": kind.__name__,
            "revision": weights_named(name, settings.revision),
            "device": self.device,
        }

    @abstractmethod
    def say(self, shown: Sequence[ShownQuestion]) -> list[NetAnswer]:
        """An answer to each question.

        Raises:
            ValueError: a picture that cannot be read, or something that the model needs is missing.
        """

    def on_device(self, inputs: Any) -> dict[str, torch.Tensor]:
        return {name: value.to(self.device) for name, value in inputs.items()}

    def chosen(self, logits: torch.Tensor, cut: Sequence[bool]) -> list[NetAnswer]:
        """The likeliest answer of each row of logits [n, K]."""
        sigmoid = self.settings.activation == "sigmoid"
        table = (logits.double().sigmoid() if sigmoid else logits.double().softmax(-1)).cpu().numpy()
        return [
            NetAnswer(self.answers[row.argmax()], float(row.max()), row, was_cut)
            for row, was_cut in zip(table, cut, strict=True)
        ]


def answers_of(settings: NetSettings, config: Any, count: int) -> tuple[str, ...]:
    """The names of a classifier's answers: of the user's file, else of its configuration.

    Raises:
        UserError: neither has as many names as the model has answers.
    """
    if settings.answers:
        names, where = read_answers(Path(settings.answers)), settings.answers
    else:
        names, where = (
            tuple(str(config.id2label[place]) for place in sorted(config.id2label)),
            "its configuration",
        )
    if len(names) != count or (not settings.answers and all(name.startswith("LABEL_") for name in names)):
        raise UserError(
            f"the model has {counted(count, 'answer')}, and {where} does not name them: give answers=FILE, a line for each in their order"
        )
    return names


def read_answers(path: Path) -> tuple[str, ...]:
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
            f"answers={path}: {counted(len(names), 'line')}, {len(set(names))} of them different; wanted each answer once"
        )
    return names


def weights_named(name: str, revision: str) -> str:
    """Of a model that was loaded the hub's commit, or of a folder the hash of its weights. transformers 5 does not tell which
    commit a branch was at, but where the hub keeps what it fetched the folder is called so."""
    if Path(name).is_dir():
        return weights_hash(Path(name))
    kept = huggingface_hub.try_to_load_from_cache(name, "config.json", revision=revision or None)
    return Path(kept).parent.name if isinstance(kept, str) else ""


def weights_hash(folder: Path) -> str:
    """SHA-256 over the files with the weights of a folder, in the order of their names; "" where there are none."""
    found = sorted(path for path in folder.glob("*") if path.suffix in (".safetensors", ".bin"))
    return "sha256:" + hashlib.sha256("".join(map(sha256_file, found)).encode()).hexdigest() if found else ""


def why_not_loaded(model: str, name: str, error: Exception) -> str:
    """One line on a model that transformers does not load; `name`: of the hub, or a folder."""
    offline = os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")
    why = " (HF_HUB_OFFLINE is set: nothing is fetched)" if offline and not Path(name).is_dir() else ""
    return f"{model} cannot be loaded{why}: {str(error).splitlines()[0]}"
