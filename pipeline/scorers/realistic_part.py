"""The parts of a report on a benchmark with unanswerable questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .abstention import is_abstention
from .answerability import answerability_ap, answerability_f1
from .calibration import brier_score, expected_calibration_error
from .dual_accuracy import dual_accuracy, pairs_handled
from .human import rejection_at_tpr
from .join import Joined
from .parity import published_scores
from .realistic import realistic_scores, scores_of
from .reliability import best_effective_reliability, choose_threshold, effective_reliability
from .selective import best_selection, coverage_at_risk, risk_coverage_auc, threshold_transfer
from .sweep import order, share, weighted_sweep

if TYPE_CHECKING:
    from .model_report import Options

RISKS = (0.01, 0.05, 0.1, 0.2)
COSTS = (1, 10, 100)


def realistic(joined: Joined, options: Options) -> dict[str, Any]:
    if options.mode == "parity":
        return published_scores(joined.confidence, joined.literal, joined.answerable)
    return realistic_scores(joined.confidence, joined.correct, joined.answerable)


def pairs(joined: Joined, options: Options) -> dict[str, Any]:
    """Dual accuracy, with a threshold for each pair and with one for all: chosen on dev for test, else the fixed."""
    names = np.array([row.pair for row in joined.rows])
    if not names.all():
        return {
            "absent": "the benchmark does not say which AQ and UQ belong together (a release folder does)"
        }
    dev, test = _parts(joined)
    found: dict[str, Any] = {
        "pairs": len(pairs_handled(joined.confidence, joined.correct, joined.answerable, names, None)[0]),
        "dual_accuracy": dual_accuracy(joined.confidence, joined.correct, joined.answerable, names),
    }
    if dev.any() and test.any():
        chosen = best_dual_threshold(joined.at(dev), names[dev])
        at = joined.at(test)
        value = dual_accuracy(at.confidence, at.correct, at.answerable, names[test], threshold=chosen)
        return found | {"threshold": chosen, "threshold_from": "dev", "dual_accuracy_at_threshold": value}
    value = dual_accuracy(
        joined.confidence, joined.correct, joined.answerable, names, threshold=options.threshold
    )
    return found | {
        "threshold": options.threshold,
        "threshold_from": "option",
        "dual_accuracy_at_threshold": value,
    }


def best_dual_threshold(joined: Joined, names: np.ndarray) -> float:
    """The threshold with the highest dual accuracy, the lowest of several; one sort, as each pair counts where its
    UQ's confidence < threshold <= its AQ's."""
    rows, _ = pairs_handled(joined.confidence, joined.correct, joined.answerable, names, None)
    low: dict[str, tuple[float, float]] = {}
    for i in np.flatnonzero(joined.answerable):
        confidence, right = low.get(names[i], (np.inf, np.inf))
        low[names[i]] = (min(confidence, joined.confidence[i]), min(right, joined.correct[i]))
    if not len(rows):
        return float("nan")
    top = np.array([low[names[i]] for i in rows])
    apart = top[:, 0] > joined.confidence[rows]
    thresholds = np.unique(joined.confidence)
    gain = np.zeros(len(thresholds) + 1)
    np.add.at(gain, np.searchsorted(thresholds, joined.confidence[rows][apart], side="right"), top[apart, 1])
    np.add.at(gain, np.searchsorted(thresholds, top[apart, 0], side="right"), -top[apart, 1])
    total = np.cumsum(gain)[:-1]
    return float(thresholds[np.flatnonzero(total >= total.max() - 1e-9)[0]])


def selective(joined: Joined, options: Options) -> dict[str, Any]:
    """An answer to a UQ has accuracy 0. Thresholds are chosen on dev items and applied to test items."""
    confidence, accuracy = joined.confidence, joined.correct
    found: dict[str, Any] = selective_scores(confidence, accuracy)
    dev, test = _parts(joined)
    if not dev.any() or not test.any():
        absent = {
            "absent": "no dev and test items to choose a threshold on and apply it to (a release folder has them)"
        }
        return found | {"effective_reliability": absent, "threshold_transfer": absent}
    at = (confidence[dev], accuracy[dev], confidence[test], accuracy[test])
    found["threshold_transfer"] = {str(risk): threshold_transfer(*at, risk) for risk in RISKS}
    found["effective_reliability"] = {str(cost): reliability_at(*at, cost) for cost in COSTS}
    return found


def selective_scores(confidence: np.ndarray, accuracy: np.ndarray) -> dict[str, Any]:
    """What needs no chosen threshold."""
    best = best_selection(accuracy)
    return {
        "accuracy": float(np.mean(accuracy)),
        "auc": risk_coverage_auc(confidence, accuracy),
        "best_auc": risk_coverage_auc(best, accuracy),
        "coverage_at_risk": {str(r): float(coverage_at_risk(confidence, accuracy, r)) for r in RISKS},
        "best_coverage_at_risk": {str(r): float(coverage_at_risk(best, accuracy, r)) for r in RISKS},
    }


def reliability_at(dev_confidence, dev_accuracy, confidence, accuracy, cost: float) -> dict[str, float]:
    """Effective Reliability at a cost with the threshold chosen on other items, and what it comes to."""
    threshold = choose_threshold(dev_confidence, dev_accuracy, cost=cost)
    answered = confidence >= threshold
    return {
        "threshold": threshold,
        "phi": effective_reliability(confidence, accuracy, cost=cost, threshold=threshold),
        "best_phi": best_effective_reliability(accuracy),
        "phi_answering_all": effective_reliability(confidence, accuracy, cost=cost, threshold=-np.inf),
        "coverage": float(answered.mean()),
        "risk": float(1 - accuracy[answered].mean()) if answered.any() else float("nan"),
    }


def calibration(joined: Joined, options: Options) -> dict[str, Any]:
    """ECE and Brier of the confidence as probability that the question is answerable, and that the answer is right."""
    at = joined.at(~joined.missing)
    if (at.confidence < 0).any() or (at.confidence > 1).any():
        return {"absent": "some confidences lie outside [0, 1]: they are no probabilities"}
    found = {}
    for name, outcome in (("answerable", at.answerable.astype(float)), ("right", at.correct)):
        found[name] = calibration_of(at.confidence, outcome)
    return found | {"items": len(at.rows)}


def calibration_of(confidence: np.ndarray, outcome: np.ndarray) -> dict[str, float]:
    return {
        "ece": expected_calibration_error(confidence, outcome),
        "ece_equal_mass": expected_calibration_error(confidence, outcome, binning="mass"),
        "brier": brier_score(confidence, outcome),
    }


def answerability(joined: Joined, options: Options) -> dict[str, Any]:
    return {
        "f1": answerability_f1(joined.confidence, joined.answerable, threshold=options.threshold),
        "average_precision": answerability_ap(joined.confidence, joined.answerable),
        "threshold": options.threshold,
    }


def abstention(joined: Joined, options: Options) -> dict[str, Any]:
    """What the answers' own words say: abstentions on AQs are wrong, UQs answered are missed. Rows without a
    prediction are left out."""
    at = joined.at(~joined.missing)
    abstains = np.array([is_abstention(text) for text in at.said], bool)
    aqs, uqs = at.answerable, ~at.answerable
    return {
        "abstentions": int(abstains.sum()),
        "wrong": int((abstains & aqs).sum()),
        "missed": int((~abstains & uqs).sum()),
        "wrong_share": float(abstains[aqs].mean()) if aqs.any() else float("nan"),
        "missed_share": float((~abstains[uqs]).mean()) if uqs.any() else float("nan"),
    }


def human(joined: Joined, options: Options) -> dict[str, Any]:
    """People's rejection accuracy, and the model's where it accepts AQs as often as they do; on the same items."""
    study = options.extras.get("human")
    if study is None:
        return {"absent": "needs people's judgements (--human)"}
    places = [i for i, row in enumerate(joined.rows) if row.id in study]
    if not places:
        return {"absent": "the human study has no item of this subset"}
    from .human import human_rejection

    answerable = np.array([joined.answerable[i] for i in places for _ in study[joined.rows[i].id]])
    accepted = np.array([judged for i in places for judged in study[joined.rows[i].id]])
    people = human_rejection(accepted, answerable)
    at = joined.at(np.array(places))
    tpr = people["true_positive_rate"]
    return people | {
        "items": len(places),
        "model_rejection_accuracy": rejection_at_tpr(at.confidence, at.answerable, tpr),
        "model_rejection_accuracy_on_all_items": rejection_at_tpr(joined.confidence, joined.answerable, tpr),
    }


def by(joined: Joined, options: Options) -> dict[str, Any]:
    """Scores for UQs of one category or kind of edit against all AQs, and for AQs and UQs of one question type."""
    found: dict[str, Any] = {}
    uqs = ~joined.answerable
    for name, values in (
        ("category", [(row.category,) for row in joined.rows]),
        ("edit", [row.edits for row in joined.rows]),
    ):
        kinds = sorted(
            {kind for value, is_uq in zip(values, uqs, strict=True) if is_uq for kind in value if kind}
        )
        if kinds:
            found[name] = {
                kind: _slice(
                    joined, joined.answerable | (uqs & np.array([kind in v for v in values])), options
                )
                for kind in kinds
            }
    for name in ("structural", "semantic", "detailed"):
        values = np.array([getattr(row, name) for row in joined.rows])
        kinds = sorted({value for value in values.tolist() if value})
        if kinds:
            found[name] = {kind: _slice(joined, values == kind, options) for kind in kinds}
    return found or {
        "absent": "the benchmark does not say of what kind its items are (a release folder does)"
    }


def _slice(joined: Joined, which: np.ndarray, options: Options) -> dict[str, Any]:
    at = joined.at(which)
    scores = realistic_scores(at.confidence, at.correct, at.answerable)
    return {name: scores[name] for name in ("auaf", "ff95", "facc", "auroc")} | {
        "aqs": int(at.answerable.sum()),
        "uqs": int((~at.answerable).sum()),
    }


def repeat(joined: Joined, cluster: np.ndarray) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
    """A function from the weights of the pictures [b, pictures] to the scores of b repetitions."""
    ranked = order(joined.confidence)
    names = np.array([row.pair for row in joined.rows])
    rows, handled = (
        pairs_handled(joined.confidence, joined.correct, joined.answerable, names, None)
        if names.all()
        else ([], None)
    )

    def scores(weights: np.ndarray) -> dict[str, np.ndarray]:
        found = scores_of(weighted_sweep(ranked, joined.correct, joined.answerable, cluster, weights))
        if len(rows):
            drawn = weights[:, cluster[rows]]
            found["dual_accuracy"] = share(drawn @ handled, drawn.sum(axis=1))
        return found

    return scores


def _parts(joined: Joined) -> tuple[np.ndarray, np.ndarray]:
    parts = np.array([row.part for row in joined.rows])
    return parts == "dev", parts == "test"
