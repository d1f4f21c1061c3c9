"""Measure whether the benchmark ranks models as counterfactual pairs do: `rgqa study validity`.

For counterfactual pairs the truth is known: the same question has an answer in one of two images and none in
the other, and the images differ in nothing else. Rows are ranked by AUAF on counterfactual pairs, on our
subsets, and on subsets that the paper's rules make of the same data. All results are reported.

Writes  validity.json    all results
        validity.md      the tables
        effects.json, effect-*.svg   how noise, cap, balancing and size change the ranking
        answers/         the nets' predictions; an interrupted run continues from them
        nets/            nets of graded strength, if requested
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.atomic_files import write_text
from pipeline.core.errors import format_count
from pipeline.core.json_files import write_json
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written, track
from pipeline.core.rendering import chart_to_svg
from research.studies.item_sets import (
    ItemSet,
    collect_queries,
    find_dataset_images,
    find_release_images,
    load_counterfactual_pairs,
    load_dataset_sets,
    number_jointly,
)
from research.studies.net_predictions import predict_items
from research.studies.rank_agreement import average_ranked_rows
from research.studies.ranking_effects import EFFECTS, EffectPoint, make_variants, measure_variants
from research.studies.row_scores import (
    ALL_CATEGORIES,
    RowPredictions,
    draw_image_counts,
    make_cluster_names,
    merge_predictions,
    read_rows,
    score_rows,
)
from research.studies.set_variants import build_balancing_sets, build_cap_sets
from research.studies.text_only_rows import (
    compute_text_only_auroc,
    compute_text_only_scores,
    replace_confidence,
)
from research.studies.validity_results import (
    IMAGE_ROW,
    TEXT_ONLY_ROW,
    ScoredSet,
    SetName,
    ValidityResults,
    compute_validity,
)
from research.studies.validity_tables import render_page
from research.synthetic_world.graded_models import GradedModel, get_graded_models


class CounterfactualRelease(NamedTuple):
    """A release with a subset `counterfactual`, and the folder of its images if it is not that of the data
    set the release names.
    """

    folder: Path
    images: Path | None = None


def run_validity_study(
    counterfactual_releases: Sequence[CounterfactualRelease],
    out: Path,
    repetitions: int = 1000,
    seed: int = 20231001,
    measure_effects: bool = True,
    rank_graded_nets: bool = False,
) -> ValidityResults:
    """Write all results to `out`, and print the tables.

    Args:
        counterfactual_releases: One release, and optionally a second one with other scenes, to measure the
            agreement between two sets of counterfactual pairs.
        out: The folder of the results.
        repetitions: Bootstrap replicates of the images.
        seed: Seed of the replicates, of folds and of random choices.
        measure_effects: Also change the sets, and report the effects on the ranking.
        rank_graded_nets: Also rank nets of graded strength, which are trained if they do not exist.

    Raises:
        UserError: A release, nets or images do not exist, or there are too few rows.
    """
    folders = DatasetFolders()
    releases = [path for release in counterfactual_releases for path in release]
    check_output_paths([Output("--out", out, "folder")], [folders.source, folders.vqa_models, *releases])
    more = get_graded_models(out / "nets") if rank_graded_nets else {}
    sets = load_dataset_sets(folders)
    files = find_dataset_images(folders)
    asked = collect_queries(sets.values(), files)
    rows = read_rows(predict_items(asked, out / "answers" / folders.dataset, folders, extra_nets=more))
    scored = score_sets(sets, rows, repetitions, seed)
    first, *again = [
        _score_counterfactual_pairs(
            release, out / "answers" / f"counterfactual-{number}", folders, more, repetitions, seed + number
        )
        for number, release in enumerate(counterfactual_releases, 1)
    ]
    found = compute_validity(scored, first, again)
    write_json(out / "validity.json", found)
    write_text(out / "validity.md", text := render_page(found))
    if measure_effects:
        changed = {**build_balancing_sets(folders), **build_cap_sets(folders)}
        known = {one.item_id for one in asked}
        rest = [one for one in collect_queries(changed.values(), files) if one.item_id not in known]
        others = read_rows(predict_items(rest, out / "answers" / "changed", folders, extra_nets=more))
        every = make_variants(sets, changed, min(repetitions, 200), seed)
        both = merge_predictions(rows, others)
        _write_effect_plots(
            out, measure_variants(every, both, average_ranked_rows(first.scores[ALL_CATEGORIES])[1], seed)
        )
    print(text)
    report_written(
        "validity",
        f"{format_count(found.num_rows, 'row')} on {len(sets)} sets and {format_count(found.counterfactual_items, 'item')} of counterfactual pairs",
        out,
    )
    return found


def _write_effect_plots(out: Path, told: Sequence[EffectPoint]) -> None:
    from research.studies.effect_plots import plot_effect

    write_json(out / "effects.json", told)
    for effect in EFFECTS:
        write_text(out / f"effect-{effect}.svg", chart_to_svg(plot_effect(told, effect)))


def _score_counterfactual_pairs(
    release: CounterfactualRelease,
    answers: Path,
    folders: DatasetFolders,
    more: Mapping[str, GradedModel],
    repetitions: int,
    seed: int,
) -> ScoredSet:
    one = load_counterfactual_pairs(release.folder)
    asked = collect_queries([one], find_release_images(*release))
    rows = read_rows(predict_items(asked, answers, folders, extra_nets=more))
    count, (scene,) = number_jointly([make_cluster_names(one.items)])
    return _score_set(one, rows, scene, draw_image_counts(count, repetitions, seed), seed)


def score_sets(
    sets: Mapping[SetName, ItemSet], rows: Sequence[RowPredictions], repetitions: int, seed: int
) -> dict[SetName, ScoredSet]:
    """Score sets of the same images. The images are resampled once for all sets."""
    count, images = number_jointly([one.items.clusters for one in sets.values()])
    drawn = draw_image_counts(count, repetitions, seed)
    each = zip(sets.items(), images, strict=True)
    return {
        name: _score_set(one, rows, image, drawn, seed)
        for (name, one), image in track(each, "score", len(sets), "set")
    }


def _score_set(
    one: ItemSet, rows: Sequence[RowPredictions], image: np.ndarray, drawn: np.ndarray, seed: int
) -> ScoredSet:
    wording = compute_text_only_scores(one, seed)
    reading = [
        replace_confidence(one, row, wording) for row in rows if row.name in (TEXT_ONLY_ROW, IMAGE_ROW)
    ]
    plain = one.items.with_columns(category=[""] * len(one.items))
    read = score_rows(plain, reading, image, drawn[:1])[ALL_CATEGORIES]
    return ScoredSet(
        one.items, score_rows(one.items, rows, image, drawn), compute_text_only_auroc(one, wording), read
    )
