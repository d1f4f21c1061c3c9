"""The papers' directions on the rows that are there: what each comes to here, and its verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.rendering import escape_markdown, format_markdown_table, render_template
from pipeline.scoring.leaderboard.pairwise_comparison import ScoreEstimate
from pipeline.scoring.leaderboard.report import append_interval, format_percent
from pipeline.scoring.leaderboard.row_scores import RowScores
from research.evaluation.expected_effects import (
    EXPECTED_EFFECTS,
    MIN_GAIN,
    SCORE_TITLES,
    ExpectedEffect,
    Outcome,
    classify_difference,
)
from research.evaluation.published_scores import ScoreKey

TEMPLATE_DIR = Path(__file__).parent
DECIMALS = 6
ExtraScores = Mapping[
    ScoreKey, ScoreEstimate
]  # scores beside those of the board, on the same draws of images


class EffectResult(NamedTuple):
    """A direction on our rows. `found`: the difference, None where something that it needs is not there. `why`: what keeps it
    from being shown here."""

    effect: ExpectedEffect
    difference: ScoreEstimate | None
    outcome: Outcome
    reason: str = ""


def evaluate_effects(
    rows: Sequence[RowScores],
    extra_scores: ExtraScores | None = None,
    effects: Iterable[ExpectedEffect] = EXPECTED_EFFECTS,
) -> list[EffectResult]:
    """Every direction, in the order of the table.

    Args:
        rows: the board's. extra: further scores of rows, as those of selective answering.
    """
    cells = {
        (one.row.name, place, score): measured
        for one in rows
        for place, scores in one.scores.items()
        for score, measured in scores.items()
    } | dict(extra_scores or {})
    ours = {one.row.name for one in rows if one.row.is_built_in}
    return [_evaluate_effect(direction, cells, ours) for direction in effects]


def _evaluate_effect(
    effect: ExpectedEffect, scores: Mapping[ScoreKey, ScoreEstimate], built_in_rows: set[str]
) -> EffectResult:
    lacking = [cell for cell in effect.terms if cell not in scores]
    if lacking:
        there = {row for row, _, _ in scores}
        rows = [row for row in effect.row_names if row not in there]
        row, place, score = lacking[0]
        missing = f"row {' and '.join(rows)}" if rows else f"{SCORE_TITLES[score]} ({place}) of row {row}"
        return EffectResult(effect, None, "not testable", f"there is no {missing}")
    found = compute_difference(effect, scores)
    if effect.limitation and built_in_rows.issuperset(effect.row_names):
        return EffectResult(effect, found, "not testable", effect.limitation)
    return EffectResult(
        effect, found, classify_difference(effect.alternative, effect.effective_margin, *found.interval)
    )


def compute_difference(effect: ExpectedEffect, scores: Mapping[ScoreKey, ScoreEstimate]) -> ScoreEstimate:
    """The difference in the data and on every draw; `seeds` are those of its seeds in turn, or its mean alone where the
    rows have not the same number of seeds."""
    terms = [(by, scores[cell]) for cell, by in effect.terms.items()]
    drawn = np.sum([by * one.replicates for by, one in terms], axis=0) + effect.offset
    alike = len({len(one.seed_values) for _, one in terms}) == 1
    seeds = [by * (one.seed_values if alike else np.array([one.value])) for by, one in terms]
    return ScoreEstimate(np.sum(seeds, axis=0) + effect.offset, drawn)


def render_effects_markdown(results: Sequence[EffectResult], title: str) -> str:
    """directions.md."""
    groups: dict[str, list[EffectResult]] = {}
    for one in results:
        groups.setdefault(one.effect.group, []).append(one)
    counts = {verdict: sum(one.outcome == verdict for one in results) for verdict in _OUTCOMES}
    notes = dict.fromkeys(one.effect.note for one in results if one.effect.note)
    numbers = {note: number for number, note in enumerate(notes, 1)}
    head = ["effect", "source", "paper", "here", "seeds", "outcome"]
    return render_template(
        TEMPLATE_DIR / "expected_effects.md.jinja",
        {"table": format_markdown_table},
        title=title,
        counts=counts,
        gain=f"{100 * MIN_GAIN:g}",
        groups={
            name: [head, *(_make_table_row(one, numbers) for one in group)] for name, group in groups.items()
        },
        notes=numbers,
    )


_OUTCOMES: tuple[Outcome, ...] = ("confirmed", "inconclusive", "contradicted", "not testable")


def _make_table_row(one: EffectResult, notes: Mapping[str, int]) -> list[str]:
    direction, found = one.effect, one.difference
    margin = f" (margin {100 * direction.effective_margin:.2f})" if direction.effective_margin else ""
    note = f" [{notes[direction.note]}]" if direction.note else ""
    papers = ", ".join(f"{net} {100 * value:+.2f}" for net, value in direction.published_differences.items())
    here = append_interval(format_percent(found.value, "+"), found.interval) if found else "-"
    several = found is not None and len(found.seed_values) > 1
    seeds = (
        f"{format_percent(found.seed_values.min(), '+')} to {format_percent(found.seed_values.max(), '+')}"
        if found and several
        else "-"
    )
    why = f", because {escape_markdown(one.reason)}" if one.reason else ""
    verdict = f"**{one.outcome}**{why}" if one.outcome == "confirmed" else one.outcome + why
    return [
        escape_markdown(direction.claim) + margin + note,
        escape_markdown(direction.source),
        papers or "-",
        here,
        seeds,
        verdict,
    ]


def make_effect_records(results: Sequence[EffectResult]) -> list[dict[str, object]]:
    """directions.json: an object for each direction; differences are shares, null where there is none."""
    return [
        {
            "effect": one.effect.claim,
            "source": one.effect.source,
            "alternative": one.effect.alternative,
            "margin": round(one.effect.effective_margin, DECIMALS),
            "published": {
                net: round(value, DECIMALS) for net, value in one.effect.published_differences.items()
            },
            **_difference_columns(one.difference),
            "outcome": one.outcome,
            "reason": one.reason,
        }
        for one in results
    ]


def _difference_columns(found: ScoreEstimate | None) -> dict[str, float | None]:
    names = ("difference", "ci_low", "ci_high", "seed_min", "seed_max")
    if found is None:
        return dict.fromkeys(names)
    values = (found.value, *found.interval, float(found.seed_values.min()), float(found.seed_values.max()))
    return {
        name: None if math.isnan(value) else round(value, DECIMALS)
        for name, value in zip(names, values, strict=True)
    }
