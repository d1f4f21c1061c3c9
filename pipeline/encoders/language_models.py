"""How plausible a language model finds a text. It gets the texts alone: no picture, no original, no label.

`LocalModel` is the one door to transformers (loaded late); `ServerModel` speaks to any server with OpenAI's interface.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pipeline.core.errors import UserError

KEY = "OPENAI_API_KEY"  # the environment variable that holds a server's key, if it wants one
PAUSES = (1.0, 4.0, 16.0, 60.0)  # seconds before each further try
INSTRUCTION = (
    "You get a question that somebody may have asked about a photo. How plausible is it that a photo shows what the question "
    "takes for granted, and that a person would ask it so? Reply with one digit, from 0 (absurd) to 9 (quite ordinary)."
)


class LocalModel:
    """A causal language model from a local folder, in transformers' form, with weights as safetensors.

    Raises:
        UserError: transformers is not installed, or there is no such model in the folder.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from transformers import (  # pyright: ignore[reportMissingImports] an extra
                AutoModelForCausalLM,
                AutoTokenizer,
            )
        except ImportError:
            raise UserError(
                'a local model needs transformers, which is not installed: pip install ".[hf]" from a clone; or name '
                "a server (--server)"
            ) from None
        import torch

        self.name = folder.resolve().name
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            model: Any = AutoModelForCausalLM.from_pretrained(
                folder, local_files_only=True, use_safetensors=True
            )
        except (OSError, ValueError, KeyError) as error:
            raise UserError(f"{folder}: no causal language model that transformers reads: {error}") from error
        self._model = model.to(self._device).eval()
        self._context = getattr(model.config, "max_position_embeddings", None) or math.inf
        # Without a mark of its own for the beginning, a model has learned that of a text's end for it; with neither, the
        # first token cannot be scored.
        begin = [self._tokenizer.bos_token_id, self._tokenizer.eos_token_id]
        self._begin = [token for token in begin if token is not None][:1]

    def scores(self, texts: Sequence[str]) -> list[float | None]:
        """Of each text the mean log probability (natural) of its tokens, 0 at most; None of one that has no token to score,
        or more than the model's context."""
        import torch
        from torch.nn.functional import cross_entropy

        tokens = [self._begin + self._tokenizer.encode(text, add_special_tokens=False) for text in texts]
        tokens = [row if len(row) <= self._context else [] for row in tokens]
        counts = torch.tensor([max(len(row) - 1, 0) for row in tokens])
        table = torch.zeros(len(tokens), int(counts.max()) + 1, dtype=torch.long)
        for i, row in enumerate(tokens):
            table[i, : len(row)] = torch.tensor(row)
        # What is put in after a text's end is seen by no token before it, as a causal model looks back alone.
        there = torch.arange(table.shape[1] - 1) < counts[:, None]
        with torch.inference_mode():
            logits = self._model(table.to(self._device)).logits[:, :-1].float().cpu()
            losses = cross_entropy(logits.transpose(1, 2), table[:, 1:], reduction="none") * there
        return [-float(row.sum()) / int(n) if n else None for row, n in zip(losses, counts, strict=True)]


class _Logprobs(msgspec.Struct):
    token_logprobs: list[float | None]
    text_offset: list[int]


class _Echoed(msgspec.Struct):
    index: int
    logprobs: _Logprobs


class _Completions(msgspec.Struct):
    choices: list[_Echoed]


class _Token(msgspec.Struct):
    token: str
    logprob: float


class _Place(msgspec.Struct):
    top_logprobs: list[_Token] = []


class _Places(msgspec.Struct):
    content: list[_Place] | None = None


class _Message(msgspec.Struct):
    content: str | None = None


class _Reply(msgspec.Struct):
    message: _Message
    logprobs: _Places | None = None


class _Chat(msgspec.Struct):
    choices: Annotated[list[_Reply], msgspec.Meta(min_length=1)]


class ServerModel:
    """A model behind a server with OpenAI's interface, its key in the environment.

    Args:
        address: up to and with the version: "http://127.0.0.1:8000/v1".
        chat: ask for a digit, for servers that do not echo a prompt's log probabilities.
    """

    def __init__(self, address: str, model: str, chat: bool) -> None:
        import httpx

        key = os.environ.get(KEY)
        self.name = f"{model}, asked" if chat else model
        self._address, self._model, self._chat = address.rstrip("/"), model, chat
        self._client = httpx.Client(timeout=120, headers={"Authorization": f"Bearer {key}"} if key else {})

    def scores(self, texts: Sequence[str]) -> list[float | None]:
        """Of each text the mean log probability of its tokens but the first, or the digit that the model replies with, the
        mean over its digits' probabilities where the server gives them; None where there is no such.

        Raises:
            UserError: the server is out of reach, refuses, or replies with something else.
        """
        if self._chat:
            return [self._asked(text) for text in texts]
        body = {"prompt": list(texts), "max_tokens": 1, "echo": True, "logprobs": 1, "temperature": 0}
        found: list[float | None] = [None] * len(texts)
        for row in self._post("completions", body, _Completions).choices:
            # The server adds a token (not all take `max_tokens: 0`); it begins where the text ends.
            places = zip(row.logprobs.token_logprobs, row.logprobs.text_offset, strict=False)
            own = [value for value, start in places if value is not None and start < len(texts[row.index])]
            found[row.index] = sum(own) / len(own) if own else None
        return found

    def _asked(self, text: str) -> float | None:
        messages = [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": text}]
        body = {"messages": messages, "max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": 20}
        reply = self._post("chat/completions", body, _Chat).choices[0]
        places = (reply.logprobs and reply.logprobs.content) or [_Place()]
        digits = {row.token.strip(): math.exp(row.logprob) for row in places[0].top_logprobs}
        digits = {int(digit): weight for digit, weight in digits.items() if digit in set("0123456789")}
        if digits:
            return sum(digit * weight for digit, weight in digits.items()) / sum(digits.values())
        said = (reply.message.content or "").strip()[:1]
        return float(said) if said in set("0123456789") else None

    def _post(self, path: str, body: dict[str, Any], kind: type[Any]) -> Any:
        import httpx

        problem = ""
        for pause in (0.0, *PAUSES):
            if problem:
                print(f"{self._address}: {problem}; trying again in {pause:.0f} s", file=sys.stderr)
            time.sleep(pause)
            try:
                reply = self._client.post(f"{self._address}/{path}", json={"model": self._model, **body})
            except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
                raise UserError(f"{self._address}: no address of a server: {error}") from error
            except httpx.TransportError as error:
                problem = str(error) or type(error).__name__
                continue
            if reply.is_success:
                try:
                    return msgspec.json.decode(reply.content, type=kind)
                except msgspec.DecodeError as error:
                    hint = (
                        ""
                        if self._chat
                        else "; if it does not echo log probabilities, ask for a digit (--chat)"
                    )
                    raise UserError(
                        f"{self._address}/{path}: not the reply that is expected: {error}{hint}"
                    ) from error
            problem = f"{reply.status_code}, {reply.text[:200]}"
            if reply.status_code not in (408, 409, 425, 429) and reply.status_code < 500:
                break
        raise UserError(f"{self._address}/{path}: {problem}; run the same command again to go on")
