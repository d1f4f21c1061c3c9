"""The settings of a run: what the command line asks for, and what two runs must share to be one."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from ..benchmark import read_benchmark
from ..validation import InputError, read_bytes
from .forecast_run import Prices
from .prompts import prompt_named
from .recipes import recipe_named

LOCAL = ("hf", "hf-vqa", "hf-vlm", "mockllm")  # models that run in this process
CONNECTIONS = 10  # over a network


class RunOptions(NamedTuple):
    """What is asked, and how; the command's options.

    Attributes:
        model_args: what the model's provider takes beside the name. prompt, recipe: "" for what suits the model.
        connections: requests at the same time; 0 for what suits the model.
    """

    release: Path
    model: str
    server: str = ""
    model_args: tuple[tuple[str, str], ...] = ()
    prompt: str = ""
    recipe: str = ""
    subsets: tuple[str, ...] = ()
    part: str = "test"
    limit: int = 0
    pixels: int = 1024
    pictures: Path | None = None
    shots: int = 0
    samples: int = 10
    max_tokens: int = 64
    seed: int = 0
    no_picture: bool = False
    connections: int = 0
    out: Path | None = None
    prices: Prices = Prices()
    yes: bool = False

    @property
    def chosen(self) -> RunOptions:
        """With what suits the model where nothing is chosen: one that classifies is asked the question alone."""
        classifies = self.model.startswith("hf-vqa/") and not self.server
        prompt, recipe = ("bare", "token-probability") if classifies else ("refuse", "refusal")
        connections = self.connections or (CONNECTIONS if self.remote else 0)
        return self._replace(
            prompt=self.prompt or prompt, recipe=self.recipe or recipe, connections=connections
        )

    @property
    def remote(self) -> bool:
        """Is it asked over a network?"""
        return self.model.split("/")[0] not in LOCAL or bool(self.server)

    @property
    def folder(self) -> Path:
        """Where the run goes: `out`, or runs/<model>-<prompt>-<recipe>."""
        how = self.chosen
        parts = (how.model, how.prompt, how.recipe.replace("_", "-"), *["blind"] * how.no_picture)
        name = "-".join(parts)
        safe = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)
        return self.out or Path("runs") / safe


def settings_of(options: RunOptions) -> tuple[dict[str, Any], list[str]]:
    """What two runs must share to be one; and the ids of the release's items, in its order, each once.

    Raises:
        InputError: no such release, prompt or recipe, or a release that is not as it was published.
    """
    options = options.chosen
    prompt, recipe = prompt_named(options.prompt), recipe_named(options.recipe)
    if not options.release.is_dir():
        raise InputError(f"{options.release}: no such folder; wanted a release's")
    benchmark = read_benchmark(options.release, options.subsets)
    return {
        "release": {
            "name": options.release.resolve().parent.name,
            "version": benchmark.version,
            "sha256": fingerprint(options.release),
        },
        "model": options.model,
        "model_args": dict(options.model_args),
        "prompt": {"name": prompt.name, "hash": prompt.hash},
        "recipe": {"name": recipe.name, "hash": recipe.hash},
        "part": options.part,
        "subsets": sorted(benchmark.subsets),
        "limit": options.limit,
        "pixels": options.pixels,
        "pictures": str(options.pictures or ""),
        "shots": options.shots,
        "samples": options.samples if recipe.several else 1,
        "max_tokens": options.max_tokens,
        "seed": options.seed,
        "no_picture": options.no_picture,
    }, [*dict.fromkeys(name for items in benchmark.subsets.values() for name in items["id"])]


def fingerprint(release: Path) -> str:
    """SHA-256 of the release's list of sums, once its questions and pictures agree with it.

    Raises:
        InputError: lists every file that does not.
    """
    sums = release / "CHECKSUMS.sha256"
    if not sums.is_file():
        raise InputError(f"{release}: no CHECKSUMS.sha256 in it; wanted a release's folder")
    data = read_bytes(sums)
    problems = []
    for line in data.decode("utf-8", "replace").splitlines():
        wanted, path = line[:64], release / line[66:]
        if path.parent.name in ("rgqa", "data") and path.parent.parent == release:
            if not path.is_file():
                problems.append(f"{line[66:]}: missing")
                continue
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != wanted:
                    problems.append(f"{line[66:]}: its bytes have changed")
    if problems:
        raise InputError([f"{release}: the release is not as it was published; get it again", *problems])
    return hashlib.sha256(data).hexdigest()
