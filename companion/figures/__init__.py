"""The book's figures, one function each: tables and numbers in, figures out."""

from .anchor import free_scales, loss_landscapes
from .anchor_scale import scale_curvature, scale_paths, scale_variances
from .density_ratios import landing_scale, scale_valley
from .infonce_ceiling import ceiling_against_k, certified, sandwich, what_certifies
from .large_k import between_dv_and_nwj, convergence, scale_cost
from .practice import nu_trap, sample_curve, suite_errors
from .proteins import (
    auroc_differences,
    learned_against_true,
    pmi_histograms,
    roc_summary,
    trial_curves,
)
from .scoring_rules import bayes_tangents, gradients_on_simplex
from .self_supervised import alpha_curves, learning_curves, probe_accuracies
from .staircase import ablation, batch, staircase_rows, staircases, two_readings
from .style import set_style
from .variants import alpha_excess, alpha_map, learnt_contrast, multilabel_values
from .which_estimator import certificates, readings_at_truth, readings_of_scaled
from .zoo import rule_weights, wrong_rows

__all__ = [
    "ablation",
    "alpha_curves",
    "alpha_excess",
    "alpha_map",
    "auroc_differences",
    "batch",
    "bayes_tangents",
    "between_dv_and_nwj",
    "ceiling_against_k",
    "certificates",
    "certified",
    "convergence",
    "free_scales",
    "gradients_on_simplex",
    "landing_scale",
    "learned_against_true",
    "learning_curves",
    "learnt_contrast",
    "loss_landscapes",
    "multilabel_values",
    "nu_trap",
    "pmi_histograms",
    "probe_accuracies",
    "readings_at_truth",
    "readings_of_scaled",
    "roc_summary",
    "rule_weights",
    "sample_curve",
    "sandwich",
    "scale_cost",
    "scale_curvature",
    "scale_paths",
    "scale_valley",
    "scale_variances",
    "set_style",
    "staircase_rows",
    "staircases",
    "suite_errors",
    "trial_curves",
    "two_readings",
    "what_certifies",
    "wrong_rows",
]
