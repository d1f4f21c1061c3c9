"""`rgqa study validity`: does the benchmark rank models as the truth does?

The truth is known of counterfactual twins: the same question has an answer at one of two drawings and none at the other, which
differs in nothing else. Rows are ranked by AUAF on twins, on our subsets, and on those that the paper's rules make of the
same data. Whatever comes out is reported.

Writes  validity.json    all figures
        validity.md      the tables
        effects.json, effect-*.svg   what noise, cap, balancing and size do to the ranking
        answers/         what the nets said: a run that was killed goes on from it
        nets/            further nets of graded strength, if they are wanted
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.atomic_files import write_text
from pipeline.core.errors import counted
from pipeline.core.json_files import write_json
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.rendering import svg
from research.studies.item_sets import (
    RankedSet,
    numbered,
    pictures_of_dataset,
    pictures_of_release,
    posed,
    sets_of_dataset,
    twins_of,
)
from research.studies.net_predictions import answer_items
from research.studies.rank_agreement import ranked
from research.studies.ranking_effects import EFFECTS, EffectPoint, points, variants
from research.studies.row_scores import ALL, RowSaid, read_rows, redrawn, scenes_of, scores_of_rows, together
from research.studies.set_variants import balancing_sets, cap_sets
from research.studies.text_only_rows import by_wording, wording_auroc, wording_scores
from research.studies.validity_results import BLIND, SEEING, ScoredSet, SetName, Validity, figures
from research.studies.validity_tables import page
from research.synthetic_world.graded_models import GradedNet, graded_nets


class TwinsRelease(NamedTuple):
    """A release with a subset `twins`; `images`: the folder of its pictures, if not that of the data set that it names."""

    folder: Path
    images: Path | None = None


def study_validity(
    twins: Sequence[TwinsRelease],
    out: Path,
    repetitions: int = 1000,
    seed: int = 20231001,
    effects: bool = True,
    further: bool = False,
) -> Validity:
    """Write everything to `out`, and print the tables.

    Args:
        twins: one release, or a second of other scenes, which shows how far twins agree with twins.
        repetitions: draws of pictures for intervals. seed: of these, of folds and lots.
        effects: also change the sets, and tell what comes of it. further: also rank nets of graded strength, which are
            trained if they are not there.

    Raises:
        UserError: no such release, no nets, pictures that are missing, too few rows.
    """
    folders = Folders()
    releases = [path for release in twins for path in release]
    check_output_paths([Output("--out", out, "folder")], [folders.source, folders.vqa, *releases])
    more = graded_nets(out / "nets") if further else {}
    sets = sets_of_dataset(folders)
    files = pictures_of_dataset(folders)
    asked = posed(sets.values(), files)
    rows = read_rows(answer_items(asked, out / "answers" / folders.dataset, folders, more=more))
    scored = score_sets(sets, rows, repetitions, seed)
    first, *again = [
        _twins(release, out / "answers" / f"twins-{number}", folders, more, repetitions, seed + number)
        for number, release in enumerate(twins, 1)
    ]
    found = figures(scored, first, again)
    write_json(out / "validity.json", found)
    write_text(out / "validity.md", text := page(found))
    if effects:
        changed = {**balancing_sets(folders), **cap_sets(folders)}
        known = {one.item_id for one in asked}
        rest = [one for one in posed(changed.values(), files) if one.item_id not in known]
        others = read_rows(answer_items(rest, out / "answers" / "changed", folders, more=more))
        every = variants(sets, changed, min(repetitions, 200), seed)
        both = together(rows, others)
        _write_effects(out, points(every, both, ranked(first.scores[ALL])[1], seed))
    print(text)
    done(
        "validity",
        f"{counted(found.rows, 'row')} on {len(sets)} sets and {counted(found.counterfactual_items, 'item')} of counterfactual pairs",
        out,
    )
    return found


def _write_effects(out: Path, told: Sequence[EffectPoint]) -> None:
    from research.studies.effect_plots import picture

    write_json(out / "effects.json", told)
    for effect in EFFECTS:
        write_text(out / f"effect-{effect}.svg", svg(picture(told, effect)))


def _twins(
    release: TwinsRelease,
    answers: Path,
    folders: Folders,
    more: Mapping[str, GradedNet],
    repetitions: int,
    seed: int,
) -> ScoredSet:
    one = twins_of(release.folder)
    asked = posed([one], pictures_of_release(*release))
    rows = read_rows(answer_items(asked, answers, folders, more=more))
    count, (scene,) = numbered([scenes_of(one.items)])
    return _score(one, rows, scene, redrawn(count, repetitions, seed), seed)


def score_sets(
    sets: Mapping[SetName, RankedSet], rows: Sequence[RowSaid], repetitions: int, seed: int
) -> dict[SetName, ScoredSet]:
    """Scores on sets of the same pictures, which are drawn once for all of them."""
    count, pictures = numbered([one.items.clusters for one in sets.values()])
    drawn = redrawn(count, repetitions, seed)
    each = zip(sets.items(), pictures, strict=True)
    return {
        name: _score(one, rows, picture, drawn, seed)
        for (name, one), picture in track(each, "score", len(sets), "set")
    }


def _score(
    one: RankedSet, rows: Sequence[RowSaid], picture: np.ndarray, drawn: np.ndarray, seed: int
) -> ScoredSet:
    wording = wording_scores(one, seed)
    reading = [by_wording(one, row, wording) for row in rows if row.name in (BLIND, SEEING)]
    plain = one.items.with_columns(category=[""] * len(one.items))
    read = scores_of_rows(plain, reading, picture, drawn[:1])[ALL]
    return ScoredSet(
        one.items, scores_of_rows(one.items, rows, picture, drawn), wording_auroc(one, wording), read
    )
