"""`fit_critic` on batches and data that would not fit into memory."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from mi_lib import InfoNCEAnchor, critic_fit, fit_critic

ROOT = Path(__file__).resolve().parents[1]
GIVEN = {"steps": 40, "rate": 1e-2, "batch": 32, "every": 20, "held_out": 192, "patience": None}


def pairs(n=400):
    g = torch.Generator().manual_seed(1)
    x = torch.randn(n, 2, dtype=torch.float64, generator=g)
    return x, x + torch.randn(n, 2, dtype=torch.float64, generator=g)


def encoders():
    torch.manual_seed(0)
    return nn.Linear(2, 4).double(), nn.Linear(2, 4).double()


def test_a_large_batch_is_evaluated_in_parts(monkeypatch):
    """Its loss, and so the bound, is of the whole; the ratio is looked at in parts of 16 pairs."""
    sizes, true = [], critic_fit.scores_of
    spy = lambda critic, batch: sizes.append(len(batch[0])) or true(critic, batch)  # noqa: E731
    monkeypatch.setattr(critic_fit, "scores_of", spy)
    whole = fit_critic(encoders(), pairs(), **GIVEN)
    assert set(sizes) == {32}
    sizes.clear()
    monkeypatch.setattr(critic_fit, "WHOLE", 16)
    parts = fit_critic(encoders(), pairs(), **GIVEN)
    x, y = pairs(40)
    assert np.allclose(parts.pmi(x, y), whole.pmi(x, y), rtol=1e-12)
    assert set(sizes) == {16, 8}  # of 40 new pairs too
    assert parts.curve_ == whole.curve_ and parts.bound_ == whole.bound_
    assert parts.certified_ == whole.certified_ and parts.held_out_ == whole.held_out_ == 192
    assert parts.plug_in_ == pytest.approx(whole.plug_in_, rel=1e-12)
    assert whole.interval_[0] < whole.mi_ < whole.interval_[1]
    assert parts.interval_ == pytest.approx(whole.interval_, rel=1e-9)
    assert parts.scale_ != whole.scale_ and parts.scale_ == pytest.approx(whole.scale_, abs=0.2)
    assert len(parts.diagnostics_) == len(whole.diagnostics_) > 0


def test_with_a_chunk_the_encoders_never_see_more_at_once():
    seen = []

    class Spy(nn.Linear):
        def forward(self, batch):
            seen.append(len(batch))
            return super().forward(batch)

    torch.manual_seed(0)
    spied = fit_critic((Spy(2, 4), Spy(2, 4)), pairs(), chunk=5, **GIVEN)
    torch.manual_seed(0)
    plain = fit_critic((nn.Linear(2, 4), nn.Linear(2, 4)), pairs(), **GIVEN)
    assert max(seen) == 5
    assert spied.mi_ == pytest.approx(plain.mi_, rel=1e-5)


def test_with_two_encoders_the_loss_never_sees_a_matrix(monkeypatch):
    monkeypatch.setattr(critic_fit, "WHOLE", 16)
    loss = InfoNCEAnchor(nu="k", temperature=0.5)
    whole = fit_critic(encoders(), pairs(), loss=loss, **GIVEN)
    loss = InfoNCEAnchor(nu="k", temperature=0.5, block=10)
    monkeypatch.setattr(InfoNCEAnchor, "objective", None)
    blocks = fit_critic(encoders(), pairs(), loss=loss, **GIVEN)
    assert blocks.curve_ == pytest.approx(np.array(whole.curve_), rel=1e-11)
    assert blocks.mi_ == pytest.approx(whole.mi_, rel=1e-9)


STREAM = """
import json
import torch
from torch import nn
from mi_lib import fit_critic
torch.set_num_threads(1)
def peak():
    with open("/proc/self/status") as file:  # that of getrusage begins at the parent's
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 2**10
def stream(batches):
    g = torch.Generator().manual_seed(0)
    for _ in range(batches):
        x = torch.randn(500, 1000, generator=g)
        yield x, x + torch.randn(500, 1000, generator=g)
def fit(batches):
    f, g = nn.Linear(1000, 4), nn.Linear(1000, 4)
    return fit_critic((f, g), stream(batches), steps=batches - 8, every=400, held_out=4000)
fit(12)
before = peak()
steps = fit(58).steps_
print(json.dumps([steps, peak() - before]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
def test_streamed_pairs_are_forgotten():
    """29,000 pairs of 1,000 columns a side, 232 MB, go through a generator."""
    done = subprocess.run([sys.executable, "-c", STREAM], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    steps, grown = json.loads(done.stdout)
    assert steps == 50 and grown < 40
