"""Scores of models on benchmarks with unanswerable questions: plain functions on arrays, numpy only."""

from .abstention import is_abstention
from .acc_fpr import acc_fpr_curve, auaf, facc, ff95
from .answerability import answerability_ap, answerability_f1
from .calibration import brier_score, expected_calibration_error, reliability_table
from .detection import aupr, auroc, detection_error, fpr_at_tpr
from .dual_accuracy import dual_accuracy
from .efficiency import efficiency
from .human import human_rejection, rejection_at_tpr
from .masses import majority, masses, semantic_subjectivity, subjectivity
from .matching import anls, exact_match, token_f1
from .normalize import normalize_answer
from .parity import published_scores
from .realistic import realistic_scores
from .reliability import best_effective_reliability, choose_threshold, effective_reliability
from .selective import (
    best_selection,
    coverage_at_risk,
    risk_coverage_auc,
    risk_coverage_curve,
    threshold_at_risk,
    threshold_transfer,
)
from .vqa_accuracy import vqa3_plus, vqa_accuracy
from .wups import wups

__all__ = [
    "acc_fpr_curve",
    "anls",
    "answerability_ap",
    "answerability_f1",
    "auaf",
    "aupr",
    "auroc",
    "best_effective_reliability",
    "best_selection",
    "brier_score",
    "choose_threshold",
    "coverage_at_risk",
    "detection_error",
    "dual_accuracy",
    "effective_reliability",
    "efficiency",
    "exact_match",
    "expected_calibration_error",
    "facc",
    "ff95",
    "fpr_at_tpr",
    "human_rejection",
    "is_abstention",
    "majority",
    "masses",
    "normalize_answer",
    "published_scores",
    "realistic_scores",
    "rejection_at_tpr",
    "reliability_table",
    "risk_coverage_auc",
    "risk_coverage_curve",
    "semantic_subjectivity",
    "subjectivity",
    "threshold_at_risk",
    "threshold_transfer",
    "token_f1",
    "vqa3_plus",
    "vqa_accuracy",
    "wups",
]
