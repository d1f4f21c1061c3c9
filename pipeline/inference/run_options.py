"""The options of a run, and the settings that must be equal for a run to be resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..core.errors import UserError, collect_errors, no_effect_message
from ..core.output_paths import Output, check_output_paths
from ..core.server_errors import LOCAL_PROVIDERS
from ..scoring.benchmark_reader import fingerprint_release, read_benchmark
from ..scoring.items import Benchmark
from .confidence_methods import ConfidenceMethod, get_confidence_method
from .cost_forecast import Prices
from .prompts import DEFAULT_MAX_TOKENS, PROMPTS, get_prompt

T = TypeVar("T")
# Default number of requests at the same time, for models reached over a network.
DEFAULT_MAX_CONNECTIONS = 10
# Models with this prefix are on an OpenAI-compatible server whose address and key are in the environment.
SERVICE_PREFIX = "openai-api/"
# Maximum length of the default folder name in characters. Most file systems allow 255 bytes.
MAX_FOLDER_NAME_LENGTH = 200
# The prompts and the confidence methods that models of hf-vqa can be used with.
CLASSIFIER_PROMPTS_AND_METHODS = ("bare",), ("token-probability", "abstention")


class RunOptions(NamedTuple):
    """The options of `rgqa run`.

    Attributes:
        release: Folder of the release.
        model: Name of the model in inspect_ai (PROVIDER/NAME), or its name on `server`.
        server: Base URL of an OpenAI-compatible server; "" to use a provider of inspect_ai.
        model_args: Settings for the provider of the model, as (name, value).
        prompt: Name of the prompt; "" for the default of the kind of model.
        confidence: Name of the confidence method; "" for the default of the kind of model.
        subsets: Names of the subsets to ask; () for all subsets.
        split: "test", "validation" or "all".
        limit: Maximum number of questions; 0 for all.
        max_image_size: Maximum length of the longer side of the images, in pixels; 0 for the original size.
        images: Folder of the images; None if they are in the release.
        shots: Number of examples before each question.
        num_replies: Number of replies to each question, for methods that need several.
        max_tokens: Maximum length of a reply in tokens; 0 for the default of the prompt.
        seed: Random seed of the examples and the replies.
        no_image: Whether the questions are asked without images.
        max_connections: Number of requests at the same time; 0 for the default of the kind of model.
        out: Folder of the run; None for the default.
        prices: Prices for the forecast.
        yes: Whether to continue after the forecast without asking.
        plots: Whether to draw the plots.
        inspect_log: File to which the finished run is also written as a log of inspect_ai; None for none.
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
    max_tokens: int = 0
    seed: int = 0
    no_image: bool = False
    max_connections: int = 0
    out: Path | None = None
    prices: Prices = Prices()
    yes: bool = False
    plots: bool = False
    inspect_log: Path | None = None

    @property
    def with_defaults(self) -> RunOptions:
        """Return the options with defaults for the kind of model (prompt, confidence method and number of
        connections) and for the prompt (maximum length of a reply).
        """
        prompt, confidence = (
            ("bare", "token-probability") if self.is_classifier else ("abstain", "abstention")
        )
        connections = self.max_connections or (DEFAULT_MAX_CONNECTIONS if self.is_remote else 0)
        prompt = self.prompt or prompt
        # A prompt that does not exist is reported by `get_prompt`.
        limit = PROMPTS[prompt].max_tokens if prompt in PROMPTS else DEFAULT_MAX_TOKENS
        return self._replace(
            prompt=prompt,
            confidence=self.confidence or confidence,
            max_tokens=self.max_tokens or limit,
            max_connections=connections,
        )

    @property
    def is_classifier(self) -> bool:
        """Return whether the model is a VQA model of transformers, which does not accept chat messages."""
        return self.model.startswith("hf-vqa/") and not self.server

    @property
    def is_remote(self) -> bool:
        """Return whether the model is reached over a network."""
        return self.model.split("/")[0] not in LOCAL_PROVIDERS or bool(self.server)

    @property
    def is_asked_directly(self) -> bool:
        """Return whether the model is on an OpenAI-compatible server, which is asked without inspect_ai."""
        return bool(self.server) or self.model.startswith(SERVICE_PREFIX)

    @property
    def output_folder(self) -> Path:
        """Return the folder of the run: `out`, or by default runs/<model>-<prompt>-<confidence>.

        The default for a run without images ends with "-no-image".
        """
        chosen = self.with_defaults
        method = chosen.confidence.replace("_", "-")
        name = "-".join((chosen.model, chosen.prompt, method, *["no-image"] * chosen.no_image))
        return self.out or Path("runs") / make_folder_name(name)


def make_folder_name(name: str) -> str:
    """Return a name as the name of a folder.

    >>> make_folder_name("photos-openai/gpt-4o")
    'photos-openai-gpt-4o'
    """
    safe = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)
    return safe[-MAX_FOLDER_NAME_LENGTH:].lstrip(".")


def resolve_settings(options: RunOptions) -> tuple[dict[str, Any], Benchmark]:
    """Check the options against the release.

    Returns:
        The settings that must be equal for a run to be resumed, as in run.json; and the release.

    Raises:
        UserError: There is no such release, prompt or confidence method, an option has no effect, or the
            release was changed after publication. All faults are listed.
    """
    given, options, problems = options, options.with_defaults, list[str]()

    def attempt(reader: Callable[..., T], *values: Any) -> T | None:
        with collect_errors(problems):
            return reader(*values)

    prompt = attempt(get_prompt, options.prompt)
    method = attempt(get_confidence_method, options.confidence)
    if prompt and method:
        problems += find_incompatible_options(
            options._replace(max_tokens=given.max_tokens), prompt.name, method
        )
    outputs = [Output("--out", options.output_folder, "folder")]
    if options.inspect_log:
        outputs.append(Output("--inspect-log", options.inspect_log, "file"))
        if options.inspect_log.suffix not in (".eval", ".json"):
            problems.append(
                f"--inspect-log {options.inspect_log}: wanted a name that ends with .eval or .json"
            )
    attempt(check_output_paths, outputs, [options.release])
    if not options.release.is_dir():
        problems.append(f"{options.release}: no such folder; wanted the folder of a release")
        raise UserError(problems)
    benchmark, sha256 = (
        attempt(read_benchmark, options.release, options.subsets),
        attempt(fingerprint_release, options.release),
    )
    if benchmark and options.split != RunOptions._field_defaults["split"] and not benchmark.splits:
        problems.append(no_effect_message("--split", "the benchmark has no splits"))
    if problems or not (prompt and method and benchmark and sha256):
        raise UserError(problems)
    return {
        "release": {"name": benchmark.name, "version": benchmark.version, "sha256": sha256},
        "model": options.model,
        "model_args": dict(options.model_args),
        "prompt": {"name": prompt.name, "hash": prompt.hash},
        "confidence": {"name": method.name, "hash": method.hash},
        "split": options.split,
        "subsets": sorted(benchmark.subsets),
        "limit": options.limit,
        "max_image_size": options.max_image_size,
        "images": str(options.images or ""),
        "shots": options.shots,
        "num_replies": options.num_replies if method.needs_several_replies else 1,
        "max_tokens": options.max_tokens,
        "seed": options.seed,
        "no_image": options.no_image,
    }, benchmark


def find_incompatible_options(options: RunOptions, prompt: str, method: ConfidenceMethod) -> Iterator[str]:
    """Yield a message for each option that has no effect, and for each combination that the model does not
    support.
    """
    why: dict[str, str] = {}
    if not method.needs_several_replies:
        why["num_replies"] = f"--confidence {method.name} asks once; it is for self-consistency"
    if options.no_image:
        why |= dict.fromkeys(("max_image_size", "images"), "--no-image sends no images")
    if options.is_classifier:
        why["max_tokens"] = "a model of hf-vqa gives one answer of its own length"
    if not options.is_remote:
        why["prices"] = "a model on this machine has no price"
    for name, reason in why.items():
        if getattr(options, name) != RunOptions._field_defaults[name]:
            option = {"prices": "--input-price, --output-price"}.get(name, f"--{name.replace('_', '-')}")
            yield no_effect_message(option, reason)
    if options.model.startswith("hf/") and not options.server and not options.no_image:
        yield (
            f"--model {options.model}: inspect_ai's hf/ takes no images; use hf-vlm/{options.model[3:]}, or --no-image"
        )
    if options.is_classifier and (
        prompt not in CLASSIFIER_PROMPTS_AND_METHODS[0]
        or method.name not in CLASSIFIER_PROMPTS_AND_METHODS[1]
    ):
        yield f"--model {options.model} gives one answer to one question: use --prompt bare with --confidence token-probability or abstention"
