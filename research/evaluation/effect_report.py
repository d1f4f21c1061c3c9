"""Test the expected effects on the rows of the leaderboard and report the outcomes."""

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
# Scores that are not on the leaderboard, with the same bootstrap samples of images.
ExtraScores = Mapping[ScoreKey, ScoreEstimate]


class EffectResult(NamedTuple):
    """Outcome of an expected effect.

    Attributes:
        effect: The expected effect.
        difference: The difference on our rows; None if a row or score is missing.
        outcome: Whether the effect is confirmed.
        reason: Why the effect cannot be tested here; "" if it can.
    """

    effect: ExpectedEffect
    difference: ScoreEstimate | None
    outcome: Outcome
    reason: str = ""


def evaluate_effects(
    rows: Sequence[RowScores],
    extra_scores: ExtraScores | None = None,
    effects: Iterable[ExpectedEffect] = EXPECTED_EFFECTS,
) -> list[EffectResult]:
    """Test all effects, in the order of the table.

    Args:
        rows: Rows of the leaderboard.
        extra_scores: Scores that are not on the leaderboard, such as the scores of selective prediction.
        effects: The expected effects.
    """
    estimates = {
        (one.row.name, scope, score): estimate
        for one in rows
        for scope, scores in one.scores.items()
        for score, estimate in scores.items()
    } | dict(extra_scores or {})
    built_in_rows = {one.row.name for one in rows if one.row.is_built_in}
    return [_evaluate_effect(effect, estimates, built_in_rows) for effect in effects]


def _evaluate_effect(
    effect: ExpectedEffect, scores: Mapping[ScoreKey, ScoreEstimate], built_in_rows: set[str]
) -> EffectResult:
    missing = [key for key in effect.terms if key not in scores]
    if missing:
        known_rows = {row for row, _, _ in scores}
        rows = [row for row in effect.row_names if row not in known_rows]
        row, scope, score = missing[0]
        what = f"row {' and no row '.join(rows)}" if rows else f"{SCORE_TITLES[score]} ({scope}) of row {row}"
        return EffectResult(effect, None, "not testable", f"there is no {what}")
    difference = compute_difference(effect, scores)
    if effect.limitation and built_in_rows.issuperset(effect.row_names):
        return EffectResult(effect, difference, "not testable", effect.limitation)
    outcome = classify_difference(effect.alternative, effect.effective_margin, *difference.interval)
    return EffectResult(effect, difference, outcome)


def compute_difference(effect: ExpectedEffect, scores: Mapping[ScoreKey, ScoreEstimate]) -> ScoreEstimate:
    """Compute the difference of an effect in the data and on every replicate.

    Args:
        effect: The expected effect.
        scores: All scores that the effect needs, on the same replicates.

    Returns:
        The difference. Its seed values are the differences of corresponding seeds. If the rows have different
        numbers of seeds, the only seed value is the difference of the means.
    """
    terms = [(factor, scores[key]) for key, factor in effect.terms.items()]
    replicates = np.sum([factor * one.replicates for factor, one in terms], axis=0) + effect.offset
    has_same_seeds = len({len(one.seed_values) for _, one in terms}) == 1
    seeds = [factor * (one.seed_values if has_same_seeds else np.array([one.value])) for factor, one in terms]
    return ScoreEstimate(np.sum(seeds, axis=0) + effect.offset, replicates)


def render_effects_markdown(results: Sequence[EffectResult], title: str) -> str:
    """Render expected_effects.md."""
    groups: dict[str, list[EffectResult]] = {}
    for one in results:
        groups.setdefault(one.effect.group, []).append(one)
    counts = {outcome: sum(one.outcome == outcome for one in results) for outcome in _OUTCOMES}
    notes = dict.fromkeys(one.effect.note for one in results if one.effect.note)
    numbers = {note: number for number, note in enumerate(notes, 1)}
    head = ["effect", "source", "published", "here", "seeds", "outcome"]
    return render_template(
        TEMPLATE_DIR / "expected_effects.md.jinja",
        {"table": format_markdown_table},
        title=title,
        counts=counts,
        min_gain=f"{100 * MIN_GAIN:g}",
        groups={
            name: [head, *(_make_table_row(one, numbers) for one in group)] for name, group in groups.items()
        },
        notes=numbers,
    )


_OUTCOMES: tuple[Outcome, ...] = ("confirmed", "inconclusive", "contradicted", "not testable")


def _make_table_row(one: EffectResult, notes: Mapping[str, int]) -> list[str]:
    effect, difference = one.effect, one.difference
    margin = f" (margin {100 * effect.effective_margin:.2f})" if effect.effective_margin else ""
    note = f" [{notes[effect.note]}]" if effect.note else ""
    published = ", ".join(f"{net} {100 * value:+.2f}" for net, value in effect.published_differences.items())
    here, seeds = "-", "-"
    if difference:
        here = append_interval(format_percent(difference.value, "+"), difference.interval)
        if len(difference.seed_values) > 1:
            low, high = difference.seed_values.min(), difference.seed_values.max()
            seeds = f"{format_percent(low, '+')} to {format_percent(high, '+')}"
    reason = f", because {escape_markdown(one.reason)}" if one.reason else ""
    outcome = f"**{one.outcome}**{reason}" if one.outcome == "confirmed" else one.outcome + reason
    return [
        escape_markdown(effect.claim) + margin + note,
        escape_markdown(effect.source),
        published or "-",
        here,
        seeds,
        outcome,
    ]


def make_effect_records(results: Sequence[EffectResult]) -> list[dict[str, object]]:
    """Return the content of expected_effects.json: an object for each effect.

    Differences are in [-1, 1], and null where undefined.
    """
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


def _difference_columns(difference: ScoreEstimate | None) -> dict[str, float | None]:
    names = ("difference", "ci_low", "ci_high", "seed_min", "seed_max")
    if difference is None:
        return dict.fromkeys(names)
    seeds = difference.seed_values
    values = (difference.value, *difference.interval, float(seeds.min()), float(seeds.max()))
    return {
        name: None if math.isnan(value) else round(value, DECIMALS)
        for name, value in zip(names, values, strict=True)
    }
