"""Scores of models on benchmarks with unanswerable questions: plain functions on arrays, numpy only."""

# ruff: noqa: F401 - this is the one list of what the package offers
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
