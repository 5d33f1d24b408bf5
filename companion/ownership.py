"""Who is at a piece: one worker at a time, also where several hosts share the folder.

A claim is a file beside the checkpoint, ``key.claim-0``, which only one process can create. Its
owner touches it every few seconds. Where the owner is dead a claim is taken over by creating the
next number, which again only one process can; nothing of another's is ever removed before that.

An owner of this machine is dead when its process is gone; another machine's when its claim has not
been touched for ten minutes, by the clock of the file system.
"""

import contextlib
import json
import os
import platform
from pathlib import Path
from typing import Any

STALE = 600.0  # seconds without a touch


class BusyError(Exception):
    """Somebody else is at this piece."""


def take(base: Path) -> Path:
    """Claim ``base`` and return the file of the claim; a `BusyError` names a living owner."""
    base.parent.mkdir(parents=True, exist_ok=True)
    before = _claims(base)
    if before and (owner := _living(before[-1])):
        raise BusyError(owner)
    claim = _numbered(base, _number(before[-1]) + 1 if before else 0)
    me = {"host": _machine(), "name": platform.node(), "pid": os.getpid()}
    try:
        with claim.open("x", encoding="utf-8") as file:
            json.dump(me | {"since": _since(os.getpid())}, file)
    except FileExistsError:
        raise BusyError("a worker that was faster") from None
    # Whoever looked before an old claim was released may have taken a higher number meanwhile.
    for other in _claims(base):
        if other != claim and (owner := _living(other)):
            claim.unlink(missing_ok=True)
            raise BusyError(owner)
    return claim


def release(base: Path, claim: Path) -> None:
    """Give it back, the claims of the dead first: this one must be the last to go."""
    for other in _claims(base):
        if _number(other) <= _number(claim):
            other.unlink(missing_ok=True)


def touch(claim: Path) -> None:
    """Say that the owner lives."""
    with contextlib.suppress(OSError):
        os.utime(claim)


def forget_the_dead(base: Path) -> bool:
    """Remove the claims of the dead; False, and nothing is done, where somebody lives."""
    claims = _claims(base)  # one look: a claim that comes after it stays
    if any(_living(claim) for claim in claims):
        return False
    for claim in claims:
        claim.unlink(missing_ok=True)
    return True


def _numbered(base: Path, number: int) -> Path:
    return base.with_name(f"{base.stem}.claim-{number}")


def _number(claim: Path) -> int:
    return int(claim.name.rpartition("-")[2])


def _claims(base: Path) -> list[Path]:
    """The claims on a piece, the valid one last."""
    start = f"{base.stem}.claim-"
    with contextlib.suppress(FileNotFoundError):
        names = [name for name in os.listdir(base.parent) if name.startswith(start)]
        return sorted((base.with_name(name) for name in names), key=_number)
    return []


def _living(claim: Path) -> str:
    """Who holds a claim, in words; empty where its owner is dead."""
    try:
        text, touched = claim.read_text(encoding="utf-8"), claim.stat().st_mtime
    except FileNotFoundError:
        return ""
    try:
        owner: dict[str, Any] = json.loads(text)
        words = f"process {owner['pid']} of {owner['name']}"
    except (ValueError, LookupError, TypeError):  # just being written, or damaged
        owner, words = {"host": ""}, "a worker that has just begun"
    if owner.get("host") == _machine() and os.name != "nt":
        return words if _since(owner["pid"]) == owner.get("since") else ""
    return words if _now(claim.parent) - touched < STALE else ""


def _machine() -> str:
    """This machine since it started, or this container: where process numbers mean the same."""
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _since(pid: int) -> str:
    """When a process of this machine began, as far as the system says; empty where it is gone."""
    if os.name == "nt":  # there a signal is never harmless, and touches decide
        return "running"
    try:
        # The name, in brackets, may hold anything. Field 3 is the state, 22 the start.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except OSError:
        if Path("/proc/self/stat").exists():
            return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "running"


def _now(folder: Path) -> float:
    """The time by the clock that stamps the files of a folder: hosts' own clocks may differ."""
    probe = folder / f"now.{os.getpid()}.tmp"
    try:
        probe.touch()
        return probe.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)
