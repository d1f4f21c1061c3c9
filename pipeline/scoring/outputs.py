"""Check that what scoring writes replaces nothing that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core.output_paths import Output, check_output_paths
from .errata import ERRATA_FILE, OWN_ERRATA
from .provenance import RELEASE_METADATA_FILES

# Files written in the folder of --out.
OUTPUT_FILES = ("scores.json", "scores.txt")


def check_outputs(arguments: Mapping[str, Any]) -> None:
    """Check the outputs of a command line of `rgqa score` before anything is done.

    Args:
        given: the parsed options by name.

    Raises:
        UserError: an output would replace an input or another output, or lies inside a release.
    """
    check_output_paths(_output_paths(arguments), _input_paths(arguments))


def _output_paths(given: Mapping[str, Any]) -> Iterator[Output]:
    yield from (Output(f"--{name}", given[name]) for name in ("json", "table") if given.get(name))
    if given.get("out"):
        yield Output("--out", given["out"], "folder", OUTPUT_FILES)
    if given.get("plots"):
        yield Output("--plots", given["plots"], "folder", ("*",))


def _input_paths(given: Mapping[str, Any]) -> Iterator[Path]:
    benchmark = given["benchmark"]
    yield from (benchmark, *given["predictions"], *given["validation"], *given["abstention_labels"])
    yield from (benchmark / name for name in RELEASE_METADATA_FILES)
    yield from benchmark.glob("rgqa/*.json")
    errata = given.get("exclude_errata")
    yield from [benchmark / ERRATA_FILE if errata == OWN_ERRATA else Path(errata)] if errata else []
    for name in [given.get("synonyms"), *(text.partition("=")[2] for text in given["resource"])]:
        if name:
            yield from (Path(name), *Path(name).glob("data.noun*"))
