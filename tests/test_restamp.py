"""A stored piece gets a new hash only where the present code begins it in the same way."""

import pytest
import torch

from companion.experiments import self_supervised, ssl_grid
from companion.sweep import read, run_piece
from tools import restamp


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A real piece of the smallest profile, and one that stores no losses; made by other code."""
    folder, threads = tmp_path_factory.mktemp("results"), torch.get_num_threads()
    torch.set_num_threads(1)  # as a worker of a sweep
    code = {"code_hash": "old", "commit": "", "device": "cpu"}
    pieces = {piece.key: piece for piece in ssl_grid.pieces("self-supervised", "ci")}
    paths = []
    for key in ("ci-all-seed00", "ci-pixels"):
        piece = pieces[key]
        if "objectives" in piece.config:
            piece = ssl_grid.Piece(
                piece.experiment, key, piece.config | {"objectives": ["infonce", "js"]}
            )
        run_piece(self_supervised.run, piece, folder, code)
        paths.append(piece.path(folder))
    yield paths
    torch.set_num_threads(threads)


def test_the_same_losses_get_the_new_hash(stored):
    path = stored[0]
    before = read(path)
    assert restamp.restamped(self_supervised, path, "new") == "restamped"
    about, records = read(path)
    assert (about["code_hash"], about["made_by_code"]) == ("new", "old")
    assert about["checked"] == restamp.CHECKED
    assert records.equals(before[1])
    assert restamp.restamped(self_supervised, path, "new") == "up to date"
    assert restamp.restamped(self_supervised, path, "newer") == "restamped"
    assert read(path)[0]["made_by_code"] == "old", "who made it stays"


def test_other_losses_change_nothing(stored, monkeypatch):
    path = stored[0]
    before = path.read_bytes()
    true = restamp.first_losses

    def other(module, config):
        found = true(module, config)
        return found | {"js": [*found["js"][:-1], found["js"][-1] * (1 + 1e-4)]}

    monkeypatch.setattr(restamp, "first_losses", other)
    word = restamp.restamped(self_supervised, path, "newest")
    assert word == "other losses of js: make it again" and path.read_bytes() == before


def test_a_piece_without_losses_must_be_made_again(stored):
    before = stored[1].read_bytes()
    word = restamp.restamped(self_supervised, stored[1], "new")
    assert word == "stores no losses: make it again" and stored[1].read_bytes() == before
