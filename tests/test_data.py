"""Data with a known information: the channel, images, text, files and their hashes."""

import gzip
import math
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from companion.data import Channel, Source, images, make_task, registry, tables, text
from companion.data.channel import crossover
from companion.data.images import Grid, backgrounds_from, read_idx, resizing
from companion.data.registry import DataFile, MissingDataError

LABELS = Source(torch.tensor([[0.0], [1.0]]), torch.tensor([0, 1]))


def generators(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


@pytest.mark.parametrize("bits", [0.0, 2.0, 6.0, 10.0])
def test_the_channel_carries_what_it_says(bits):
    """Mean of the true log ratio over pairs, the labels read off the data."""
    task = Channel(LABELS)
    x, y = task.draw(bits, 4000, generators(0))
    equal = (x[0] == y[0]).sum(-1).numpy()
    ratios, weights = task.ratio_distribution(bits)
    with np.errstate(divide="ignore"):
        log_r = np.log2(ratios)[equal]
    assert abs(log_r.mean() - bits) <= 4 * log_r.std() / math.sqrt(len(log_r)) + 1e-9
    assert weights.sum() == pytest.approx(1)
    assert weights @ ratios == pytest.approx(1)


def test_the_targets_of_the_benchmark():
    """K = 64 at 2, 4, 6, 8, 10 bits; at 10 bits the extremal distribution of the ceiling."""
    task = Channel(LABELS)
    found = [round(task.k_way_jsd(bits, 64), 4) for bits in (2, 4, 6, 8, 10)]
    assert found == [1.9028, 3.5444, 4.7777, 5.5604, 5.9392]


def test_labels_are_fair_and_slots_independent():
    x, _ = Channel(LABELS, slots=3).draw(1.5, 20_000, generators(1))
    assert abs(x.mean().item() - 0.5) < 0.01
    correlation = np.corrcoef(x[0].T.numpy())
    assert np.abs(correlation - np.eye(3)).max() < 0.04


def test_each_seed_has_its_own_stream():
    task = Channel(LABELS)
    together, _ = task.draw(4.0, 8, generators(3, 4))
    alone, _ = task.draw(4.0, 8, generators(4))
    torch.testing.assert_close(together[1], alone[0])
    assert not torch.equal(together[0], together[1])


def test_training_never_shows_held_out_rows():
    rows = torch.arange(20.0)[:, None]
    source = Source(rows, torch.arange(20) % 2, held_out=[4, 5, 6, 7])
    task = Channel(source, slots=2)
    seen = {
        fresh: set(task.draw(1.0, 500, generators(0), fresh)[0].flatten().tolist())
        for fresh in (False, True)
    }
    assert seen[True] == {4.0, 5.0, 6.0, 7.0}
    assert seen[False] == set(map(float, range(20))) - seen[True]


def test_a_row_of_the_right_class_is_shown():
    source = Source(torch.tensor([[5.0], [7.0], [6.0], [8.0]]), torch.tensor([0, 1, 0, 1]))
    x, y = Channel(source, LABELS, slots=4).draw(4.0, 200, generators(0))
    assert torch.equal((x % 2 == 0) & (x > 6.5) | (x == 7), y == 1)


def test_bad_tables_and_levels_are_refused():
    rows = torch.zeros(4, 2)
    with pytest.raises(ValueError, match="labels must be 0 and 1"):
        Source(rows, torch.tensor([0, 1, 2, 1]))
    with pytest.raises(ValueError, match="no class may be empty"):
        Source(rows, torch.tensor([0, 0, 0, 0]))
    with pytest.raises(ValueError, match="NaN or infinite"):
        Source(torch.full((4, 2), math.nan), torch.tensor([0, 1, 0, 1]))
    with pytest.raises(ValueError, match=r"pass \[n, d\] and \[n\]"):
        Source(rows, torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="more than 10 binary slots"):
        Channel(LABELS).crossover(10.5)
    with pytest.raises(ValueError, match="choose one of breast-cancer"):
        make_task("nmist")


def test_the_crossover_inverts_the_capacity():
    for rate in (1e-6, 0.2, 0.5, 0.9, 1 - 1e-9):
        p = crossover(rate)
        assert 1 + p * math.log2(p) + (1 - p) * math.log2(1 - p) == pytest.approx(rate, abs=1e-9)


def all_rows(table):
    """Row n of the table in slot n of one pair."""
    return torch.arange(len(table)).view(1, 1, -1), torch.zeros(1, 1)


def test_a_grid_puts_slots_in_two_rows_and_keeps_their_places():
    table = torch.zeros(10, 4)
    table[7] = 255  # second row, third place
    picture = Grid(2, size=None)(table, *all_rows(table)).view(4, 10)
    assert picture[2:, 4:6].min() == 1
    assert picture.sum() == 4


def test_resizing_keeps_a_constant_picture_and_its_range():
    matrix = resizing(56, 64)
    torch.testing.assert_close(matrix.sum(1), torch.ones(64))
    table = torch.full((10, 784), 255.0)
    picture = Grid(28)(table, *all_rows(table))
    torch.testing.assert_close(picture, torch.ones(1, 1, 4096))


@pytest.mark.parametrize("slots", [1, 3, 4, 10])
@pytest.mark.parametrize("size", [None, 17, 64])
def test_a_picture_added_up_from_pieces_is_the_whole_one_resized(slots, size):
    """Against torch's own resize of the joined digits."""
    table = (torch.rand(50, 784, generator=torch.Generator().manual_seed(0)) * 255).byte()
    pick = torch.randint(50, (2, 5, slots), generator=torch.Generator().manual_seed(1))
    found = Grid(28, size)(table, pick, torch.zeros(2, 5))
    high = 1 if slots % 2 else 2
    digits = (table[pick].double() / 255).view(10, high, slots // high, 28, 28)
    whole = torch.cat(digits.unbind(2), -1).flatten(1, 2)[:, None]
    if size is not None:
        whole = torch.nn.functional.interpolate(whole, (size, size), mode="bicubic", antialias=True)
    torch.testing.assert_close(found, whole.clamp(0, 1).float().view(2, 5, -1), rtol=0, atol=1e-6)


def test_a_grid_notices_another_table():
    grid, black, white = Grid(2, 4), torch.zeros(4, 4), torch.full((4, 4), 255.0)
    assert grid(black, *all_rows(black)).max() == 0
    assert grid(white, *all_rows(white)).min() > 0.99


def test_a_nuisance_is_added_behind_the_digits_and_needs_images():
    backgrounds = backgrounds_from(np.full((3, 32, 32, 3), 51, np.uint8), 4)
    table, pick, chance = (
        torch.zeros(4, 4),
        torch.zeros(1, 2, 4).long(),
        torch.tensor([[0.0, 0.99]]),
    )
    picture = Grid(2, 4, backgrounds, 0.5)(table, pick, chance)
    torch.testing.assert_close(picture, torch.full((1, 2, 16), 0.1))
    with pytest.raises(ValueError, match="needs backgrounds"):
        Grid(2, nuisance=0.5)


@pytest.mark.parametrize("source", [tables.digits, tables.breast_cancer])
def test_shipped_tables_work_without_any_file(source):
    task = Channel(source(), slots=4)
    for fresh in (False, True):
        x, y = task.draw(2.0, 6, generators(0, 1), fresh)
        assert x.shape == (2, 6, task.x_dim) == y.shape
        assert torch.isfinite(x).all()


def write_idx(path, array):
    head = b"\x00\x00\x08" + bytes([array.ndim]) + np.array(array.shape, ">i4").tobytes()
    path.write_bytes(gzip.compress(head + array.tobytes()))


def test_idx_files_are_read_and_broken_ones_refused(tmp_path):
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    write_idx(tmp_path / "a.gz", array)
    np.testing.assert_array_equal(read_idx(tmp_path / "a.gz"), array)
    whole = (tmp_path / "a.gz").read_bytes()
    (tmp_path / "cut.gz").write_bytes(whole[:-9])
    with pytest.raises(ValueError, match="not a whole gzip file"):
        read_idx(tmp_path / "cut.gz")
    (tmp_path / "other.gz").write_bytes(gzip.compress(b"something else"))
    with pytest.raises(ValueError, match="idx file"):
        read_idx(tmp_path / "other.gz")
    (tmp_path / "short.gz").write_bytes(gzip.compress(gzip.decompress(whole)[:-1]))
    with pytest.raises(ValueError, match="expected 24"):
        read_idx(tmp_path / "short.gz")


def test_the_benchmarks_zip_becomes_one_array_file(tmp_path, monkeypatch):
    monkeypatch.setenv("MI_DATA", str(tmp_path / "data"))
    rows = {"0": [3, 1], "1": [2, 4]}
    with zipfile.ZipFile(tmp_path / "repo.zip", "w") as packed:
        for label, values in rows.items():
            for number, value in enumerate(values):
                name = f"repo/dataset/imdb.bert-imdb-finetuned/{label}/{number}.npy"
                with packed.open(name, "w") as file:
                    np.lib.format.write_array(file, np.full((1, 3), value, np.float32))
        packed.writestr("repo/README.md", "no data")
    path = text.build_imdb(tmp_path / "repo.zip")
    with np.load(path) as archive:
        assert archive["x0"][:, 0].tolist() == [3, 1]
        assert archive["x1"].shape == (2, 3)
        assert archive["x1"].dtype == np.float16
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as packed:
        packed.writestr("README.md", "")
    with pytest.raises(ValueError, match="holds no folder"):
        text.build_imdb(tmp_path / "empty.zip")


@pytest.fixture
def small_registry(tmp_path, monkeypatch):
    """One data set of one file that says `hello`, and a folder for it."""
    sha = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    file = DataFile("sub/hello.txt", sha, "https://example.org/hello.txt", 5)
    monkeypatch.setattr(registry, "DATA", {"hello": (file,)})
    monkeypatch.setenv("MI_DATA", str(tmp_path))
    return tmp_path


def test_a_missing_file_says_how_to_get_it(small_registry):
    assert not registry.available("hello")
    with pytest.raises(MissingDataError, match="python -m companion data fetch hello"):
        registry.locate("hello")
    with pytest.raises(ValueError, match="choose one of hello"):
        registry.locate("goodbye")


def test_a_cut_or_changed_file_is_refused(small_registry):
    path = small_registry / "sub" / "hello.txt"
    path.parent.mkdir()
    path.write_text("hell")
    with pytest.raises(ValueError, match="it is cut or another version"):
        registry.locate("hello")
    path.write_text("hello")
    assert registry.locate("hello") == (path,)


def test_the_folder_named_by_the_variable_wins(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("MI_DATA", str(tmp_path / "mine"))
    assert registry.data_folder() == tmp_path / "mine"
    monkeypatch.setenv("MI_DATA", "~/data")
    assert registry.data_folder() == Path.home() / "data"
    monkeypatch.delenv("MI_DATA")
    assert registry.data_folder().name == "mi_lib"
    if sys.platform == "linux":
        assert registry.data_folder() == tmp_path / "cache" / "mi_lib"


@pytest.mark.needs_data("mnist")
def test_mnist_pictures_show_zeros_and_ones():
    source = images.mnist()
    assert source._counts == [5923, 6742, 980, 1135]
    task = make_task("mnist")
    x, y = task.draw(10.0, 16, generators(0))
    assert x.shape == (1, 16, 4096)
    assert 0.05 < x.mean() < 0.3
    assert not torch.equal(x, y)


@pytest.mark.needs_data("imdb")
def test_reviews_tell_their_class_and_held_out_rows_are_set_aside():
    source = text.imdb()
    assert source._counts == [10_000, 10_000, 2500, 2500]
    task = make_task("text")
    assert task.x_dim == 7680
    rows = source.rows(torch.device("cpu")).float()
    centres = torch.stack([rows[:10_000].mean(0), rows[10_000:20_000].mean(0)])
    nearest = torch.cdist(rows[20_000:], centres).argmin(1)
    truth = torch.arange(5000) >= 2500
    assert (nearest == truth).float().mean() > 0.97
