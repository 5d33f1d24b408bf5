"""Each objective is an unbiased estimate of an exact population value, stable, and differentiable.

The population is a joint law on 2 x 3 letters; the expectation over batches is a sum over all of
them, so nothing here is random.
"""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest
import torch

from mi_lib import finite, objective_variants, objectives
from mi_lib.scoring import Kliep, Log, Power, PseudoSpherical, RobustDRE, SymmetricInverseLog

JOINT = np.array([[0.30, 0.05, 0.10], [0.05, 0.20, 0.30]])
CRITIC = np.array([[0.9, -0.7, 0.1], [-1.1, 0.4, 0.6]])
PX, PY = JOINT.sum(1), JOINT.sum(0)
RULES = [Log(), PseudoSpherical(2), Power(1.5), SymmetricInverseLog(), Kliep(), RobustDRE(2)]

ALL = {
    "plug_in": objectives.plug_in,
    "dv": objectives.dv,
    "nwj": objectives.nwj,
    "mine": lambda s: objectives.mine(s, s.new_zeros(s.shape[:-2])),
    "js": objectives.js,
    "clipped_dv": partial(objectives.clipped_dv, tau=1.0),
    "chi_square": objectives.chi_square,
    "hellinger": objectives.hellinger,
    "infonce": objectives.infonce,
    "infonce_y": partial(objectives.infonce, contrast="y"),
    "alpha_infonce": partial(objective_variants.alpha_infonce, alpha=0.1),
    "anchor": objectives.anchor,
    "anchor_nu0": partial(objectives.anchor, nu=0.0),
    "anchor_k2_y": partial(objectives.anchor, k=2, contrast="y"),
    "spherical": partial(objectives.anchor, rule=PseudoSpherical(2)),
    "infonce_both": partial(objectives.infonce, contrast="both"),
    "anchor_both": partial(objectives.anchor, nu="k", contrast="both"),
    "anchor_product": objective_variants.anchor_product,
    "ml_infonce": partial(objective_variants.ml_infonce, m=1, k=2),
}


def over_batches(objective, pairs):
    """E[objective] over all batches of ``pairs`` independent draws from JOINT."""
    cells = list(np.ndindex(*JOINT.shape))
    batches = np.array(list(product(range(len(cells)), repeat=pairs)))
    x, y = np.array(cells).T
    scores = CRITIC[x[batches][:, :, None], y[batches][:, None, :]]
    weights = JOINT.ravel()[batches].prod(1)
    return float((torch.from_numpy(weights) * objective(torch.from_numpy(scores))).sum())


def given_y(value):
    """E_y of value(r(., y), p(x|y), p(x)): the negatives are other x's."""
    ratio = np.exp(CRITIC)
    return sum(PY[j] * value(ratio[:, j], JOINT[:, j] / PY[j], PX) for j in range(len(PY)))


def given_x(value):
    """E_x of value(r(x, .), p(y|x), p(y)): the negatives are other y's."""
    ratio = np.exp(CRITIC)
    return sum(PX[i] * value(ratio[i], JOINT[i] / PX[i], PY) for i in range(len(PX)))


def as_pair(value):
    """value(r, p(x, y), p(x) p(y))."""
    return value(np.exp(CRITIC).ravel(), JOINT.ravel(), np.outer(PX, PY).ravel())


UNBIASED = {
    "nwj": (ALL["nwj"], 3, lambda: -as_pair(partial(finite.nwj, unit="nats"))),
    "js": (ALL["js"], 3, lambda: 2 * as_pair(lambda r, a, b: finite.anchored_risk(r, a, b, 1, 1))),
    "chi_square": (
        ALL["chi_square"],
        3,
        lambda: 4 * as_pair(lambda r, a, b: finite.anchored_risk(r, a, b, 1, 1, RobustDRE(2))),
    ),
    "hellinger": (
        ALL["hellinger"],
        3,
        lambda: as_pair(lambda r, a, b: finite.anchored_risk(r, a, b, 1, 1, RobustDRE(0.5))) - 2,
    ),
    "infonce": (
        ALL["infonce"],
        4,
        lambda: -given_y(lambda r, a, b: finite.infonce(r, a, b, 4, "nats")),
    ),
    "infonce, contrast y": (
        ALL["infonce_y"],
        4,
        lambda: -given_x(lambda r, a, b: finite.infonce(r, a, b, 4, "nats")),
    ),
    "anchor, nu=K, both": (
        ALL["anchor_both"],
        4,
        lambda: (
            (
                given_y(lambda r, a, b: finite.anchored_risk(r, a, b, 3, 3))
                + given_x(lambda r, a, b: finite.anchored_risk(r, a, b, 3, 3))
            )
            / 2
        ),
    ),
    "alpha_infonce": (
        ALL["alpha_infonce"],
        4,
        lambda: -given_y(lambda r, a, b: finite.alpha_infonce(r, a, b, 4, 0.1, "nats")),
    ),
    "anchor, nu=0, k=3": (
        ALL["anchor_nu0"],
        4,
        lambda: given_y(lambda r, a, b: finite.anchored_risk(r, a, b, 3, 0)),
    ),
    "anchor, k=2, contrast y": (
        ALL["anchor_k2_y"],
        4,
        lambda: given_x(lambda r, a, b: finite.anchored_risk(r, a, b, 2, 1)),
    ),
    "ml_infonce, m=1, k=2": (
        ALL["ml_infonce"],
        3,
        lambda: -as_pair(lambda r, a, b: finite.ml_infonce(r, a, b, 2, 1, "nats")),
    ),
    "ml_infonce, m=2, k=1": (
        partial(objective_variants.ml_infonce, m=2, k=1),
        3,
        lambda: -as_pair(lambda r, a, b: finite.ml_infonce(r, a, b, 1, 2, "nats")),
    ),
}


@pytest.mark.parametrize("name", UNBIASED)
def test_expectation_over_batches_is_the_population_value(name):
    objective, pairs, population = UNBIASED[name]
    assert over_batches(objective, pairs) == pytest.approx(population(), abs=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("nu", [0.3, 1.0, 4.0])
def test_anchor_is_unbiased_for_every_rule(rule, nu):
    """Both of its terms have K = B - 1; L^(2) has K = B // 2."""
    first = over_batches(partial(objectives.anchor, nu=nu, rule=rule), 4)
    assert first == pytest.approx(
        given_y(lambda r, a, b: finite.anchored_risk(r, a, b, 3, nu, rule)), abs=1e-12
    )
    second = over_batches(partial(objective_variants.anchor_product, nu=nu, rule=rule), 4)
    assert second == pytest.approx(
        as_pair(lambda r, a, b: finite.anchored_risk(r, a, b, 2, nu, rule)), abs=1e-12
    )


def test_dv_is_biased_upwards_and_less_so_with_more_pairs():
    """A mean inside a logarithm: the estimate -loss exceeds its population value on average."""
    population = -as_pair(partial(finite.dv, unit="nats"))
    three, four = over_batches(objectives.dv, 3), over_batches(objectives.dv, 4)
    assert three < four - 1e-3 < population - 2e-3


def test_known_relations():
    scores = torch.randn(5, 7, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    same = partial(torch.testing.assert_close, rtol=1e-12, atol=1e-12)
    same(objective_variants.alpha_infonce(scores, 1 / 7), objectives.infonce(scores))
    same(objectives.infonce(scores.mT, "y"), objectives.infonce(scores, "x"))
    same(objectives.anchor(scores.mT, 0.7, contrast="y"), objectives.anchor(scores, 0.7))
    same(objectives.clipped_dv(scores, math.inf), objectives.dv(scores))
    same(objectives.dv(scores + 3.0), objectives.dv(scores))  # DV does not see the scale of r
    same(objectives.infonce(scores + 3.0), objectives.infonce(scores))
    same(objective_variants.chi_square_pd(scores.exp()), objectives.chi_square(scores))
    same(
        objective_variants.spherical_pd(scores.exp(), 0.7),
        objectives.anchor(scores, 0.7, PseudoSpherical(2)),
    )
    for name, other in {"kl": "nwj", "gan": "js", "hellinger": "hellinger"}.items():
        same(objective_variants.f_dime(scores, name), ALL[other](scores))


def test_mine_has_the_gradient_of_dv_when_the_running_mean_is_the_batch_mean():
    scores = torch.randn(6, 6, dtype=torch.float64, requires_grad=True)
    own_mean = objectives.log_mean_exp(objectives.negatives(scores), 2)
    (mine,) = torch.autograd.grad(objectives.mine(scores, own_mean), scores)
    (dv,) = torch.autograd.grad(objectives.dv(scores), scores)
    torch.testing.assert_close(mine, dv)


def test_positives_and_negatives_are_the_right_entries():
    scores = torch.arange(9.0).reshape(3, 3)
    assert objectives.positives(scores).tolist() == [0, 4, 8]
    assert objectives.negatives(scores).tolist() == [[1, 2], [3, 5], [6, 7]]


def test_negatives_of_the_product_form_share_no_pair():
    """Otherwise the points of a tuple would not be independent."""
    for pairs in (4, 5, 8):
        rows = torch.arange(pairs, dtype=torch.float64)[:, None].expand(pairs, pairs)
        x = objective_variants._independent(rows, pairs // 2 - 1, 1)
        y = objective_variants._independent(rows.T, pairs // 2 - 1, 1)
        for used in torch.cat([x, y, torch.arange(pairs)[:, None]], 1).tolist():
            assert len(set(used)) == len(used)


@pytest.mark.parametrize("name", ALL)
def test_leading_dimensions_are_carried_through(name):
    scores = torch.randn(2, 3, 6, 6, dtype=torch.float64)
    together = ALL[name](scores)
    apart = torch.stack([torch.stack([ALL[name](s) for s in row]) for row in scores])
    torch.testing.assert_close(together, apart, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_gradients(name):
    scores = 0.5 * torch.randn(5, 5, dtype=torch.float64)
    assert torch.autograd.gradcheck(ALL[name], scores.requires_grad_())


@pytest.mark.parametrize("gap", [-1.0, 5.0, 65.0, 1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ALL)
def test_extreme_scores_give_no_nan(name, dtype, gap):
    """The diagonal towers over the rest, or sinks below it."""
    for sign in (1, -1):
        scores = torch.randn(6, 6, dtype=dtype, generator=torch.Generator().manual_seed(1))
        scores = (scores + sign * gap * torch.eye(6, dtype=dtype)).requires_grad_()
        loss = ALL[name](scores)
        (gradient,) = torch.autograd.grad(loss, scores)
        assert torch.isfinite(loss) and torch.isfinite(gradient).all()


@pytest.mark.parametrize("name", ALL)
def test_single_precision_agrees_with_double(name):
    scores = 3 * torch.randn(8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    exact, rounded = ALL[name](scores), ALL[name](scores.float())
    torch.testing.assert_close(rounded.double(), exact, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_made_on_a_default_device(name):
    assert ALL[name](torch.empty(2, 6, 6, device="meta")).shape == (2,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: objectives.dv(torch.zeros(3, 4)), "square matrix"),
        (lambda: objectives.dv(torch.zeros(3)), "square matrix"),
        (lambda: objectives.infonce(torch.zeros(1, 1)), "at least 2"),
        (lambda: objectives.nwj(torch.zeros(3, 3, dtype=torch.int64)), "floating-point"),
        (lambda: objectives.infonce(torch.zeros(3, 3), contrast="z"), "choose one of both, x, y"),
        (lambda: objectives.anchor(torch.zeros(3, 3), nu=-1.0), "below 0"),
        (lambda: objectives.anchor(torch.zeros(2, 2), nu=0.0), "single class"),
        (lambda: objectives.anchor(torch.zeros(3, 3), k=3), "at least 4 pairs"),
        (lambda: objectives.anchor(torch.zeros(3, 3), k=0), "integer >= 1"),
        (lambda: objective_variants.anchor_product(torch.zeros(3, 3), nu=0.0), "single class"),
        (lambda: objectives.anchor(torch.zeros(4, 4), 0.0, Kliep()), "use nu > 0"),
        (lambda: objective_variants.spherical_pd(torch.zeros(3, 3), nu=0.0), "must be > 0"),
        (lambda: objective_variants.alpha_infonce(torch.zeros(3, 3), 1.0), "outside"),
        (lambda: objectives.clipped_dv(torch.zeros(3, 3), 0.0), "must be > 0"),
        (lambda: objective_variants.f_dime(torch.zeros(3, 3), "renyi"), "choose one of gan"),
        (lambda: objective_variants.ml_infonce(torch.zeros(3, 3), 2, 2), "at least 6"),
    ],
)
def test_bad_input_is_refused_with_advice(call, message):
    with pytest.raises(ValueError, match=message):
        call()
