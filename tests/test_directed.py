"""Direction y is direction x of the transposed scores, in losses, readings and stored pieces."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from companion.data import Gaussian
from companion.directed import DirectedRun, mean_of
from companion.evaluation import COLUMNS, estimates, held_out
from companion.experiments import BEFORE, SWEEPS, contrast_of, staircase, staircase_grid
from companion.experiments.staircase_tables import ratio_errors
from companion.provenance import text_hash
from companion.results import Stored, results_folder
from companion.sweep import Piece, read, write
from companion.training import Run, Settings, loss_of
from mi_lib import objectives

TASK = Gaussian(3, "cubic")
TRAININGS = ("infonce", "anchor", "anchor:nu=k", "anchor:k=3,nu=2", "js", "mine")
SMALL = Settings(
    trainings=TRAININGS,
    levels=(1.0, 2.0),
    steps=20,
    batch=8,
    rate=1e-3,
    critic_settings={"hidden": 16, "embedding": 4},
    block=10,
    every=5,
    held_out=16,
    large=12,
    large_repeats=2,
)
INFONCE = COLUMNS.index("infonce")


def finished(contrast=None, kind=DirectedRun, settings=SMALL, seeds=(0, 1)):
    options = {} if contrast is None else {"contrast": contrast}
    run = kind(TASK, seeds, settings, "cpu", torch.float64, **options)
    for _ in run.iterate():
        pass
    return run


def some_scores():
    return torch.randn(3, 8, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("training", ["infonce", "anchor", "anchor:nu=k", "anchor:k=3,nu=2"])
def test_the_loss_in_direction_y_is_that_in_direction_x_of_the_transposed_scores(training):
    """The engine knows direction x alone; the library says what the other one is."""
    scores, loss = some_scores(), loss_of(training)
    name, _, options = training.partition(":")
    options = dict(option.split("=") for option in options.split(",") if option)
    if "k" in options:
        options["k"] = int(options["k"])
    if options.get("nu", "k") != "k":
        options["nu"] = float(options["nu"])
    for contrast in objectives.CONTRASTS:
        known = getattr(objectives, name)(scores, **options, contrast=contrast)
        assert torch.allclose(mean_of(loss, scores, contrast), known, rtol=1e-12, atol=0)
    one, other = (mean_of(loss, s, "y") for s in (scores, scores.mT))
    assert torch.equal(other, loss(scores)) and not torch.allclose(one, other)


def test_the_gradient_turns_with_the_loss():
    scores = some_scores().requires_grad_()
    (turned,) = torch.autograd.grad(mean_of(loss_of("anchor"), scores, "y").sum(), scores)
    (known,) = torch.autograd.grad(objectives.anchor(scores, contrast="y").sum(), scores)
    assert torch.allclose(turned, known, rtol=1e-12)


def test_direction_x_is_the_run_of_the_stored_tables():
    plain, directed = finished(kind=Run), finished("x")
    assert directed.first_losses == plain.first_losses
    np.testing.assert_array_equal(directed.curves, plain.curves)
    np.testing.assert_array_equal(directed.fresh, plain.fresh)


@pytest.mark.parametrize("contrast", ["y", "both"])
def test_every_reading_has_the_direction_of_the_training(contrast):
    """All but InfoNCE's are blind to it; on training batches and on fresh ones."""
    settings = Settings(**vars(SMALL) | {"steps": 1, "block": 1, "every": 1, "levels": (2.0,)})
    run = DirectedRun(TASK, (0, 1), settings, "cpu", torch.float64, contrast=contrast)
    scores = run.critic(*Run(TASK, (0, 1), settings, "cpu", torch.float64).draw()).detach()
    run.advance()
    turned = mean_of(estimates, scores, contrast)
    np.testing.assert_allclose(run.curves[0], turned, rtol=1e-12, atol=1e-14)
    apart = (turned - estimates(scores)).abs().amax((0, 1))
    assert apart[INFONCE] > 1e-4 and apart.sum() - apart[INFONCE] < 1e-12
    plain, other = (
        held_out(critic, TASK, 2.0, 8, 2).mean(0) for critic in (run.critic, transposed(run.critic))
    )
    expected = other if contrast == "y" else (plain + other) / 2
    np.testing.assert_allclose(run.fresh[0][0], expected, rtol=1e-12, atol=1e-14)
    assert not np.allclose(plain[..., INFONCE], expected[..., INFONCE])


def transposed(critic):
    """By the shape of what it returns, not by the class that is tested."""

    class Other(torch.nn.Module):
        seeds = critic.seeds

        def __init__(self):
            super().__init__()
            self.inner = critic

        def forward(self, x, y):
            return torch.einsum("...ij->...ji", self.inner(x, y))

    return Other()


def test_directions_share_start_and_batches_and_learn_different_critics():
    runs = {contrast: finished(contrast) for contrast in objectives.CONTRASTS}
    first = {contrast: np.array(run.first_losses)[0] for contrast, run in runs.items()}
    np.testing.assert_allclose((first["x"] + first["y"]) / 2, first["both"], rtol=1e-12)
    blind = [TRAININGS.index(name) for name in ("js", "mine")]
    np.testing.assert_allclose(first["x"][blind], first["y"][blind], rtol=1e-12)
    for one, other in (("x", "y"), ("x", "both"), ("y", "both")):
        assert not np.allclose(runs[one].curves[-1][0], runs[other].curves[-1][0], atol=1e-3)


def test_a_run_that_was_cut_goes_on_in_its_direction(tmp_path):
    whole = finished("y")
    for stop in (7, 23):
        first, second = (
            DirectedRun(TASK, (0, 1), SMALL, "cpu", torch.float64, contrast="y") for _ in range(2)
        )
        while first.step < stop:
            first.advance()
        first.save(tmp_path / "state.pt")
        second.load(tmp_path / "state.pt")
        for _ in second.iterate():
            pass
        for name in ("curves", "fresh", "errors", "first_losses"):
            np.testing.assert_array_equal(getattr(second, name), getattr(whole, name))


def test_the_error_of_log_r_is_zero_for_the_true_ratio():
    run = DirectedRun(TASK, (0, 1), SMALL, "cpu", torch.float64, contrast="y")
    off = torch.tensor([0.0, 2.0]).view(2, 1, 1, 1)  # of two members

    class Exact(torch.nn.Module):
        def forward(self, x, y):
            z = y.sign() * y.abs() ** (1 / 3)
            scores = [TASK.log_ratio(a, b, 2.0) for a, b in zip(x, z, strict=True)]
            return torch.stack(scores)[None] + off * np.log(2)

    run.critic = Exact()
    mean, sd = np.moveaxis(run._error(2.0), -1, 0)
    np.testing.assert_allclose(mean, [[0.0] * 2, [2.0] * 2], atol=1e-5)
    np.testing.assert_allclose(sd, 0, atol=1e-5)


def test_a_piece_says_its_direction_in_key_and_configuration(tmp_path):
    for piece in staircase_grid.pieces("directions", "paper"):
        contrast = piece.config["contrast"]
        assert piece.key.split("-seed")[0].endswith(f"-{contrast}")
        assert contrast_of("directions", piece.config) == contrast
        run = staircase.make_run(piece.config, "cpu") if piece.config["seeds"] == [0] else None
        assert run is None or (run.contrast, type(run)) == (contrast, DirectedRun)


def test_a_small_sweep_says_its_direction_and_stores_the_error_of_log_r(tmp_path):
    table = staircase_grid.Table("tiny", "gaussian", SMALL, 2, {"dim": 3, "transform": "cubic"})
    table = replace(table, contrast="both")
    todo = tuple(table.pieces("directions"))
    for piece in todo:
        assert piece.config["contrast"] == "both"
        write(piece.path(tmp_path), about(piece), staircase.run(piece.config, "cpu"))
    partial = Stored((*todo, Piece("directions", "more", {"seeds": [9]})), tmp_path, ())
    assert "PARTIAL; 2 of 3 pieces" in partial.status() and "contrast both; " in partial.status()
    frame = ratio_errors(partial)
    assert len(frame) == len(TRAININGS) * 2 * len(SMALL.levels)
    run = staircase.make_run(todo[1].config, "cpu")
    for _ in run.iterate():
        pass
    one = frame[(frame["training"] == "anchor") & (frame["seed"] == 1)]
    expected = np.array(run.errors)[:, TRAININGS.index("anchor"), 0]
    np.testing.assert_allclose(one[["mean", "sd"]], expected, atol=1e-3)
    assert one["truth"].tolist() == [1.0, 2.0]
    assert ratio_errors(Stored(todo, tmp_path / "none", ())).empty


def about(piece):
    versions = {"torch": "", "numpy": ""}
    code = {"code_hash": "", "commit": "", "device": "cpu", "cpu_seconds": 1.0}
    return {"config": piece.config, "versions": versions, **code}


def test_a_directed_table_differs_from_the_stored_one_in_its_direction_alone():
    old = {
        t.name: t for s in ("gaussian", "gaussian-more") for t in staircase_grid.GRID[s]["paper"]
    }
    for table in staircase_grid.GRID["directions"]["paper"]:
        before = old[table.name.removesuffix(f"-{table.contrast}")]
        assert table.options == before.options
        assert table.seeds == (5 if table.contrast == "x" else before.seeds)
        one, other = vars(table.settings) | {"trainings": ()}, vars(before.settings)
        assert one == other | {"trainings": ()}


def test_an_old_configuration_reads_as_what_its_code_did():
    """Of every stored piece, none of which is changed for it."""
    seen = set()
    for path in sorted(results_folder().glob("*/*.csv")):
        about, _ = read(path)
        name, config = about["experiment"], about["config"]
        if "contrast" not in config:
            text = json.dumps(config, sort_keys=True)
            assert about.get("config_hash", text_hash(text)) == text_hash(text)
            assert contrast_of(name, config) == BEFORE.get(name, "x")
            seen.add(name)
    assert seen >= set(SWEEPS) - {"directions"}
    assert contrast_of("gaussian", {}) == "x" and contrast_of("self-supervised", {}) == "both"
    with pytest.raises(ValueError, match="contrast"):
        contrast_of("gaussian", {"contrast": "z"})


def test_what_the_old_code_contrasted_is_what_is_said_of_it():
    """x: the negatives of a tuple share y, so scaling column j by C(y_j) leaves InfoNCE alone."""
    from companion.experiments import ssl_losses
    from mi_lib.inference.network import anchored

    scores = some_scores()
    shifted_y, shifted_x = scores + torch.arange(8.0), scores + torch.arange(8.0)[:, None]
    loss = loss_of("infonce")
    assert torch.allclose(loss(shifted_y), loss(scores))
    assert not torch.allclose(loss(shifted_x), loss(scores))
    both = objectives.anchor(scores, nu="k", contrast="both")
    assert torch.allclose(anchored(scores), both)
    own = ssl_losses.get("anchor").loss(scores[0])
    assert torch.allclose(own, objectives.anchor(scores[0], contrast="both"))
