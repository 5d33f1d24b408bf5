"""How fast scores grow far out: the measurement, its sweep, and the claim on stored runs."""

import numpy as np
import pandas as pd
import pytest
import torch

from companion.claims.registry import get
from companion.experiments import experiment, modules_of, slopes
from companion.experiments.staircase_grid import PAPER
from companion.sweep import COLUMNS, write
from mi_lib.critics import Separable

ID = "trained-scores-grow"
LEVELS = 5


def test_a_slope_is_the_score_without_its_biases():
    """Far out a ReLU network is homogeneous: the slope is g without biases, times f(x)."""
    critic = Separable(slopes.DIM, slopes.DIM, seeds=(0, 1), copies=2, hidden=16, embedding=4)
    seen = []
    hook = critic.register_forward_pre_hook(lambda _, inputs: seen.append(inputs))
    found = slopes.slopes(critic)
    hook.remove()
    assert found.shape == (2, 2, slopes.POINTS**2) and found.dtype == torch.float64
    torch.testing.assert_close(found[0], found[1])
    (x, near), (_, far) = seen
    torch.testing.assert_close(far, 2 * near)
    direction = near / slopes.FAR
    torch.testing.assert_close(direction.norm(dim=-1), torch.ones(2, slopes.POINTS).double())

    one = Separable(slopes.DIM, slopes.DIM, seeds=(0, 1), hidden=16, embedding=4).double()
    with torch.no_grad():
        f = torch.baddbmm(one.bias_x, x, one.first_x)
        g = torch.bmm(direction, one.first_y)
        for weight, bias in zip(one.weights, one.biases, strict=True):
            f = torch.baddbmm(bias.chunk(2)[0], torch.relu(f), weight.chunk(2)[0])
            g = torch.bmm(torch.relu(g), weight.chunk(2)[1])
        slope = torch.bmm(f, g.mT).flatten(1)
    torch.testing.assert_close(found[0], slope, rtol=1e-6, atol=1e-9)


def test_a_bounded_score_has_no_slope():
    critic = Separable(slopes.DIM, slopes.DIM, hidden=16, normalise=True)
    assert slopes.slopes(critic).abs().max() < slopes.FLAT


def test_a_small_sweep_stores_a_share_and_a_slope_for_every_level(tmp_path):
    pieces = slopes.pieces("slopes", "ci")
    assert len(pieces) == 3 * len(slopes.KINDS)
    assert experiment("slopes") is slopes and "companion.training" in modules_of("slopes")
    piece = next(p for p in pieces if "b16" in p.key)
    frame = slopes.run(piece.config, "cpu", piece.checkpoint(tmp_path))
    found = frame[frame["record"] == "slope"]
    assert set(found["training"]) == set(PAPER)
    for row in found.itertuples():
        values = np.array(row.values.split(), float)
        assert len(values) == LEVELS
        if row.evaluation == "share":
            assert ((values >= 0) & (values <= 1)).all() and values.max() > 0
        else:
            assert (values > 0).all(), "random critics have a slope, and these are hardly trained"
    assert (frame["record"] == "loss").sum() == len(PAPER)


def tell(folder, share, largest):
    """Write every piece of the claim with these readings, by kind, and a little noise."""
    for kind in slopes.KINDS:
        for piece in slopes.table(kind).pieces("slopes"):
            (seed,) = piece.config["seeds"]
            noise = 1 + 0.01 * seed
            rows = [
                ("slope", training, name, seed, " ".join([f"{values[kind] * noise:.6g}"] * LEVELS))
                for training in PAPER
                for name, values in (("share", share), ("largest", largest))
            ]
            about = {"config": dict(piece.config), "code_hash": "", "seconds": 1.0}
            write(piece.path(folder), about, pd.DataFrame(rows, columns=list(COLUMNS)))


SHARE = {"b64": 0.4, "normalise-b64": 0.0, "b16": 0.4, "joint-b16": 0.1}
LARGEST = {"b64": 0.3, "normalise-b64": 1e-9, "b16": 0.3, "joint-b16": 0.1}


def test_the_claim_holds_on_its_story_and_shows_it(results):
    assert get(ID).run().verdict == "not run"
    tell(results, SHARE, LARGEST)
    outcome, twin = get(ID).run(), get(ID).run_twin()
    assert outcome.verdict == "reproduced", outcome.parts
    assert twin.verdict == "not reproduced", twin.parts
    shown = slopes.summary()
    assert list(shown.index) == list(PAPER) and list(shown.columns) == list(slopes.KINDS)
    assert shown.loc["nwj", "joint-b16"] == pytest.approx(0.101)


@pytest.mark.parametrize(
    ("share", "largest"),
    [
        ({"b64": 0.0}, {}),
        ({"b16": 0.0, "joint-b16": -0.1}, {}),
        ({}, {"normalise-b64": 0.001}),
        ({"joint-b16": 0.5}, {}),
    ],
)
def test_each_part_of_the_claim_can_fail(results, share, largest):
    tell(results, SHARE | share, LARGEST | largest)
    outcome = get(ID).run()
    assert outcome.verdict == "partly"
    assert sum(not part.holds for part in outcome.parts) == 1, outcome.parts
