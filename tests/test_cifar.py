"""Pictures for representation learning: the official archive, the subset, the digits."""

import io
import os
import pickle
import tarfile

import numpy as np
import pytest
import torch

from companion.data import cifar
from companion.data.cifar import ArrayUnpickler, pictures, read_archive


def make_archive(path, parts):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in parts.items():
            raw = pickle.dumps(content, protocol=3)
            entry = tarfile.TarInfo(f"cifar-100-python/{name}")
            entry.size = len(raw)
            archive.addfile(entry, io.BytesIO(raw))
    return path


def part(count, seed):
    draw = np.random.default_rng(seed)
    pixels = draw.integers(0, 256, (count, 3072), dtype=np.uint8)
    labels = list(range(count))
    return {b"data": pixels, b"fine_labels": labels, b"coarse_labels": [0] * count}


def test_the_archive_is_read_as_it_was_written(tmp_path, monkeypatch):
    train, test = part(7, 0), part(3, 1)
    path = make_archive(tmp_path / "c.tar.gz", {"train": train, "test": test})
    found = read_archive(path)
    np.testing.assert_array_equal(found["train"][0].reshape(7, -1), train[b"data"])
    assert found["test"][1].tolist() == [0, 1, 2]
    monkeypatch.setattr(cifar, "locate", lambda name: (path,))
    loaded = cifar._cifar100()
    assert loaded.train.shape == (7, 3, 32, 32)
    assert loaded.classes == 7
    # The first 1,024 bytes of a row are the red of the picture, row by row.
    assert loaded.train[2, 0, 1, 0] == train[b"data"][2, 32]
    mean, deviation = loaded.statistics()
    np.testing.assert_allclose(mean[1], train[b"data"][:, 1024:2048].mean() / 255, rtol=1e-5)
    assert deviation.shape == (3,)


class _Runs:
    def __reduce__(self):
        return os.system, ("exit 1",)


@pytest.mark.parametrize("content", [_Runs(), {b"data": _Runs()}, np.random.default_rng(0)])
def test_a_pickle_that_would_run_code_is_refused(content, tmp_path):
    path = make_archive(tmp_path / "bad.tar.gz", {"train": content, "test": part(1, 0)})
    with pytest.raises(ValueError, match="which arrays do not need"):
        read_archive(path)


def test_arrays_of_python_2_are_read():
    """The official files name modules of numpy 1 and hold the short strings of Python 2."""
    raw = pickle.dumps({"data": np.arange(5, dtype=np.uint8)}, protocol=3)
    old = raw.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    for word in (b"data", b"u1", b"|"):
        new = bytes([len(word)]) + word
        assert b"X" + new[:1] + bytes(3) + word in old
        old = old.replace(b"X" + new[:1] + bytes(3) + word, b"U" + new)
    found = ArrayUnpickler(io.BytesIO(old), encoding="bytes").load()
    assert found[b"data"].tolist() == [0, 1, 2, 3, 4]
    assert found[b"data"].dtype == np.uint8


def test_the_subset_is_turned_to_channels_first(tmp_path, monkeypatch):
    x = np.arange(2 * 32 * 32 * 3, dtype=np.uint32).astype(np.uint8).reshape(2, 32, 32, 3)
    path = tmp_path / "s.npz"
    np.savez(path, x_train=x, y_train=[0, 1], x_test=x[:1], y_test=[1])
    monkeypatch.setattr(cifar, "locate", lambda name: (path,))
    found = cifar._subset()
    assert found.train[1, 2, 4, 5] == x[1, 4, 5, 2]
    assert found.train_labels.dtype == torch.int64
    assert (found.classes, len(found.test)) == (2, 1)


def test_digits_are_always_there():
    found = pictures("digits")
    assert found.train.shape == (1437, 3, 8, 8)
    assert len(found.test) == 360
    assert found.classes == 10
    assert int(found.train.max()) == 255
    assert torch.equal(found.train[:, 0], found.train[:, 2])
    with pytest.raises(ValueError, match="choose one of cifar100"):
        pictures("imagenet")
