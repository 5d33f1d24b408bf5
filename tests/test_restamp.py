"""A stored piece gets a new hash only where the present code makes the same numbers."""

import shutil

import pandas as pd
import pytest
import torch

from companion.experiments import modules_of, self_supervised, ssl_grid
from companion.provenance import code_hash
from companion.sweep import COLUMNS, read, run_piece, write
from tools import restamp

NEW = code_hash(modules_of("self-supervised"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A real piece of the smallest profile, and one that stores no losses; made by other code."""
    folder, threads = tmp_path_factory.mktemp("results"), torch.get_num_threads()
    torch.set_num_threads(1)  # as a worker of a sweep
    code = {"code_hash": "old", "commit": "", "device": "cpu"}
    pieces = {piece.key: piece for piece in ssl_grid.pieces("self-supervised", "ci")}
    for key in ("ci-all-seed00", "ci-pixels"):
        piece = pieces[key]
        if "objectives" in piece.config:
            piece = ssl_grid.Piece(
                piece.experiment, key, piece.config | {"objectives": ["infonce", "js"]}
            )
        run_piece(self_supervised.run, piece, folder, code)
    yield folder
    torch.set_num_threads(threads)


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "results")


def outcome(folder):
    return dict(restamp.restamp("self-supervised", folder))


def test_the_same_numbers_get_the_new_hash_and_who_made_them_stays(folder):
    paths = {path.stem: path for path in folder.glob("*/*.csv")}
    before = {key: read(path)[1] for key, path in paths.items()}
    words = outcome(folder)
    assert words["ci-all-seed00"] == "restamped by its first losses"
    assert words["ci-pixels"] == "restamped by 1 samples of rows"
    checks = {"ci-all-seed00": restamp.BY_LOSSES, "ci-pixels": restamp.BY_ROWS}
    for key, path in paths.items():
        about, records = read(path)
        assert (about["code_hash"], about["made_by_code"]) == (NEW, "old")
        assert about["checked"] == checks[key]
        assert records.equals(before[key])
    assert set(outcome(folder).values()) == {"up to date"}


def test_other_losses_change_nothing(folder, monkeypatch):
    path = folder / "self-supervised" / "ci-all-seed00.csv"
    before, true = path.read_bytes(), restamp.first_losses

    def other(module, config):
        found = true(module, config)
        last = found["js", 0]
        return found | {("js", 0): [*last[:-1], last[-1] * (1 + 1e-4)]}

    monkeypatch.setattr(restamp, "first_losses", other)
    assert outcome(folder)["ci-all-seed00"] == "other losses of js: make it again"
    assert path.read_bytes() == before


def test_other_rows_change_nothing(folder):
    path = folder / "self-supervised" / "ci-pixels.csv"
    about, records = read(path)
    records["values"] = records["values"].astype(str)
    first, *rest = records["values"].iloc[0].split()
    records.loc[0, "values"] = " ".join([str(float(first) + 0.01), *rest])
    write(path, about, records)
    before = path.read_bytes()
    word = outcome(folder)["ci-pixels"]
    assert word.startswith("other rows (ci-pixels") and word.endswith("make it again")
    assert path.read_bytes() == before


def test_every_kind_of_piece_without_losses_is_sampled(tmp_path):
    names = [
        f"paper-{half}-{m}-seed0{s}" for half in ("a", "b") for m in ("ksg", "cca") for s in (0, 1)
    ]
    paths = [tmp_path / f"{name}.csv" for name in names]
    tasks = [("estimate", "m", task, 0, "1 2") for task in ("task 1", "task 2", "dense 50x50")]
    for path in paths:
        write(path, {"config": {}}, pd.DataFrame(tasks, columns=list(COLUMNS)))
    chosen = restamp.samples("suite", paths)
    assert {path.stem.rsplit("-", 1)[0] for path, _ in chosen} == {
        name.rsplit("-", 1)[0] for name in names
    }
    assert all(task in ("task 1", "task 2") for _, task in chosen)
