"""A checkpoint is used by the piece, configuration and code that wrote it, whole, or not at all."""

import numpy as np
import pytest
from test_results import TINY
from test_stored import damaged_copies

from companion import sweep
from companion.experiments import staircase
from companion.sealed import SealError, seal, unseal, write_whole
from companion.sweep import Piece, read, run_piece

OWN = {"configuration": "a", "code": "b"}
CODE = {"code_hash": "c", "commit": "", "device": "cpu"}


def test_what_was_sealed_is_unsealed_by_its_owner_alone(tmp_path):
    path, content = tmp_path / "new" / "a.pt", b"one\ntwo\n\n" + bytes(range(256))
    seal(path, OWN, content)
    assert unseal(path, OWN) == content
    for key in OWN:
        with pytest.raises(SealError, match=f"of another {key}$"):
            unseal(path, OWN | {key: "other"})
    with pytest.raises(SealError, match="of another code and configuration"):
        unseal(path, {"configuration": "x", "code": "y"})
    assert [p.name for p in path.parent.iterdir()] == ["a.pt"]


@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.long)])
def test_every_cut_and_every_flipped_bit_of_a_checkpoint_is_noticed(tmp_path, count):
    path = tmp_path / "a.pt"
    seal(path, OWN, bytes(range(256)) * 4)
    for copy in damaged_copies(path.read_bytes(), count, seed=1):
        path.write_bytes(copy)
        with pytest.raises(SealError, match="damaged"):
            unseal(path, OWN)


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    done = []
    for name in ("fsync", "replace"):
        true = getattr(sweep.os, name)
        monkeypatch.setattr(f"os.{name}", lambda *a, n=name, f=true: (done.append(n), f(*a)))
    write_whole(tmp_path / "a", b"1")
    assert done == ["fsync", "replace"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    write_whole(tmp_path / "a", b"1")

    def full(*_):
        raise OSError("no space")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_whole(tmp_path / "a", b"2")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("a", b"1")]


def piece(**changes):
    settings = vars(TINY) | {"trainings": ("infonce", "anchor"), **changes}
    config = {"task": "gaussian", "options": {"dim": 2}, "settings": settings, "seeds": [0]}
    return Piece("toy", "a", config)


@pytest.fixture
def cut(tmp_path, monkeypatch):
    """A folder with the checkpoint of a staircase that broke at step 25; and the steps that were
    done since."""
    steps = []

    def stop_at(last):
        def report(step, total):
            steps.append(step)
            if step == last:
                raise RuntimeError("cut")

        return lambda checkpoint: report

    monkeypatch.setattr(staircase, "CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr(staircase, "Reporter", stop_at(26))
    with pytest.raises(RuntimeError, match="cut"):
        run_piece(staircase.run, piece(), tmp_path, CODE)
    monkeypatch.setattr(staircase, "Reporter", stop_at(None))
    steps.clear()
    assert [p.name for p in (tmp_path / "toy" / ".checkpoints").iterdir()] == ["a.pt"]
    return tmp_path, steps


def stored(folder):
    return read(folder / "toy" / "a.csv")[1].astype(str)


def fresh(wanted):
    return staircase.run(wanted.config, "cpu").astype(str)


def test_a_cut_piece_goes_on_where_it_was(cut):
    folder, steps = cut
    note = run_piece(staircase.run, piece(), folder, CODE)
    assert steps == list(range(26, 41)) and "start" not in note
    assert stored(folder).equals(fresh(piece()))
    assert not list((folder / "toy" / ".checkpoints").iterdir())


def test_another_configuration_starts_anew_and_says_so(cut):
    """Under the same name: it was resumed, and stored numbers that no run of it has."""
    folder, steps = cut
    other = piece(rate=1e-2, batch=16)
    note = run_piece(staircase.run, other, folder, CODE)
    assert note.endswith("from the start: its checkpoint was of another configuration")
    assert steps[0] == 1 and stored(folder).equals(fresh(other))
    values = [np.array(f["values"]) for f in (fresh(other), fresh(piece()))]
    assert (values[0] != values[1]).any()


def test_another_code_starts_anew_and_says_so(cut):
    folder, steps = cut
    note = run_piece(staircase.run, piece(), folder, CODE | {"code_hash": "new"})
    assert note.endswith("its checkpoint was of another code") and steps[0] == 1
    assert stored(folder).equals(fresh(piece()))


@pytest.mark.parametrize("damage", ["cut", "flipped", "unsealed"])
def test_a_damaged_checkpoint_starts_anew_and_says_so(cut, damage):
    folder, steps = cut
    path = folder / "toy" / ".checkpoints" / "a.pt"
    content = path.read_bytes()
    place = len(content) // 2
    path.write_bytes(
        {
            "cut": content[:place],
            "flipped": content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :],
            "unsealed": content.split(b"\n", 3)[3],  # as sweeps of before left it
        }[damage]
    )
    note = run_piece(staircase.run, piece(), folder, CODE)
    assert "from the start: its checkpoint was damaged" in note and steps[0] == 1
    assert stored(folder).equals(fresh(piece()))


def test_the_state_of_a_piece_under_way_is_sealed_while_it_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "BEAT", 0.01)
    checkpoint = piece().checkpoint(tmp_path)
    seen = []

    def work(config, device, checkpoint):
        for text in (b"one", b"two"):
            write_whole(checkpoint, text)
            seen.append(waited_for(text))
        return fresh(piece())

    def waited_for(text):
        belongs_to = {"configuration": piece().config_hash, "code": "c"}
        for _ in range(1000):
            if checkpoint.is_file() and unseal(checkpoint, belongs_to) == text:
                return True
            sweep.time.sleep(0.01)

    run_piece(work, piece(), tmp_path, CODE)
    assert seen == [True, True]
    assert not list(checkpoint.parent.iterdir())
