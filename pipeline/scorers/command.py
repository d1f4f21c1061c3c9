"""The command `rgqa-score`: predictions in, scores out. Needs numpy alone."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .benchmark import Benchmark, parse, path_bytes, read_benchmark
from .efficiency import read_run_log
from .model_report import GROUPS, Options, score
from .predictions import Predictions, read_predictions
from .text_table import comparison, lines
from .validation import Refused
from .version import VERSION
from .word_vectors import read_vectors, spacy_vectors
from .wups import read_wordnet


def read_files(
    benchmark: Path, predictions: Sequence[Path], subsets: Sequence[str] = ()
) -> tuple[Benchmark, set[str], list[Predictions]]:
    """The benchmark, cut to `subsets` if any are named, the ids of all its items, and the predictions.

    Raises:
        Refused: a file that cannot be read, and then everything else that is wrong within any of them.
    """
    whole, problems = None, []
    try:
        whole = read_benchmark(benchmark)
        if unknown := [name for name in subsets if name not in whole.subsets]:
            problems.append(
                f"{benchmark}: no subset {', '.join(unknown)}; there are {', '.join(whole.subsets)}"
            )
    except Refused as refused:
        problems += refused.problems
    models: list[Predictions] = []
    for path in predictions:
        try:
            models.append(read_predictions(path))
        except Refused as refused:
            problems += refused.problems
    if problems or whole is None:
        raise Refused([*problems, *(line for model in models for line in model.faults)])
    known = {row.id for rows in whole.subsets.values() for row in rows}
    kept = {name: rows for name, rows in whole.subsets.items() if not subsets or name in subsets}
    return whole._replace(subsets=kept), known, models


def score_files(
    benchmark: Path,
    predictions: Sequence[Path],
    options: Options,
    *,
    subsets: Sequence[str] = (),
    vectors: str | None = None,
    wordnet: Path | None = None,
    files: Mapping[str, Path | None] | None = None,
) -> dict[str, Any]:
    """Read, join and score; `files` are those named in `EXTRA_FILES`.

    Raises:
        Refused: lists everything that is wrong.
    """
    bench, known, models = read_files(benchmark, predictions, subsets)
    extras = _extras(bench, vectors, wordnet, files or {})
    return score(
        bench, known | set(extras.get("all_questions") or ()), models, replace(options, extras=extras)
    )


EXTRA_FILES = ("all_questions", "choices", "scenes", "attention", "human", "run_log")


def _extras(
    bench: Benchmark, vectors: str | None, wordnet: Path | None, files: Mapping[str, Path | None]
) -> dict[str, Any]:
    """What some scores need beside the benchmark, read only if given."""
    found: dict[str, Any] = {}
    for name, path in files.items():
        if path is not None:
            found[name] = read_run_log(path) if name == "run_log" else parse(path_bytes(path), path)
    if "human" in found:
        found["human"] = _judgements(found["human"])
    if vectors:
        words = {
            word
            for rows in bench.subsets.values()
            for row in rows
            for text in row.people
            for word in text.lower().split()
        }
        found["vectors"] = read_vectors(vectors, words) if os.path.exists(vectors) else spacy_vectors(vectors)
    if wordnet:
        found["taxonomy"] = read_wordnet(wordnet)
    return found


def _judgements(rows: Any) -> dict[str, list[bool]]:
    """A human study: a list of {"question_id", "accepted"}, one for each judgement."""
    study: dict[str, list[bool]] = {}
    problems = []
    for number, row in enumerate(rows if isinstance(rows, list) else [rows], 1):
        if not isinstance(row, dict) or not isinstance(row.get("accepted"), bool) or "question_id" not in row:
            problems.append(
                f"human study, judgement {number}: wanted an object with question_id and accepted (true or false)"
            )
        else:
            study.setdefault(str(row["question_id"]), []).append(row["accepted"])
    if problems:
        raise Refused(problems)
    return study


def text_of(report: Mapping[str, Any]) -> str:
    """What the command prints."""
    side = list(comparison(report))
    return "\n".join([*lines(report), *(["", *side] if side else [])]) + "\n"


def json_of(report: Mapping[str, Any]) -> str:
    """Every number unrounded; undefined is null, an infinite threshold (answer nothing) "infinity"."""
    return json.dumps(_plain(report), indent=2, sort_keys=True, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None if math.isnan(value) else "infinity"
    return int(value) if isinstance(value, np.integer) else value


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="rgqa-score",
        description="Score predictions on a benchmark with unanswerable questions.",
        epilog="Example: rgqa-score release/1.0.0 model.json --json scores.json",
    )
    made.add_argument(
        "benchmark", type=Path, help="a release folder, a subset's JSON, or GQA's or VQA's file"
    )
    made.add_argument(
        "predictions", type=Path, nargs="+", help="JSON, JSONL, CSV or Parquet; several are compared"
    )
    made.add_argument(
        "--scores",
        default="",
        help=f"groups to compute, comma between: {', '.join(GROUPS)} (default: all that fit)",
    )
    made.add_argument(
        "--subset", action="append", default=[], help="subset of a release folder; may be repeated"
    )
    made.add_argument(
        "--mode",
        choices=["strict", "parity"],
        default="strict",
        help="parity: the numbers of RGQA's published script",
    )
    made.add_argument(
        "--match",
        choices=["case", "exact"],
        default="case",
        help="how answers are compared (default: letter case aside)",
    )
    made.add_argument(
        "--bootstrap", type=int, default=1000, help="repetitions for intervals, 0 for none (default: 1000)"
    )
    made.add_argument("--seed", type=int, default=0, help="of the bootstrap")
    made.add_argument(
        "--threshold", type=float, default=0.5, help="for scores at one fixed threshold (default: 0.5)"
    )
    made.add_argument(
        "--allow-missing", action="store_true", help="count items without a prediction as rejected"
    )
    made.add_argument(
        "--free-text", action="store_true", help="read abstentions from the answers instead of confidences"
    )
    made.add_argument("--json", type=Path, help="write every number, unrounded")
    made.add_argument("--out", type=Path, help="folder for scores.json and scores.txt")
    made.add_argument("--vectors", help="word vectors (text) or a spaCy model with vectors, for MaSSeS")
    made.add_argument("--wordnet", type=Path, help="WordNet's folder `dict`, for WUPS")
    for name in EXTRA_FILES:
        made.add_argument(f"--{name.replace('_', '-')}", type=Path, help=_HELP[name])
    made.add_argument("--version", action="version", version=f"rgqa_scorers {VERSION}")
    return made


_HELP = {
    "all_questions": "GQA's unbalanced questions, for consistency",
    "choices": "GQA's choices, for validity and plausibility",
    "scenes": "GQA's scene graphs, for grounding",
    "attention": "the model's attention by question, for grounding",
    "human": "people's judgements: a list of {question_id, accepted}",
    "run_log": "JSON lines with seconds, items, memory_bytes",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of `rgqa-score`; a user's mistake ends it with one message and exit code 1."""
    a = parser().parse_args(arguments)
    try:
        options = Options(
            scores=groups(a.scores),
            mode=a.mode,
            match=a.match,
            repetitions=a.bootstrap,
            seed=a.seed,
            threshold=a.threshold,
            allow_missing=a.allow_missing,
            free_text=a.free_text,
        )
        report = score_files(
            a.benchmark,
            a.predictions,
            options,
            subsets=a.subset,
            vectors=a.vectors,
            wordnet=a.wordnet,
            files={name: getattr(a, name) for name in EXTRA_FILES},
        )
        write_report(report, a.json, a.out)
    except Refused as refused:
        tell(refused)
        sys.exit(1)


def write_report(report: Mapping[str, Any], json_file: Path | None, folder: Path | None) -> None:
    """Print the table; write the JSON and the folder if asked for."""
    text = text_of(report)
    sys.stdout.write(text)
    for path in [json_file, folder and folder / "scores.json"]:
        if path:
            write_text(path, json_of(report))
    if folder:
        write_text(folder / "scores.txt", text)


def groups(text: str) -> tuple[str, ...]:
    """The groups of scores named, comma between.

    Raises:
        Refused: a name that is none.
    """
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if wrong := [name for name in names if name not in GROUPS]:
        raise Refused(f"no scores called {', '.join(wrong)}; there are {', '.join(GROUPS)}")
    return names


def tell(refused: Refused, shown: int = 100) -> None:
    """Print what is wrong to stderr."""
    first, *rest = refused.problems
    print(f"error: {first}", *(f"  {line}" for line in rest[:shown]), sep="\n", file=sys.stderr)
    if len(rest) > shown:
        print(f"  ... and {len(rest) - shown} more", file=sys.stderr)


if __name__ == "__main__":
    main()
