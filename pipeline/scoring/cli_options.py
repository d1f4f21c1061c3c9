"""The options of scoring: the one table that `rgqa score` and the wheel's `rgqa-score` take theirs from."""

from __future__ import annotations

import argparse
import math
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
    """An option: what it does; what may follow its name, "" for nothing; what it is if it is not given, "" for what
    `Options` has; and how argparse takes it."""

    name: str
    help: str
    example: str = ""
    default: str = ""
    argparse_kwargs: Mapping[str, Any] = MappingProxyType({})

    @property
    def help_text(self) -> str:
        """Its line in the help."""
        default = self.default or _format_default(getattr(ScoringOptions(), self.name[2:].replace("-", "_")))
        line = f"{self.name} {self.example}".strip()
        return f"{self.help} (default: {default}; example: {line})"


def _format_default(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(f"{number:g}" for number in value)
    return "no" if value is False else "none" if value is None else str(value)


FLAG_KWARGS = {"action": "store_true"}
OUTPUT_FLAG_KWARGS = {"action": "store_true", "default": False}  # what the command does with the scores
FILE_KWARGS = {"type": Path, "default": None}
REPEATABLE_KWARGS = {"action": "append", "default": []}
OPTION_GROUPS = {
    "what is scored": [
        CommandOption(
            "--subset", "a subset of a release; may be repeated", "pt-hard", "all", REPEATABLE_KWARGS
        ),
        CommandOption(
            "--split", "items of a release: test (with thresholds from validation), validation or all", "all"
        ),
        CommandOption(
            "--exclude-errata",
            "leave out items known to be faulty, and what is paired with them: auto (the release's list) or a file",
            "auto",
            "none",
            {"default": None, "metavar": "FILE"},
        ),
        CommandOption(
            "--validation",
            "predictions to choose thresholds on, for each model a file",
            "validation.json",
            "none",
            {"type": Path} | REPEATABLE_KWARGS,
        ),
        CommandOption("--missing", "items without a prediction: error, wrong (accepted) or drop", "wrong"),
        CommandOption(
            "--allow-missing",
            "as --missing wrong",
            "",
            "no",
            {"action": "store_const", "const": "wrong", "dest": "missing"},
        ),
    ],
    "how it is scored": [
        CommandOption("--mode", "strict, or published: the numbers of the published scripts", "published"),
        CommandOption(
            "--match", "what answers lose before they are compared: exact (nothing), vqa or squad", "squad"
        ),
        CommandOption("--synonyms", "JSON object: answer -> one that counts as the same", "same.json"),
        CommandOption(
            "--detect-abstention",
            "read abstentions from the answers instead of confidences",
            argparse_kwargs=FLAG_KWARGS,
        ),
        CommandOption(
            "--abstention-labels",
            "who says which answers abstain instead, for each model a file (id, abstained)",
            "judge.csv",
            "none",
            {"type": Path} | REPEATABLE_KWARGS,
        ),
        CommandOption(
            "--threshold",
            "accept from here on, where no validation items choose it",
            "0.3",
            argparse_kwargs={"type": float},
        ),
        CommandOption("--risks", "of C@R", "0.05 0.1", argparse_kwargs={"type": float, "nargs": "+"}),
        CommandOption(
            "--costs", "of effective reliability", "1 100", argparse_kwargs={"type": float, "nargs": "+"}
        ),
        CommandOption(
            "--bootstrap", "repetitions for intervals, 0 for none", "10000", argparse_kwargs={"type": int}
        ),
        CommandOption("--seed", "of the bootstrap", "7", argparse_kwargs={"type": int}),
    ],
    "what is shown and written": [
        CommandOption("--full", "print every score of every subset", "", "one screen", OUTPUT_FLAG_KWARGS),
        CommandOption(
            "--group-by",
            f"print the scores by {', '.join(GROUPING_FIELDS)}; commas between",
            "category,edit",
            "not printed",
        ),
        CommandOption(
            "--scores", f"print these groups: {', '.join(GROUP_NAMES)}", "realistic,pairs", "one screen"
        ),
        CommandOption("--json", "write every number, unrounded", "scores.json", "not written", FILE_KWARGS),
        CommandOption(
            "--out",
            "folder for scores.json and scores.txt, the full print",
            "scores",
            "not written",
            FILE_KWARGS,
        ),
        CommandOption(
            "--table",
            "every number as a row of a .csv, .xlsx or .parquet (rgqa score)",
            "t.csv",
            "not written",
            FILE_KWARGS,
        ),
        CommandOption(
            "--plots", "folder for plots, as SVG and PNG (rgqa score)", "plots", "not drawn", FILE_KWARGS
        ),
    ],
    "beyond": [
        CommandOption(
            "--resource",
            "a file for further scores, one of those below; may be repeated",
            "wordnet=dict",
            "none",
            REPEATABLE_KWARGS | {"metavar": "NAME=FILE"},
        ),
    ],
}
# What some options must be, and whether a value is.
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


def build_parser(program: str = "rgqa-score") -> argparse.ArgumentParser:
    """The options of scoring. Those of `Options` that are not given are not in the parsed namespace."""
    extras = "\n".join(f"  {name:<14} {extra.help}" for name, extra in RESOURCES.items())
    parser = RenamingArgumentParser(
        "score",
        prog=program,
        usage=f"{program} BENCHMARK PREDICTIONS [PREDICTIONS ...] [options]",
        description="Score predictions on a benchmark with unanswerable questions (docs/reference/scores.md defines every score).",
        epilog=f"--resource NAME=FILE:\n{extras}\n\nExample: {program} data/release/sample/1.0.0 model.json --json scores.json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument(
        "benchmark", type=Path, help="a release's folder, a subset's JSON, or GQA's or VQA's file"
    )
    parser.add_argument(
        "predictions", type=Path, nargs="+", help="a file of them or a harness's log; several are compared"
    )
    for title, options in OPTION_GROUPS.items():
        group = parser.add_argument_group(title)
        for option in options:
            group.add_argument(
                option.name, help=option.help_text.replace("%", "%%"), **option.argparse_kwargs
            )
    parser.add_argument("--version", action="version", version=f"rgqa_scorers {VERSION}")
    return parser


def find_ineffective_options(
    arguments: Mapping[str, Any],
    options: ScoringOptions,
    benchmark: Benchmark,
    score_groups: Collection[str],
    has_validation: bool,
) -> list[str]:
    """List the options that were given although they change nothing beside the others or for this benchmark.

    Args:
        given: The command line's arguments; those that were not typed are not in it, or have their default.
        groups: Of scores that will be shown or written.
        has_validation: Are thresholds chosen on validation items?
    """
    why: dict[str, str] = {}
    if not options.bootstrap:
        why["seed"] = "--bootstrap 0 draws nothing"
    if not benchmark.splits:
        why["split"] = "the benchmark has no parts"
    if "selective" not in score_groups:
        why |= dict.fromkeys(
            ("risks", "costs"),
            "no score that is shown uses it; add --full, --json FILE or --scores selective",
        )
    if score_groups and not {"pairs", "answerability"}.intersection(score_groups):
        why["threshold"] = "no score that is shown uses it; add --full, --json FILE or --scores pairs"
    elif has_validation and "answerability" not in score_groups:
        why["threshold"] = "validation items choose the threshold of the scores that are shown"
    if options.mode == "published":
        why |= dict.fromkeys(("bootstrap", "seed"), "--mode published gives no intervals")
        why |= {"match": "--mode published compares exactly", "split": "--mode published scores all parts"}
    found = [no_effect_message(f"--{name}", reason) for name, reason in why.items() if name in arguments]
    suited = [*list_score_groups(benchmark), EFFICIENCY_GROUP]
    for text in arguments.get("resource", ()):
        name = text.partition("=")[0]
        group = RESOURCES[name].score_group if name in RESOURCES else EFFICIENCY_GROUP
        if group not in suited:
            found.append(
                no_effect_message(f"--resource {name}", f"its scores ({group}) are not for such a benchmark")
            )
        elif group not in score_groups:
            found.append(no_effect_message(f"--resource {name}", f"--scores leaves out {group}"))
    return found


def parse_options(arguments: Mapping[str, Any]) -> ScoringOptions:
    """The options among a command line's arguments, but for the files.

    Raises:
        UserError: lists all of them that cannot be.
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
    for name, (wanted, fits) in VALUE_CHECKS.items():
        if not fits(value := getattr(options, name)):
            problems.append(f"--{name} is {value!r}, wanted {wanted}")
    for name, asked, there in (
        ("scores", options.scores, GROUP_NAMES),
        ("group_by", options.group_by, GROUPING_FIELDS),
    ):
        wrong = [one for one in asked if one not in there]
        if wrong or (asked == () and name in given):
            problems.append(
                f"--{name.replace('_', '-')}: no {', '.join(wrong) or 'name given'}; there are {', '.join(there)}"
            )
    if problems:
        raise UserError(problems)
    return options


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
