"""Scores by kind: of unanswerable questions by category and kind of edit, of all questions by their type."""

from __future__ import annotations

from typing import Any

import numpy as np

from .items import Answered, Options
from .realistic import realistic_scores

SHOWN = ("auaf", "ff95", "facc", "auroc")


def by_group(answered: Answered, options: Options) -> dict[str, Any]:
    """Scores for UQs of one category or kind of edit against all AQs, and for AQs and UQs of one question type."""
    aqs = answered.answerable
    of_uqs = {
        "category": [{item.category} for item in answered.items],
        "edit": [set(item.edits) for item in answered.items],
    }
    of_all = {
        name: [{getattr(item, name)} for item in answered.items]
        for name in ("structural", "semantic", "detailed")
    }
    slices: dict[str, Any] = {}
    for name, kinds in (of_uqs | of_all).items():
        counted = kinds if name in of_all else [kind for kind, aq in zip(kinds, aqs, strict=True) if not aq]
        for kind in sorted(set().union(*counted) - {""}):
            which = np.array([kind in those for those in kinds])
            which = which if name in of_all else aqs | which
            slices.setdefault(name, {})[kind] = _slice(answered.at(which))
    return slices or {
        "absent": "the benchmark does not say of what kind its items are (a release folder does)"
    }


def _slice(at: Answered) -> dict[str, Any]:
    scores = realistic_scores(at.confidence, at.correct, at.answerable)
    counts = {"aqs": int(at.answerable.sum()), "uqs": int((~at.answerable).sum())}
    return {name: scores[name] for name in SHOWN} | counts
