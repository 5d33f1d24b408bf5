"""Losses without their matrix: the same values and gradients, in blocks, in little memory."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mi_lib import InfoNCE, InfoNCEAnchor, Kliep, PseudoSpherical, objectives
from mi_lib.losses import row_sums, tuples

ROOT = Path(__file__).resolve().parents[1]
ANCHORS = {
    "nu = 1": {"nu": 1.0},
    "nu = 7.5": {"nu": 7.5},
    "nu = K": {"nu": "k"},
    "nu learns": {"nu": "learns"},
    "kliep": {"nu": 2.0, "rule": Kliep()},
}
CASES = [("infonce", {}), *(("anchor", given) for given in ANCHORS.values())]
CLOSE = {"rtol": 1e-12, "atol": 1e-14}


def drawn(b, n, e=5, dtype=torch.float64, seed=0):
    g = torch.Generator().manual_seed(seed)
    x, y = (torch.randn(size, e, dtype=torch.float64, generator=g) for size in (b, n))
    return x.to(dtype).requires_grad_(), y.to(dtype).requires_grad_()


def made(kind, given, **more):
    """The module, the leaf parameters of its own, and the frozen function that defines it."""
    temperature = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    if kind == "infonce":
        loss = InfoNCE(temperature=temperature, **more)
        return loss, [temperature], lambda s: objectives.infonce(s, loss.contrast)
    own, given = [temperature], dict(given)
    if given["nu"] == "learns":
        given["nu"] = torch.tensor(3.3, dtype=torch.float64, requires_grad=True)
        own.append(given["nu"])
    loss = InfoNCEAnchor(temperature=temperature, **given, **more)
    rule, contrast = given.get("rule"), loss.contrast
    return loss, own, lambda s: objectives.anchor(s, given["nu"], rule, contrast=contrast)


def compared(found, expected, leaves):
    """Value and all gradients are those of the definition."""
    torch.testing.assert_close(found, expected, **CLOSE)
    wanted = torch.autograd.grad(expected, leaves)
    torch.testing.assert_close(torch.autograd.grad(found, leaves), wanted, **CLOSE)
    assert all(w.abs().max() > 1e-6 for w in wanted)


@pytest.mark.parametrize("block", [1, 3, 4, 11, 64])
@pytest.mark.parametrize("contrast", ["x", "y", "both"])
@pytest.mark.parametrize(("kind", "given"), CASES)
def test_in_blocks_value_and_gradients_are_exact(kind, given, contrast, block):
    loss, own, definition = made(kind, given, contrast=contrast, block=block)
    x, y = drawn(11, 11)
    compared(loss(x, y), definition(x @ y.T / own[0]), [x, y, *own])


@pytest.mark.parametrize("shape", [(5, 9), (2, 3), (4, 4), (3, 3), (2, 2)])
@pytest.mark.parametrize(("kind", "given"), CASES)
def test_a_queue_of_negatives_and_the_smallest_batches_too(kind, given, shape):
    loss, own, definition = made(kind, given, contrast="y", block=2)
    x, y = drawn(*shape)
    compared(loss(x, y), definition(x @ y.T / own[0]), [x, y, *own])
    loss, own, definition = made(kind, given, contrast="x", block=2)
    compared(loss(y, x), definition(y @ x.T / own[0]), [x, y, *own])


@pytest.mark.parametrize("contrast", ["x", "y", "both"])
@pytest.mark.parametrize(("kind", "given"), CASES)
def test_a_large_matrix_goes_by_its_sums_with_the_same_value(kind, given, contrast, monkeypatch):
    """Leading dimensions and the second derivative included."""
    monkeypatch.setattr(tuples, "LEAN", 2)
    loss, own, definition = made(kind, given, contrast=contrast)
    own = own[1:]  # a matrix is taken as it is
    scores = torch.randn(
        3, 7, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    ).requires_grad_()
    compared(loss(scores).sum(), definition(scores).sum(), [scores, *own])
    flat = scores[0].detach().requires_grad_()
    slopes = [
        torch.autograd.grad(f(flat), flat, create_graph=True)[0].square().sum()
        for f in (loss, definition)
    ]
    found, wanted = (torch.autograd.grad(s, flat)[0] for s in slopes)
    torch.testing.assert_close(found, wanted, **CLOSE)
    torch.testing.assert_close(torch.func.vmap(loss)(scores), loss(scores))
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(flat), loss(flat))
    torch.compiler.reset()


@pytest.mark.parametrize("way", ["matrix", "blocks"])
@pytest.mark.parametrize("gap", [-100, -65, -20, -1, 0, 1, 20, 65, 100])
@pytest.mark.parametrize(("kind", "given"), CASES[:-1])
def test_no_gap_between_positives_and_negatives_spoils_single_precision(
    kind, given, gap, way, monkeypatch
):
    """Against the definition in double precision at the same single-precision embeddings; the row
    is dominated by its positive, by others, or by the last negative, which is masked too."""
    monkeypatch.setattr(tuples, "LEAN", 2)
    b, (x, y) = 12, drawn(12, 12, 12, torch.float32)
    with torch.no_grad():
        side = math.sqrt(abs(gap))
        x.mul_(0.1).add_(side * torch.eye(b))
        y.mul_(0.1).add_(math.copysign(side, gap) * torch.eye(b))
    for contrast, shift in (("y", 0), ("x", 0), ("y", 1), ("y", 2)):
        loss, own, definition = made(kind, given, contrast=contrast, block=5)
        tau, other = own[0], y.roll(-shift, 0)
        exact = [side.detach().double().requires_grad_() for side in (x, other)]
        expected = definition(exact[0] @ exact[1].T / tau.detach())
        single = tau.detach().float()
        loss.temperature = single
        found = loss(x, other) if way == "blocks" else loss(x @ other.T / single)
        assert found.dtype == torch.float32
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
        wanted = torch.autograd.grad(expected, exact)
        for got, want in zip(torch.autograd.grad(found, [x, other]), wanted, strict=True):
            torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=2e-5)


def test_large_products_are_computed_in_blocks_unless_told_otherwise(monkeypatch):
    seen = []
    true = row_sums.of_products
    monkeypatch.setattr(row_sums, "of_products", lambda *a: seen.append(a[2]) or true(*a))
    monkeypatch.setattr(tuples, "LARGE", 64)
    for loss in (InfoNCE(), InfoNCEAnchor(nu="k")):
        loss(*drawn(7, 7))
        assert seen == [], "small ones are not"
        loss(*drawn(8, 8))
        assert [seen.pop()] == [tuples.BLOCK]
    for loss in (
        InfoNCE(block=None),
        InfoNCEAnchor(nu="k", block=None),
        InfoNCEAnchor(nu=1.0, k=3),
        InfoNCEAnchor(nu=1.0, rule=PseudoSpherical(2)),
    ):
        loss(*drawn(8, 8))
    stacked = [side.expand(2, -1, -1) for side in drawn(8, 8)]
    assert InfoNCE()(*stacked).shape == (2,) and seen == []


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_half_precision_and_autocast_never_reach_the_products(dtype):
    """Nor the backward pass, where it is called inside autocast."""
    loss = InfoNCEAnchor(nu="k", block=4)
    x, y = drawn(9, 9, dtype=dtype)
    with torch.autocast("cpu", torch.bfloat16):
        value = loss(x, y)
        found = torch.autograd.grad(value, [x, y])
    single = [side.detach().float().requires_grad_() for side in (x, y)]
    expected = loss(*single)
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, expected, rtol=0, atol=0)
    wanted = [g.to(dtype) for g in torch.autograd.grad(expected, single)]
    torch.testing.assert_close(list(found), wanted, rtol=0, atol=0)


@pytest.mark.parametrize("loss", [InfoNCE(block=4), InfoNCEAnchor(nu="k", block=4)])
def test_compiled_it_is_the_same_in_one_graph(loss):
    x, y = drawn(9, 9)
    torch.compiler.reset()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for found, wanted in zip(
        torch.autograd.grad(compiled(x, y), [x, y]),
        torch.autograd.grad(loss(x, y), [x, y]),
        strict=True,
    ):
        torch.testing.assert_close(found, wanted)


def test_a_second_derivative_is_refused_with_advice():
    x, y = drawn(6, 6)
    slope = torch.autograd.grad(InfoNCE(block=2)(x, y), x, create_graph=True)[0]
    with pytest.raises(NotImplementedError, match="pass block=None"):
        slope.sum().backward()


def test_torch_agrees_that_the_operation_is_well_made():
    """Schema, fake tensors, autograd registration and tracing, by torch's own checks."""
    x, y = drawn(5, 7)
    torch.library.opcheck(row_sums._of_products, (x, y, 3))


BAD = {
    "NaN": (lambda: InfoNCE(block=2)(*spoilt(math.nan)), "sums of scores are NaN or"),
    "inf": (lambda: InfoNCEAnchor(nu=1.0, block=2)(*spoilt(math.inf)), "raise the temperature"),
    "block": (lambda: InfoNCE(block=0), "block=0 is too small"),
    "another rule": (
        lambda: InfoNCEAnchor(nu=1.0, rule=PseudoSpherical(2), block=8),
        "Log or Kliep",
    ),
    "k": (lambda: InfoNCEAnchor(nu=1.0, k=3, block=8), "and no k"),
    "a queue the wrong way": (lambda: InfoNCE(block=2)(*drawn(3, 5)), "no fewer rows"),
    "a queue both ways": (lambda: InfoNCE(contrast="both", block=2)(*drawn(5, 3)), "as many rows"),
    "widths": (lambda: InfoNCE(block=2)(torch.ones(3, 2), torch.ones(3, 4)), "equal width"),
    "one pair": (lambda: InfoNCEAnchor(nu=1.0, block=2)(*drawn(1, 1)), "at least 2"),
}


def spoilt(value):
    x, y = drawn(5, 5)
    with torch.no_grad():
        x[3, 2] = value
        y.abs_()
    return x, y


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_a_sentence(case):
    call, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        call()


MEMORY = """
import json
import torch
from mi_lib import InfoNCEAnchor
torch.set_num_threads(1)
def peak():
    with open("/proc/self/status") as file:  # that of getrusage begins at the parent's
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 2**10
def step(b):
    x, y = (torch.randn(b, 16).requires_grad_() for _ in "xy")
    InfoNCEAnchor(nu="k")(x, y).backward()
step(2048)
before = peak()
step(6144)
print(json.dumps(peak() - before))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
def test_memory_grows_with_the_batch_and_not_with_its_square():
    """6,144 pairs: one matrix takes 151 MB, and the shortest way with it twice that."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) < 60
