"""The truths of the suite: closed forms and integrals against draws of the exact log ratio."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from companion.data import elliptical, suite
from companion.data.discrete import InflatedPoisson, Staggered, symmetric_channel
from companion.data.elliptical import MAPS, Elliptical, dense, sparse
from companion.data.one_dimensional import Bimodal, Circle, UniformNoise
from mi_lib.inference import ksg

TASKS = suite.tasks()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_stated_information_is_the_mean_of_the_true_log_ratio(task):
    ratio = task.draw(20_000, 0).log_ratio
    error = ratio.std() / np.sqrt(len(ratio))
    assert abs(ratio.mean() - task.mi("nats")) <= 4.5 * error + 1e-12


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_mean_of_one_over_the_ratio_is_at_most_one(task):
    """E_{p(x,y)}[p(x)p(y)/p(x,y)] is the mass of p(x)p(y) where p(x,y) > 0."""
    inverse = np.exp(-task.draw(20_000, 1).log_ratio)
    assert inverse.mean() <= 1 + 5 * inverse.std() / np.sqrt(len(inverse)) + 1e-12


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_draws_have_the_shape_asked_for_and_follow_the_seed(task):
    x, y, ratio = task.draw(70, 3)
    again, other = task.draw(70, 3), task.draw(70, 4)
    assert len(x) == len(y) == len(ratio) == 70
    assert np.array_equal(x, again.x) and np.array_equal(y, again.y)
    assert not np.array_equal(y, other.y)


def test_each_family_is_on_one_side_and_every_side_has_both():
    sides = {task.family: task.half for task in TASKS}
    assert sorted(sides) == sorted([*suite.DEVELOPMENT, *suite.HELD_BACK])
    assert not set(suite.DEVELOPMENT) & set(suite.HELD_BACK)
    assert len({task.name for task in TASKS}) == len(TASKS) == 36
    both = [*suite.tasks("development"), *suite.tasks("held-back")]
    assert sorted(t.name for t in both) == sorted(t.name for t in TASKS)


def test_an_unknown_half_or_task_is_refused():
    with pytest.raises(ValueError, match="half='test' is unknown"):
        suite.tasks("test")
    with pytest.raises(ValueError, match="task='nothing' is unknown"):
        suite.task("nothing")


def test_known_values():
    assert suite.task("dense 25x25").mi("nats") == pytest.approx(1.2922, abs=5e-4)
    assert suite.task("spiral, sparse 5x5").mi("nats") == pytest.approx(-np.log(0.36), abs=1e-9)
    assert suite.task("cubic 10x10, 4 bits").mi() == pytest.approx(4)
    assert suite.task("Student 5x5, nu 3").mi("nats") == pytest.approx(0.299, abs=1e-3)
    assert UniformNoise(0.5).nats() == pytest.approx(0.5)
    assert Staggered(2).nats() == pytest.approx(np.log(2) / 2)
    assert symmetric_channel(2, 0.5).nats() == pytest.approx(0, abs=1e-12)


def test_a_student_distribution_with_many_degrees_of_freedom_is_gaussian():
    assert Elliptical(dense(3, 0.4), 1e7).nats() == pytest.approx(
        Elliptical(dense(3, 0.4)).nats(), abs=1e-5
    )


def test_student_and_circle_against_an_integral_over_the_plane():
    points = np.tan(np.linspace(-1.56, 1.56, 801))  # fine near 0, far in the tails
    plane = np.stack(np.meshgrid(points, points, indexing="ij"), -1)
    joint = stats.multivariate_t.logpdf(plane, shape=np.eye(2), df=5)
    margin = stats.t.logpdf(points, 5)
    values = np.exp(joint) * (joint - margin[:, None] - margin[None, :])
    plane = integrate.trapezoid(integrate.trapezoid(values, points), points)
    assert plane == pytest.approx(Elliptical(np.eye(2), 5).nats(), rel=0.005)

    circle = Circle(0.3)
    line = np.linspace(-3, 3, 401)
    joint = circle._log_joint(line[:, None], line[None, :])
    margin = circle._log_margin(line)
    inner = np.exp(joint) * (joint - margin[:, None] - margin[None, :])
    plane = integrate.simpson(integrate.simpson(inner, x=line), x=line)
    assert plane == pytest.approx(circle.nats(), abs=1e-4)


def test_bimodal_has_its_limits():
    """Two far modes are one bit; wide noise leaves little."""
    assert Bimodal(1e-4, 0.05).nats() == pytest.approx(np.log(2), abs=1e-3)
    assert Bimodal(0.1, 30).nats() < 0.01


def test_inflated_poisson_without_inflation_has_the_published_value():
    # 2 log 2 - Euler's gamma - sum_k 2^-k log k (Gao et al., 2017) for the plain Poisson.
    k = np.arange(1, 200)
    known = 2 * np.log(2) - np.euler_gamma - (np.log(k) * 0.5**k).sum()
    assert InflatedPoisson(1e-12).nats() == pytest.approx(known, abs=1e-6)


def unspiral(w):
    """The spiral keeps lengths: turn back by the angle of the image's length."""
    angle = -(w**2).sum(1) / 3
    turned = w.copy()
    turned[:, 0] = np.cos(angle) * w[:, 0] - np.sin(angle) * w[:, 1]
    turned[:, 1] = np.sin(angle) * w[:, 0] + np.cos(angle) * w[:, 1]
    return turned


INVERSES = {
    "identity": lambda w: w,
    "cubic": np.cbrt,
    "half-cube": lambda w: np.sign(w) * np.cbrt(w**2),
    "cdf": special.ndtri,
    "asinh": np.sinh,
    "spiral": unspiral,
    # The distance from the centre is the place along the roll.
    "swiss-roll": lambda w: special.ndtri(
        (10 * np.linalg.norm(w, axis=1, keepdims=True) / (1.5 * np.pi) - 1) / 2
    ),
}


@pytest.mark.parametrize("name", MAPS)
def test_each_map_has_an_inverse_so_that_it_loses_nothing(name):
    z = np.random.default_rng(0).standard_normal((2_000, 1 if name == "swiss-roll" else 3))
    assert INVERSES[name](MAPS[name](z)) == pytest.approx(z, abs=1e-6)


@pytest.mark.parametrize("name", MAPS)
def test_the_truth_of_a_mapped_task_is_what_neighbours_find_in_the_mapped_pairs(name):
    """The truth is computed before the map; an estimate sees the pairs after it."""
    dim = 2 if name == "spiral" else 1
    maps = {"map_x": name, "map_y": "identity" if name == "swiss-roll" else name}
    task = Elliptical(sparse(dim, 1, 0.8), **maps)
    x, y, ratio = task.draw(4_000, np.random.default_rng(1))
    reach = 0.13 if name == "spiral" else 0.08  # neighbours miss some of what is far turned
    assert ksg(x, y, unit="nats") == pytest.approx(task.nats(), abs=reach)
    assert ratio.mean() == pytest.approx(task.nats(), abs=0.05)


@pytest.mark.parametrize(
    "name",
    ["additive, width 0.75", "bimodal, noise 1", "circle, noise 0.3", "asinh, Student 1x1, nu 1"],
)
def test_the_truth_of_a_task_of_single_columns_is_what_neighbours_find(name):
    task = suite.task(name)
    x, y, _ = task.draw(4_000, 5)
    assert ksg(x, y, unit="nats") == pytest.approx(task.mi("nats"), abs=0.06)


def test_a_map_that_loses_the_sign_would_be_seen(monkeypatch):
    monkeypatch.setattr(elliptical, "MAPS", {**MAPS, "half-cube": lambda z: np.abs(z) ** 1.5})
    task = Elliptical(sparse(1, 1, 0.8), map_x="half-cube")
    x, y, _ = task.draw(4_000, np.random.default_rng(1))
    assert ksg(x, y, unit="nats") < task.nats() - 0.2


def test_sparse_refuses_too_many_pairs():
    with pytest.raises(ValueError, match="pairs=4 of 3 coordinates"):
        sparse(3, 4, 0.5)


@pytest.mark.parametrize("name", ["uneven table 5x4", "channel of 8 letters"])
def test_the_counts_of_drawn_symbols_have_the_stated_information(name):
    x, y, _ = suite.task(name).draw(20_000, 2)
    counts = np.unique(np.stack([x.astype(str), y.astype(str)]), axis=1, return_counts=True)[1]
    margins = [np.unique(side, return_counts=True)[1] / 20_000 for side in (x, y)]
    found = sum(stats.entropy(part) for part in margins) - stats.entropy(counts / 20_000)
    assert found == pytest.approx(suite.task(name).mi("nats"), abs=0.01)
