"""The options of `rgqa run` and of the wheel's `rgqa-run`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..core.errors import UserError
from ..scoring.version import VERSION
from .confidence_methods import CONFIDENCE_METHODS
from .cost_forecast import Prices
from .prompts import PROMPTS
from .run_options import DEFAULT_MAX_CONNECTIONS, RunOptions

DEFAULT_OPTIONS = RunOptions(Path(), "")
SECRET_WORDS = ("key", "token", "secret", "password")  # in names of settings


def make_parser(prog: str = "rgqa-run", with_plots: bool = False) -> argparse.ArgumentParser:
    """The options of a run; `plots`: with those of a command that draws plots."""
    names = "\n".join(
        f"  {kind:<8} {one.name:<18} {one.help}"
        for kind, known in (("--prompt", PROMPTS), ("--confidence", CONFIDENCE_METHODS))
        for one in known.values()
    )
    parser = argparse.ArgumentParser(
        prog=prog,
        usage=f"{prog} RELEASE --model MODEL [options]",
        description="Ask a model the questions of a release and score its answers (docs/running.md). The same command goes on "
        "where it was stopped, and asks again what failed.",
        epilog=f"{names}\n\nExamples:\n"
        f"  {prog} data/release/sample/1.0.0 --server http://127.0.0.1:8000 --model llava --confidence token-probability\n"
        f"  {prog} data/release/sample/1.0.0 --model openai/gpt-4o-mini --limit 200 --input-price 0.15 --output-price 0.6\n"
        f"  {prog} data/release/sample/1.0.0 --model hf-vqa/dandelin/vilt-b32-finetuned-vqa",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("release", type=Path, metavar="RELEASE", help="a release's folder, as it was published")
    add(
        "--model",
        required=True,
        help="as inspect_ai names it: openai/..., anthropic/..., openai-api/NAME/MODEL (with NAME_BASE_URL and NAME_API_KEY in "
        "the environment), hf-vlm/... and hf-vqa/... on this machine; with --server the model's name there (example: --model llava)",
    )
    for group, options in _option_groups():
        adding = parser.add_argument_group(group).add_argument
        for name, text, example, how in options:
            adding(name, help=f"{text} (example: {f'{name} {example}'.strip()})".replace("%", "%%"), **how)
    if with_plots:
        add("--no-plots", dest="plots", action="store_false", help="do not draw plots (example: --no-plots)")
    add("--version", action="version", version=f"rgqa_scorers {VERSION}")
    return parser


def _option_groups() -> list[tuple[str, list[tuple[str, str, str, dict[str, Any]]]]]:
    """Groups of options: name, what it does, an example, how argparse takes it."""

    def number(name: str) -> dict[str, Any]:
        return {"type": int, "default": getattr(DEFAULT_OPTIONS, name), "metavar": "N"}

    price = {"type": float, "default": None, "metavar": "PRICE"}
    flag = {"action": "store_true"}
    return [
        (
            "what is asked",
            [
                ("--subset", "a subset; may be repeated; all if not given", "pt-hard", {"action": "append", "default": []}),
                ("--split", "items of split test, validation or all; test if not given", "all", {"choices": ("test", "validation", "all"), "default": "test"}),
                ("--limit", "at most so many questions, in whole pairs drawn at random; 0 for all", "200", number("limit")),
            ],
        ),
        (
            "how it is asked",
            [
                ("--server", "address of a server with OpenAI's interface; its key, if any, is in SERVER_API_KEY", "http://127.0.0.1:8000", {"default": "", "metavar": "URL"}),
                ("--model-arg", "what the model's provider takes beside its name; may be repeated", "revision=main", {"action": "append", "default": [], "metavar": "NAME=VALUE"}),
                ("--prompt", "what is said around a question; refuse if not given, bare for hf-vqa", "word", {"default": "", "metavar": "{" + ",".join(PROMPTS) + "}"}),
                ("--confidence", "how a confidence is got; refusal if not given, token-probability for hf-vqa", "verbal", {"default": "", "metavar": "{" + ",".join(CONFIDENCE_METHODS) + "}"}),
                ("--max-image-size", f"of an image's longer side at most, 0 for as it is; {DEFAULT_OPTIONS.max_image_size} if not given", "512", number("max_image_size")),
                ("--images", "folder of the images, for a release without", "images", {"type": Path, "default": None, "metavar": "FOLDER"}),
                ("--shots", "examples from split validation before each question; 0 if not given", "4", number("shots")),
                ("--num-replies", f"replies to a question under recipe agreement; {DEFAULT_OPTIONS.num_replies} if not given", "5", number("num_replies")),
                ("--max-tokens", f"of a reply; {DEFAULT_OPTIONS.max_tokens} if not given; reasoning models need more", "2048", number("max_tokens")),
                ("--seed", "of examples and replies; 0 if not given", "7", number("seed")),
                ("--no-image", "a control: the same questions without the images", "", flag),
                ("--max-connections", f"requests at the same time; {DEFAULT_MAX_CONNECTIONS} if not given; a model on this machine takes what it can", "32", number("max_connections")),
            ],
        ),
        (
            "what it costs, where it goes",
            [
                ("--input-price", "for a million tokens in, for the forecast", "0.15", price),
                ("--output-price", "for a million tokens out", "0.6", price),
                ("--yes", "do not ask at the forecast whether to go on", "", flag),
                ("--out", "the run's folder; runs/<model>-<prompt>-<recipe> if not given", "runs/llava", {"type": Path, "default": None, "metavar": "FOLDER"}),
            ],
        ),
    ]  # fmt: skip


def parse_options(namespace: argparse.Namespace) -> RunOptions:
    """The options, checked.

    Raises:
        UserError: lists all that cannot be.
    """
    problems = [
        f"--{name.replace('_', '-')} is {getattr(namespace, name)}, wanted {least} to {most:,}"
        for name, least, most in (
            ("limit", 0, 1_000_000),
            ("max_image_size", 0, 100_000),
            ("shots", 0, 1000),
            ("num_replies", 2, 1000),
            ("max_tokens", 1, 10_000_000),
            ("seed", 0, 2**32 - 1),
            ("max_connections", 0, 10_000),
        )
        if not least <= getattr(namespace, name) <= most
    ]
    for name, price in (("input", namespace.input_price), ("output", namespace.output_price)):
        if price is not None and not 0 <= price <= 1_000_000:
            problems.append(f"--{name}-price is {price}, wanted 0 to 1,000,000")
    pairs = [word.partition("=") for word in namespace.model_arg]
    problems += [f"--model-arg {name}: wanted NAME=VALUE" for name, sign, _ in pairs if not (name and sign)]
    problems += [
        f"--model-arg {name}: a key is taken from the environment alone"
        for name, *_ in pairs
        if any(word in name.lower() for word in SECRET_WORDS)
    ]
    server, found = _normalize_server_url(namespace.server)
    problems += found
    if server and "base_url" in (name for name, *_ in pairs):
        problems.append("--model-arg base_url: --server names the address")
    if problems:
        raise UserError(problems)
    prices = Prices(namespace.input_price, namespace.output_price)
    arguments = tuple((name, value) for name, _, value in pairs)
    same = {name: value for name, value in vars(namespace).items() if name in RunOptions._fields}
    return RunOptions(
        **same
        | {"server": server, "subsets": tuple(namespace.subset), "prices": prices, "model_args": arguments}
    )


def _normalize_server_url(address: str) -> tuple[str, list[str]]:
    """The address of the interface, and what is wrong with it.

    >>> _server("localhost:8000"), _server("https://models.example.org/v1/")
    (('http://localhost:8000/v1', []), ('https://models.example.org/v1', []))
    """
    if not address:
        return "", []
    wrong = [f"--server is {address!r}, wanted an address such as http://127.0.0.1:8000"]
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            return "", wrong
    except ValueError:  # of brackets, or a port that is none
        return "", wrong
    if parts.username or parts.password or parts.query or parts.fragment:
        return "", [
            "--server: wanted an address alone; a key in it would be written to files: put it in SERVER_API_KEY"
        ]
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/') or '/v1'}", []
