"""`rgqa score`: what the wheel's `rgqa-score` does, and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.core.errors import UserError
from pipeline.core.progress import done
from pipeline.scorers.command import groups, read_files, score_files, write_report
from pipeline.scorers.model_report import Options
from pipeline.scorers.validation import Refused


def options_of(scores: str, *, mode: str, match: str, **others: Any) -> Options:
    """The options of a command line.

    Raises:
        UserError: a group of scores, a mode or a way to match that there is not.
    """
    problems = []
    if mode not in ("strict", "parity"):
        problems.append(f"--mode is {mode!r}, wanted strict or parity")
    if match not in ("case", "exact"):
        problems.append(f"--match is {match!r}, wanted case or exact")
    try:
        names = groups(scores)
    except Refused as refused:
        problems += refused.problems
    if problems:
        raise UserError(["cannot score", *problems])
    return Options(scores=names, mode=mode, match=match, **others)


def score(
    benchmark: Path,
    predictions: Sequence[Path],
    options: Options,
    *,
    subsets: Sequence[str] = (),
    json_file: Path | None = None,
    folder: Path | None = None,
    plots: Path | None = None,
    vectors: str | None = None,
    wordnet: Path | None = None,
    files: Mapping[str, Path | None] | None = None,
) -> None:
    """Print the table; write the JSON, the folder and the plots if asked for.

    Raises:
        UserError: lists everything that is wrong with the files.
    """
    try:
        report = score_files(
            benchmark, predictions, options, subsets=subsets, vectors=vectors, wordnet=wordnet, files=files
        )
        write_report(report, json_file, folder)
        if plots is not None:
            from pipeline.reporting.score_plots import plot

            bench, _, models = read_files(benchmark, predictions, subsets)
            paths = plot(bench, models, plots, free_text=options.free_text, match=options.match)
            done("score", f"{len(paths)} plots", plots)
    except Refused as refused:
        raise UserError(refused.problems) from refused
