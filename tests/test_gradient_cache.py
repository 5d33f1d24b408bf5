"""The gradient of a batch, put together in chunks, is that of the whole batch."""

import pytest
import torch
from torch import nn

from mi_lib import DV, InfoNCEAnchor, Separable, backward_in_chunks, fit_critic
from mi_lib.critic_fit import TwoEncoders

EXACT = {"rtol": 1e-12, "atol": 1e-14}


def encoders(*more, seed=0):
    """Two encoders in double precision that start the same for a seed."""
    torch.manual_seed(seed)
    return [
        nn.Sequential(nn.Linear(d, 8), nn.Tanh(), *more, nn.Linear(8, 4)).double() for d in (3, 2)
    ]


def pairs(n=14, seed=1):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, dtype=torch.float64, generator=g)
    return x, x[:, :2] + torch.randn(n, 2, dtype=torch.float64, generator=g)


def learning():
    """A loss with parameters of its own."""
    nu = nn.Parameter(torch.tensor(5.0, dtype=torch.float64))
    tau = nn.Parameter(torch.tensor(0.6, dtype=torch.float64))
    return InfoNCEAnchor(nu=nu, temperature=tau, contrast="both")


def gradients(*modules):
    return [p.grad for module in modules for p in module.parameters()]


@pytest.mark.parametrize("chunk", [1, 4, 7, 99])
@pytest.mark.parametrize("make", [learning, DV])
def test_value_and_every_gradient_are_those_of_the_plain_step(make, chunk):
    x, y = pairs()
    plain, ours = [(*encoders(), make()) for _ in range(2)]
    value = plain[2](plain[0](x), plain[1](y))
    value.backward()
    found = backward_in_chunks(ours[2], ours[:2], (x, y), chunk)
    assert not found.requires_grad
    torch.testing.assert_close(found, value.detach(), **EXACT)
    torch.testing.assert_close(gradients(*ours), gradients(*plain), **EXACT)
    backward_in_chunks(ours[2], ours[:2], (x, y), chunk)  # adds, as backward does
    torch.testing.assert_close(gradients(*ours), [2 * g for g in gradients(*plain)], **EXACT)


def test_dropout_falls_the_same_way_both_times():
    """Against a step with a graph whose encoders see the same chunks in the same order; afterwards
    the random numbers go on as if there had been one pass."""
    x, y = pairs()
    plain, ours = [(*encoders(nn.Dropout(0.4)), learning()) for _ in range(2)]
    torch.manual_seed(7)
    left, right = (
        torch.cat([f(p) for p in side.split(4)]) for f, side in zip(plain, (x, y), strict=False)
    )
    value = plain[2](left, right)
    value.backward()
    after = torch.rand(3)
    torch.manual_seed(7)
    found = backward_in_chunks(ours[2], ours[:2], (x, y), 4)
    assert torch.equal(torch.rand(3), after)
    torch.testing.assert_close(found, value.detach(), **EXACT)
    torch.testing.assert_close(gradients(*ours), gradients(*plain), **EXACT)


def test_running_means_move_once_and_encoders_may_share_weights():
    shared = [nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).double() for _ in range(2)]
    shared[1].load_state_dict(shared[0].state_dict())
    x, other = pairs()[0], pairs(seed=5)[0]
    loss = learning()
    left, right = (torch.cat([shared[0](p) for p in side.split(7)]) for side in (x, other))
    loss(left, right).backward()
    backward_in_chunks(learning(), [shared[1]] * 2, (x, other), 7)
    torch.testing.assert_close(gradients(shared[1]), gradients(shared[0]), **EXACT)
    torch.testing.assert_close(shared[1].state_dict(), shared[0].state_dict(), **EXACT)


def test_only_a_chunk_is_ever_held_with_its_graph():
    seen = []

    class Spy(nn.Linear):
        def forward(self, batch):
            seen.append((len(batch["x"]), torch.is_grad_enabled()))
            return super().forward(batch["x"])

    f, g = Spy(3, 4), Spy(2, 4)
    x, y = ({"x": side.float()} for side in pairs())
    g.requires_grad_(False)
    backward_in_chunks(InfoNCEAnchor(nu="k"), (f, g), (x, y), 5)
    sizes = [5, 5, 4] * 2
    assert seen == [*((n, False) for n in sizes), *((n, True) for n in sizes)]
    assert f.weight.grad is not None and g.weight.grad is None


class Exact(nn.Linear):
    """A layer that keeps out of autocast, as some do."""

    def forward(self, batch):
        with torch.autocast("cpu", enabled=False):
            return super().forward(batch)


def test_in_autocast_the_encoders_are_and_the_backward_pass_is_not():
    x, y = (side.float() for side in pairs())
    plain, ours = [
        [nn.Sequential(Exact(e[0].in_features, e[0].in_features), e.float()) for e in encoders()]
        for _ in range(2)
    ]
    for one, other in zip(plain, ours, strict=True):
        other.load_state_dict(one.state_dict())
    loss = InfoNCEAnchor(nu="k")
    with torch.autocast("cpu", torch.bfloat16):
        value = loss(plain[0](x), plain[1](y))
    value.backward()
    with torch.autocast("cpu", torch.bfloat16):
        found = backward_in_chunks(loss, ours, (x, y), 99)
    assert torch.equal(found, value.detach())
    torch.testing.assert_close(gradients(*ours), gradients(*plain), rtol=0, atol=0)


def test_a_fit_in_chunks_is_the_fit():
    x, y = pairs(400)
    given = {"steps": 30, "batch": 32, "every": 10, "held_out": 0.4, "clip": 1.0}
    whole, chunked = [
        fit_critic(tuple(encoders()), (x, y), loss=learning(), chunk=chunk, **given)
        for chunk in (None, 5)
    ]
    torch.testing.assert_close(chunked.curve_, whole.curve_, rtol=1e-11, atol=0)
    assert chunked.mi_ == pytest.approx(whole.mi_, rel=1e-11) and whole.mi_ > 0
    assert isinstance(whole.critic, TwoEncoders)


def test_a_chunk_must_be_a_number_and_the_critic_two_encoders():
    with pytest.raises(ValueError, match="chunk=0 is too small"):
        backward_in_chunks(DV(), encoders(), pairs(), 0)
    with pytest.raises(ValueError, match="chunk=1.5 is not a whole number"):
        fit_critic(tuple(encoders()), pairs(400), chunk=1.5)
    with pytest.raises(ValueError, match="chunk=8 needs a pair of encoders"):
        fit_critic(Separable(3, 2, hidden=8), pairs(400), chunk=8)
