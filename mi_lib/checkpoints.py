"""Checkpoints that are whole or absent, and never taken for another run's."""

import hashlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

MAGIC = b"mi_lib checkpoint 1\n"


def writable(path: Path) -> Path:
    """The path, if a file can be written there; a ValueError with advice otherwise."""
    if path.is_dir():
        raise ValueError(f"checkpoint={path} is a folder; name a file in it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe = path.with_name(f".{path.name}.{os.getpid()}.probe")
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ValueError(
            f"checkpoint={path} cannot be written ({error.strerror}); name a file in a folder that "
            "you may write to"
        ) from None
    return path


def write(path: Path, about: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """A line of JSON with what the run is and a digest, then the state; renamed when complete."""
    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    body = buffer.getvalue()
    head = json.dumps({"about": dict(about), "sha256": hashlib.sha256(body).hexdigest()})
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(MAGIC + head.encode() + b"\n" + body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read(
    path: Path, about: Mapping[str, Any], device: torch.device | str = "cpu"
) -> dict[str, Any]:
    """The state, if it is whole and of this run; a ValueError that says what to do otherwise."""
    with path.open("rb") as file:
        magic, head, body = file.readline(), file.readline(), file.read()
    try:
        known = json.loads(head) if magic == MAGIC else {}
    except ValueError:
        known = {}
    if known.get("sha256") != hashlib.sha256(body).hexdigest():
        raise ValueError(f"{path} is damaged or no checkpoint of ours; delete it to start anew")
    wanted = json.loads(json.dumps(dict(about)))
    if other := {k: v for k, v in known["about"].items() if wanted.get(k) != v}:
        now = {key: wanted.get(key) for key in other}
        raise ValueError(
            f"{path} belongs to another run (it has {other}, this one {now}); delete it to start "
            "anew, or name another file"
        )
    return torch.load(io.BytesIO(body), map_location=device, weights_only=True)
