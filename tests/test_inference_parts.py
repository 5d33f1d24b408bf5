"""The steps of the estimator, each against an exact answer."""

import math

import numpy as np
import pytest
import torch
from scipy import special, stats
from sklearn.feature_selection import mutual_info_regression

from companion.data.elliptical import Elliptical, dense, sparse
from mi_lib import diagnostics, objectives
from mi_lib.inference import (
    calibration,
    lower_bound,
    parametric,
    permutation,
    uncertainty,
)
from mi_lib.inference.baselines import cca, ksg
from mi_lib.inference.crossfit import partners
from mi_lib.inference.encoding import Encoder, Indicators, NormalScore
from mi_lib.inference.folds import Fold, make_folds
from mi_lib.inference.network import RatioNetwork, anchored, combine
from mi_lib.inference.ratio_limits import Limits
from mi_lib.inference.splits import joint_codes, prepare
from mi_lib.inference.table import Column

RNG = np.random.default_rng(1)


# folds


@pytest.mark.parametrize(("n", "count"), [(50, 5), (203, 5), (101, 2)])
def test_folds_hold_out_every_pair_once_and_share_nothing(n, count):
    folds = make_folds(n, count, 0)
    assert sorted(np.concatenate([f.held_out for f in folds])) == list(range(n))
    assert len({len(f.training) for f in folds}) == 1
    assert all(0.1 < len(f.validation) / (n - len(f.held_out)) < 0.2 for f in folds)
    for fold in folds:
        whole = np.concatenate([fold.training, fold.validation, fold.held_out])
        assert sorted(whole) == list(range(n))


def test_folds_follow_the_seed():
    first, again, other = (make_folds(60, 3, seed)[0].held_out for seed in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


# encoding


def test_normal_scores_are_those_of_the_ranks():
    values = np.array([3.0, 1.0, 10.0, 2.0])
    scores = NormalScore.fit(values)(values)
    assert scores == pytest.approx(special.ndtri(np.array([3, 1, 4, 2]) / 5))


def test_equal_values_share_the_mean_rank():
    values = np.array([0.0, 0.0, 0.0, 1.0])
    assert NormalScore.fit(values)(values)[0] == pytest.approx(special.ndtri(2 / 5))


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_normal_scores_keep_the_order_inside_and_beyond(scale):
    curve = NormalScore.fit(scale * RNG.standard_normal(500))
    points = scale * np.array([-40, -9, -5, -1, -0.5, 0, 0.5, 1, 5, 9, 40])
    scores = curve(points)
    assert (np.diff(scores) > 0).all() and np.abs(scores).max() < 5


def test_normal_scores_of_many_values_use_few_knots():
    values = RNG.standard_normal(30_000)
    curve = NormalScore.fit(values)
    assert len(curve.values) <= 2_000
    ranks = stats.rankdata(values) / (len(values) + 1)
    assert np.abs(curve(values) - special.ndtri(ranks)).max() < 0.2
    assert np.abs(curve(values) - special.ndtri(ranks)).mean() < 1e-3


def test_indicators_are_standardised_and_tell_symbols_apart():
    codes = np.array([0] * 50 + [1] * 30 + [2] * 20)
    hot = Indicators.fit(codes, 4)(codes)
    assert np.abs(hot.mean(0)[:3]).max() < 0.05 and np.abs(hot.std(0)[:3] - 1).max() < 0.05
    assert len(np.unique(hot.round(9), axis=0)) == 3


def test_indicators_of_rare_symbols_stay_small():
    codes = np.array([0] * 999 + [1])
    hot = Indicators.fit(codes, 3)(np.array([0, 1, 2]))
    assert np.abs(hot).max() <= 10
    assert (hot[2, 2], hot[1, 1]) == (0, pytest.approx(9.99)), "symbol 2 was never seen"


def test_an_encoder_is_fitted_to_its_rows_alone():
    column = Column("x", np.append(np.arange(50.0), 1e6))
    with_all = Encoder.fit([column], np.arange(51))([column])
    without = Encoder.fit([column], np.arange(50))([column])
    assert with_all[49, 0] < with_all[50, 0] and without[49, 0] < without[50, 0]
    assert without[49, 0] == pytest.approx(special.ndtri(50 / 51))


# limits


def test_the_limits_hold_every_true_log_ratio_of_symbols():
    """r <= 1 / p(symbol) for any joint distribution."""
    for joint in RNG.dirichlet(np.full(12, 0.3), 20).reshape(20, 3, 4):
        ratio = joint / np.outer(joint.sum(1), joint.sum(0))
        most = -np.log(np.maximum(joint.sum(1)[:, None], joint.sum(0)))
        assert (np.log(ratio) <= most + 1e-12).all()
    codes = np.array([0] * 300 + [1] * 100)
    limits = Limits.fit((codes, 2), None, np.arange(400))
    assert limits.x == pytest.approx(-np.log([0.75, 0.25]), abs=0.01)
    assert limits.most((codes, 2), 400, "x")[[0, -1]] == pytest.approx(limits.x)
    assert np.isinf(limits.most(None, 400, "y")).all()
    assert limits.least == pytest.approx(-math.log(400))


def test_scores_are_kept_within_the_limits_of_both_sides():
    symbols = np.array([0] * 40 + [1] * 20)
    x = [Column("x", symbols, ("a", "b"))]
    y = [Column("y", symbols.copy(), ("a", "b"))]
    rows = np.arange(60)
    split = prepare(x, y, Fold(rows, rows, rows))
    to = partners(60, 2)
    high, low = (split.within(np.full((60, 3), v), rows, to) for v in (50.0, -50.0))
    assert low == pytest.approx(-math.log(60))
    both = np.minimum(split.limits.x[symbols][:, None], split.limits.y[symbols[to]])
    assert high == pytest.approx(both)
    assert high[:, 0] == pytest.approx(-np.log(np.where(symbols, 20.5, 40.5) / 61))


def test_partners_are_the_pair_and_then_negatives():
    assert partners(5, 3)[2].tolist() == [2, 1, 3, 4]
    assert partners(3, 64)[0].tolist() == [0, 2, 1]
    assert partners(4, 0).tolist() == [[0], [1], [2], [3]]


def test_joint_codes_tell_all_combinations_apart():
    a = Column("a", np.array([0, 0, 1, 1]), ("u", "v"))
    b = Column("b", np.array([0, 1, 0, 1]), (0.0, 1.0))
    assert joint_codes([a, b])[0].tolist() == [0, 1, 2, 3]
    assert joint_codes([a, Column("c", np.arange(4.0))]) is None


# parametric ratios


def true_copula(dispersion, freedom):
    """A copula with the given dispersion instead of an estimated one."""
    d = len(dispersion) // 2
    white = [parametric._whiten(block) for block in (dispersion[:d, :d], dispersion[d:, d:])]
    left, rho, right = np.linalg.svd(white[0] @ dispersion[:d, d:] @ white[1])
    return parametric.CopulaRatio(white[0] @ left, white[1] @ right.T, rho, *white, freedom)


@pytest.mark.parametrize("freedom", [math.inf, 2.0])
def test_a_copula_with_the_true_dispersion_is_the_true_log_ratio(freedom):
    dispersion = sparse(3, 2, 0.7)
    dispersion[0, 1] = dispersion[1, 0] = 0.3
    dispersion[3, 4] = dispersion[4, 3] = -0.4
    x, y, truth = Elliptical(dispersion, freedom).draw(200, RNG)
    ratio = true_copula(dispersion, parametric.GAUSSIAN if freedom == math.inf else freedom)
    if freedom != math.inf:  # a copula takes normal scores
        x, y = (special.ndtri(stats.t.cdf(z, freedom)) for z in (x, y))
        inside = np.abs(np.hstack([x, y])).max(1) < 5
        x, y, truth = x[inside], y[inside], truth[inside]
    sides = ratio.side(x, "x"), ratio.side(y, "y")
    scores = parametric.pair_scores(*sides, ratio.freedom, ratio.weight)
    assert np.diag(scores) == pytest.approx(truth, abs=2e-3)


def test_the_chosen_copula_finds_tails_where_there_are_tails():
    rows = np.arange(3_000)
    for freedom, found in ((math.inf, parametric.GAUSSIAN), (2.0, 2.0)):
        x, y, _ = Elliptical(sparse(2, 1, 0.6), freedom).draw(3_000, np.random.default_rng(2))
        zx, zy = (special.ndtri(stats.rankdata(z, axis=0) / 3_001) for z in (x, y))
        ratio = parametric.choose(zx, zy, rows[:2_400], rows[2_400:], tails=True)
        assert ratio.freedom == found or (freedom == 2.0 and ratio.freedom in (1.0, 3.0))


def test_the_large_canonical_copula_drops_what_is_noise():
    x, y = RNG.standard_normal((2, 400, 10))
    y[:, 0] += 2 * x[:, 0]
    found = parametric.copula_ratios(x, y)
    assert len(found["all"].rho) == 10 and len(found["canonical"].rho) == 1
    assert found["canonical"].rho[0] < found["all"].rho[0]
    assert len(found["single"].rho) <= 3


def test_a_ratio_from_counts_is_the_log_ratio_of_the_table():
    joint = np.array([[300, 100], [50, 150]])
    x = np.repeat([0, 0, 1, 1], joint.ravel())
    y = np.repeat([0, 1, 0, 1], joint.ravel())
    ratio = parametric.count_ratio(x, y, (2, 2), np.arange(600))
    share = joint / 600
    truth = np.log(share / share.sum(1, keepdims=True) / share.sum(0))
    assert ratio.table == pytest.approx(truth, abs=0.02)
    sides = ratio.side(np.array([0, 1]), "x"), ratio.side(np.array([0, 1]), "y")
    scores = parametric.pair_scores(*sides, ratio.freedom, ratio.weight)
    assert scores == pytest.approx(ratio.table, abs=1e-4)


def test_a_ratio_from_classes_is_the_log_ratio_of_the_mixture():
    rng = np.random.default_rng(16)
    codes = rng.choice(2, 20_000, p=[0.7, 0.3])
    z = np.where(codes, 1.5, -0.5)[:, None] + np.where(codes, 0.5, 1.0)[:, None] * (
        rng.standard_normal((20_000, 1))
    )
    common, each = parametric.class_ratios(z, codes, 2, "y")
    assert np.ptp(common.whites) == 0 and np.ptp(each.whites) > 0.5
    points = np.linspace(-2, 2, 9)
    inside = stats.norm.pdf(points, -0.5, 1.0), stats.norm.pdf(points, 1.5, 0.5)
    whole = 0.7 * inside[0] + 0.3 * inside[1]
    sides = each.side(points[:, None], "x"), each.side(np.array([0, 1]), "y")
    scores = parametric.pair_scores(*sides, each.freedom, each.weight)
    assert scores == pytest.approx(np.log(np.stack(inside, 1) / whole[:, None]), rel=0.06, abs=0.1)


# the network and its loss


@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0, 30.0])
def test_the_fast_loss_is_the_anchored_objective(scale):
    generator = torch.Generator().manual_seed(0)
    scores = scale * torch.randn(3, 9, 9, generator=generator, dtype=torch.float64)
    scores = (scores + scale * torch.eye(9)).requires_grad_()
    plain = sum(objectives.anchor(scores, nu=8, contrast=side) for side in "xy") / 2
    fast = anchored(scores)
    assert fast.detach().numpy() == pytest.approx(plain.detach().numpy(), abs=1e-10)
    gradients = [torch.autograd.grad(loss.sum(), scores)[0] for loss in (fast, plain)]
    assert torch.allclose(*gradients, atol=1e-12)


@pytest.mark.parametrize("gap", [-1.0, 65.0, 200.0, 1e4])
def test_the_fast_loss_stays_finite_where_the_diagonal_dominates(gap):
    scores = (gap * torch.eye(6))[None].requires_grad_()
    loss = anchored(scores)
    loss.sum().backward()
    assert torch.isfinite(loss).all() and torch.isfinite(scores.grad).all()


def test_the_network_is_zero_at_the_start_and_can_move():
    critic = RatioNetwork(3, 2, (0, 1), hidden=8)
    x, y = torch.randn(2, 5, 3), torch.randn(2, 5, 2)
    scores = critic(x, y)
    assert scores.shape == (2, 5, 5) and (scores == 0).all()
    scores.square().sum().backward()
    (critic(x, y).diagonal(dim1=1, dim2=2)).sum().backward()
    assert critic.weights[-1].grad.abs().sum() > 0


def test_combined_towers_are_inner_products_plus_both_additive_terms():
    f, g = torch.randn(1, 4, 3), torch.randn(1, 5, 3)
    expected = f[0, 2, :2] @ g[0, 3, :2] + f[0, 2, 2] + g[0, 3, 2]
    assert float(combine(f, g)[0, 2, 3]) == pytest.approx(float(expected), abs=1e-5)


# calibration


@pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (0.5, 0.3), (2.0, -1.0)])
def test_calibration_undoes_a_wrong_slope_and_shift(slope, shift):
    rng = np.random.default_rng(3)
    own, other = rng.normal(1.5, np.sqrt(3), 20_000), rng.normal(-1.5, np.sqrt(3), 60_000)
    # The log ratio of these two is the value itself: their means differ by the variance.
    a = calibration.fit((own[:, None] - shift) / slope, (other[:, None] - shift) / slope)
    assert a == pytest.approx([slope, shift], abs=0.05)
    again = calibration.apply(a, ((own - shift) / slope)[:, None])
    assert again.mean() == pytest.approx(own.mean(), abs=0.05)


def test_calibration_turns_noise_off():
    rng = np.random.default_rng(4)
    own, other = rng.standard_normal((2_000, 2)), rng.standard_normal((9_000, 2))
    assert np.abs(calibration.fit(own, other)).max() < 0.1


# uncertainty


def test_the_spread_of_independent_values_is_their_standard_error():
    values = np.random.default_rng(5).standard_normal(5_000)
    fold_of = np.arange(5_000) % 5
    spread = uncertainty.spread_of(values, fold_of, values[None])
    assert spread.pairs == pytest.approx(1 / np.sqrt(5_000), rel=0.05)
    assert spread.folds < 0.02 and spread.seeds == 0
    apart = uncertainty.spread_of(values + fold_of, fold_of, np.stack([values, values + 1]))
    assert apart.folds == pytest.approx(np.sqrt(2.5 / 5), rel=0.1)
    assert apart.seeds == pytest.approx(0.5)


def test_the_interval_widens_towards_where_the_estimate_is_going():
    spread = uncertainty.Spread(0.1, 0.0, 0.0)
    still = uncertainty.Growth()
    low, high = uncertainty.interval(2.0, spread, still, 0.95)
    assert (low, high) == pytest.approx((2 - 0.196, 2 + 0.196), abs=1e-3)
    grows, perhaps = uncertainty.Growth(0.3, 0.1), uncertainty.Growth(0.3, 0.2)
    assert uncertainty.interval(2.0, spread, grows, 0.95) == pytest.approx((low, high + 0.6))
    assert uncertainty.interval(2.0, spread, perhaps, 0.95) == pytest.approx(
        (low - 0.3, high + 0.3)
    )
    assert uncertainty.interval(0.1, spread, still, 0.95)[0] == 0
    below = uncertainty.interval(-9.0, spread, still, 0.95)
    assert below == pytest.approx((0, (high - low) / 2)), "never of no width"


def test_growth_is_the_paired_gain_and_counts_when_certain():
    full = 3 + np.random.default_rng(13).standard_normal(100)
    growth = uncertainty.growth_of(full, full - 0.2 + 0.01 * np.arange(100) / 99)
    assert growth.gain == pytest.approx(0.195) and growth.error == pytest.approx(0.0003, abs=1e-4)
    assert growth.added == growth.gain
    recovered = uncertainty.growth_of(full - full.mean() + 0.1, full - full.mean() - 2.0)
    assert recovered.gain == pytest.approx(0.1), "from zero, not from below"
    assert uncertainty.growth_of(full - full.mean() - 2, full - full.mean() - 1).gain == 0
    assert uncertainty.Growth(0.1, 0.06).added == 0 and uncertainty.Growth(-1.0, 0.1).added == 0


# the lower bound


def test_blocks_of_the_true_ratio_have_the_mean_of_the_information():
    rho, n = 0.6, 200_000
    rng = np.random.default_rng(6)
    x = rng.standard_normal(n)
    y = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal(n)

    def score(a, b):
        squares = rho**2 * (a**2 + b**2) - 2 * rho * a * b
        return -0.5 * np.log(1 - rho**2) - squares / (2 * (1 - rho**2))

    values, width = lower_bound.blocks(
        score(x, y), score(x, np.roll(y, -1)), score(x, np.roll(y, 1)), 10.0
    )
    assert values.mean() == pytest.approx(-0.5 * np.log(1 - rho**2), abs=0.02)
    assert len(values) == n // 2 and width == pytest.approx(20 + 2 * math.sinh(10))


def test_bernstein_is_the_formula_and_is_rarely_wrong():
    values = np.array([0.0, 1.0, 1.0, 0.0])
    log = math.log(2 / 0.1)
    expected = 0.5 - math.sqrt(2 * (1 / 3) * log / 4) - 7 * log / 9
    assert lower_bound.bernstein(values, 1.0, 0.1) == pytest.approx(expected)
    rng = np.random.default_rng(7)
    wrong = [lower_bound.bernstein(rng.random(200) ** 8, 1.0, 0.05) > 1 / 9 for _ in range(500)]
    assert np.mean(wrong) <= 0.05


def test_the_lower_bound_is_zero_for_nothing_and_below_the_clip_for_much():
    rng = np.random.default_rng(8)
    nothing = [rng.normal(0, 0.1, (400, 3)) for _ in range(2)]
    assert lower_bound.lower_bound(nothing, [0.7, 0.7], 0.95) == 0
    much = np.column_stack([np.full(40_000, 9.0), np.full((40_000, 2), -9.0)])
    level = lower_bound.choose_level(much, 40_000, 0.05, math.log(40_000) - 1)
    bound = lower_bound.lower_bound([much], [level], 0.95)
    assert 2 < bound < level + 1 <= math.log(40_000)


# the test of independence


def test_the_permutation_test_is_exact_for_a_fixed_critic():
    rng = np.random.default_rng(9)
    found = [
        permutation.p_value([np.outer(*rng.standard_normal((2, 30)))], 19, seed)
        for seed in range(400)
    ]
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.05, abs=0.035)
    assert np.mean(found) == pytest.approx(0.525, abs=0.05)


def test_the_permutation_test_sees_pairs_and_ignores_constant_scores():
    assert permutation.p_value([5 * np.eye(30)], 99, 0) == 0.01
    assert permutation.p_value([np.ones((30, 30))], 99, 0) == 1.0
    rows = np.arange(30.0)[:, None] + np.arange(30.0)
    assert permutation.p_value([rows], 99, 0) == 1.0  # a(x) + b(y) says nothing of pairs


# diagnostics


def exact_scores(n=4_000, rho=0.8, scale=1.0):
    rng = np.random.default_rng(10)
    x = rng.standard_normal(n)
    y = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal(n)
    pairs = np.column_stack([np.roll(y, -k) for k in range(5)])
    squares = rho**2 * (x[:, None] ** 2 + pairs**2) - 2 * rho * x[:, None] * pairs
    return scale * (-0.5 * np.log(1 - rho**2) - squares / (2 * (1 - rho**2)))


def warned(scores, slopes=1.0, growth=0.0, training=3_000, batch=128, duplicates=0.0, folds=0.01):
    found = diagnostics.check(
        scores,
        np.tile([slopes, slopes, 0.0], (5, 1)),
        uncertainty.Spread(0.01, folds, 0.01),
        growth,
        training,
        batch,
        duplicates,
    )
    return {d.name for d in found if not d.ok}


def test_the_true_ratio_passes_every_check():
    assert warned(exact_scores()) == set()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"scores": exact_scores() + 0.5}, "mean ratio of random pairs"),
        ({"scores": exact_scores() - 0.5}, "mean inverse ratio of true pairs"),
        ({"scores": exact_scores(scale=2.5)}, "calibration gap of the posterior"),
        ({"scores": exact_scores() + 0.5}, "plug-in less DV, bits"),
        ({"slopes": 0.4}, "slope of the calibration"),
        ({"folds": 0.3}, "folds beyond chance, bits"),
        ({"training": 12}, "log2 of training pairs less the estimate, bits"),
        ({"batch": 2}, "log2 of the batch less the estimate, bits"),
        ({"duplicates": 0.2}, "share of repeated rows"),
        ({"growth": 0.3}, "gain from the last doubling of pairs, bits"),
        ({"growth": -0.3}, "gain from the last doubling of pairs, bits"),
    ],
)
def test_each_warning_comes_when_it_should(changed, expected):
    assert expected in warned(**({"scores": exact_scores()} | changed))


def test_reliability_of_a_calibrated_posterior_is_the_diagonal():
    scores = exact_scores(40_000)
    posterior, frequency, weight = diagnostics.reliability(scores[:, 0], scores[:, 1:])
    assert posterior == pytest.approx(frequency, abs=0.02) and weight.sum() == pytest.approx(1)


# baselines


def test_baselines_on_gaussian_data():
    x, y, _ = Elliptical(sparse(2, 2, 0.7)).draw(2_000, np.random.default_rng(11))
    truth = -math.log2(1 - 0.49)
    assert cca(x, y) == pytest.approx(truth, abs=0.08)
    assert ksg(x, y) == pytest.approx(truth, abs=0.15)
    assert ksg(x, y, unit="nats") == pytest.approx(ksg(x, y) * math.log(2))
    assert cca(np.column_stack([x, x]), y) == pytest.approx(cca(x, y), abs=1e-9)


def test_ksg_against_scikit_learn_on_single_columns():
    x = RNG.standard_normal(500)
    y = np.abs(x) + 0.3 * RNG.standard_normal(500)
    theirs = mutual_info_regression(x[:, None], y, n_neighbors=5, random_state=0)[0]
    assert ksg(x, y, k=5, unit="nats") == pytest.approx(theirs, abs=1e-6)


def test_ksg_against_a_count_by_hand():
    x, y = np.random.default_rng(12).standard_normal((2, 60))
    z = [(v - v.mean()) / v.std() for v in (x, y)]
    total = 0.0
    for i in range(60):
        apart = [np.delete(np.abs(v - v[i]), i) for v in z]
        reach = np.sort(np.maximum(*apart))[2]
        total += sum(special.digamma((a < reach).sum() + 1) for a in apart)
    expected = special.digamma(3) + special.digamma(60) - total / 60
    assert ksg(x, y, unit="nats") == pytest.approx(expected, abs=1e-6)


def test_baselines_refuse_what_they_cannot_use():
    x = RNG.standard_normal(60)
    with pytest.raises(ValueError, match="holds strings"):
        cca(np.where(x > 0, "a", "b"), x)
    with pytest.raises(ValueError, match="k=60 neighbours of 60 points"):
        ksg(x, x + RNG.standard_normal(60), k=60)
    with pytest.raises(ValueError, match="x has 60 rows and y 59"):
        ksg(x, x[1:])


def test_any_critic_can_be_checked_from_its_scores():
    rng = np.random.default_rng(14)
    rho, n = 0.8, 400
    x = rng.standard_normal(n)
    y = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal(n)
    squares = rho**2 * (x[:, None] ** 2 + y**2) - 2 * rho * np.outer(x, y)
    exact = -0.5 * np.log(1 - rho**2) - squares / (2 * (1 - rho**2))
    assert all(found.ok for found in diagnostics.check_matrix(exact))
    wrong = {found.name for found in diagnostics.check_matrix(3 * exact + 1) if not found.ok}
    assert "plug-in less DV, bits" in wrong and "calibration gap of the posterior" in wrong
    with pytest.raises(ValueError, match=r"scores have shape \(400,\)"):
        diagnostics.check_matrix(exact[0])


def test_the_curvature_of_the_scale_is_largest_at_nu_equal_k():
    from companion.experiments.finite_sample import curvature

    values = [curvature(nu, 127) for nu in (1, 10, 127, 1000)]
    assert max(values) == values[2] == 0.25
    assert values[0] == pytest.approx(127 / 128**2)


def test_plain_critics_fall_into_the_trap_at_nu_1_and_less_at_nu_k():
    from companion.experiments.finite_sample import train_plain

    x, y, _ = Elliptical(dense(10, 0.5)).draw(500, np.random.default_rng(15))
    curves = train_plain(x, y, (1.0, 63.0), steps=100, batch=64)
    last = curves[curves["step"] == 100].set_index("nu")
    truth = Elliptical(dense(10, 0.5)).nats() / math.log(2)
    assert abs(last.loc[63.0, "plug_in"] - truth) < abs(last.loc[1.0, "plug_in"] - truth)
    assert last.loc[1.0, "plug_in"] - last.loc[1.0, "dv"] > 1
    assert abs(last.loc[1.0, "calibrated"] - truth) < abs(last.loc[1.0, "plug_in"] - truth)
