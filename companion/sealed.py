"""Files that are whole or absent, and checkpoints that are never taken for another piece's.

A sealed checkpoint begins with the hashes of configuration and code that it belongs to and a digest
of everything after them. What was cut, changed or made for something else is not opened.
"""

import hashlib
import json
import os
from pathlib import Path

MAGIC = b"state of a piece 1"


class SealError(ValueError):
    """Why a checkpoint cannot be used."""


def write_whole(path: Path, content: bytes) -> None:
    """Write under a temporary name, to the disk, and rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def seal(path: Path, belongs_to: dict[str, str], content: bytes) -> None:
    """Store what a worker needs to go on, with the hashes of what it belongs to."""
    head = json.dumps(belongs_to, sort_keys=True).encode()
    digest = hashlib.sha256(head + content).hexdigest().encode()
    write_whole(path, b"\n".join([MAGIC, digest, head, content]))


def unseal(path: Path, belongs_to: dict[str, str]) -> bytes:
    """The content, if it is whole and of this configuration and code; else a `SealError`."""
    parts = path.read_bytes().split(b"\n", 3)
    if len(parts) != 4 or parts[0] != MAGIC:
        raise SealError("damaged or not sealed")
    _, digest, head, content = parts
    if hashlib.sha256(head + content).hexdigest().encode() != digest:
        raise SealError("damaged")
    known = json.loads(head)
    if other := sorted(key for key, value in belongs_to.items() if known.get(key) != value):
        raise SealError(f"of another {' and '.join(other)}")
    return content
