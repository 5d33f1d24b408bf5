"""Bad input: each raises ValueError, and the message says what to do."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
import torch

from companion.printed_bound import printed_ceiling
from mi_lib import (
    InverseLog,
    Kliep,
    Log,
    Power,
    PseudoSpherical,
    RobustDRE,
    SymmetricInverseLog,
    bounds,
    ceiling,
    finite,
)
from mi_lib.scoring import Asymmetric
from mi_lib.validate import nats_per, nonnegative_array, one_of, real_number, whole_number

HALF = (0.5, 0.5)
EXACT = (sp.Rational(1, 2), sp.Rational(1, 2))
ONES = (1.0, 1.0)
LOG_ETA = torch.tensor([0.5, 0.5]).log()

BAD = {
    # distributions
    "negative": (lambda: finite.kl((-0.5, 1.5), HALF), "q1 contains -0.5; every entry .* >= 0"),
    "negative q0": (lambda: finite.kl(HALF, (-0.5, 1.5)), "q0 contains -0.5"),
    "NaN": (lambda: finite.kl((math.nan, 1.0), HALF), "q1 contains nan; every entry .* finite"),
    "infinite": (lambda: finite.kl((math.inf, 1.0), HALF), "q1 contains inf"),
    "not normalised": (lambda: finite.kl((0.5, 0.6), HALF), "q1 sums to 1.1, not 1; divide it"),
    "q0 not normalised": (lambda: finite.kl(HALF, (1, 1)), "q0 sums to 2.* divide it by its sum"),
    "exact, not normalised": (
        lambda: finite.kl((sp.Rational(1, 2), sp.Rational(1, 3)), EXACT),
        "q1 sums to 5/6, not 1; divide it",
    ),
    "exact, negative": (
        lambda: finite.kl((sp.Rational(-1, 2), sp.Rational(3, 2)), EXACT),
        "q1 contains -1/2; every entry",
    ),
    "lengths": (lambda: finite.kl((0.2, 0.3, 0.5), HALF), "q1 has 3 symbols but q0 has 2"),
    "length of the critic": (
        lambda: finite.dv((1.0, 2.0, 3.0), HALF, HALF),
        "critic has 3 symbols but q1 has 2",
    ),
    "empty": (lambda: finite.kl((), ()), "q1 has shape .*; pass one number per symbol"),
    "a number": (lambda: finite.kl(1.0, 1.0), "pass one number per symbol"),
    "a matrix": (lambda: finite.kl([HALF], [HALF]), "pass one number per symbol"),
    "mixed": (
        lambda: finite.kl(HALF, EXACT),
        "floats and exact numbers are mixed; make all of them sympy",
    ),
    "mixed critic": (lambda: finite.dv(ONES, EXACT, EXACT), "floats and exact numbers are mixed"),
    "mixed fractions": (
        lambda: finite.kl((Fraction(1, 2), 0.5), HALF),
        "floats and exact numbers are mixed",
    ),
    "mass where q0 has none": (
        lambda: finite.k_way_jsd(HALF, (0, 1), 2),
        "symbol 0 has q0 = 0 but q1 = 0.5.*give q0 mass",
    ),
    "exact mass where q0 has none": (
        lambda: finite.k_way_jsd(EXACT, (sp.Integer(0), sp.Integer(1)), 2),
        "symbol 0 has q0 = 0 but q1 = 1/2.*give q0 mass",
    ),
    # critics
    "negative critic": (lambda: finite.dv((-1.0, 1.0), HALF, HALF), "critic contains -1.0"),
    "NaN critic": (lambda: finite.dv((math.nan, 1.0), HALF, HALF), "critic contains nan"),
    "critic 0 where q1 > 0": (
        lambda: finite.infonce((0.0, 1.0), HALF, HALF, 2),
        "critic is 0 at symbol 0, where q1 > 0; make it positive",
    ),
    # K, m, nu, alpha, beta, unit
    "K = 0": (lambda: finite.k_way_jsd(HALF, HALF, 0), "k=0 is too small; pass an integer >= 1"),
    "K = 2.5": (lambda: finite.k_way_jsd(HALF, HALF, 2.5), "k=2.5 is not a whole number; pass"),
    "K = 2.0": (lambda: finite.infonce(ONES, HALF, HALF, 2.0), "k=2.0 is not a whole number"),
    "K of text": (lambda: finite.infonce(ONES, HALF, HALF, "2"), "k='2' is not a whole number"),
    "alpha-InfoNCE, K = 1": (
        lambda: finite.alpha_infonce(ONES, HALF, HALF, 1, 0.5),
        "k=1 is too small; pass an integer >= 2",
    ),
    "alpha-InfoNCE, alpha > 1": (
        lambda: finite.alpha_infonce(ONES, HALF, HALF, 2, 1.5),
        r"alpha=1.5 is outside \[0, 1\]",
    ),
    "alpha-InfoNCE, alpha < 0": (
        lambda: finite.alpha_infonce(ONES, HALF, HALF, 2, -0.1),
        r"alpha=-0.1 is outside \[0, 1\]",
    ),
    "alpha-InfoNCE, NaN": (
        lambda: finite.alpha_infonce(ONES, HALF, HALF, 2, math.nan),
        "alpha=nan is not finite; pass a finite real number",
    ),
    "ML-InfoNCE, m = 0": (
        lambda: finite.ml_infonce(ONES, HALF, HALF, 2, 0),
        "m=0 is too small; pass an integer >= 1",
    ),
    "ML-InfoNCE, K = 0": (
        lambda: finite.ml_infonce(ONES, HALF, HALF, 0, 1),
        "k=0 is too small; pass an integer >= 1",
    ),
    "anchored, K = 0": (lambda: finite.anchored_risk(ONES, HALF, HALF, 0, 1), "k=0 is too small"),
    "anchored, nu < 0": (
        lambda: finite.anchored_risk(ONES, HALF, HALF, 2, -1),
        "nu=-1 is below 0; pass a number >= 0",
    ),
    "anchored, nu NaN": (
        lambda: finite.anchored_risk(ONES, HALF, HALF, 2, math.nan),
        "nu=nan is not finite; pass",
    ),
    "anchored, one class": (
        lambda: finite.anchored_risk(ONES, HALF, HALF, 1, 0),
        "nu=0 with k=1 leaves a single class; use nu > 0 or k >= 2",
    ),
    "anchored, no anchor for Kliep": (
        lambda: finite.anchored_risk(ONES, HALF, HALF, 3, 0, Kliep()),
        "nu=0 .*Kliep.* use nu > 0 or a symmetric rule",
    ),
    "anchored, no anchor for InverseLog": (
        lambda: finite.anchored_risk(ONES, HALF, HALF, 3, 0, InverseLog()),
        "nu=0 .*InverseLog.* use nu > 0 or a symmetric rule",
    ),
    "beta < 0": (
        lambda: finite.generalised_dv(ONES, HALF, HALF, -1.0),
        "beta=-1.0 must be >= 0 .*0 gives DV, inf gives NWJ",
    ),
    "exact beta < 0": (
        lambda: finite.generalised_dv((1, 1), EXACT, EXACT, sp.Rational(-1, 2)),
        "beta=-1/2 must be >= 0 .*0 gives DV, inf gives NWJ",
    ),
    "beta NaN": (lambda: finite.generalised_dv(ONES, HALF, HALF, math.nan), "beta=nan must be"),
    "exact beta NaN": (
        lambda: finite.generalised_dv((1, 1), EXACT, EXACT, math.nan),
        "beta=nan must be >= 0",
    ),
    "unit": (
        lambda: finite.kl(HALF, HALF, unit="hartley"),
        'unit=\'hartley\' is unknown; use "bits" or "nats"',
    ),
    "unit of JSD": (lambda: finite.k_way_jsd(HALF, HALF, 2, "bit"), "unit='bit' is unknown; use"),
    # bounds
    "ceiling, D < 0": (
        lambda: ceiling.infonce_ceiling(-0.1, 4),
        "kl contains -0.1; pass numbers >= 0",
    ),
    "ceiling, D NaN": (
        lambda: ceiling.infonce_ceiling([1.0, math.nan], 4),
        "kl contains NaN; pass",
    ),
    "ceiling, K = 0": (lambda: ceiling.infonce_ceiling(1.0, 0), "k=0 must be whole numbers >= 1"),
    "ceiling, K = 2.5": (lambda: ceiling.infonce_ceiling(1.0, 2.5), "k=2.5 must be whole numbers"),
    "ceiling, one K = 0": (lambda: ceiling.infonce_ceiling(1.0, [4, 0]), "must be whole numbers"),
    "ceiling, shapes": (lambda: ceiling.infonce_ceiling([1.0, 2.0], [1, 2, 3]), "broadcast"),
    "ceiling, unit": (
        lambda: ceiling.infonce_ceiling(1.0, 4, unit="dits"),
        "unit='dits' is unknown",
    ),
    "ceiling, unit in its old place": (
        lambda: ceiling.infonce_ceiling(1.0, 4, "nats"),
        "passed by name, unit='nats'",
    ),
    "printed, D < 0": (lambda: printed_ceiling(-1.0, 4), "kl contains -1; pass"),
    "printed, K = 0": (lambda: printed_ceiling(1.0, 0), "k=0 must be whole numbers"),
    "floor, chi2 < 0": (lambda: bounds.chi_square_floor(1.0, -1.0, 4), "chi2 contains -1; pass"),
    "floor, D < 0": (lambda: bounds.chi_square_floor(-1.0, 1.0, 4), "kl contains -1; pass"),
    "floor, K = 0": (lambda: bounds.chi_square_floor(1.0, 1.0, 0), "k=0 must be whole numbers"),
    "DV, beta < 0": (lambda: bounds.generalised_dv(0.0, 1.0, -2), "beta=-2.0 must be >= 0"),
    "DV, beta NaN": (lambda: bounds.generalised_dv(0.0, 1.0, math.nan), "beta=nan must be >= 0"),
    "DV, mean < 0": (
        lambda: bounds.generalised_dv(0.0, -1.0, 1.0),
        "mean_r=-1.0 is below 0; pass a number >= 0",
    ),
    "DV, mean NaN": (lambda: bounds.generalised_dv(0.0, math.nan, 1.0), "mean_r=nan is not finite"),
    "DV, mean 0": (
        lambda: bounds.generalised_dv(0.0, 0.0, 0.0),
        "mean_r=0 with beta=0.*change the critic",
    ),
    "certified, above log K": (
        lambda: ceiling.certified_kl(2.1, 4),
        "value=2.1 bits is above the entropy of the classes, 2 bits.*check k",
    ),
    "certified, negative": (lambda: ceiling.certified_kl(-0.1, 4), "value contains -0.1; pass"),
    # rules
    "one class": (
        lambda: Log()(torch.zeros(3, 1)),
        r"log_eta has shape \(3, 1\); .* at least 2 classes",
    ),
    "no axis": (lambda: Kliep()(torch.tensor(0.0)), r"log_eta has shape \(\); .*at least 2"),
    "one class, one loss": (lambda: Log().loss(torch.zeros(1), 0), "at least 2 classes"),
    "integers": (
        lambda: SymmetricInverseLog()(torch.tensor([0, 1])),
        "log_eta has dtype torch.int64; pass floating-point logs",
    ),
    "integers, one loss": (
        lambda: InverseLog().loss(torch.tensor([0, 1]), 0),
        "pass floating-point logs",
    ),
    "concave psi": (
        lambda: Asymmetric(torch.sqrt),
        "psi is not strictly convex.*pass a strictly convex psi",
    ),
    "linear psi": (lambda: Asymmetric(lambda rho: 3 * rho), "psi is not strictly convex"),
    "psi convex only near 0": (
        lambda: Asymmetric(lambda rho: torch.where(rho < 9, rho**2, 18 * rho - 81)),
        "does not increase near rho=11.2",
    ),
    "psi with a pole": (
        lambda: Asymmetric(lambda rho: (rho - 1).log() * rho),
        "psi has no finite derivative.*pass a smooth psi",
    ),
}
for kind in (Power, PseudoSpherical, RobustDRE):
    for value in (0, 1, 0.0, 1.0):
        advice = "InverseLog" if value == 0 else "use Log or Kliep"
        BAD[f"{kind.__name__}({value!r})"] = (
            lambda kind=kind, value=value: kind(value),
            rf"{kind.__name__}\(alpha={value}\) is not a scoring rule.*pick another.*{advice}",
        )
    for value in (math.nan, math.inf):
        BAD[f"{kind.__name__}({value})"] = (
            lambda kind=kind, value=value: kind(value),
            f"{kind.__name__} alpha={value} is not finite; pass a finite real number",
        )
    BAD[f"{kind.__name__}(None)"] = (
        lambda kind=kind: kind(None),
        f"{kind.__name__} alpha=None is not a number; pass a real number",
    )


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
def test_bad_input_says_what_to_do(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_good_input_is_not_refused():
    """The table above would be worth little if everything raised."""
    assert Log()(LOG_ETA).shape == (2,)
    assert Asymmetric(torch.square)(LOG_ETA).shape == (2,)
    for kind in (Power, PseudoSpherical, RobustDRE):
        assert kind(-0.5)(LOG_ETA).isfinite().all()
    assert finite.kl((0.1 + 0.2, 0.7), HALF) > 0
    assert finite.anchored_risk(ONES, HALF, HALF, 2, 0) == pytest.approx(math.log(2))


def test_whole_number():
    assert whole_number(np.int64(3), "k", 1) == 3
    assert type(whole_number(sp.Integer(3), "k", 1)) is int
    assert whole_number(1, "k", 1) == 1


def test_real_number_returns_what_it_was_given():
    third = sp.Rational(1, 3)
    assert real_number(third, "nu") is third
    assert real_number(0, "nu", at_least=0.0) == 0


def test_nonnegative_array():
    assert nonnegative_array([0, math.inf], "kl").tolist() == [0, math.inf]
    assert nonnegative_array(2, "kl").shape == ()


def test_nats_per_unit():
    assert nats_per("bits") == math.log(2)
    assert nats_per("nats") == 1


def test_one_of_returns_the_value():
    assert one_of("name", "a", ("b", "a")) == "a"
    with pytest.raises(ValueError, match="name='c' is unknown; choose one of a, b"):
        one_of("name", "c", ("b", "a"))
