"""The options of scoring, for `rgqa score` and for the command `rgqa-score` of the wheel."""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..core.errors import UserError, no_effect_message
from ..core.output_paths import Output, check_output_paths
from ..core.renames import RenamingArgumentParser
from .errata import ERRATA_FILE, OWN_ERRATA
from .items import Benchmark
from .joined_predictions import FILE_OPTIONS, ScoringOptions
from .model_report import EFFICIENCY_GROUP, GROUP_NAMES, list_score_groups
from .provenance import RELEASE_METADATA_FILES
from .resources import RESOURCES
from .subgroups import GROUPING_FIELDS
from .version import VERSION


class CommandOption(NamedTuple):
    """An option of the command line.

    Attributes:
        name: Name with its dashes.
        help: What the option does.
        example: Example of a value, "" for a flag.
        default: Default value as shown in the help; "" to show the default of `ScoringOptions`.
        argparse_kwargs: Arguments of `argparse.ArgumentParser.add_argument`.
    """

    name: str
    help: str
    example: str = ""
    default: str = ""
    argparse_kwargs: Mapping[str, Any] = MappingProxyType({})

    @property
    def help_text(self) -> str:
        """Return the help with the default and, unless the option is a flag, an example."""
        default = self.default or _format_default(getattr(ScoringOptions(), self.name[2:].replace("-", "_")))
        example = f"; example: {self.name} {self.example}" if self.example else ""
        return f"{self.help} (default: {default}{example})"


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wrap the help of options without breaking a word at a hyphen, so that options and values can be copied."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


def _format_default(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(f"{number:g}" for number in value)
    return "no" if value is False else "none" if value is None else str(value)


# The command of the wheel, and its options that need more than NumPy.
WHEEL_PROGRAM = "rgqa-score"
FULL_INSTALL_OPTIONS = ("--table", "--plots")
FLAG_KWARGS = {"action": "store_true"}
# Flags of the output are always in the parsed namespace. Options of `ScoringOptions` are there only if they
# were given.
OUTPUT_FLAG_KWARGS = {"action": "store_true", "default": False}
FILE_KWARGS = {"type": Path, "default": None, "metavar": "FILE"}
FOLDER_KWARGS = FILE_KWARGS | {"metavar": "FOLDER"}
COUNT_KWARGS = {"type": int, "metavar": "N"}
REPEATABLE_KWARGS = {"action": "append", "default": []}
OPTION_GROUPS = {
    "input": [
        CommandOption(
            "--subset",
            "score only this subset of a release; may be repeated",
            "pt-hard",
            "all",
            REPEATABLE_KWARGS,
        ),
        CommandOption(
            "--split",
            "score this split of a release: test (with thresholds chosen on split validation), validation or all",
            "all",
            argparse_kwargs={"metavar": "{test,validation,all}"},
        ),
        CommandOption(
            "--exclude-errata",
            "exclude faulty items and the items paired with them, as listed in the release (auto) or in this file",
            "auto",
            "none",
            {"default": None, "metavar": "FILE"},
        ),
        CommandOption(
            "--validation",
            "choose thresholds on the predictions in this file; repeat the option for each model",
            "validation.json",
            "none",
            {"type": Path, "metavar": "FILE"} | REPEATABLE_KWARGS,
        ),
        CommandOption(
            "--missing",
            "choose what happens to items without a prediction: error (refuse the file), wrong (count them as accepted with a wrong "
            "answer) or drop (leave them out)",
            "wrong",
            argparse_kwargs={"metavar": "{error,wrong,drop}"},
        ),
        CommandOption(
            "--allow-missing",
            "count items without a prediction as wrong; short for --missing wrong",
            "",
            "no",
            {"action": "store_const", "const": "wrong", "dest": "missing"},
        ),
    ],
    "scoring": [
        CommandOption(
            "--mode",
            "compute scores as docs/reference/scores.md defines them (strict) or as the published scripts do (published)",
            "published",
            argparse_kwargs={"metavar": "{strict,published}"},
        ),
        CommandOption(
            "--match",
            "normalize answers before they are compared, as the scripts of VQA (vqa) or SQuAD (squad) do, or not at all (exact)",
            "squad",
            argparse_kwargs={"metavar": "{exact,vqa,squad}"},
        ),
        CommandOption(
            "--synonyms",
            "accept the synonyms in this file, a JSON object of answer -> equivalent answer",
            "same.json",
            argparse_kwargs={"metavar": "FILE"},
        ),
        CommandOption(
            "--detect-abstention",
            "decide from the text of each reply whether the model answers or abstains, instead of from its confidence",
            argparse_kwargs=FLAG_KWARGS,
        ),
        CommandOption(
            "--abstention-labels",
            "read from this file which replies abstain (columns item_id, abstained); repeat the option for each model",
            "labels.csv",
            "none",
            {"type": Path, "metavar": "FILE"} | REPEATABLE_KWARGS,
        ),
        CommandOption(
            "--threshold",
            "accept answers with at least this confidence, if no threshold can be chosen on validation items",
            "0.3",
            argparse_kwargs={"type": float, "metavar": "CONFIDENCE"},
        ),
        CommandOption(
            "--risks",
            "compute coverage at these risks (C@R), the proportions of wrong answers among the accepted answers",
            "0.05 0.1",
            argparse_kwargs={"type": float, "nargs": "+", "metavar": "RISK"},
        ),
        CommandOption(
            "--costs",
            "compute effective reliability for these costs of a wrong answer (a right answer gains 1, an abstention 0)",
            "1 100",
            argparse_kwargs={"type": float, "nargs": "+", "metavar": "COST"},
        ),
        CommandOption(
            "--bootstrap",
            "set the number of bootstrap replicates; 0: no confidence intervals",
            "10000",
            argparse_kwargs=COUNT_KWARGS,
        ),
        CommandOption("--seed", "set the seed of the bootstrap", "7", argparse_kwargs=COUNT_KWARGS),
    ],
    "output": [
        CommandOption("--full", "print every score of every subset", "", "a summary", OUTPUT_FLAG_KWARGS),
        CommandOption(
            "--group-by",
            f"print scores of subgroups of items by {', '.join(GROUPING_FIELDS)} (docs/reference/scores.md); separate several fields "
            "by commas",
            "category,edit",
            "not printed",
            {"metavar": "FIELD[,FIELD]"},
        ),
        CommandOption(
            "--scores",
            f"print these score groups (docs/reference/scores.md): {', '.join(GROUP_NAMES)}; separate several groups by commas",
            "realistic,pairs",
            "a summary",
            {"metavar": "GROUP[,GROUP]"},
        ),
        CommandOption(
            "--json", "write every number, unrounded, to this file", "scores.json", "not written", FILE_KWARGS
        ),
        CommandOption(
            "--out",
            "write scores.json (every number) and scores.txt (the full report) to this folder",
            "scores",
            "not written",
            FOLDER_KWARGS,
        ),
        CommandOption(
            "--table",
            "write every number as a row of this .csv, .xlsx or .parquet file",
            "t.csv",
            "not written",
            FILE_KWARGS,
        ),
        CommandOption(
            "--plots",
            "write plots as SVG and PNG to this folder",
            "plots",
            "not written",
            FOLDER_KWARGS,
        ),
    ],
    "optional resources": [
        CommandOption(
            "--resource",
            "read a file for further scores; NAME is one of the resources listed below; may be repeated",
            "wordnet=dict",
            "none",
            REPEATABLE_KWARGS | {"metavar": "NAME=FILE"},
        ),
    ],
}
# Option -> the valid values in words, and a function that returns whether a value is valid.
VALUE_CHECKS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "mode": ("strict or published", lambda mode: mode in ("strict", "published")),
    "split": ("test, validation or all", lambda split: split in ("test", "validation", "all")),
    "risks": ("numbers from 0 to 1", lambda risks: all(0 <= risk <= 1 for risk in risks)),
    "costs": ("numbers from 0 to 1,000,000", lambda costs: all(0 <= cost <= 1_000_000 for cost in costs)),
    "match": ("exact, vqa or squad", lambda match: match in ("exact", "vqa", "squad")),
    "missing": ("error, wrong or drop", lambda missing: missing in ("error", "wrong", "drop")),
    "bootstrap": ("0 to 1,000,000", lambda count: 0 <= count <= 1_000_000),
    "seed": ("0 to 4,294,967,295", lambda seed: 0 <= seed < 2**32),
    "threshold": ("a number", lambda threshold: not math.isnan(threshold)),
}


def build_parser(program: str = WHEEL_PROGRAM) -> argparse.ArgumentParser:
    """Build the parser of the scoring options.

    The parsed namespace contains options of `ScoringOptions` only if the user gave them.

    Args:
        program: Name of the command in the help: "rgqa-score" for the command of the wheel, or "rgqa score".
    """
    resources = "\n".join(f"  {name:<16} {resource.help}" for name, resource in RESOURCES.items())
    parser = RenamingArgumentParser(
        "score",
        prog=program,
        usage=f"{program} BENCHMARK PREDICTIONS [PREDICTIONS ...] [options]",
        description="Score predictions on a benchmark with unanswerable questions (docs/reference/scores.md defines every score).",
        epilog=f"Resources (--resource NAME=FILE):\n{resources}\n\n"
        f"Example: {program} data/release/sample/1.0.0 model.json --json scores.json",
        formatter_class=HelpFormatter,
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument(
        "benchmark",
        type=Path,
        metavar="BENCHMARK",
        help="a release folder, the JSON file of a subset, or a question file in the format of GQA or VQA"
        + (
            "; the file or folder of a public set such as POPE or MM-UPD (docs/guides/public_sets.md); or hub:OWNER/NAME@REVISION:PATH to "
            "fetch one from the Hugging Face Hub"
            if program != WHEEL_PROGRAM
            else ""
        ),
    )
    parser.add_argument(
        "predictions",
        type=Path,
        metavar="PREDICTIONS",
        nargs="+",
        help="a predictions file or the log of an evaluation harness; several models are compared",
    )
    for title, options in OPTION_GROUPS.items():
        group = parser.add_argument_group(title)
        for option in options:
            text = option.help_text
            if program == WHEEL_PROGRAM and option.name in FULL_INSTALL_OPTIONS:
                text += "; only in `rgqa score` of the full project, not in the stand-alone `rgqa-score`"
            group.add_argument(option.name, help=text.replace("%", "%%"), **option.argparse_kwargs)
    parser.add_argument("--version", action="version", version=f"rgqa_scorers {VERSION}")
    return parser


def find_ineffective_options(
    arguments: Mapping[str, Any],
    options: ScoringOptions,
    benchmark: Benchmark,
    score_groups: Collection[str],
    has_validation: bool,
) -> list[str]:
    """Return a message for each option that has no effect with the other options or on this benchmark.

    Args:
        arguments: Arguments of the command line. An option that was not given is missing or has its default
            value.
        options: The parsed options.
        benchmark: The benchmark.
        score_groups: Score groups that will be shown or written.
        has_validation: Whether thresholds are chosen on validation items.
    """
    reasons: dict[str, str] = {}
    if not options.bootstrap:
        reasons["seed"] = "--bootstrap 0 samples nothing"
    if not benchmark.splits:
        reasons["split"] = "the benchmark has no splits"
    if "selective" not in score_groups:
        reasons |= dict.fromkeys(
            ("risks", "costs"),
            "no shown score uses it; add --full, --json FILE or --scores selective",
        )
    if score_groups and not {"pairs", "answerability"}.intersection(score_groups):
        reasons["threshold"] = "no shown score uses it; add --full, --json FILE or --scores pairs"
    elif has_validation and "answerability" not in score_groups:
        reasons["threshold"] = "the threshold of the shown scores is chosen on validation items"
    if options.mode == "published":
        reasons |= dict.fromkeys(("bootstrap", "seed"), "--mode published gives no intervals")
        reasons |= {
            "match": "--mode published compares exactly",
            "split": "--mode published scores all splits",
        }
    found = [no_effect_message(f"--{name}", reason) for name, reason in reasons.items() if name in arguments]
    applicable = [*list_score_groups(benchmark), EFFICIENCY_GROUP]
    for text in arguments.get("resource", ()):
        name = text.partition("=")[0]
        group = RESOURCES[name].score_group if name in RESOURCES else EFFICIENCY_GROUP
        if group not in applicable:
            found.append(
                no_effect_message(
                    f"--resource {name}", f"its scores ({group}) do not apply to such a benchmark"
                )
            )
        elif group not in score_groups:
            found.append(no_effect_message(f"--resource {name}", f"--scores does not name {group}"))
    return found


def parse_options(arguments: Mapping[str, Any]) -> ScoringOptions:
    """Parse the scoring options of a command line, except options whose value is read from a file.

    Raises:
        UserError: Lists every invalid option.
    """
    given = {
        name: arguments[name]
        for name in ScoringOptions._fields
        if name in arguments and name not in FILE_OPTIONS
    }
    for name in ("scores", "group_by"):
        if name in given:
            given[name] = tuple(text.strip() for text in given[name].split(",") if text.strip())
    for name in ("risks", "costs"):
        if name in given:
            given[name] = tuple(given[name])
    options, problems = ScoringOptions(**given), []
    for name, (expected, is_valid) in VALUE_CHECKS.items():
        if not is_valid(value := getattr(options, name)):
            problems.append(f"--{name} is {value!r}, expected {expected}")
    for name, requested, known in (
        ("scores", options.scores, GROUP_NAMES),
        ("group_by", options.group_by, GROUPING_FIELDS),
    ):
        unknown = [one for one in requested if one not in known]
        if unknown or (requested == () and name in given):
            problems.append(
                f"--{name.replace('_', '-')}: no {', '.join(unknown) or 'name given'}; there are {', '.join(known)}"
            )
    if problems:
        raise UserError(problems)
    return options


# Files that --out writes into its folder.
OUTPUT_FILES = ("scores.json", "scores.txt")


def check_outputs(arguments: Mapping[str, Any]) -> None:
    """Check the outputs of a command line before anything is computed.

    Args:
        arguments: The parsed arguments by name.

    Raises:
        UserError: An output would replace an input or another output, or is inside a release.
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
