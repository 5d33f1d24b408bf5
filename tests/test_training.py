"""The engine: a stack trains each member as if it were alone, and a run can be continued."""

import math

import numpy as np
import pytest
import torch

from companion.data import Gaussian, make_task
from companion.evaluation import COLUMNS, estimates, held_out
from companion.training import Run, Settings, loss_of
from mi_lib import infonce_ceiling
from mi_lib.devices import pick_device
from mi_lib.streams import stream

SMALL = {
    "trainings": ("nwj", "infonce", "anchor", "anchor:nu=7", "mine", "spherical"),
    "levels": (1.0, 2.0),
    "steps": 20,
    "batch": 8,
    "rate": 1e-3,
    "critic_settings": {"hidden": 16, "embedding": 4},
    "block": 10,
    "every": 5,
    "held_out": 16,
    "large": 12,
    "large_repeats": 2,
}
TASK = Gaussian(3, "cubic")


def finished(seeds=(0,), dtype=torch.float64, **changes):
    run = Run(TASK, seeds, Settings(**{**SMALL, **changes}), "cpu", dtype)
    for _ in run.iterate():
        pass
    return run


def test_stacked_equals_separate_training():
    """In float64, over 200 steps at the paper's rate, to 1e-10."""
    together = finished((3, 4, 5), steps=100, rate=1e-4)
    for place, seed in enumerate((3, 4, 5)):
        for o, name in enumerate(SMALL["trainings"]):
            alone = finished((seed,), steps=100, rate=1e-4, trainings=(name,))
            np.testing.assert_allclose(
                np.array(together.curves)[:, o, place],
                np.array(alone.curves)[:, 0, 0],
                rtol=0,
                atol=1e-10,
            )


@pytest.mark.parametrize("warm", [True, False])
def test_a_continued_run_ends_where_an_unbroken_one_does(tmp_path, warm):
    whole = finished((0, 1), warm=warm)
    for stop in (7, 20, 33):
        first = Run(TASK, (0, 1), Settings(**SMALL, warm=warm), "cpu", torch.float64)
        while first.step < stop:
            first.advance()
        first.save(tmp_path / "state.pt")
        second = Run(TASK, (0, 1), Settings(**SMALL, warm=warm), "cpu", torch.float64)
        second.load(tmp_path / "state.pt")
        for _ in second.iterate():
            pass
        np.testing.assert_array_equal(np.array(whole.curves), np.array(second.curves))
        np.testing.assert_array_equal(np.array(whole.fresh), np.array(second.fresh))
        assert second.first_losses == whole.first_losses
    assert [path.name for path in tmp_path.iterdir()] == ["state.pt"]


def test_a_run_learns_something_that_holds_on_fresh_batches():
    """InfoNCE comes near what it can reach at 2 bits, and not above; zeros would report nothing."""
    run = finished(
        (0, 1), torch.float32, trainings=("infonce",), levels=(2.0,), steps=600, batch=64, rate=2e-3
    )
    values = held_out(run.critic, TASK, 2.0, 64, 60)[:, 0, :, 2]
    error = values.mean(1).std() / math.sqrt(len(values))
    assert 1.2 < values.mean() < infonce_ceiling(2.0, 64) + 3 * error


def test_held_out_leaves_the_stream_untouched():
    run = finished()
    before = run.generators[0].get_state().clone()
    one, two = (held_out(run.critic, TASK, 2.0, 16, 2) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert torch.equal(run.generators[0].get_state(), before)
    assert one.shape == (2, len(SMALL["trainings"]), 1, len(COLUMNS))
    assert not np.array_equal(one, held_out(run.critic, TASK, 2.0, 16, 2, seed=1))


def test_batches_held_out_data_and_starting_points_have_streams_of_their_own():
    """Torch looks at 32 bits of a seed on the CPU: 2**32 + 5 starts the stream of 5."""
    run = finished((5,), levels=(2.0,))
    first = run.task.draw(2.0, 8, [stream("batches", 5)])[0]
    held = run.task.draw(2.0, 8, [stream("held-out", 0, 5)])[0]
    start = run.task.draw(2.0, 8, [torch.Generator().manual_seed(5)])[0]
    assert not torch.isclose(first, held).any()
    assert not torch.isclose(first, start).any()
    assert not torch.isclose(held, start).any()


def test_each_level_ends_with_a_look_at_fresh_data_of_that_level():
    run = finished()
    assert np.array(run.fresh).shape == (2, 2, len(SMALL["trainings"]), 1, len(COLUMNS))
    own = held_out(run.critic, TASK, 2.0, SMALL["batch"], 2).mean(0)
    np.testing.assert_array_equal(run.fresh[-1][0], own)
    large = held_out(run.critic, TASK, 2.0, SMALL["large"], 2).mean(0)
    np.testing.assert_array_equal(run.fresh[-1][1], large)


def test_no_tensor_is_made_on_the_default_device():
    """With `meta` as the default, anything made without saying where would have no values."""
    with torch.device("meta"):
        for kind in ("separable", "joint", "bilinear"):
            changes = {"critic": kind, "steps": 3, "levels": (1.0,), "block": 1, "every": 1}
            changes["critic_settings"] = {} if kind == "bilinear" else {"hidden": 8}
            settings = Settings(**{**SMALL, **changes})
            for task in (TASK, make_task("digits", slots=2)):
                run = Run(task, (0,), settings, "cpu")
                for _ in run.iterate():
                    pass
                assert np.isfinite(run.first_losses).all()


@pytest.mark.gpu
def test_a_gpu_trains_what_the_cpu_trains():
    """Same starting point, same batches (drawn on the CPU), first losses equal to float32."""
    losses = []
    for device in ("cpu", "cuda"):
        run = Run(Fixed(), (0, 1), Settings(**SMALL), device)
        for _ in run.iterate():
            pass
        losses.append(run.first_losses)
    np.testing.assert_allclose(*losses, rtol=1e-4, atol=1e-4)


class Fixed:
    """A task whose batches do not depend on the device."""

    x_dim = y_dim = 3

    def draw(self, bits, batch, generators, fresh=False):
        own = [torch.Generator("cpu").manual_seed(batch + s) for s in range(len(generators))]
        x, y = TASK.draw(bits, batch, own)
        return x.to(generators[0].device), y.to(generators[0].device)


def test_the_gaussian_task_has_the_information_it_claims():
    """The plug-in mean of the true log ratio, on many draws."""
    for bits in (0.5, 2.0, 6.0):
        task = Gaussian(5)
        generator = torch.Generator().manual_seed(0)
        x, z = task.draw(bits, 4000, [generator])
        x, z = x[0].double(), z[0].double()
        truth = task.log_ratio(x, z, bits).diagonal() / math.log(2)
        spread = truth.std() / math.sqrt(len(truth))
        assert abs(truth.mean() - bits) < 4 * spread


def test_estimates_are_in_bits_and_in_the_order_of_the_table():
    scores = torch.zeros(2, 1, 4, 4)
    scores += 3.0 * math.log(2) * torch.eye(4)
    values = estimates(scores)[0, 0].tolist()
    assert values[4] == pytest.approx(3.0)  # plug-in
    assert values[0] == pytest.approx(3.0)  # DV: negatives have r = 1
    assert values[2] == pytest.approx(3.0 - math.log2((8 + 3) / 4))  # InfoNCE, K = 4
    assert values[5] == pytest.approx(0.0)  # scale: r = 1 on negatives
    assert estimates(scores + math.log(2))[0, 0, 5] == pytest.approx(1.0)


def test_nu_equal_to_k_follows_the_batch():
    scores = torch.randn(3, 8, 8, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(loss_of("anchor:nu=k")(scores), loss_of("anchor:nu=7")(scores))


def test_names_and_settings_are_checked():
    with pytest.raises(ValueError, match="choose one of anchor"):
        loss_of("anker")
    with pytest.raises(ValueError, match="choose one of k, nu"):
        loss_of("anchor:mu=3")
    with pytest.raises(ValueError, match="integer >= 2"):
        Settings(batch=1)
    with pytest.raises(ValueError, match="each must divide the next"):
        Settings(every=7)
    with pytest.raises(ValueError, match="choose one of asinh"):
        Gaussian(3, "square")
    assert pick_device("cpu").type == "cpu"
