"""Every number of a fit, computed again from the scores that it was computed from."""

import math

import numpy as np
import pytest
import torch
from scipy import special, stats

from mi_lib import MIEstimator, conditional_mi, mi_matrix
from mi_lib.inference import conditional, crossfit, lower_bound, network, permutation, splits, table
from mi_lib.inference.folds import make_folds
from mi_lib.inference.report import Report

SMALL = {"steps": 60, "seeds": 2, "folds": 3, "device": "cpu"}
BIT = math.log(2)


def pairs(n=300, seed=0, rho=0.8):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    return x, rho * x + math.sqrt(1 - rho**2) * rng.standard_normal(n)


def fit_and_scores(x, y, **parameters):
    """A fit, and the scores that it was made of: those of all pairs, those of half."""
    found, real = [], crossfit.cross_fit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossfit, "cross_fit", lambda *given: found.append(real(*given)) or found[-1])
        est = MIEstimator(random_state=0, **(SMALL | parameters)).fit(x, y)
    return est, *(scored[0] for scored in found)


@pytest.fixture(scope="module")
def seen():
    return fit_and_scores(*pairs(), permutations=19, confidence=0.9)


def test_values_are_means_of_held_out_scores(seen):
    est, full, half = seen
    own, negatives = full.scores[:, 0], full.scores[:, 1:]
    assert est.pmi_ == pytest.approx(own / BIT)
    assert est.plug_in_ == pytest.approx(own.mean() / BIT)
    assert est.half_ == pytest.approx(half.scores[:, 0].mean() / BIT)
    change = (own - half.scores[:, 0]) / BIT
    assert est.growth_ == pytest.approx((change.mean(), change.std(ddof=1) / math.sqrt(len(own))))
    scale = special.logsumexp(negatives) - math.log(negatives.size)
    assert abs(scale) > 1e-3, "or the sign of it could not be seen"
    assert est.dv_ == pytest.approx((own.mean() - scale) / BIT, abs=1e-9)


def test_the_standard_error_adds_up_pairs_folds_and_seeds(seen):
    est, full, _ = seen
    own = full.scores[:, 0]
    of_pairs = own.var(ddof=1) / len(own)
    means = [own[full.fold_of == k].mean() for k in range(3)]
    of_folds = max(0.0, np.var(means, ddof=1) / 3 - of_pairs)
    of_seeds = np.var(full.by_seed.mean(1), ddof=1) / 2
    assert of_seeds > 0
    assert est.standard_error_ == pytest.approx(math.sqrt(of_pairs + of_folds + of_seeds) / BIT)


@pytest.mark.parametrize("confidence", [0.9, 0.5])
def test_both_ends_of_the_interval(seen, confidence):
    est, full, half = seen
    if confidence != 0.9:
        est, full, half = fit_and_scores(*pairs(), permutations=0, confidence=confidence)
    z = {0.9: 1.6448536, 0.5: 0.6744898}[confidence]
    gain = (full.scores[:, 0].mean() - half.scores[:, 0].mean()) / BIT
    reach = z * est.standard_error_ + abs(gain)
    assert est.interval_ == pytest.approx((est.mi_ - reach, est.mi_ + reach), rel=1e-5)
    assert est.interval_[0] > 0, "so that the low end is not cut at zero"


def test_the_certificate_is_the_mean_bound_of_the_folds_and_below_the_truth():
    """Bernstein's inequality written out, each fold at a third of the error probability."""
    given = {"permutations": 0, "seeds": 1, "stability": False, "confidence": 0.9}
    est, full = fit_and_scores(*pairs(900, rho=0.98), **given)
    bounds, delta = [], 0.1 / 3
    for member in full.members:
        held, known = full.scores[member.split.fold.held_out], member.validated
        level = lower_bound.choose_level(known, len(held), delta, math.log(900) - 1)
        own, back, forth = (np.clip(held[:, k], -level, level) for k in range(3))
        values = [
            (own[i] + own[i + 1]) / 2 - (math.exp(forth[i]) + math.exp(back[i + 1])) / 2 + 1
            for i in range(0, len(own) - 1, 2)
        ]
        m, log, width = len(values), math.log(2 / delta), 2 * level + 2 * math.sinh(level)
        margin = math.sqrt(2 * np.var(values, ddof=1) * log / m) + 7 * width * log / (3 * (m - 1))
        bounds.append(max(0.0, np.mean(values) - margin))
    assert min(bounds) > 0 and max(bounds) - min(bounds) > 1e-6
    assert est.lower_bound_ == pytest.approx(np.mean(bounds) / BIT)
    assert 0.5 < est.lower_bound_ < -0.5 * math.log2(1 - 0.98**2)


def test_seeds_are_averaged_and_each_is_calibrated_alike(seen):
    _, full, _ = seen
    inside = np.abs(full.by_seed.mean(0) - full.scores[:, 0])
    assert np.median(inside) < 1e-6, "where no limit cuts, the mean of the seeds"
    assert np.abs(full.by_seed[0] - full.by_seed[1]).max() > 0.01


def test_new_pairs_get_the_mean_of_the_critics_of_all_folds(seen):
    est, full, _ = seen
    x, y = pairs(20, seed=5)
    columns = [
        [table.Column(old.name, values)]
        for old, values in ((est.x_columns_[0], x), (est.y_columns_[0], y))
    ]
    each = [crossfit.score_new(member, *columns) for member in full.members]
    assert est.pmi(x, y) == pytest.approx(np.mean(each, axis=0) / BIT)
    assert np.ptp(each, axis=0).max() > 0.01
    for member in full.members:  # of all seeds, as held-out pairs are
        own = [table.read(side, name) for side, name in zip(pairs(), "xy", strict=True)]
        held = member.split.fold.held_out
        assert crossfit.score_new(member, *own)[held] == pytest.approx(
            full.scores[held, 0], abs=1e-4
        )


def test_the_report_shows_the_numbers_of_the_fit(seen):
    est, *_ = seen
    shown = Report.of(est).table["value"]
    names = {
        "mutual information": est.mi_,
        "plug-in": est.plug_in_,
        "interval, low": est.interval_[0],
        "interval, high": est.interval_[1],
        "lower bound": est.lower_bound_,
        "DV value": est.dv_,
        "from half the pairs": est.half_,
        "p-value": est.p_value_,
    }
    assert dict(shown) == names and len(set(names.values())) == 8


# the permutation test


def test_each_order_of_the_partners_is_equally_likely():
    """The score counts partners in place: it is reached where all are, one order of n!."""
    for n, count in ((3, 6), (4, 24)):
        found = permutation.p_value([np.eye(n)], 20_000, seed=n)
        assert found == pytest.approx(1 / count, rel=0.15)
    first = np.zeros((5, 5))
    first[0, 0] = 1.0
    assert permutation.p_value([first], 20_000, 0) == pytest.approx(1 / 5, rel=0.1)


def test_blocks_are_drawn_apart_and_their_sums_are_added():
    both = permutation.p_value([np.eye(3), np.eye(3)], 20_000, 0)
    assert both == pytest.approx(1 / 36, rel=0.2)
    against = permutation.p_value([np.eye(4), -np.eye(4)], 20_000, 0)
    assert 0.2 < against < 0.8, "one block for and one against"


def test_the_draw_follows_the_seed():
    block = np.random.default_rng(0).standard_normal((30, 30))
    values = [permutation.p_value([block], 99, seed) for seed in (0, 0, 1)]
    assert values[0] == values[1] != values[2]


def test_one_wild_score_does_not_decide():
    block = -3 * np.eye(20)
    block[0, 0] = 1e9
    assert permutation.p_value([block], 99, 0) > 0.9, "19 of 20 pairs speak against it"


def test_the_test_permutes_within_held_out_pairs_of_one_fold(seen):
    """A block holds the raw ensemble scores of held-out pairs of one fold with each other."""
    _, full, _ = seen
    blocks = full.blocks(60)
    assert [block.shape for block in blocks] == [(50, 50)] * 6
    member = full.members[0]
    rows = np.array_split(member.split.fold.held_out, 2)[0]
    raw = crossfit.score_fold(member, rows, 3).mean(0).sum(-1)
    to = crossfit.partners(50, 3)
    assert blocks[0][np.arange(50)[:, None], to] == pytest.approx(raw, abs=1e-4)
    given = {"permutations": 99, "seeds": 1, "stability": False}
    est, full = fit_and_scores(*pairs(rho=0.1), **given)
    expected = permutation.p_value(full.blocks(permutation.BLOCK), 99, est.plan_.seed)
    assert est.p_value_ == expected > 0.01, "no end of the scale, where all agree"


# the training of the network


def stack_of(n=240, seeds=2):
    """A stack of two folds on pairs too few for a network of this size."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((n, 3))
    y = x[:, 0] * x[:, 1] + rng.standard_normal(n)
    columns = table.read(x, "x"), table.read(y, "y")
    parts = [splits.prepare(*columns, fold) for fold in make_folds(n, 2, 0)]
    return crossfit.stack_of(parts, "cpu")


def test_the_weights_with_the_lowest_validation_loss_are_kept():
    stack = stack_of()
    fitted = network.train(stack, 2, 0, 64, 32, 600)
    curve = np.array(fitted.curve)
    assert (curve[-1] > curve.min(0) + 0.01).any(), "the last weights are not the best ones"
    rows = stack.validation[fitted.splits]
    with torch.no_grad():
        scores = fitted.critic(
            stack.x[fitted.splits[:, None], rows], stack.y[fitted.splits[:, None], rows]
        )
        kept = network.anchored(scores + stack.parametric(fitted.splits, rows, rows))
    assert kept.numpy() == pytest.approx(curve.min(0), abs=1e-5)


def test_training_ends_when_no_member_has_improved_for_long():
    fitted = network.train(stack_of(), 2, 0, 64, 32, 5_000)
    curve = np.array(fitted.curve)
    since = len(curve) - 1 - curve.argmin(0)
    assert fitted.steps < 5_000 and since.min() == network.PATIENCE


def test_a_network_that_never_helps_is_left_out():
    """Before the first step the loss is that of the parametric ratio alone, which may stay best."""
    rng = np.random.default_rng(0)
    columns = [table.read(values, "x") for values in rng.standard_normal((2, 120))]
    fold = make_folds(120, 2, 0)
    stack = crossfit.stack_of([splits.prepare([columns[0][0]], columns[1], f) for f in fold], "cpu")
    fitted = network.train(stack, 1, 0, 64, 16, 10, rate=0.1)
    assert (np.array(fitted.curve).argmin(0) == 0).all()
    with torch.no_grad():
        rows = stack.training
        each = torch.arange(2)[:, None]
        assert (fitted.critic(stack.x[each, rows], stack.y[each, rows]) == 0).all()


def test_each_member_goes_through_the_training_pairs_in_an_order_of_its_own(monkeypatch):
    """Once an epoch, in batches; other seeds and folds draw other orders, epochs too."""
    stack, seen, real = stack_of(), [], network._points

    def spy(stack, which, rows):
        if torch.is_grad_enabled():
            seen.append(rows.clone())
        return real(stack, which, rows)

    monkeypatch.setattr(network, "_points", spy)
    t = stack.training.shape[1]
    per_epoch = t // 32
    network.train(stack, 2, 0, 8, 32, 2 * per_epoch)
    epochs = [torch.cat(seen[k * per_epoch : (k + 1) * per_epoch], 1) for k in range(2)]
    for member in range(4):
        allowed = set(stack.training[member // 2].tolist())
        orders = [epoch[member].tolist() for epoch in epochs]
        assert all(len(set(order)) == len(order) for order in orders)
        assert all(set(order) <= allowed for order in orders)
        assert orders[0] != orders[1]
    assert not torch.equal(epochs[0][0], epochs[0][1]), "two seeds of one fold"
    places = [
        [stack.training[m // 2].tolist().index(r) for r in epochs[0][m].tolist()] for m in range(4)
    ]
    assert places[0] != places[2], "one seed of two folds"


# differences and tables


def test_conditional_information_is_the_difference_pair_by_pair():
    rng = np.random.default_rng(6)
    z, noise, more = rng.standard_normal((3, 300))
    x, y = z + noise, z + 0.5 * noise + 0.5 * more
    found, names, real = [], [], crossfit.cross_fit

    def spy(problems, *given):
        names.append([[column.name[0] for column in side] for side in problems[0]])
        found.append(real(problems, *given))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conditional.crossfit, "cross_fit", spy)
        given = conditional_mi(x, y, z, random_state=0, unit="nats", **SMALL)
    assert names == 2 * [[["x", "z"], ["y"]], [["z"], ["y"]]]
    joint, of_z, half_joint, half_of_z = (scored[0].scores[:, 0] for scored in found)
    assert (given.joint, given.of_z) == pytest.approx((joint.mean(), of_z.mean()))
    values, half = joint - of_z, half_joint - half_of_z
    gain, error = values.mean() - half.mean(), (values - half).std(ddof=1) / math.sqrt(300)
    assert given.mi == pytest.approx(values.mean() + (gain if gain > 2 * error else 0))
    by_seed = found[0][0].by_seed - found[1][0].by_seed
    means = [values[found[0][0].fold_of == k].mean() for k in range(3)]
    variance = values.var(ddof=1) / 300 + by_seed.mean(1).var(ddof=1) / 2
    variance += max(0.0, np.var(means, ddof=1) / 3 - values.var(ddof=1) / 300)
    reach = stats.norm.ppf(0.975) * math.sqrt(variance) + abs(gain)
    assert given.interval == pytest.approx((max(0, given.mi - reach), given.mi + reach))


def test_an_entry_of_the_matrix_is_the_plug_in_with_its_interval():
    x, y = pairs(200)
    found, real = [], crossfit.cross_fit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossfit, "cross_fit", lambda *g: found.append(real(*g)) or found[-1])
        matrix = mi_matrix(np.column_stack([x, y]), random_state=0, folds=3, steps=20, unit="nats")
    scored = found[0][0]
    own = scored.scores[:, 0]
    assert matrix.mi.iloc[0, 1] == pytest.approx(own.mean())
    means = [own[scored.fold_of == k].mean() for k in range(3)]
    variance = own.var(ddof=1) / 200
    variance += max(0.0, np.var(means, ddof=1) / 3 - variance)
    reach = 1.959964 * math.sqrt(variance)
    ends = matrix.low.iloc[1, 0], matrix.high.iloc[1, 0]
    assert ends == pytest.approx((own.mean() - reach, own.mean() + reach), rel=1e-5)
