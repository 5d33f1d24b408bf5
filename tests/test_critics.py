"""Critics: a member of a stack computes what it would compute alone, from the same start."""

import pytest
import torch
from torch import nn

from mi_lib.critics import CRITICS, Joint, Separable, make_critic

SIZES = {"separable": {"hidden": 8, "embedding": 3}, "joint": {"hidden": 8}, "bilinear": {}}


def batch(streams, pairs=5, x_dim=4, y_dim=6):
    generator = torch.Generator().manual_seed(0)
    shape = (streams, pairs)
    return (
        torch.randn(*shape, x_dim, generator=generator, dtype=torch.float64),
        torch.randn(*shape, y_dim, generator=generator, dtype=torch.float64),
    )


@pytest.mark.parametrize("kind", CRITICS)
def test_a_member_of_a_stack_is_the_critic_of_its_seed(kind):
    x, y = batch(3)
    stack = make_critic(kind, 4, 6, seeds=(7, 8, 9), copies=2, **SIZES[kind]).double()
    scores = stack(x, y)
    assert scores.shape == (2, 3, 5, 5)
    for place, seed in enumerate((7, 8, 9)):
        alone = make_critic(kind, 4, 6, seeds=(seed,), **SIZES[kind]).double()
        own = alone(x[place : place + 1], y[place : place + 1])[0, 0]
        for copy in range(2):
            torch.testing.assert_close(scores[copy, place], own, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", CRITICS)
def test_entry_i_j_is_the_pair_x_i_y_j(kind):
    x, y = batch(1)
    critic = make_critic(kind, 4, 6, **SIZES[kind]).double()
    whole = critic(x, y)[0, 0]
    pair = critic(x[:, 1:2], y[:, 3:4])[0, 0, 0, 0]
    torch.testing.assert_close(whole[1, 3], pair, rtol=1e-12, atol=1e-12)


def test_separable_is_the_inner_product_of_two_mlps():
    critic = Separable(4, 6, hidden=8, embedding=3).double()

    def tower(first, bias, place):
        layers = [(first[0], bias[0])]
        layers += [(w[place], b[place]) for w, b in zip(critic.weights, critic.biases, strict=True)]
        modules = []
        for weight, offset in layers:
            linear = nn.Linear(*weight.shape).double()
            linear.weight.data, linear.bias.data = weight.data.T.clone(), offset.data[0].clone()
            modules += [linear, nn.ReLU()]
        return nn.Sequential(*modules[:-1])

    x, y = batch(1)
    f = tower(critic.first_x, critic.bias_x, 0)(x[0])
    g = tower(critic.first_y, critic.bias_y, 1)(y[0])
    torch.testing.assert_close(critic(x, y)[0, 0], f @ g.T, rtol=1e-12, atol=1e-12)


def test_the_first_layer_of_a_joint_critic_reads_the_concatenation():
    critic = Joint(4, 6, hidden=8).double()
    x, y = batch(1)
    joined = torch.cat([x[0, :, None].expand(5, 5, 4), y[0, None].expand(5, 5, 6)], -1)
    weight = torch.cat([critic.first_x[0], critic.first_y[0]])
    hidden = joined @ weight + critic.bias[0, 0]
    for w, b in zip(critic.weights, critic.biases, strict=True):
        hidden = torch.relu(hidden) @ w[0] + b[0, 0]
    torch.testing.assert_close(critic(x, y)[0, 0], hidden[..., 0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", CRITICS)
def test_forward_makes_nothing_on_a_default_device(kind):
    critic = make_critic(kind, 4, 6, seeds=(0, 1), copies=2, **SIZES[kind]).to("meta")
    x, y = batch(2)
    assert critic(x.float().to("meta"), y.float().to("meta")).shape == (2, 2, 5, 5)


def test_bad_input_is_refused():
    critic = Separable(4, 6, seeds=(0, 1), hidden=8)
    x, y = batch(2)
    with pytest.raises(ValueError, match="equal seeds and batch"):
        critic(x.float(), y.float()[:, :3])
    with pytest.raises(ValueError, match="the critic has 2"):
        critic(x.float()[:1], y.float()[:1])
    with pytest.raises(ValueError, match="choose one of bilinear, joint, separable"):
        make_critic("mlp", 4, 6)
    with pytest.raises(ValueError, match="at least one seed"):
        Separable(4, 6, seeds=())


@pytest.mark.parametrize("kind", ["separable", "joint"])
def test_normalised_layers_do_not_feel_the_scale_of_the_input(kind):
    x, y = batch(1)
    critic = make_critic(kind, 4, 6, normalise=True, **SIZES[kind]).double()
    with torch.no_grad():
        for bias in (p for name, p in critic.named_parameters() if name.startswith("bias")):
            bias.zero_()
    torch.testing.assert_close(critic(x, y), critic(100 * x, 100 * y), rtol=1e-3, atol=1e-4)
    plain = make_critic(kind, 4, 6, **SIZES[kind]).double()
    assert not torch.allclose(plain(x, y), critic(x, y))


@pytest.mark.parametrize(("kind", "fan_in"), [(Separable, 4), (Joint, 13)])
def test_weights_begin_as_those_of_torchs_linear_layer(kind, fan_in):
    """Uniform, both signs, up to one over the root of the inputs; each seed has its own."""
    critic = kind(4, 9, seeds=(0, 1), hidden=400)
    first = critic.first_x.detach()
    assert first.max() == pytest.approx(1 / fan_in**0.5, rel=0.02)
    assert first.min() == pytest.approx(-1 / fan_in**0.5, rel=0.02)
    assert not torch.equal(first[0], first[1])


def test_copies_are_scored_in_their_order():
    critic = Separable(2, 2, seeds=(0,), copies=2, hidden=4, embedding=2)
    with torch.no_grad():
        critic.first_x[:, :, 4:] *= 3  # of the second copy
    x, y = torch.ones(1, 3, 2), torch.ones(1, 3, 2)
    alone = Separable(2, 2, seeds=(0,), hidden=4, embedding=2)
    assert torch.allclose(critic(x, y)[0, 0], alone(x[0], y[0]))
    assert not torch.allclose(critic(x, y)[1, 0], alone(x[0], y[0]))
