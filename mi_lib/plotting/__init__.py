"""The book's figures, one function each: tables and numbers in, figures out."""

from .anchor import free_scales, loss_landscapes
from .anchor_scale import scale_curvature, scale_paths, scale_variances
from .density_ratios import landing_scale, scale_valley
from .infonce_ceiling import ceiling_against_k, certified, sandwich
from .large_k import between_dv_and_nwj, convergence, scale_cost
from .practice import heat_map, nu_trap, report_figure
from .scoring_rules import bayes_tangents, gradients_on_simplex
from .style import set_style
from .variants import alpha_excess, alpha_map, learnt_contrast, multilabel_values
from .which_estimator import certificates, readings_at_truth, readings_of_scaled
from .zoo import rule_weights, wrong_rows

__all__ = [
    "alpha_excess",
    "alpha_map",
    "bayes_tangents",
    "between_dv_and_nwj",
    "ceiling_against_k",
    "certificates",
    "certified",
    "convergence",
    "free_scales",
    "gradients_on_simplex",
    "heat_map",
    "landing_scale",
    "learnt_contrast",
    "loss_landscapes",
    "multilabel_values",
    "nu_trap",
    "readings_at_truth",
    "readings_of_scaled",
    "report_figure",
    "rule_weights",
    "sandwich",
    "scale_cost",
    "scale_curvature",
    "scale_paths",
    "scale_valley",
    "scale_variances",
    "set_style",
    "wrong_rows",
]
