"""The settings of a run: what the command line asks for, and what two runs must share to be one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..core.errors import UserError, collect_errors, no_effect_message
from ..core.output_paths import Output, check_output_paths
from ..core.server_errors import LOCAL_PROVIDERS
from ..scoring.benchmark_reader import fingerprint_release, read_benchmark
from .confidence_methods import ConfidenceMethod, get_confidence_method
from .cost_forecast import Prices
from .prompts import get_prompt

T = TypeVar("T")
DEFAULT_MAX_CONNECTIONS = 10  # over a network
MAX_FOLDER_NAME_LENGTH = 200  # letters of a folder's name; a file system takes 255 bytes
CLASSIFIER_PROMPTS_AND_METHODS = ("bare",), ("token-probability", "refusal")  # prompts and recipes


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
    confidence: str = ""
    subsets: tuple[str, ...] = ()
    split: str = "test"
    limit: int = 0
    max_image_size: int = 1024
    images: Path | None = None
    shots: int = 0
    num_replies: int = 10
    max_tokens: int = 64
    seed: int = 0
    no_image: bool = False
    max_connections: int = 0
    out: Path | None = None
    prices: Prices = Prices()
    yes: bool = False
    plots: bool = True

    @property
    def with_defaults(self) -> RunOptions:
        """With what suits the model where nothing is chosen: one that classifies is asked the question alone."""
        prompt, recipe = ("bare", "token-probability") if self.is_classifier else ("refuse", "refusal")
        connections = self.max_connections or (DEFAULT_MAX_CONNECTIONS if self.is_remote else 0)
        return self._replace(
            prompt=self.prompt or prompt, confidence=self.confidence or recipe, max_connections=connections
        )

    @property
    def is_classifier(self) -> bool:
        """Is it a model of transformers that is no chat?"""
        return self.model.startswith("hf-vqa/") and not self.server

    @property
    def is_remote(self) -> bool:
        """Is it asked over a network?"""
        return self.model.split("/")[0] not in LOCAL_PROVIDERS or bool(self.server)

    @property
    def output_folder(self) -> Path:
        """Where the run goes: `out`, or runs/<model>-<prompt>-<recipe>."""
        how = self.with_defaults
        splits = (how.model, how.prompt, how.confidence.replace("_", "-"), *["blind"] * how.no_image)
        name = "-".join(splits)
        safe = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)
        return self.out or Path("runs") / safe[-MAX_FOLDER_NAME_LENGTH:].lstrip(".")


def resolve_settings(options: RunOptions) -> tuple[dict[str, Any], list[str]]:
    """What two runs must share to be one; and the ids of the release's items, in its order, each once.

    Raises:
        UserError: all that is wrong: no such release, prompt or recipe, settings without effect, or a release that is not
            as it was published.
    """
    options, problems = options.with_defaults, list[str]()

    def attempt(reader: Callable[..., T], *values: Any) -> T | None:
        with collect_errors(problems):
            return reader(*values)

    prompt, recipe = attempt(get_prompt, options.prompt), attempt(get_confidence_method, options.confidence)
    if prompt and recipe:
        problems += _find_incompatible_options(options, prompt.name, recipe)
    attempt(check_output_paths, [Output("--out", options.output_folder, "folder")], [options.release])
    if not options.release.is_dir():
        problems.append(f"{options.release}: no such folder; wanted a release's")
        raise UserError(problems)
    benchmark, sha256 = (
        attempt(read_benchmark, options.release, options.subsets),
        attempt(fingerprint_release, options.release),
    )
    if benchmark and options.split != RunOptions._field_defaults["split"] and not benchmark.splits:
        problems.append(no_effect_message("--split", "the benchmark has no parts"))
    if problems or not (prompt and recipe and benchmark and sha256):
        raise UserError(problems)
    return {
        "release": {"name": benchmark.name, "version": benchmark.version, "sha256": sha256},
        "model": options.model,
        "model_args": dict(options.model_args),
        "prompt": {"name": prompt.name, "hash": prompt.hash},
        "recipe": {"name": recipe.name, "hash": recipe.hash},
        "split": options.split,
        "subsets": sorted(benchmark.subsets),
        "limit": options.limit,
        "pixels": options.max_image_size,
        "images": str(options.images or ""),
        "shots": options.shots,
        "samples": options.num_replies if recipe.needs_several_replies else 1,
        "max_tokens": options.max_tokens,
        "seed": options.seed,
        "no_image": options.no_image,
    }, [*dict.fromkeys(name for items in benchmark.subsets.values() for name in items["id"])]


def _find_incompatible_options(options: RunOptions, prompt: str, method: ConfidenceMethod) -> Iterator[str]:
    """Options that have no effect beside the others, and what a model cannot take."""
    why: dict[str, str] = {}
    if not method.needs_several_replies:
        why["samples"] = f"recipe {method.name} asks once; it is for recipe agreement"
    if options.no_image:
        why |= dict.fromkeys(("pixels", "images"), "--no-image sends none")
    if options.is_classifier:
        why["max_tokens"] = "a model of hf-vqa says one answer of its own length"
    if not options.is_remote:
        why["prices"] = "a model on this machine is not paid for"
    for name, reason in why.items():
        if getattr(options, name) != RunOptions._field_defaults[name]:
            option = {"prices": "--input-price, --output-price"}.get(name, f"--{name.replace('_', '-')}")
            yield no_effect_message(option, reason)
    if options.model.startswith("hf/") and not options.server and not options.no_image:
        yield (
            f"--model {options.model}: inspect_ai's hf/ takes no images; take hf-vlm/{options.model[3:]}, or --no-image"
        )
    if options.is_classifier and (
        prompt not in CLASSIFIER_PROMPTS_AND_METHODS[0]
        or method.name not in CLASSIFIER_PROMPTS_AND_METHODS[1]
    ):
        yield f"{options.model} says one answer to one question: take --prompt bare with --confidence token-probability or refusal"
