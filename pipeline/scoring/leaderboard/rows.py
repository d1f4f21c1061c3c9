"""The rows of the board: what anybody's models and our own nets said of a release, and the release's own predictions for
reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pipeline.core.errors import UserError, collect_errors
from pipeline.core.paths import DatasetFolders
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.items import Benchmark
from pipeline.scoring.join import split_items
from pipeline.scoring.joined_predictions import Predictions, ScoringOptions
from pipeline.scoring.leaderboard.prediction_files import RowFiles, find_rows
from pipeline.scoring.prediction_reader import read_predictions

DETECTED_ABSTENTION_LABEL = "abstentions, read from the answers' words"
SEEDED_FILES_PATTERN = (
    "*-seed*.json"  # predictions files of stage answer, which keeps other files beside them
)


class LeaderboardRow(NamedTuple):
    """A row of the board.

    Attributes:
        kind: a model has a rank, a reference has none.
        seeds: of each seed, by subset, the predictions that are scored there; all seeds have the same subsets.
        confidence: what stands for the confidence that a question is answerable. note: what else is to be known.
        chosen_by_it: subsets whose items were chosen by this very confidence, so that it says nothing there.
        ours: does stage answer say it, with nets of the data set's folder vqa/?
        available: how many items of the release have a prediction or were asked, if that is more than are scored.
    """

    name: str
    kind: Literal["model", "reference"]
    seeds: tuple[Mapping[str, Predictions], ...]
    confidence: str
    note: str = ""
    selection_biased_subsets: tuple[str, ...] = ()
    is_built_in: bool = False
    num_available_items: int = 0


# The release's reference predictions: what they are, the subsets chosen by them, and what is to be known.
CLIP_SUBSETS = ("clip-easy", "clip-hard")
REFERENCE_ROWS = {
    "constant": ("always 0.5", (), 'answers "yes" to every question; sees neither image nor text'),
    "text_only": (
        "word n-grams of the text, fitted to this release's labels out of fold",
        (),
        "sees no image; answers as the questions of other images that begin alike are mostly answered",
    ),
    "clip_score": (
        "CLIP score of image and question",
        CLIP_SUBSETS,
        "the CLIP that chose the items of the CLIP subsets; answers as `text_only`",
    ),
}


def load_scored_benchmark(release: Path, split: Literal["validation", "test"] = "test") -> Benchmark:
    """The subsets of a release: the items that are scored, which are those of a part, or all where no part is named.

    Raises:
        UserError: it is not there, or faulty.
    """
    benchmark = read_benchmark(release)
    scored = {
        name: split_items(items, NO_PREDICTIONS, ScoringOptions(split=split))[0]
        for name, items in benchmark.subsets.items()
    }
    return benchmark._replace(subsets={name: items for name, items in scored.items() if len(items)})


NO_PREDICTIONS = Predictions("", "", {}, [], None)


def load_all_rows(folders: DatasetFolders, release: Path, benchmark: Benchmark) -> list[LeaderboardRow]:
    """All rows of the board: this is the one place where rows come in.

    Raises:
        UserError: everything that is wrong with any of the files, and each name that two rows have.
    """
    problems: list[str] = []
    rows: list[LeaderboardRow] = []
    nets = folders.stage_dir("answer")
    for folder, files in ((folders.predictions, "*"), (nets, SEEDED_FILES_PATTERN)):
        found: Mapping[str, RowFiles] = {}
        with collect_errors(problems):
            found = find_rows(folder, benchmark, files, REFERENCE_ROWS)
        twice = sorted(found.keys() & {row.name for row in rows})
        problems += [
            f"{folders.predictions}: {name} is the name of a row in {nets}, too; call the file otherwise"
            for name in twice
        ]
        rows += [make_row(name, one, folder == nets) for name, one in found.items()]
    if problems:
        raise UserError(problems)
    return [*rows, *load_reference_rows(release, benchmark)]


def load_reference_rows(release: Path, benchmark: Benchmark) -> list[LeaderboardRow]:
    """The release's reference predictions as rows, those that it has.

    Raises:
        UserError: a file cannot be read.
    """
    rows = []
    for name, (confidence, chosen, note) in REFERENCE_ROWS.items():
        paths = {
            subset: release / "reference_predictions" / subset / f"{name}.json"
            for subset in benchmark.subsets
        }
        said = {subset: read_predictions(path) for subset, path in paths.items() if path.is_file()}
        if said:
            rows.append(LeaderboardRow(name, "reference", (said,), confidence, note, chosen))
    return rows


def make_row(name: str, found: RowFiles, is_built_in: bool = False) -> LeaderboardRow:
    """The row of predictions files."""
    read: Sequence[Predictions] = [*found.seeds[0].values()]
    fields = {
        DETECTED_ABSTENTION_LABEL
        if one.confidence is None
        else f"its file's {one.file_info.confidence_field or 'abstained or p_answerable'}"
        for one in read
    }
    about = found.info
    return LeaderboardRow(
        name,
        "reference" if about.reference else "model",
        found.seeds,
        about.confidence or ", ".join(sorted(fields)),
        about.note,
        is_built_in=is_built_in,
    )
