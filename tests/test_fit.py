"""`fit_critic`: any data, any critic, an honest answer; killed and resumed it ends the same."""

import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from mi_lib import DV, JS, InfoNCE, InfoNCEAnchor, Joint, Separable, certified_kl, fit_critic
from mi_lib import training as loop
from mi_lib.batches import as_batch, pairs_of
from mi_lib.critic_fit import CriticFit, TwoEncoders

ROOT = Path(__file__).resolve().parents[1]
RHO = 0.9
TRUTH = -0.5 * math.log2(1 - RHO**2)  # 1.2 bits
FAST = {"steps": 60, "batch": 32, "every": 20}


def gaussian(n, seed=0):
    g = torch.Generator().manual_seed(seed)
    x, noise = torch.randn(n, 1, generator=g), torch.randn(n, 1, generator=g)
    return x, RHO * x + math.sqrt(1 - RHO**2) * noise


def small(seed=0):
    return Separable(1, 1, seeds=(seed,), hidden=32, embedding=4)


class Pairs(Dataset):
    """Pairs with some noise of their own, as augmentations are."""

    def __init__(self, n=400, noise=0.0):
        self.x, self.y = gaussian(n)
        self.noise = noise

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i] + self.noise * torch.randn(1), self.y[i]


class Stream(IterableDataset):
    def __iter__(self):
        x, y = gaussian(4096)
        return iter(list(zip(x, y, strict=True)))


def batches(count=40, size=32):
    x, y = gaussian(count * size)
    return list(zip(x.split(size), y.split(size), strict=True))


DATA = {
    "tensors": lambda: gaussian(800),
    "arrays": lambda: tuple(side.double().numpy() for side in gaussian(800)),
    "one-dimensional arrays": lambda: tuple(side[:, 0].numpy() for side in gaussian(800)),
    "a Dataset": lambda: Pairs(),
    "a DataLoader": lambda: DataLoader(Pairs(), 32),
    "a TensorDataset": lambda: TensorDataset(*gaussian(800)),
    "a list of batches": lambda: batches(),
    "a generator": lambda: iter(batches(100)),
    "a streamed data set": lambda: Stream(),
}


@pytest.mark.parametrize("kind", DATA)
def test_every_kind_of_data_is_trained_on(kind):
    held_out = 256 if kind in ("a list of batches", "a generator", "a streamed data set") else 0.4
    fit = fit_critic(small(), DATA[kind](), held_out=held_out, **FAST)
    assert fit.steps_ == 60 and math.isfinite(fit.mi_)
    assert fit.curve_[0][1] > fit.curve_[-1][1], "the held-out loss falls"
    assert fit.pairs_ == 32 and fit.held_out_ % 32 == 0


@pytest.fixture(scope="module")
def good():
    """A fit that has learnt its task."""
    return fit_critic(small(), gaussian(6000), steps=1200, batch=64, every=100)


def test_a_trained_critic_finds_the_information(good):
    assert good.mi_ == pytest.approx(TRUTH, abs=0.25)
    assert good.interval_[0] < good.mi_ < good.interval_[1]
    assert abs(good.scale_) < 0.2
    assert good.dv_ == pytest.approx(good.plug_in_ - good.scale_)
    assert 0.5 * TRUTH < good.certified_ < TRUTH + 0.1
    assert good.certified_ < certified_kl(good.bound_, 63, 63), "at its lower limit"
    assert good.bound_ < good.certified_ + 0.2, (
        "a value certifies about as much as it says, or more"
    )
    assert all(check.ok for check in good.diagnostics_)


def test_pmi_of_new_pairs_is_the_log_ratio(good):
    x, y = gaussian(1000, seed=7)
    excess = (x**2 - 2 * RHO * x * y + y**2) / (1 - RHO**2) - x**2 - y**2
    true = TRUTH - excess[:, 0] / (2 * math.log(2))
    found = good.pmi(x, y)
    assert found.shape == (1000,)
    assert np.corrcoef(found, true.numpy())[0, 1] > 0.9
    assert good.pmi(x[:1].numpy(), y[:1].numpy())[0] == pytest.approx(found[0], abs=1e-5)
    assert good.pmi(x[:0], y[:0]).shape == (0,)


def test_the_report_says_what_was_done(good):
    text = str(good.report())
    assert "InfoNCEAnchor(nu='k'" in text and "held-out pairs" in text and "certified" in text
    assert f"{good.mi_:.4f}" in text and str(good.steps_) in text
    assert "K = 63, nu = 63" in text
    words = {type(loss): loss.setting(64) for loss in (InfoNCE(), JS(), DV())}
    assert words == {InfoNCE: "K = 64", JS: "K = nu = 1", DV: "batches of 64"}


def test_a_critic_that_says_nothing_is_seen_through():
    """A check that a constant critic would pass is none."""

    class Constant(nn.Module):
        def __init__(self, value=0.0):
            super().__init__()
            self.value, self.unused = value, nn.Parameter(torch.zeros(()))

        def forward(self, x, y):
            return torch.full((len(x), len(y)), self.value) + 0 * self.unused

    fit = fit_critic(Constant(), gaussian(800), **FAST)
    assert fit.mi_ == 0 and abs(fit.dv_) < 1e-12 and fit.certified_ < 1e-6
    low = fit_critic(Constant(-1.0), gaussian(800), **FAST)
    assert low.plug_in_ == pytest.approx(-1 / math.log(2))
    assert low.mi_ == 0 and low.interval_ == (0, 0), "information is not negative"


def test_units_scale_every_number():
    fits = [fit_critic(small(), gaussian(800), unit=u, **FAST) for u in ("bits", "nats")]
    for name in ("mi_", "plug_in_", "dv_", "scale_", "bound_", "certified_"):
        bits, nats = (getattr(fit, name) for fit in fits)
        assert nats == pytest.approx(bits * math.log(2), abs=1e-12)


def test_the_same_seed_gives_the_same_answer_and_another_another():
    one, again, other = (
        fit_critic(small(), gaussian(800), seed=seed, **FAST).plug_in_ for seed in (3, 3, 4)
    )
    assert one == again != other


def test_the_callers_state_is_left_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            fit_critic(small(), gaussian(800), **FAST)
            assert not torch.is_grad_enabled()
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(torch.rand(3), expected)


def test_it_works_inside_inference_mode():
    critic = small()
    with torch.inference_mode():
        assert fit_critic(critic, gaussian(800), **FAST).steps_ == 60


def test_held_out_pairs_are_never_trained_on():
    x, y = torch.arange(100.0)[:, None], torch.arange(100.0)[:, None]
    pairs = pairs_of((x, y), 8, 0.3, seed=1)
    apart = {v for bx, _ in pairs.held_out for v in bx[:, 0].tolist()}
    seen = {v for e in range(5) for bx, _ in pairs.epoch(e) for v in bx[:, 0].tolist()}
    assert not apart & seen and len(apart) == 24 and len(seen) == 70
    pairs = pairs_of(DataLoader(TensorDataset(x, y), 8), 8, 0.3, seed=1)
    apart = {v for bx, _ in pairs.held_out for v in bx[:, 0].tolist()}
    seen = {v for e in range(5) for bx, _ in pairs.epoch(e) for v in bx[:, 0].tolist()}
    assert not apart & seen and len(apart) == 24
    listed = list(zip(x.split(10), y.split(10), strict=True))
    pairs = pairs_of(listed, 8, 30, seed=1)
    assert [float(bx[0, 0]) for bx, _ in pairs.held_out] == [0, 10, 20]
    assert [float(bx[0, 0]) for bx, _ in pairs.epoch(0)] == [30, 40, 50, 60, 70, 80, 90]


def test_stopping_and_estimating_use_different_batches():
    """The looks may not see what the answer is computed from."""
    seen = []

    class Spy(Separable):
        def forward(self, x, y):
            if not self.training:
                seen.append(x[:, 0].tolist())
            return super().forward(x, y)

    fit = fit_critic(Spy(1, 1, hidden=8), gaussian(800), **FAST)
    final = len(seen) - fit.held_out_ // fit.pairs_  # what comes last is the answer
    judged, answered = ({v for part in p for v in part} for p in (seen[:final], seen[final:]))
    assert judged and answered and not judged & answered


def test_patience_keeps_the_best_weights_and_says_why_it_ended():
    """On 60 pairs a large critic overfits: the kept loss is the lowest of the curve."""
    critic = Separable(1, 1, hidden=256)
    pairs, apart = gaussian(60), gaussian(400, seed=1)
    fit = fit_critic(
        critic, pairs, held_out=apart, batch=20, steps=3000, every=25, patience=4, rate=3e-3
    )
    assert fit.steps_ < 3000 and fit.stopped_.startswith("patience")
    steps, losses = zip(*fit.curve_, strict=True)
    assert len(losses) - 1 - losses.index(min(losses)) == 4, "four looks, and no more"
    judged = pairs_of(pairs, 20, apart, 0).held_out[::2]
    with torch.no_grad():
        kept = np.mean([float(fit.loss(critic(*batch))) for batch in judged])
    assert kept == pytest.approx(min(losses), abs=1e-5)


def test_without_patience_all_steps_are_done_and_the_last_weights_kept():
    critic, last = small(), []
    fit = fit_critic(
        critic,
        gaussian(800),
        patience=None,
        average=None,
        on_look=lambda step, c: last.append((step, [p.clone() for p in c.parameters()])),
        **FAST,
    )
    assert [step for step, _ in last] == [20, 40, 60] and fit.stopped_.startswith("steps")
    for parameter, value in zip(critic.parameters(), last[-1][1], strict=True):
        assert torch.equal(parameter, value)


def test_weights_are_averaged():
    critics = small(), small()
    for critic, average in zip(critics, (None, 0.99), strict=True):
        fit_critic(critic, gaussian(800), average=average, patience=None, **FAST)
    assert any(
        not torch.equal(a, b) for a, b in zip(*(c.parameters() for c in critics), strict=True)
    )


def test_gradients_are_clipped(monkeypatch):
    norms = []
    true = nn.utils.clip_grad_norm_

    def spy(weights, most):
        norms.append(float(true(weights, most)))
        after = math.sqrt(sum(float(w.grad.square().sum()) for w in weights))
        assert after <= most * 1.001

    monkeypatch.setattr(loop.nn.utils, "clip_grad_norm_", spy)
    fit_critic(small(), gaussian(800), clip=1e-3, **FAST)
    assert len(norms) == 60 and max(norms) > 1e-3


def test_mixed_precision_reaches_about_the_same(good):
    fit = fit_critic(small(), gaussian(6000), steps=600, batch=64, precision="bfloat16", every=100)
    assert fit.mi_ == pytest.approx(TRUTH, abs=0.35)


def test_two_encoders_of_any_input():
    class Image(Dataset):
        def __len__(self):
            return 320

        def __getitem__(self, i):
            g = torch.Generator().manual_seed(i)
            label = int(torch.randint(4, (), generator=g))
            picture = torch.randn(1, 8, 8, generator=g)
            picture[0, label] += 3
            return {"picture": picture}, torch.nn.functional.one_hot(torch.tensor(label), 4).float()

    class Pictures(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64), nn.Linear(64, 8))

        def forward(self, batch):
            return self.net(batch["picture"])

    torch.manual_seed(0)
    encoders = Pictures(), nn.Linear(4, 8)
    fit = fit_critic(
        encoders,
        DataLoader(Image(), 16),
        loss=InfoNCEAnchor(nu="k", temperature=0.5),
        steps=200,
        held_out=0.4,
        rate=1e-2,
    )
    assert 0.8 < fit.mi_ < 2.5
    assert fit.pmi({"picture": torch.zeros(3, 1, 8, 8)}, torch.eye(4)[:3]).shape == (3,)


def test_the_scores_of_encoders_are_products_over_the_temperature():
    f, g = nn.Linear(2, 3), nn.Linear(4, 3)
    x, y = torch.randn(5, 2), torch.randn(5, 4)
    torch.testing.assert_close(TwoEncoders(f, g, 0.5)(x, y), 2 * f(x) @ g(y).T)


@pytest.mark.parametrize("loss", [InfoNCE(), DV(), JS()], ids=lambda loss: type(loss).__name__)
def test_what_is_reported_is_the_losss_own_choice(loss):
    fit = fit_critic(Joint(1, 1, hidden=16), gaussian(800), loss=loss, **FAST)
    wanted = {"InfoNCE": fit.bound_, "DV": fit.dv_, "JS": fit.plug_in_}[type(loss).__name__]
    assert fit.mi_ == pytest.approx(max(0, wanted))
    assert bool(fit.diagnostics_) == isinstance(loss, JS)


# Saving, loading, going on


def test_saved_and_loaded_it_says_the_same(good, tmp_path):
    path = good.save(tmp_path / "fit")
    other = CriticFit.load(path, small(seed=9), InfoNCEAnchor(nu="k"))
    x, y = gaussian(50, seed=3)
    assert np.array_equal(other.pmi(x, y), good.pmi(x, y))
    assert str(other.report()) == str(good.report())
    with pytest.raises(ValueError, match="another shape"):
        CriticFit.load(path, Separable(1, 1, hidden=8), InfoNCEAnchor(nu="k"))
    with pytest.raises(ValueError, match="was trained with"):
        CriticFit.load(path, small(), InfoNCEAnchor(nu=1.0))
    with pytest.raises(ValueError, match="does not exist"):
        CriticFit.load(tmp_path / "nothing.npz", small(), InfoNCEAnchor(nu="k"))
    with pytest.raises(ValueError, match="make it first"):
        good.save(tmp_path / "no" / "fit")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(ValueError, match="damaged"):
        CriticFit.load(path, small(), InfoNCEAnchor(nu="k"))


SCRIPT = """
import os, signal, sys
import torch
from torch import nn
from torch.utils.data import DataLoader
import mi_lib.fit
sys.path.insert(0, sys.argv[1])
from test_fit import Pairs, small
from mi_lib import fit_critic
mi_lib.fit.SAVED_EVERY = 0.0
kind, path, stop = sys.argv[2], sys.argv[3], int(sys.argv[4])
torch.set_num_threads(1)
def look(step, critic):
    if step == stop:
        os.kill(os.getpid(), signal.SIGKILL)
def encoder():
    return nn.Sequential(nn.Linear(1, 16), nn.Dropout(0.3), nn.Linear(16, 4))
critic = nn.ModuleList([encoder(), encoder()])
torch.manual_seed(1)
for p in critic.parameters():
    nn.init.normal_(p, std=0.3)
data = DataLoader(Pairs(noise=0.1), 32) if kind == "loader" else (Pairs().x, Pairs().y)
fit = fit_critic(tuple(critic), data, steps=90, every=10, batch=32, held_out=0.4, checkpoint=path,
                 on_look=look)
print(repr(fit.plug_in_), repr(fit.curve_), [float(p.sum()) for p in critic.parameters()])
"""


def test_interrupted_and_resumed_it_ends_the_same(tmp_path, monkeypatch):
    """In one process, with dropout, noise in the data, and a running mean of the weights."""
    monkeypatch.setattr(sys.modules["mi_lib.fit"], "SAVED_EVERY", 0.0)

    def run(path, stop=None):
        def look(step, critic):
            if step == stop:
                raise KeyboardInterrupt

        torch.manual_seed(0)
        sides = [nn.Sequential(nn.Linear(1, 8), nn.Dropout(0.3), nn.Linear(8, 4)) for _ in "xy"]
        data, given = DataLoader(Pairs(noise=0.1), 32), {"steps": 60, "every": 10, "held_out": 0.4}
        fit = fit_critic(tuple(sides), data, checkpoint=path, on_look=look, **given)
        return fit.plug_in_, fit.curve_

    for stop in (20, 50):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "part", stop)
    assert run(tmp_path / "part") == run(tmp_path / "whole")


def test_looks_do_not_disturb_the_training():
    given = {"steps": 60, "batch": 32, "patience": None, "average": 0.9}
    one, two = (fit_critic(small(), gaussian(800), every=e, **given) for e in (10, 60))
    assert one.plug_in_ == two.plug_in_


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("kind", ["loader", "arrays"])
def test_killed_and_resumed_it_ends_bit_for_bit_the_same(kind, tmp_path):
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))

    def run(path, stop):
        command = [sys.executable, tmp_path / "script.py", ROOT / "tests", kind, path, str(stop)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    whole = run(tmp_path / "whole.pt", -1)
    assert whole.returncode == 0, whole.stderr
    for stop in (20, 70):
        killed = run(tmp_path / "part.pt", stop)
        assert killed.returncode == -9
    resumed = run(tmp_path / "part.pt", -1)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout == whole.stdout
    again = run(tmp_path / "part.pt", -1)
    assert again.stdout == whole.stdout, "a finished checkpoint gives the answer at once"


def test_a_checkpoint_of_another_run_or_a_damaged_one_is_refused(tmp_path):
    path = tmp_path / "a" / "fit.pt"
    fit_critic(small(), gaussian(800), checkpoint=path, **FAST)
    with pytest.raises(ValueError, match=r"another run.*rate.*delete it to start anew"):
        fit_critic(small(), gaussian(800), checkpoint=path, rate=0.5, **FAST)
    whole = path.read_bytes()
    for cut in (0, 10, 200, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match="damaged"):
            fit_critic(small(), gaussian(800), checkpoint=path, **FAST)
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    path.write_bytes(bytes(flipped))
    with pytest.raises(ValueError, match="damaged"):
        fit_critic(small(), gaussian(800), checkpoint=path, **FAST)


class Wrong(Separable):
    def forward(self, x, y):
        return super().forward(x, y).diagonal()


BAD = {
    "an empty loader": (lambda: (small(), []), "the data ended after 0 pairs"),
    "an empty list, held-out apart": (lambda: (small(), [], gaussian(200)), "gave no batch"),
    "triples": (lambda: (small(), [(1, 2, 3)]), "a batch of 3 parts"),
    "single tensors": (lambda: (small(), [torch.zeros(3, 1)]), "must be a pair"),
    "sides of unequal length": (
        lambda: (small(), [(torch.zeros(4, 1), torch.zeros(3, 1))]),
        "4 x's and 3 y's",
    ),
    "sides that are numbers": (lambda: (small(), [(1.0, 2.0)]), "is a float"),
    "arrays of unequal length": (
        lambda: (small(), (np.zeros((9, 1)), np.zeros((8, 1)))),
        "9 rows and y 8",
    ),
    "NaN": (lambda: (small(), (np.full((99, 1), np.nan), np.zeros((99, 1)))), "x contains NaN"),
    "strings": (lambda: (small(), (["a"] * 99, ["b"] * 99)), "cannot be read as numbers"),
    "a string": (lambda: (small(), "pairs"), "data is a str"),
    "too few pairs": (lambda: (small(), gaussian(3)), "held-out|at least 4"),
    "pairs one by one": (
        lambda: (
            small(),
            [(x[None], y[None]) for x, y in zip(*gaussian(9), strict=True)],
            gaussian(200),
        ),
        "no batch of two pairs",
    ),
    "a stream that ends": (lambda: (small(), iter(batches(12)), 256), "gave no batch"),
    "a critic of another shape": (
        lambda: (Wrong(1, 1, hidden=4), gaussian(800)),
        "must return scores",
    ),
    "encoders of unequal width": (
        lambda: ((nn.Linear(1, 4), nn.Linear(1, 5)), gaussian(800)),
        "same width",
    ),
    "no critic": (lambda: (lambda x, y: x @ y.T, gaussian(800)), "pass a module"),
    "nothing to train": (lambda: (nn.Identity(), gaussian(800)), "nothing trains"),
    "all held out": (lambda: (small(), gaussian(800), 800), "cannot be set aside"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_and_critics_get_a_sentence(case):
    critic, data, *rest = BAD[case][0]()
    with pytest.raises(ValueError, match=BAD[case][1]):
        fit_critic(critic, data, **({"held_out": rest[0]} if rest else {}), **FAST)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss": "anchor"}, "pass InfoNCEAnchor"),
        ({"steps": 0}, "steps=0 is too small"),
        ({"rate": 0.0}, "rate=0.0 must be > 0"),
        ({"clip": -1.0}, "clip=-1.0 must be > 0"),
        ({"average": 1.0}, "outside"),
        ({"precision": "int8"}, "choose one of bfloat16"),
        ({"batch": 1}, "batch=1 is too small"),
        ({"batch": 100}, "too few to stop by"),
        ({"unit": "bans"}, 'use "bits" or "nats"'),
        ({"patience": 0}, "patience=0 is too small"),
    ],
)
def test_bad_settings_get_a_sentence(given, message):
    with pytest.raises(ValueError, match=message):
        fit_critic(small(), gaussian(800), **{**FAST, **given})


def test_a_closed_checkpoint_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot be written"):
        fit_critic(small(), gaussian(800), checkpoint=tmp_path / "file" / "x.pt", **FAST)
    with pytest.raises(ValueError, match="is a folder"):
        fit_critic(small(), gaussian(800), checkpoint=tmp_path, **FAST)


def test_scores_that_blow_up_are_told_apart_from_an_answer():
    with pytest.raises(ValueError, match="NaN or \\+inf"):
        fit_critic(small(), gaussian(800), rate=1e30, **FAST)


def test_a_batch_may_be_arrays_or_mappings():
    x, y = as_batch([{"a": np.zeros((3, 2))}, np.ones(3)])
    assert torch.equal(x["a"], torch.zeros(3, 2, dtype=torch.float64)) and len(y) == 3
