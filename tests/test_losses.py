"""Losses as modules: the pure functions behind them, one matrix or two embeddings, every mode."""

import copy
import math
import re

import pytest
import torch

from mi_lib import DV, JS, MINE, NWJ, InfoNCE, InfoNCEAnchor, PseudoSpherical, objectives
from mi_lib.losses import ChiSquare, Hellinger, Loss

LOSSES = {
    "infonce": (lambda **s: InfoNCE(**s), objectives.infonce),
    "infonce both": (
        lambda **s: InfoNCE(contrast="both", **s),
        lambda s: (objectives.infonce(s, "x") + objectives.infonce(s, "y")) / 2,
    ),
    "anchor 1": (lambda **s: InfoNCEAnchor(nu=1.0, **s), objectives.anchor),
    "anchor k": (
        lambda **s: InfoNCEAnchor(nu="k", contrast="y", **s),
        lambda s: objectives.anchor(s, nu=s.shape[-1] - 1, contrast="y"),
    ),
    "spherical, k = 3": (
        lambda **s: InfoNCEAnchor(nu=2.0, rule=PseudoSpherical(2), k=3, **s),
        lambda s: objectives.anchor(s, 2.0, PseudoSpherical(2), 3),
    ),
    "dv": (lambda **s: DV(**s), objectives.dv),
    "nwj": (lambda **s: NWJ(**s), objectives.nwj),
    "js": (lambda **s: JS(**s), objectives.js),
    "chi-square": (lambda **s: ChiSquare(**s), objectives.chi_square),
    "hellinger": (lambda **s: Hellinger(**s), objectives.hellinger),
}


def random_scores(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", LOSSES)
def test_a_module_is_its_function(name):
    make, function = LOSSES[name]
    scores = random_scores(6, 6)
    torch.testing.assert_close(make()(scores), function(scores), rtol=0, atol=0)


@pytest.mark.parametrize("name", LOSSES)
def test_two_embeddings_are_their_products_over_the_temperature(name):
    make, function = LOSSES[name]
    x, y = random_scores(6, 4), random_scores(6, 4, seed=1)
    torch.testing.assert_close(make(temperature=0.5)(x, y), function(2 * x @ y.T))


def test_a_temperature_that_learns_gets_a_gradient():
    temperature = torch.nn.Parameter(torch.tensor(0.7))
    loss = InfoNCE(temperature=temperature)
    loss(random_scores(5, 3).float(), random_scores(5, 3, seed=1).float()).backward()
    assert temperature.grad.abs() > 0 and "temperature" in dict(loss.named_parameters())


def test_a_tensor_nu_keeps_its_gradient():
    scores, step = random_scores(6, 6), 1e-6
    nu = torch.tensor(1.7, dtype=torch.float64, requires_grad=True)
    InfoNCEAnchor(nu=nu)(scores).backward()
    above, below = (objectives.anchor(scores, 1.7 + s) for s in (step, -step))
    assert nu.grad.item() == pytest.approx(((above - below) / (2 * step)).item(), rel=1e-6)


def test_nu_must_be_said_and_be_positive():
    with pytest.raises(TypeError, match="nu"):
        InfoNCEAnchor()
    for nu in (0.0, -1.0, torch.tensor(-2.0)):
        with pytest.raises(ValueError, match="leaves no anchor"):
            InfoNCEAnchor(nu=nu)
    with pytest.raises(ValueError, match="'k' for nu = K"):
        InfoNCEAnchor(nu="B")


@pytest.mark.parametrize("contrast", ["x", "y"])
def test_a_queue_adds_negatives(contrast):
    """b positives and n points: InfoNCE and the anchor by their definitions, entry by entry."""
    b, n = 3, 5
    rows = random_scores(b, n)
    scores = rows.T if contrast == "x" else rows
    means = [torch.logsumexp(row, 0) - math.log(n) - row[i] for i, row in enumerate(rows)]
    torch.testing.assert_close(InfoNCE(contrast=contrast)(scores), torch.stack(means).mean())
    nu, k, terms = 2.0, n - 1, []
    for i, row in enumerate(rows):
        others = [row[(i + j) % n] for j in range(1, n)]
        log_nu = torch.tensor(math.log(nu), dtype=torch.float64)
        first = torch.stack([log_nu, row[i], *others[:-1]]).log_softmax(0)[1]
        second = torch.stack([log_nu, *others]).log_softmax(0)[0]
        terms.append(-(k * first + nu * second) / (k + nu))
    found = InfoNCEAnchor(nu=nu, contrast=contrast)(scores)
    torch.testing.assert_close(found, torch.stack(terms).mean())


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_single(name, dtype):
    make, _ = LOSSES[name]
    scores = random_scores(6, 6).to(dtype)
    found = make()(scores)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, make()(scores.float()))


@pytest.mark.parametrize("name", LOSSES)
def test_autocast_changes_no_digit_of_a_score_matrix(name):
    make, _ = LOSSES[name]
    scores = random_scores(6, 6).float()
    with torch.autocast("cpu", torch.bfloat16):
        inside = make()(scores)
    torch.testing.assert_close(inside, make()(scores), rtol=0, atol=0)


@pytest.mark.parametrize("name", LOSSES)
def test_a_compiled_loss_is_the_same_in_one_graph(name):
    make, _ = LOSSES[name]
    scores = random_scores(6, 6).requires_grad_()
    torch.compiler.reset()  # the number of graphs a session may hold is limited
    compiled = torch.compile(make(), fullgraph=True, backend="aot_eager")
    found, plain = compiled(scores), make()(scores)
    torch.testing.assert_close(found, plain)
    torch.testing.assert_close(*(torch.autograd.grad(value, scores)[0] for value in (found, plain)))


@pytest.mark.parametrize("name", LOSSES)
def test_vmap_over_matrices_is_the_loss_of_each(name):
    make, _ = LOSSES[name]
    scores = random_scores(4, 6, 6)
    torch.testing.assert_close(torch.func.vmap(make())(scores), make()(scores))


def test_mine_remembers_and_evaluates_as_dv():
    loss, scores = MINE(rate=0.25), [random_scores(6, 6, seed=s) for s in (1, 2)]
    means = [objectives.log_mean_exp(objectives.negatives(s), 2).exp() for s in scores]
    torch.testing.assert_close(loss(scores[0]), objectives.mine(scores[0], means[0].log()))
    running = 0.75 * means[0] + 0.25 * means[1]
    kept = running.log().float()  # as the buffer keeps it
    torch.testing.assert_close(loss(scores[1]), objectives.mine(scores[1], kept))
    again = MINE(rate=0.25)
    again.load_state_dict(copy.deepcopy(loss.state_dict()))
    assert again.log_mean == loss.log_mean
    torch.testing.assert_close(loss.eval()(scores[0]), objectives.dv(scores[0]))
    with pytest.raises(ValueError, match=re.escape("outside (0, 1]")):
        MINE(rate=0.0)


def test_what_a_value_bounds_and_certifies():
    """X = Y uniform on 64 symbols, the true ratio: InfoNCE reads the ceiling of 6 bits."""
    from mi_lib import infonce_ceiling
    from mi_lib.ceiling import prior_entropy

    bit, k = math.log(2), 31
    value = infonce_ceiling(6.0, k + 1) * bit
    assert InfoNCE().bound(-value, k + 1) == value
    assert InfoNCE().certified(-value, k + 1) / bit == pytest.approx(6.0)
    assert InfoNCE().certified(1.0, k + 1) == 0  # worse than chance certifies nothing
    for nu in (1.0, "k"):
        loss, weight = InfoNCEAnchor(nu=nu), k if nu == "k" else nu
        reached = infonce_ceiling(6.0, k, weight, "bits") * bit
        risk = prior_entropy(k, weight, "nats") - reached
        assert loss.bound(risk, k + 1) == pytest.approx(reached)
        assert loss.certified(risk, k + 1) / bit == pytest.approx(6.0)
    reached = infonce_ceiling(6.0, 1, 1.0) * bit
    assert JS().certified(2 * (bit - reached), 99) / bit == pytest.approx(6.0)
    assert NWJ().certified(-2.0, 99) == NWJ().bound(-2.0, 99) == 2.0
    assert InfoNCEAnchor(nu=1.0, rule=PseudoSpherical(2)).certified(0.1, 9) is None
    assert DV().bound(-2.0, 9) is None


BAD = {
    "not a matrix": (lambda: InfoNCE()(torch.zeros(3)), "pass a matrix of critic values"),
    "a batch of vectors": (lambda: DV()(torch.zeros(3, 4)), "square matrix"),
    "one pair": (lambda: InfoNCE()(torch.zeros(1, 1)), "at least 2"),
    "one pair, anchored": (lambda: InfoNCEAnchor(nu=1.0)(torch.zeros(1, 1)), "at least 2"),
    "NaN": (lambda: JS()(torch.full((3, 3), math.nan)), "9 of 9 scores are NaN"),
    "inf": (lambda: NWJ()(torch.full((3, 3), math.inf)), "lower the learning rate"),
    "a queue the wrong way": (lambda: InfoNCE(contrast="x")(torch.zeros(3, 5)), "no fewer rows"),
    "a queue both ways": (lambda: InfoNCE(contrast="both")(torch.zeros(3, 5)), "as many rows"),
    "widths": (lambda: InfoNCE()(torch.zeros(3, 2), torch.zeros(3, 4)), "equal width"),
    "contrast": (lambda: InfoNCE(contrast="z"), "choose one of both, x, y"),
    "temperature": (lambda: InfoNCE(temperature=0.0), "must be > 0"),
    "k": (lambda: InfoNCEAnchor(nu=1.0, k=4)(torch.zeros(4, 4)), "at least 5 pairs"),
    "integers": (lambda: InfoNCE()(torch.zeros(3, 3, dtype=torch.int64)), "floating-point"),
    "the base class": (lambda: Loss()(torch.zeros(3, 3)), "use one of its subclasses"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_a_sentence_that_says_what_to_do(case):
    call, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_the_look_at_scores_can_be_left_out():
    assert JS(check=False)(torch.full((3, 3), math.nan)).isnan()
