"""Score models on benchmarks with unanswerable questions: plain functions on arrays that only need numpy.

Terms that the modules of this package use: an *AQ* is an answerable question, a *UQ* an unanswerable one. An
*item* is a question about an image. *RGQA* is the benchmark of Zhang et al. (ICCV 2023), whose scores and
file formats the package supports. Its scores ACC, FPR, FACC, AUAF and FF95 are defined in `realistic_vqa`.

Less common scores are in modules of their own: `masses`, `wups`, `human_baseline`, `efficiency`,
`gqa_diagnostics`.
"""

# ruff: noqa: F401 - these names are the public interface of the package
from .abstention import is_abstention
from .answer_scores import anls, exact_match, token_f1, vqa3_plus, vqa_accuracy
from .calibration import brier_score, expected_calibration_error, reliability_table
from .dual_accuracy import dual_accuracy
from .normalize import normalize_answer
from .published_scripts import published_scores
from .realistic_vqa import (
    acc_fpr_curve,
    answerability_ap,
    answerability_f1,
    auaf,
    aupr,
    auroc,
    detection_error,
    facc,
    ff95,
    fpr_at_tpr,
    realistic_scores,
)
from .selective_prediction import (
    best_effective_reliability,
    choose_threshold,
    coverage_at_risk,
    effective_reliability,
    oracle_confidence,
    risk_coverage_auc,
    risk_coverage_curve,
    threshold_at_risk,
    threshold_transfer,
)
