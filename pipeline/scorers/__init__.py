"""Scores of models on benchmarks with unanswerable questions: plain functions on arrays, numpy only."""

from .acc_fpr import acc_fpr_curve, auaf, facc, ff95
from .detection import auroc

__all__ = ["acc_fpr_curve", "auaf", "auroc", "facc", "ff95"]
