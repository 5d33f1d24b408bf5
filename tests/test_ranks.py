"""Two and four processes that share a batch do what one process does with all of it."""

import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from mi_lib import DV, InfoNCE, InfoNCEAnchor, PseudoSpherical, Separable, fit_critic, ranks
from mi_lib.batches import share_of

LOSSES = {
    "infonce, both": lambda: InfoNCE(contrast="both"),
    "nu = K, x": lambda: InfoNCEAnchor(nu="k"),
    "nu = K, y, in blocks": lambda: InfoNCEAnchor(nu="k", contrast="y", block=5),
    "nu and temperature learn": lambda: InfoNCEAnchor(
        nu=nn.Parameter(torch.tensor(3.0, dtype=torch.float64)),
        temperature=nn.Parameter(torch.tensor(0.7, dtype=torch.float64)),
        contrast="both",
        block=7,
    ),
    "spherical, k = 5": lambda: InfoNCEAnchor(nu=2.0, rule=PseudoSpherical(2), k=5),
}
FITS = ("arrays", "arrays in chunks", "a DataLoader", "a list of batches")
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def pairs(n, seed=1):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, dtype=torch.float64, generator=g)
    return x, x[:, :2] + torch.randn(n, 2, dtype=torch.float64, generator=g)


def encoders():
    torch.manual_seed(0)
    return [nn.Sequential(nn.Linear(d, 8), nn.Tanh(), nn.Linear(8, 4)).double() for d in (3, 2)]


def step(name):
    """The value and the averaged gradients of one batch of 24 pairs, each rank with its share."""
    f, g = encoders()
    loss, part = LOSSES[name](), share_of(24)
    x, y = (side[part] for side in pairs(24))
    value = loss.over_ranks(f(x), g(y))
    value.backward()
    gradients = [p.grad for module in (f, g, loss) for p in module.parameters()]
    ranks.average(gradients)
    return value.detach(), gradients


def fit(kind):
    """Numbers and weights after a short fit; every rank must have the same."""
    x, y = pairs(400)
    data = {
        "a DataLoader": DataLoader(TensorDataset(x, y), 40),
        "a list of batches": list(zip(x.split(40), y.split(40), strict=True)),
    }.get(kind, (x, y))
    critic = tuple(encoders())
    if ranks.rank_and_ranks()[0] == 1:
        nn.init.zeros_(critic[0][0].weight)  # all start with the first rank's weights
    chunk = 7 if "chunks" in kind else None
    fit = fit_critic(critic, data, batch=40, steps=9, every=3, held_out=160, chunk=chunk)
    weights = [p.detach() for e in critic for p in e.parameters()]
    found = [fit.mi_, *fit.interval_, fit.certified_, *(float(w.sum()) for w in weights)]
    ranks.agree(torch.device("cpu"), found, "the answers differ: {}")
    return fit.curve_, found, weights


def resumed():
    """A checkpoint is written by one rank and read by all: the curves, and the files there."""
    given = {"batch": 40, "every": 3, "held_out": 160}
    with tempfile.TemporaryDirectory() as own:
        folder = [own]
        if ranks.rank_and_ranks()[1] > 1:
            torch.distributed.broadcast_object_list(folder, 0)
        path = Path(folder[0]) / "fit.pt"
        curves = [
            fit_critic(tuple(encoders()), pairs(400), steps=n, checkpoint=path, **given).curve_
            for n in (3, 9)
        ]
        files = [p.name for p in path.parent.iterdir()]
        if ranks.rank_and_ranks()[1] > 1:
            torch.distributed.barrier()
        return curves, files


def dropout():
    """Whether each other rank drops other units; afterwards all draw the same numbers."""
    f, g = encoders()
    drawn, kept, after = [], nn.Dropout(0.5), []
    kept.register_forward_hook(lambda module, given, out: drawn.append(out.detach()))
    fit_critic(
        (nn.Sequential(f, kept), g),
        pairs(400),
        batch=40,
        steps=2,
        every=2,
        held_out=160,
        on_look=lambda step, critic: after.append(float(torch.rand(()))),
    )
    ranks.agree(torch.device("cpu"), after, "the ranks draw {}")
    noise = (drawn[0] == 0).double()
    others = ranks.gather(noise).view(-1, *noise.shape)[1:]
    return [bool((other != noise).any()) for other in others]


def error(call):
    try:
        call()
    except (ValueError, TypeError) as problem:
        return str(problem)
    return "no error"


def everything():
    """What one process or many return; errors only where there are many."""
    found = {name: step(name) for name in LOSSES} | {kind: fit(kind) for kind in FITS}
    found["resumed"] = resumed()
    rank, count = ranks.rank_and_ranks()
    if count > 1:
        some = torch.ones(4, 4)
        found["dropout"] = dropout()
        found["errors"] = {
            "unequal batches": error(lambda: InfoNCE().over_ranks(*[some[rank % 2 :]] * 2)),
            "unequal widths": error(lambda: InfoNCE().over_ranks(*[some[:, rank % 2 :]] * 2)),
            "unequal data": error(lambda: fit_critic(tuple(encoders()), pairs(400, seed=rank))),
            "indivisible": error(
                lambda: fit_critic(tuple(encoders()), pairs(400), batch=41, held_out=199)
            ),
            "a critic of scores": error(lambda: fit_critic(Separable(3, 2), pairs(400))),
            "another loss": error(lambda: DV().over_ranks(some, some)),
        }
    return found


def _one_of(rank, count, folder):
    torch.set_num_threads(1)
    meeting, soon = (folder / "meeting").as_uri(), timedelta(seconds=60)
    torch.distributed.init_process_group("gloo", meeting, soon, count, rank)
    found = everything()
    if rank == 0:
        torch.save(found, folder / "found.pt")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def processes(count, folder):
    """What the first of so many processes returns; forked, they start at once (not beside CUDA)."""
    forks = sys.platform == "linux" and not torch.cuda.is_available()
    torch.multiprocessing.start_processes(
        _one_of, (count, folder), count, start_method="fork" if forks else "spawn"
    )
    return torch.load(folder / "found.pt", weights_only=False)


@pytest.fixture(scope="module")
def alone():
    return everything()


@pytest.fixture(scope="module", params=[2, 4])
def together(request, tmp_path_factory):
    return processes(request.param, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("name", LOSSES)
def test_value_and_gradients_of_all_processes_are_those_of_one(alone, together, name):
    torch.testing.assert_close(together[name], alone[name], **CLOSE)
    assert all(float(g.abs().max()) > 1e-6 for g in alone[name][1])


@pytest.mark.parametrize("kind", FITS)
def test_a_fit_on_all_processes_is_the_fit_on_one(alone, together, kind):
    torch.testing.assert_close(together[kind], alone[kind], **CLOSE)
    assert len(alone[kind][0]) == 3


def test_one_process_writes_the_checkpoint_and_all_go_on_from_it(alone, together):
    (first, then), files = together["resumed"]
    torch.testing.assert_close(together["resumed"][0], alone["resumed"][0], **CLOSE)
    assert then[:1] == first and files == ["fit.pt"]


def test_each_process_drops_units_of_its_own(together):
    assert together["dropout"] and all(together["dropout"])


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("unequal batches", "unequal shapes: 4 x 4; 3 x 4"),
        ("unequal widths", "unequal shapes: 4 x 4; 4 x 3"),
        ("unequal data", "no DistributedSampler"),
        ("indivisible", "a batch of 41 pairs cannot be shared equally"),
        ("a critic of scores", "needs a pair of encoders"),
        ("another loss", "DV cannot be shared by processes"),
    ],
)
def test_what_cannot_be_shared_is_refused_with_a_sentence(together, case, message):
    assert message in together["errors"][case]


def test_no_process_holds_the_whole_matrix(monkeypatch):
    """Rank 1 of 2, played here: 3 rows of 6 points, its own pairs on the diagonal."""
    seen = []
    monkeypatch.setattr(ranks, "rank_and_ranks", lambda: (1, 2))
    monkeypatch.setattr(ranks, "agree", lambda *given: None)
    monkeypatch.setattr(ranks, "mean_value", lambda own: own)
    x, y = (side[:, :2].clone() for side in pairs(6))
    monkeypatch.setattr(ranks._Gather, "apply", lambda part: x if part is mine[0] else y)
    mine = [side[3:].contiguous() for side in (x, y)]
    loss = InfoNCE(contrast="both")
    monkeypatch.setattr(loss, "of_classes", lambda rows: seen.append(rows) or rows.sum())
    loss.over_ranks(*mine)
    assert [tuple(rows.shape) for rows in seen] == [(3, 6), (3, 6)]
    torch.testing.assert_close(seen[0].diagonal(), (x * y).sum(1)[3:])
    torch.testing.assert_close(seen[1].diagonal(), (x * y).sum(1)[3:])
