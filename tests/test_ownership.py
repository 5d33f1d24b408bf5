"""One worker at a piece, and the claims of the dead are taken over."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from companion import ownership
from companion.ownership import BusyError, forget_the_dead, release, take


@pytest.fixture
def base(tmp_path):
    return tmp_path / "new" / "piece-seed01.pt"


def rewrite(claim, **changes):
    claim.write_text(json.dumps(json.loads(claim.read_text()) | changes))


def names(base):
    return sorted(path.name for path in base.parent.iterdir())


def test_a_piece_is_claimed_once_and_free_again_after_its_release(base):
    claim = take(base)
    with pytest.raises(BusyError, match=f"process {os.getpid()} of "):
        take(base)
    take(base.with_name("piece-seed010.pt"))  # another piece
    release(base, claim)
    assert names(base) == ["piece-seed010.claim-0"]
    take(base)


def test_of_many_at_once_one_gets_the_piece(base):
    """Also where all of them see the claim of a dead worker."""
    rewrite(take(base), pid=dead_process())

    def attempt(_):
        try:
            return take(base)
        except BusyError:
            return None

    with ThreadPoolExecutor(16) as pool:
        won = [claim for claim in pool.map(attempt, range(64)) if claim]
    assert [claim.name for claim in won] == ["piece-seed01.claim-1"]
    release(base, won[0])
    assert names(base) == []


def test_who_finds_a_living_owner_writes_nothing(base, monkeypatch):
    """Not even for a moment, in which the owner could give way to it."""
    take(base)
    monkeypatch.setattr(ownership, "_numbered", lambda *_: pytest.fail("a claim is written"))
    with pytest.raises(BusyError):
        take(base)


def test_who_is_slower_by_a_moment_gives_way(base, monkeypatch):
    """Both looked, and saw nothing; one file can be created once."""
    claim = take(base)
    text = claim.read_text()
    monkeypatch.setattr(ownership, "_claims", lambda at: [])
    with pytest.raises(BusyError, match="faster"):
        take(base)
    assert claim.read_text() == text


def dead_process():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


@pytest.mark.skipif(os.name == "nt", reason="Windows has no harmless signal")
def test_a_dead_process_of_this_machine_owns_nothing(base):
    rewrite(take(base), pid=dead_process())
    assert take(base).name == "piece-seed01.claim-1"


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs the start of processes")
def test_a_number_that_was_given_to_another_process_is_no_owner(base):
    rewrite(take(base), since="1")
    assert take(base).name == "piece-seed01.claim-1"


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs the state of processes")
def test_a_killed_process_that_nobody_has_buried_is_dead():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert ownership._since(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert ownership._since(child.pid) == ""
    child.communicate()


def test_another_machine_is_believed_while_its_claim_is_touched(base):
    """By the clock of the folder: a process number of elsewhere says nothing here."""
    claim = take(base)
    rewrite(claim, host="elsewhere", name="elsewhere", pid=dead_process())
    with pytest.raises(BusyError, match="of elsewhere"):
        take(base)
    then = claim.stat().st_mtime - ownership.STALE - 5
    os.utime(claim, (then, then))
    ownership.touch(claim)
    with pytest.raises(BusyError, match="of elsewhere"):
        take(base)
    os.utime(claim, (then, then))
    assert take(base).name == "piece-seed01.claim-1"


def test_an_owner_that_is_just_writing_its_name_is_alive(base):
    base.parent.mkdir()
    (base.parent / "piece-seed01.claim-0").touch()
    with pytest.raises(BusyError, match="just begun"):
        take(base)


def test_who_looked_too_early_gives_way(base, monkeypatch):
    """It saw an old claim; meanwhile that was taken over, released, and the piece claimed anew."""
    base.parent.mkdir()
    true, looks = ownership._claims, []

    def late(at):
        looks.append(1)
        return [base.with_name("piece-seed01.claim-3")] if len(looks) == 1 else true(at)

    take(base)
    monkeypatch.setattr(ownership, "_claims", late)
    with pytest.raises(BusyError):
        take(base)
    assert names(base) == ["piece-seed01.claim-0"]


def test_only_claims_of_the_dead_are_forgotten(base):
    claim = take(base)
    assert not forget_the_dead(base) and claim.is_file()
    rewrite(claim, pid=dead_process())
    assert forget_the_dead(base) and names(base) == []
    assert forget_the_dead(base)
