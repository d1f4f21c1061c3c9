"""The settings of a run: what the command line asks for, and what two runs must share to be one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..core.errors import UserError, collected_into, no_effect
from ..core.output_paths import Output, check_output_paths
from ..core.server_errors import LOCAL
from ..scoring.benchmark_reader import fingerprint, read_benchmark
from .confidence_methods import ConfidenceRecipe, recipe_named
from .cost_forecast import Prices
from .prompts import prompt_named

T = TypeVar("T")
CONNECTIONS = 10  # over a network
LONGEST = 200  # letters of a folder's name; a file system takes 255 bytes
OF_CLASSIFIERS = ("bare",), ("token-probability", "refusal")  # prompts and recipes


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
    plots: bool = True

    @property
    def chosen(self) -> RunOptions:
        """With what suits the model where nothing is chosen: one that classifies is asked the question alone."""
        prompt, recipe = ("bare", "token-probability") if self.classifies else ("refuse", "refusal")
        connections = self.connections or (CONNECTIONS if self.remote else 0)
        return self._replace(
            prompt=self.prompt or prompt, recipe=self.recipe or recipe, connections=connections
        )

    @property
    def classifies(self) -> bool:
        """Is it a model of transformers that is no chat?"""
        return self.model.startswith("hf-vqa/") and not self.server

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
        return self.out or Path("runs") / safe[-LONGEST:].lstrip(".")


def settings_of(options: RunOptions) -> tuple[dict[str, Any], list[str]]:
    """What two runs must share to be one; and the ids of the release's items, in its order, each once.

    Raises:
        UserError: all that is wrong: no such release, prompt or recipe, settings without effect, or a release that is not
            as it was published.
    """
    options, problems = options.chosen, list[str]()

    def attempt(reader: Callable[..., T], *values: Any) -> T | None:
        with collected_into(problems):
            return reader(*values)

    prompt, recipe = attempt(prompt_named, options.prompt), attempt(recipe_named, options.recipe)
    if prompt and recipe:
        problems += _unfit(options, prompt.name, recipe)
    attempt(check_output_paths, [Output("--out", options.folder, "folder")], [options.release])
    if not options.release.is_dir():
        problems.append(f"{options.release}: no such folder; wanted a release's")
        raise UserError(problems)
    benchmark, sha256 = (
        attempt(read_benchmark, options.release, options.subsets),
        attempt(fingerprint, options.release),
    )
    if benchmark and options.part != RunOptions._field_defaults["part"] and not benchmark.parts:
        problems.append(no_effect("--part", "the benchmark has no parts"))
    if problems or not (prompt and recipe and benchmark and sha256):
        raise UserError(problems)
    return {
        "release": {"name": benchmark.name, "version": benchmark.version, "sha256": sha256},
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


def _unfit(options: RunOptions, prompt: str, recipe: ConfidenceRecipe) -> Iterator[str]:
    """Options that have no effect beside the others, and what a model cannot take."""
    why: dict[str, str] = {}
    if not recipe.several:
        why["samples"] = f"recipe {recipe.name} asks once; it is for recipe agreement"
    if options.no_picture:
        why |= dict.fromkeys(("pixels", "pictures"), "--no-picture sends none")
    if options.classifies:
        why["max_tokens"] = "a model of hf-vqa says one answer of its own length"
    if not options.remote:
        why["prices"] = "a model on this machine is not paid for"
    for name, reason in why.items():
        if getattr(options, name) != RunOptions._field_defaults[name]:
            option = {"prices": "--price-in, --price-out"}.get(name, f"--{name.replace('_', '-')}")
            yield no_effect(option, reason)
    if options.model.startswith("hf/") and not options.server and not options.no_picture:
        yield (
            f"--model {options.model}: inspect_ai's hf/ takes no images; take hf-vlm/{options.model[3:]}, or --no-picture"
        )
    if options.classifies and (prompt not in OF_CLASSIFIERS[0] or recipe.name not in OF_CLASSIFIERS[1]):
        yield f"{options.model} says one answer to one question: take --prompt bare with --recipe token-probability or refusal"
