"""Two processes with half the batch each do what one does with all of it."""

import pytest
import torch

from companion.experiments.ssl_gather import on_ranks, rank_and_ranks
from companion.experiments.ssl_losses import OBJECTIVES, SUPERVISED
from companion.experiments.ssl_training import Pretraining, Settings

NAMES = (*OBJECTIVES, SUPERVISED)
SMALL = Settings(
    data="digits",
    width=8,
    blocks=(1, 1),
    hidden=8,
    output=6,
    batch=12,
    epochs=1,
    warm_up=0,
    points=1,
)


def two_steps(settings):
    """Losses, last gradients and states after two steps, of every objective, in float64."""
    run = Pretraining(NAMES, 3, settings, dtype=torch.float64)
    run.advance()
    run.advance()
    return {
        member.objective: (
            torch.tensor(member.first_losses, dtype=torch.float64),
            [p.grad for p in member.encoder.parameters()],
            member.encoder.state_dict(),
        )
        for member in run.members
    }


@pytest.fixture(scope="module")
def both():
    return two_steps(SMALL), on_ranks(2, "cpu", two_steps, SMALL)


@pytest.mark.parametrize("name", NAMES)
def test_two_processes_equal_one(both, name):
    """Loss, every gradient, every weight and every batch-norm statistic."""
    (losses, gradients, state), (losses2, gradients2, state2) = (part[name] for part in both)
    close = {"rtol": 1e-9, "atol": 1e-12}
    torch.testing.assert_close(losses2, losses, **close)
    assert sum(float(g.norm()) for g in gradients) > 0
    torch.testing.assert_close(gradients2, gradients, **close)
    torch.testing.assert_close(state2, state, **close)


def ranks_seen():
    """What a process knows of the others."""
    return rank_and_ranks()


def test_rank_zero_answers():
    assert rank_and_ranks() == (0, 1)
    assert on_ranks(1, "cpu", ranks_seen) == (0, 1)
    assert on_ranks(2, "cpu", ranks_seen) == (0, 2)
    assert rank_and_ranks() == (0, 1)


def fails():
    """A batch that two processes cannot share."""
    Pretraining(["infonce"], 0, Settings(**{**vars(SMALL), "batch": 9})).advance()


def test_errors_of_a_process_reach_the_caller():
    with pytest.raises(Exception, match="batch=9 cannot be shared equally by 2 processes"):
        on_ranks(2, "cpu", fails)
