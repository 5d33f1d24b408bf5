"""The torch rules: equal to the derived ones, strictly proper, stable, on any device."""

import functools
import math

import mpmath as mp
import numpy as np
import pytest
import scoringrules
import sympy as sp
import torch
from cases import RULES, SYMMETRIC
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from companion import symbolic
from mi_lib import (
    InverseLog,
    Kliep,
    Log,
    Power,
    PseudoSpherical,
    RobustDRE,
    SymmetricInverseLog,
)
from mi_lib.scoring import Asymmetric
from mi_lib.symtorch import SymTensor


def rho_log_rho(rho):
    return rho * rho.log()


def half_square(rho):
    return rho**2 / 2


def sixth_cube(rho):
    return rho**3 / 6


def minus_root(rho):
    return -4 * rho.sqrt()


# A psi, the named rule it must reproduce, and the constant it adds in classes 1..M.
TWINS = [
    (Asymmetric(rho_log_rho), Kliep(), -1.0),
    (Asymmetric(half_square), RobustDRE(2), 0.0),
    (Asymmetric(sixth_cube), RobustDRE(3), 0.0),
    (Asymmetric(minus_root), RobustDRE(0.5), 0.0),
]
ALL_RULES = RULES + [rule for rule, _, _ in TWINS]


def name(rule):
    """A test id without an address in it."""
    return f"Asymmetric({rule.psi.__name__})" if isinstance(rule, Asymmetric) else str(rule)


alpha = sp.Symbol("alpha", real=True)

DERIVATIONS = {
    Log: (symbolic.rule_from_phi, lambda a: symbolic.log_phi),
    Power: (symbolic.rule_from_phi, symbolic.power_phi),
    PseudoSpherical: (symbolic.rule_from_phi, symbolic.pseudo_spherical_phi),
    SymmetricInverseLog: (symbolic.rule_from_phi, lambda a: symbolic.symmetric_inverse_log_phi),
    Kliep: (symbolic.rule_from_psi, lambda a: symbolic.kliep_psi),
    RobustDRE: (symbolic.rule_from_psi, symbolic.robust_psi),
    InverseLog: (symbolic.rule_from_psi, lambda a: symbolic.inverse_log_psi),
}
# By how much the derived rule exceeds the torch rule, for M + 1 classes: in class 0, in 1..M.
CONSTANTS = {
    Log: lambda m: (0, 0),
    Power: lambda m: (0, 0),
    PseudoSpherical: lambda m: (0, 0),
    SymmetricInverseLog: lambda m: (-(m + 1), -(m + 1)),
    Kliep: lambda m: (0, -1),
    RobustDRE: lambda m: (0, 0),
    InverseLog: lambda m: (-m, 0),
}


def class_constants(kind, classes):
    first, others = CONSTANTS[kind](classes - 1)
    return [first] + [others] * (classes - 1)


@functools.cache
def derived(kind, classes):
    """The losses that differentiation gives, with the named constants taken off."""
    induce, generating = DERIVATIONS[kind]
    losses = induce(generating(alpha), symbolic.class_symbols(classes))
    return [loss - c for loss, c in zip(losses, class_constants(kind, classes), strict=True)]


def derived_value(rule, log_eta, z):
    """The derived loss of class z, as a float."""
    eta = symbolic.class_symbols(len(log_eta))
    at = dict(zip(eta, map(sp.Float, log_eta.exp().tolist()), strict=True))
    at[alpha] = sp.Float(getattr(rule, "alpha", 2))
    return float(derived(type(rule), len(eta))[z].xreplace(at))


def with_symbolic_alpha(kind):
    rule = kind()
    if hasattr(rule, "alpha"):
        object.__setattr__(rule, "alpha", alpha)
    return rule


def random_log_eta(shape, seed, scale=1.5):
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(shape, generator=generator, dtype=torch.float64)
    return logits.log_softmax(-1)


# The code is the derivation


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("kind", DERIVATIONS, ids=lambda kind: kind.__name__)
def test_torch_code_equals_the_derivation_as_an_identity(kind, classes):
    eta = symbolic.class_symbols(classes)
    code = with_symbolic_alpha(kind)(SymTensor([sp.log(e) for e in eta])).tolist()
    expected = derived(kind, classes)
    left = [symbolic.on_simplex(d - c, eta) for d, c in zip(expected, code, strict=True)]
    assert left == [0] * classes


@pytest.mark.parametrize("kind", DERIVATIONS, ids=lambda kind: kind.__name__)
def test_the_loss_of_one_class_equals_the_derivation_too(kind):
    eta = symbolic.class_symbols(3)
    rule, log_eta = with_symbolic_alpha(kind), SymTensor([sp.log(e) for e in eta])
    for z, expected in enumerate(derived(kind, 3)):
        code = rule.loss(log_eta, z).tolist()
        assert symbolic.on_simplex(expected - code, eta) == 0


def assert_derived(rule, log_eta, checked):
    expected = np.array([derived_value(rule, log_eta, z) for z in checked])
    found = rule(log_eta)[list(checked)].numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_torch_code_equals_the_derivation_at_random_points_of_5_classes(rule):
    for log_eta in random_log_eta((3, 5), seed=5):
        assert_derived(rule, log_eta, range(5))


@pytest.mark.parametrize("kind", DERIVATIONS, ids=lambda kind: kind.__name__)
def test_torch_code_equals_the_derivation_at_a_random_point_of_64_classes(kind):
    rule = kind(0.5) if hasattr(kind, "alpha") else kind()
    assert_derived(rule, random_log_eta((64,), seed=64), (0, 1, 63))


@pytest.mark.parametrize(("rule", "named", "constant"), TWINS, ids=name)
def test_any_psi_gives_the_named_rule(rule, named, constant):
    log_eta = random_log_eta((6, 4), seed=1)
    expected = named(log_eta)
    expected[..., 1:] += constant
    torch.testing.assert_close(rule(log_eta), expected, rtol=1e-10, atol=1e-10)


# Numbers from elsewhere


def test_literals():
    """eta = (1/2, 1/4, 1/4), by hand."""
    log_eta = torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64).log()
    ln2 = math.log(2)
    expected = {
        Log(): [ln2, 2 * ln2, 2 * ln2],
        Power(2): [3 / 16 - 1 / 2, 3 / 16 - 1 / 4, 3 / 16 - 1 / 4],
        Power(-1): [-10 + 2, -10 + 8, -10 + 8],
        PseudoSpherical(2): [-math.sqrt(2) / 3, -math.sqrt(2) / 6, -math.sqrt(2) / 6],
        SymmetricInverseLog(): [2 - 5 * ln2, 4 - 5 * ln2, 4 - 5 * ln2],
        Kliep(): [1.0, ln2, ln2],
        RobustDRE(2): [1 / 4, -1 / 2, -1 / 2],
        RobustDRE(-1): [-4, 2, 2],
        InverseLog(): [-2 * ln2, 2.0, 2.0],
    }
    for rule, losses in expected.items():
        torch.testing.assert_close(
            rule(log_eta), torch.tensor(losses, dtype=torch.float64), rtol=1e-14, atol=1e-14
        )


def test_log_is_the_logarithmic_score_of_scoringrules():
    log_eta = random_log_eta((8, 2), seed=2)
    event = log_eta.exp().numpy()[:, 1]
    expected = np.stack([scoringrules.log_score(y, event) for y in (0, 1)], -1)
    np.testing.assert_allclose(Log()(log_eta).numpy(), expected, rtol=1e-13)


def test_power_2_is_half_the_brier_score_of_scoringrules_minus_a_half():
    """The multi-class Brier score is the sum of the binary ones over the classes."""
    log_eta = random_log_eta((8, 4), seed=3)
    eta = log_eta.exp().numpy()
    hit = np.eye(4)[:, None, :]
    brier = scoringrules.brier_score(np.broadcast_to(hit, (4, 8, 4)), eta[None]).sum(-1).T
    np.testing.assert_allclose(Power(2)(log_eta).numpy(), (brier - 1) / 2, atol=1e-14)


# Propriety


def expected_loss(rule, log_eta, star):
    return (star * rule(log_eta)).sum(-1)


probabilities = st.lists(st.floats(0.02, 1.0), min_size=2, max_size=6).map(
    lambda weights: torch.tensor(weights, dtype=torch.float64) / sum(weights)
)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(rule=st.sampled_from(ALL_RULES), star=probabilities, other=probabilities)
def test_the_expected_loss_is_smallest_at_the_truth_and_only_there(rule, star, other):
    assume(len(other) >= len(star))
    eta = other[: len(star)] / other[: len(star)].sum()
    losses = torch.stack([rule(star.log()), rule(eta.log())])
    rounding = 1e-13 * float(losses.abs().max())
    regret = float(expected_loss(rule, eta.log(), star) - expected_loss(rule, star.log(), star))
    assert regret >= -rounding
    if float((eta - star).abs().max()) > 1e-2:
        assert regret > rounding


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("rule", ALL_RULES, ids=name)
def test_minimising_the_expected_loss_recovers_the_truth(rule, classes):
    star = random_log_eta((classes,), seed=10 + classes, scale=0.7).exp()
    logits = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [logits],
        max_iter=300,
        tolerance_grad=1e-12,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
    )

    def closure():
        optimiser.zero_grad()
        value = expected_loss(rule, logits.log_softmax(-1), star)
        value.backward()
        return value

    optimiser.step(closure)
    torch.testing.assert_close(logits.detach().softmax(-1), star, rtol=0, atol=1e-5)


# One class alone


@pytest.mark.parametrize("rule", ALL_RULES, ids=name)
def test_the_loss_of_one_class_is_that_entry_of_all(rule):
    log_eta = random_log_eta((2, 3, 4), seed=4)
    every = rule(log_eta)
    assert every.shape == log_eta.shape
    for z in range(-4, 4):
        torch.testing.assert_close(rule.loss(log_eta, z), every[..., z], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("rule", ALL_RULES, ids=name)
@pytest.mark.parametrize("z", [3, -4])
def test_a_class_that_does_not_exist_is_refused(rule, z):
    with pytest.raises(IndexError):
        rule.loss(random_log_eta((3,), seed=4), z)


@pytest.mark.parametrize("rule", SYMMETRIC, ids=name)
def test_symmetric_rules_treat_all_classes_alike(rule):
    log_eta, order = random_log_eta((5, 4), seed=5), [2, 0, 3, 1]
    torch.testing.assert_close(rule(log_eta[:, order]), rule(log_eta)[:, order])


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_classes_1_to_m_are_treated_alike(rule):
    log_eta, order = random_log_eta((5, 4), seed=6), [0, 3, 1, 2]
    torch.testing.assert_close(rule(log_eta[:, order]), rule(log_eta)[:, order])


# Stability

SCORES = [
    [0.0, 1.0, -1.0],
    [1.0, -1.0, -1.0],
    [-1.0, 1.0, 1.0],
    [1.0, 0.9999, -0.3],
    [-1.0, -0.5, 1.0],
]


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_values_and_gradients_stay_finite_for_any_logits(rule):
    for dtype in (torch.float32, torch.float64):
        for size in (30.0, 1e3, 1e4, 1e8, 1e12, 1e30):
            logits = torch.tensor(SCORES, dtype=dtype).mul(size).requires_grad_()
            for z in range(3):
                losses = rule.loss(logits.log_softmax(-1), z)
                (gradient,) = torch.autograd.grad(losses.sum(), logits)
                assert torch.isfinite(losses).all(), (dtype, size, z, losses)
                assert torch.isfinite(gradient).all(), (dtype, size, z, gradient)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1e4, 1e8, 1e12, 1e20])
def test_an_overflowing_loss_saturates_near_the_largest_number_and_pulls_back(size, dtype):
    """1/eta_z overflows; its stand-in must stay large, with a gradient that raises eta_z."""
    logits = torch.tensor([size, -size], dtype=dtype, requires_grad=True)
    loss = SymmetricInverseLog().loss(logits.log_softmax(-1), 1)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss > math.sqrt(torch.finfo(dtype).max)
    assert gradient[1] < -math.sqrt(torch.finfo(dtype).max) < 0 < gradient[0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("rule", RULES, ids=name)
def test_short_floats_agree_with_double_precision(rule, dtype):
    log_eta = random_log_eta((64, 4), seed=7, scale=0.6).to(dtype)
    precise = rule(log_eta.double())
    size = precise.abs().max()
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(rule(log_eta).double() / size, precise / size, rtol=0, atol=20 * eps)


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_single_precision_agrees_with_double_at_large_scores(rule):
    """The exponent of a loss carries a relative error eps, the loss an error eps * exponent."""
    logits = 12.0 * torch.tensor(SCORES)
    single = rule(logits.log_softmax(-1)).double()
    double = rule(logits.double().log_softmax(-1))
    error = (single - double).abs() / double.abs().amax(-1, keepdim=True)
    assert error.max() < 4 * 100 * torch.finfo(torch.float32).eps


@pytest.mark.parametrize("rule", ALL_RULES, ids=name)
def test_gradients_are_those_of_the_values(rule):
    logits = torch.tensor([0.3, -0.8, 1.1], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: rule(x.log_softmax(-1)), logits)
    for z in range(3):
        one = torch.autograd.grad(rule.loss(logits.log_softmax(-1), z), logits)
        entry = torch.autograd.grad(rule(logits.log_softmax(-1))[z], logits)
        torch.testing.assert_close(one, entry, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=name)
@pytest.mark.parametrize("logits", [(0, 90, -90), (100, -100, 30), (-40, 0, 60)])
def test_values_at_extreme_scores_against_high_precision(rule, logits):
    """The derived rule in 400 digits, from scores whose probabilities round to 0 and 1."""
    losses = sp.lambdify([alpha, symbolic.class_symbols(3)], derived(type(rule), 3), "mpmath")
    with mp.workdps(400):
        weights = [mp.exp(v) for v in logits]
        eta = [w / mp.fsum(weights) for w in weights]
        expected = [float(v) for v in losses(mp.mpf(getattr(rule, "alpha", 2)), eta)]
    log_eta = torch.tensor(logits, dtype=torch.float64).log_softmax(-1)
    assert all(math.isfinite(v) for v in expected)
    np.testing.assert_allclose(rule(log_eta).numpy(), expected, rtol=1e-12, atol=1e-14)


# Devices


@pytest.mark.parametrize("rule", ALL_RULES, ids=name)
def test_results_live_on_the_device_of_the_input(rule):
    log_eta = torch.zeros((2, 3), device="meta")
    assert rule(log_eta).device.type == "meta"
    assert rule.loss(log_eta, 0).device.type == "meta"
    assert rule.loss(log_eta, 2).device.type == "meta"


@pytest.mark.parametrize("rule", ALL_RULES, ids=name)
def test_no_tensor_is_made_on_the_default_device(rule):
    log_eta = random_log_eta((2, 3), seed=9)
    expected = rule(log_eta)
    with torch.device("meta"):
        torch.testing.assert_close(rule(log_eta), expected)
        torch.testing.assert_close(rule.loss(log_eta, 1), expected[..., 1])
        Asymmetric(torch.square)


@pytest.mark.gpu
def test_cuda_agrees_with_the_processor():
    log_eta = random_log_eta((16, 5), seed=11)
    for rule in ALL_RULES:
        torch.testing.assert_close(rule(log_eta.cuda()).cpu(), rule(log_eta))
