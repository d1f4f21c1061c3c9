"""`rgqa leaderboard`: results of several models on one release, in one table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.core.errors import UserError
from pipeline.core.files import write_text
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.progress import done
from pipeline.leaderboard.run_results import asked_by_all, part_of, read_results, release_of
from pipeline.leaderboard.run_table import run_table, table_csv, table_html, table_markdown
from pipeline.scorers.answered import Options
from pipeline.scorers.benchmark import read_benchmark
from pipeline.scorers.model_report import score
from pipeline.scorers.options import WANTED
from pipeline.scorers.validation import InputError

FILES = {"leaderboard.md": table_markdown, "leaderboard.html": table_html, "leaderboard.csv": table_csv}


def compare_runs(
    paths: Sequence[Path],
    release: Path | None = None,
    out: Path | None = None,
    by: str = "auaf",
    repetitions: int = 1000,
    seed: int = 0,
) -> None:
    """Print the table in Markdown, and write it to a folder as Markdown, HTML and CSV. An item that a run got no answer to
    counts as answered wrong; a predictions file has to have all items.

    Args:
        release: of predictions files; runs name theirs. by: the score that rows are ordered and compared by.

    Raises:
        UserError: everything that is wrong with the results, or that keeps them from being compared.
    """
    wanted, fits = WANTED["bootstrap"]
    if not fits(repetitions):
        raise UserError(f"--bootstrap is {repetitions}, wanted {wanted}")
    check_output_paths([Output("--out", out, "folder", tuple(FILES)) if out else None], paths)
    results = read_results(paths)
    release = release_of(results, release)
    part = part_of(results)
    try:
        benchmark = asked_by_all(read_benchmark(release), results)
        if not benchmark.subsets:
            raise UserError(
                "the runs have no question in common; run them with the same --part, --subset and --limit"
            )
        missing = "wrong" if all(one.about for one in results) else "refuse"
        options = Options(("realistic",), part=part, bootstrap=repetitions, seed=seed, missing=missing)
        report = score(benchmark, [one.said for one in results], options)
    except InputError as error:
        raise UserError(error.problems) from error
    folder = release.resolve()
    title = f"{folder.parent.name} {folder.name}" if benchmark.version == folder.name else benchmark.name
    table = run_table(report, results, title, by)
    print(table_markdown(table), end="")  # which bears a closed output
    if out:
        for name, write in FILES.items():
            write_text(out / name, write(table))
        done("leaderboard", f"{len(table.rows)} models", out, sys.stderr)
