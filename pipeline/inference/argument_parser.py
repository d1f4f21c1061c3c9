"""The options of `rgqa run` and of the wheel's `rgqa-run`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..core.errors import UserError
from ..core.renames import RenamingArgumentParser
from ..scoring.cli_options import HelpFormatter
from ..scoring.version import VERSION
from .confidence_methods import CONFIDENCE_METHODS
from .cost_forecast import Prices
from .prompts import DEFAULT_MAX_TOKENS, PROMPTS
from .release_questions import SPLITS
from .run_options import DEFAULT_MAX_CONNECTIONS, RunOptions

DEFAULT_OPTIONS = RunOptions(Path(), "")
# Words in the name of a model setting that mark its value as a secret.
SECRET_WORDS = ("key", "token", "secret", "password", "auth", "cookie")


def make_parser(
    prog: str = "rgqa-run", with_plots: bool = False, with_public_sets: bool = False
) -> argparse.ArgumentParser:
    """Return the parser of the run command.

    Args:
        prog: Name of the command in the help.
        with_plots: Add the options of a command that draws plots.
        with_public_sets: Describe a command that also asks public sets.
    """
    lists = "\n\n".join(
        "\n".join([heading, *(f"  {one.name:<18} {one.help}" for one in known.values())])
        for heading, known in (
            ("Prompts (--prompt), the instruction that goes with each question:", PROMPTS),
            (
                "Confidence methods (--confidence), how to estimate the probability that the question is answerable:",
                CONFIDENCE_METHODS,
            ),
        )
    )
    subject, what = ("SET", "a release or a public set") if with_public_sets else ("RELEASE", "a release")
    parser = RenamingArgumentParser(
        "run",
        prog=prog,
        usage=f"{prog} {subject} --model MODEL [options]",
        description=f"Ask a model the questions of {what} and score its answers (docs/guides/run_a_model.md).\n"
        "If a run stops, the same command resumes it and repeats the failed requests.",
        epilog=f"{lists}\n\nExamples:\n"
        f"  {prog} data/release/sample/1.0.0 --server http://127.0.0.1:8000 --model llava --confidence token-probability\n"
        f"  {prog} data/release/sample/1.0.0 --model openai/gpt-4o-mini --limit 200 --input-price 0.15 --output-price 0.6\n"
        f"  {prog} data/release/sample/1.0.0 --model hf-vqa/dandelin/vilt-b32-finetuned-vqa"
        + f"\n  {prog} coco_pope_popular.json --images val2014 --server http://127.0.0.1:8000 --model llava"
        * with_public_sets,
        formatter_class=HelpFormatter,
    )
    add = parser.add_argument
    help_text = "folder of a release (data/release/NAME/VERSION)"
    if with_public_sets:
        help_text += (
            "; file or folder of a public set such as POPE or MM-UPD (docs/guides/public_sets.md); or hub:OWNER/NAME@REVISION:PATH to "
            "fetch either from the Hugging Face Hub"
        )
    add("release", type=Path, metavar=subject, help=help_text)
    add(
        "--model",
        required=True,
        help="choose the model by its name in inspect_ai: openai/..., anthropic/..., openai-api/NAME/MODEL (with NAME_BASE_URL and "
        "NAME_API_KEY in the environment), or hf-vlm/... and hf-vqa/... for models on this machine; with --server, by its name on "
        "that server (example: --model llava)",
    )
    for group, options in _option_groups(with_public_sets):
        adding = parser.add_argument_group(group).add_argument
        for name, text, example, how in options:
            shown = f"{text} (example: {name} {example})" if example else text
            adding(name, help=shown.replace("%", "%%"), **how)
    if with_plots:
        add(
            "--plots",
            action=argparse.BooleanOptionalAction,
            default=False,
            help="also draw the plots into the folder of the run",
        )
    add("--version", action="version", version=f"rgqa_scorers {VERSION}")
    return parser


def _option_groups(with_public_sets: bool) -> list[tuple[str, list[tuple[str, str, str, dict[str, Any]]]]]:
    """Return the groups of options.

    Each option has a name, a help text, an example of a value ("" for a flag), and arguments of
    `add_argument`.
    """

    def number(name: str) -> dict[str, Any]:
        return {"type": int, "default": getattr(DEFAULT_OPTIONS, name), "metavar": "N"}

    prompts, prompt_default = [*PROMPTS], "default: abstain (hf-vqa models: bare)"
    if with_public_sets:
        prompts.append("authors")
        prompt_default = (
            "default: abstain (hf-vqa models: bare; public sets: authors, the prompt of the set's authors)"
        )
    price = {"type": float, "default": None, "metavar": "PRICE"}
    flag = {"action": "store_true"}
    return [
        (
            "questions",
            [
                ("--subset", "ask only the questions of this subset; may be repeated; default: all subsets", "pt-hard", {"action": "append", "default": []}),
                ("--split", "ask only the questions of this split; default: test", "all", {"choices": SPLITS, "default": "test"}),
                ("--limit", "ask at most N questions, chosen at random in complete pairs (an unanswerable and its answerable question), the same ones for every --seed; 0: all; default: 0", "200", number("limit")),
            ],
        ),
        (
            "how to ask",
            [
                ("--server", "use the OpenAI-compatible server at this address; if it needs a key, put the key into the environment variable SERVER_API_KEY", "http://127.0.0.1:8000", {"default": "", "metavar": "URL"}),
                ("--model-arg", "pass a setting to the model; may be repeated; on a server, header.NAME is an HTTP header, and any other name a field of each request", "top_k=1", {"action": "append", "default": [], "metavar": "NAME=VALUE"}),
                ("--prompt", f"choose the instruction that goes with each question (see below); {prompt_default}", "short-answer", {"default": "", "metavar": "{" + ",".join(prompts) + "}"}),
                ("--confidence", "choose how to estimate the model's confidence that the question is answerable (see below); default: abstention (hf-vqa models: token-probability)", "verbalized", {"default": "", "metavar": "{" + ",".join(CONFIDENCE_METHODS) + "}"}),
                ("--max-image-size", f"shrink images so that the longer side has at most N pixels; 0: original size; default: {DEFAULT_OPTIONS.max_image_size}", "512", number("max_image_size")),
                ("--images", "read the images from this folder, if the release does not contain them", "images", {"type": Path, "default": None, "metavar": "FOLDER"}),
                ("--shots", "use N few-shot examples (questions of split validation with their answers) before each question; default: 0", "4", number("shots")),
                ("--num-replies", f"with --confidence self-consistency, request N replies to each question; default: {DEFAULT_OPTIONS.num_replies}", "5", number("num_replies")),
                ("--max-tokens", f"limit each reply to N tokens (reasoning models need more than the default); 0: {DEFAULT_MAX_TOKENS}, or {PROMPTS['explain'].max_tokens} with --prompt explain; default: 0", "2048", number("max_tokens")),
                ("--seed", "set the seed of the examples (--shots) and of the replies, and not of the questions (--limit); default: 0", "7", number("seed")),
                ("--no-image", "ask the same questions without the images, as a control", "", flag),
                ("--max-connections", f"send at most N requests at the same time; if 0, {DEFAULT_MAX_CONNECTIONS} for remote models, or as many as a model on this machine can process; default: 0", "32", number("max_connections")),
            ],
        ),
        (
            "cost and output",
            [
                ("--input-price", "set the price of a million input tokens, for the cost forecast", "0.15", price),
                ("--output-price", "set the price of a million output tokens, for the cost forecast", "0.6", price),
                ("--yes", "continue after the cost forecast without asking", "", flag),
                ("--inspect-log", "also write the finished run to this file as a log of inspect_ai", "llava.eval", {"type": Path, "default": None, "metavar": "FILE"}),
                ("--out", "write the run to this folder; default: runs/<model>-<prompt>-<confidence>", "runs/llava", {"type": Path, "default": None, "metavar": "FOLDER"}),
            ],
        ),
    ]  # fmt: skip


def parse_options(namespace: argparse.Namespace) -> RunOptions:
    """Check the parsed command line and return it as options.

    Raises:
        UserError: An option has an invalid value. All faults are listed.
    """
    problems = [
        f"--{name.replace('_', '-')} is {getattr(namespace, name)}, wanted {least} to {most:,}"
        for name, least, most in (
            ("limit", 0, 1_000_000),
            ("max_image_size", 0, 100_000),
            ("shots", 0, 1000),
            ("num_replies", 2, 1000),
            ("max_tokens", 0, 10_000_000),
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
        f"--model-arg {name}: secrets are read from the environment only; set an environment variable"
        for name, *_ in pairs
        if any(word in name.lower() for word in SECRET_WORDS)
    ]
    server, found = normalize_server_url(namespace.server)
    problems += found
    if server and "base_url" in (name for name, *_ in pairs):
        problems.append("--model-arg base_url: --server already names the address; remove one of them")
    if problems:
        raise UserError(problems)
    prices = Prices(namespace.input_price, namespace.output_price)
    arguments = tuple((name, value) for name, _, value in pairs)
    same = {name: value for name, value in vars(namespace).items() if name in RunOptions._fields}
    return RunOptions(
        **same
        | {"server": server, "subsets": tuple(namespace.subset), "prices": prices, "model_args": arguments}
    )


def normalize_server_url(address: str) -> tuple[str, list[str]]:
    """Return the base URL of the server's API, and the faults of the address.

    >>> normalize_server_url("localhost:8000"), normalize_server_url("https://models.example.org/v1/")
    (('http://localhost:8000/v1', []), ('https://models.example.org/v1', []))
    """
    if not address:
        return "", []
    wrong = [f"--server is {address!r}, wanted an address such as http://127.0.0.1:8000"]
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            return "", wrong
    # Raised for unbalanced brackets and for an invalid port.
    except ValueError:
        return "", wrong
    if parts.username or parts.password or parts.query or parts.fragment:
        return "", [
            "--server: wanted an address without user, password and query, as it is written to files; put the key into SERVER_API_KEY"
        ]
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/') or '/v1'}", []
