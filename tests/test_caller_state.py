"""A fit neither relies on the caller's process nor changes it."""

import random
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from mi_lib import InfoNCEAnchor, MIEstimator, Separable, conditional_mi, fit_critic, mi_matrix
from mi_lib.critic_fit import CriticFit

SMALL = {"steps": 20, "seeds": 1, "folds": 2, "stability": False, "permutations": 9}
SMALL |= {"random_state": 0, "device": "cpu"}
LOSS = InfoNCEAnchor(nu="k")


@contextmanager
def default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextmanager
def every_warning_of_numpy():
    with np.errstate(all="raise"):
        yield


FOREIGN = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "default dtype": default_dtype,
    "default device": lambda: torch.device("meta"),
    "numpy that raises": every_warning_of_numpy,
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(120)
    return x, 0.8 * x + 0.6 * rng.standard_normal(120)


def critic():
    return Separable(1, 1, hidden=8, embedding=4)


def fit_a_critic(made, data):
    pairs = tuple(side.astype(np.float32) for side in data)
    fit = fit_critic(made, pairs, steps=30, batch=8, every=10, held_out=0.3, device="cpu")
    return fit.mi_, fit.pmi(*(side[:3] for side in pairs))


def estimate(data):
    est = MIEstimator(**SMALL).fit(*data)
    return est.mi_, est.pmi(*(side[:3] for side in data)), est.lower_bound_, est.p_value_


CALLS = {
    "fit": estimate,
    "conditional_mi": lambda data: [conditional_mi(*data, data[0] ** 2, **SMALL).mi],
    "mi_matrix": lambda data: mi_matrix(
        np.column_stack(data), folds=2, steps=5, random_state=0, device="cpu"
    ).mi.to_numpy()[:1, 1],
}


@pytest.fixture(scope="module")
def plain(data):
    return {name: call(data) for name, call in CALLS.items()}


@pytest.mark.parametrize("mode", FOREIGN)
@pytest.mark.parametrize("name", CALLS)
def test_an_estimate_is_the_same_under_any_setting_of_the_caller(name, mode, data, plain):
    with FOREIGN[mode]():
        found = CALLS[name](data)
    for one, other in zip(found, plain[name], strict=True):
        assert one == pytest.approx(other, abs=1e-6)


@pytest.mark.parametrize("mode", FOREIGN)
def test_a_critic_is_trained_under_any_setting_of_the_caller(mode, data):
    expected = fit_a_critic(critic(), data)
    made = critic()
    with FOREIGN[mode]():
        found = fit_a_critic(made, data)
    assert found[0] == pytest.approx(expected[0], abs=1e-5)
    assert found[1] == pytest.approx(expected[1], abs=1e-5)


@pytest.mark.parametrize("mode", ["no_grad", "default dtype"])
def test_a_critic_may_be_made_there_too(mode, data):
    with FOREIGN[mode]():
        found = fit_a_critic(critic(), data)
    assert np.isfinite(found[1]).all()


def test_weights_made_in_inference_mode_are_named(data):
    """Such tensors can never have a gradient."""
    with torch.inference_mode():
        made = critic()
    with pytest.raises(ValueError, match="made inside torch.inference_mode"):
        fit_a_critic(made, data)


@pytest.mark.parametrize("mode", FOREIGN)
def test_what_is_saved_loads_under_any_setting_of_the_caller(mode, data, tmp_path):
    est = MIEstimator(**SMALL).fit(*data)
    pairs = tuple(side.astype(np.float32) for side in data)
    fit = fit_critic(critic(), pairs, steps=5, batch=8, held_out=0.3, loss=LOSS, device="cpu")
    paths = est.save(tmp_path / "estimator"), fit.save(tmp_path / "critic")
    with FOREIGN[mode]():
        loaded = MIEstimator.load(paths[0]).pmi(*data)
    assert loaded == pytest.approx(est.pmi(*data), abs=1e-6)
    other = critic()
    with FOREIGN[mode]():
        again = CriticFit.load(paths[1], other, LOSS).pmi(*pairs)
    assert again == pytest.approx(fit.pmi(*pairs), abs=1e-6)


def state():
    """Everything of a process that a library might be tempted to set."""
    return {
        "torch's stream": torch.get_rng_state().tolist(),
        "numpy's stream": [str(part) for part in np.random.get_state()],
        "Python's stream": random.getstate(),
        "threads": torch.get_num_threads(),
        "threads between operations": torch.get_num_interop_threads(),
        "dtype": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "gradients": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "determinism": torch.are_deterministic_algorithms_enabled(),
        "anomalies": torch.is_anomaly_enabled(),
        "products": torch.get_float32_matmul_precision(),
        "numpy's warnings": np.geterr(),
    }


@pytest.mark.parametrize("random_state", [0, None])
def test_the_callers_process_stays_as_it_was(data, random_state, tmp_path, monkeypatch):
    """No stream is drawn from and no setting changed, the allocator's neither."""
    opened = []
    monkeypatch.setattr("ctypes.CDLL", lambda *given, **named: opened.append(given))
    before = state()
    est = MIEstimator(**(SMALL | {"random_state": random_state})).fit(*data)
    MIEstimator.load(est.save(tmp_path / "fit")).pmi(*data)
    conditional_mi(*data, data[0] ** 2, **(SMALL | {"random_state": random_state}))
    fit_a_critic(critic(), data)
    assert state() == before
    assert not opened, "mallopt and its like are reached through ctypes"


def test_without_a_seed_two_fits_differ_and_the_global_stream_decides_nothing(data):
    found = []
    for _ in range(2):
        np.random.seed(0)
        found.append(MIEstimator(**(SMALL | {"random_state": None})).fit(*data).plan_.seed)
    assert found[0] != found[1]


def test_a_stream_that_is_passed_is_drawn_from(data):
    stream = np.random.RandomState(0)
    seeds = [MIEstimator(**(SMALL | {"random_state": stream}))._plan(120).seed for _ in range(2)]
    assert seeds[0] != seeds[1]
