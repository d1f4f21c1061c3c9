"""Load the rows of the leaderboard: predictions of users, of the built-in networks, and reference
predictions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pipeline.core.errors import UserError, collect_errors
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import DRAFTED_AQ
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.items import Benchmark
from pipeline.scoring.join import split_items
from pipeline.scoring.joined_predictions import Predictions, ScoringOptions
from pipeline.scoring.leaderboard.prediction_files import RowFiles, find_rows
from pipeline.scoring.leaderboard.release_study import read_release_study
from pipeline.scoring.prediction_reader import read_predictions

DETECTED_ABSTENTION_LABEL = "abstentions, detected in the answers"
# File names of the predictions that stage answer writes. The folder of the stage has other files, too.
SEEDED_FILES_PATTERN = "*-seed*.json"


class LeaderboardRow(NamedTuple):
    """A row of the leaderboard.

    Attributes:
        name: Name of the row.
        kind: "model" or "reference". Only models have ranks.
        seeds: For each seed, subset -> predictions. All seeds have the same subsets.
        confidence: What is used as the confidence that a question is answerable.
        note: Further information.
        selection_biased_subsets: Subsets whose items were selected by the same confidence that the row uses, so that the score of the
            row on these subsets is meaningless; or subsets on whose items the model voted before people did.
        is_built_in: Whether stage answer made the predictions with the networks in the folder vqa/ of the
            data set.
        num_available_items: Number of items of the release for which the row has a prediction or was asked,
            in the scored split. 0 means that this number is not larger than the number of scored items.
        model: Name of the model; "" if it is the name of the row.
    """

    name: str
    kind: Literal["model", "reference"]
    seeds: tuple[Mapping[str, Predictions], ...]
    confidence: str
    note: str = ""
    selection_biased_subsets: tuple[str, ...] = ()
    is_built_in: bool = False
    num_available_items: int = 0
    model: str = ""


# Subsets whose UQs are chosen by the CLIP similarity of image and question.
CLIP_SUBSETS = ("clip-easy", "clip-hard")
# Reference predictions of a release: name -> confidence, subsets whose items this confidence selected, and a
# note.
REFERENCE_ROWS = {
    "constant": ("always 0.5", (), 'answers "yes" to every question; sees neither image nor text'),
    "text_only": (
        "word n-grams of the text, fitted to this release's labels by cross-validation",
        (),
        "sees no image; gives the most frequent answer to questions of other images with the same beginning",
    ),
    "clip_score": (
        "CLIP score of image and question",
        CLIP_SUBSETS,
        "the CLIP that selected the items of the CLIP subsets; answers as `text_only`",
    ),
}


def load_scored_benchmark(release: Path, split: Literal["validation", "test"] = "test") -> Benchmark:
    """Load the scored items of a release: the items of a split, or all items if the release has no splits.

    Raises:
        UserError: The release does not exist or is faulty.
    """
    benchmark = read_benchmark(release)
    scored = {
        name: split_items(items, NO_PREDICTIONS, ScoringOptions(split=split))[0]
        for name, items in benchmark.subsets.items()
    }
    return benchmark._replace(subsets={name: items for name, items in scored.items() if len(items)})


NO_PREDICTIONS = Predictions("", "", {}, [], None)


def load_all_rows(folders: DatasetFolders, release: Path, benchmark: Benchmark) -> list[LeaderboardRow]:
    """Load all rows of the leaderboard.

    Raises:
        UserError: There are faulty files, or several rows have the same name. The message lists every
            problem.
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
            f"{folders.predictions}: {name} is also the name of a row in {nets}. Rename the file"
            for name in twice
        ]
        rows += [make_row(name, one, folder == nets) for name, one in found.items()]
    if problems:
        raise UserError(problems)
    return [*rows, *load_reference_rows(release, benchmark)]


def load_reference_rows(release: Path, benchmark: Benchmark) -> list[LeaderboardRow]:
    """Load the reference predictions of a release as rows.

    Raises:
        UserError: A file cannot be read.
    """
    rows = []
    for name, (confidence, biased_subsets, note) in REFERENCE_ROWS.items():
        paths = {
            subset: release / "reference_predictions" / subset / f"{name}.json"
            for subset in benchmark.subsets
        }
        predictions = {subset: read_predictions(path) for subset, path in paths.items() if path.is_file()}
        if predictions:
            rows.append(LeaderboardRow(name, "reference", (predictions,), confidence, note, biased_subsets))
    return rows


def make_row(name: str, found: RowFiles, is_built_in: bool = False) -> LeaderboardRow:
    """Create a row from its predictions files."""
    read: Sequence[Predictions] = [*found.seeds[0].values()]
    fields = {
        DETECTED_ABSTENTION_LABEL
        if one.confidence is None
        else f"its file's {one.file_info.confidence_field or 'abstained or p_answerable'}"
        for one in read
    }
    info = found.info
    return LeaderboardRow(
        name,
        "reference" if info.reference else "model",
        found.seeds,
        info.confidence or ", ".join(sorted(fields)),
        info.note,
        is_built_in=is_built_in,
        model=info.model,
    )


def read_panel_models(release: Path) -> dict[str, tuple[str, ...]]:
    """Return the models that judged candidates of a release (`rgqa annotate panel`), each with the subsets of these candidates.

    Questions that a model drafted as AQs are judged, too, but are no subset of a release.

    Raises:
        UserError: study.json cannot be read.
    """
    subsets: dict[str, set[str]] = {}
    for voter in read_release_study(release).panel.voters:
        subsets.setdefault(voter.model, set()).update(voter.sensitivity.keys() - {DRAFTED_AQ})
    return {model: tuple(sorted(found)) for model, found in sorted(subsets.items())}


def mark_panel_models(
    rows: Sequence[LeaderboardRow], panel: Mapping[str, Sequence[str]]
) -> list[LeaderboardRow]:
    """Mark the rows of models that voted on the release, as the CLIP that selected the items of the CLIP subsets is marked.

    Args:
        rows: The rows.
        panel: Model -> subsets on whose candidates it voted (`read_panel_models`).

    Returns:
        The rows. A row is one of a model if the model, or the name of the row, is its name apart from the provider, letter case and
        punctuation: the row `gpt-4o` is one of the model `openai/gpt-4o`.
    """
    voted = {normalize_model_name(model): subsets for model, subsets in panel.items()}
    marked = []
    for row in rows:
        names = [normalize_model_name(name) for name in (row.model, row.name) if name]
        subsets = {subset for name in names for subset in voted.get(name, ())}
        marked.append(
            row._replace(selection_biased_subsets=tuple(sorted({*row.selection_biased_subsets, *subsets})))
            if subsets
            else row
        )
    return marked


def normalize_model_name(name: str) -> str:
    """Return a name of a model without its provider, in lower case, with letters and digits only.

    >>> normalize_model_name("openai/GPT-4o"), normalize_model_name("gpt_4o")
    ('gpt4o', 'gpt4o')
    """
    return re.sub(r"[\W_]", "", name.rpartition("/")[2].casefold())
