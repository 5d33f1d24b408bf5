"""Which files the experiments read, where they come from, and whether they are whole.

A folder named by the variable MI_DATA wins; otherwise files lie in the user's cache folder, where
``python -m companion data fetch`` puts them. Nothing downloads on its own.
"""

import hashlib
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from platformdirs import user_cache_path

from mi_lib.validate import one_of

SECONDS = 30  # without a byte, after which a try is given up
TRIES = 3
PIECE = 1 << 16  # bytes


class MissingDataError(FileNotFoundError):
    """A data file is not there; the message says how to get it."""


@dataclass(frozen=True)
class DataFile:
    """One file: where it lies below the data folder, its hash, its address and size in bytes."""

    path: str
    sha256: str
    url: str = ""
    size: int = 0
    how: str = ""  # how to get it where there is no address to fetch

    def __post_init__(self):
        if not self.url:
            return
        if not _is_safe(self.url):
            raise ValueError(f"{self.url} is not an address of https; name a host that has it")
        if len(self.sha256) != 64 or self.size <= 0:
            raise ValueError(f"{self.url} has no SHA-256 or no size; what is offered needs both")


def _is_safe(url: str) -> bool:
    return url.startswith("https://")


def _mnist(name: str, sha256: str, size: int) -> DataFile:
    host = "https://ossci-datasets.s3.amazonaws.com/mnist"
    return DataFile(f"mnist/{name}.gz", sha256, f"{host}/{name}.gz", size)


DATA: Mapping[str, tuple[DataFile, ...]] = MappingProxyType(
    {
        "mnist": (
            _mnist(
                "train-images-idx3-ubyte",
                "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                9_912_422,
            ),
            _mnist(
                "train-labels-idx1-ubyte",
                "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                28_881,
            ),
            _mnist(
                "t10k-images-idx3-ubyte",
                "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                1_648_877,
            ),
            _mnist(
                "t10k-labels-idx1-ubyte",
                "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                4_542,
            ),
        ),
        "imdb": (
            DataFile(
                "imdb_bert.npz",
                "01ccf633c1cf7ccf438734474b0800ff96e32bdd22db32c89982e0c902c3524e",
                how="download the repository kyungeun-lee/mibenchmark as a zip file and run "
                "`python -m companion data build-imdb <zip file>`",
            ),
        ),
        "cifar100-subset": (
            DataFile(
                "cifar100_subset.npz",
                "6c0262b8e71f18dd9c3725ab825aa930301ad32bd60781be3c1f000653f60c1f",
                how="this copy (160 training and 40 test images a class) is used where the "
                "official archive cannot be had: `python -m companion data fetch cifar100`",
            ),
        ),
        "cifar100": (
            DataFile(
                "cifar-100-python.tar.gz",
                "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
                "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
                169_001_437,
            ),
        ),
        "proteins": (
            DataFile(
                "protein.npz",
                "dc04b85f4af4a63d7883192b36d262a53bca073d54ac5efcd1b32b6283ee6bec",
                how="OmniPath pairs with UniRep embeddings; see the chapter on proteins",
            ),
        ),
    }
)


def data_folder() -> Path:
    """MI_DATA where it is set, else the user's cache folder."""
    if named := os.environ.get("MI_DATA"):
        return Path(named).expanduser()
    return user_cache_path("mi_lib")


def available(name: str) -> bool:
    """Whether all files of a data set are there (not whether they are whole)."""
    files = DATA[one_of("data set", name, DATA)]
    return all(_path(file).is_file() for file in files)


def locate(name: str) -> tuple[Path, ...]:
    """The files of a data set, checked; MissingDataError or ValueError say what to do."""
    return tuple(_checked(file, name) for file in DATA[one_of("data set", name, DATA)])


def _path(file: DataFile) -> Path:
    return data_folder() / file.path


def _checked(file: DataFile, name: str) -> Path:
    path = _path(file)
    if not path.is_file():
        get = file.how or f"run `python -m companion data fetch {name}`"
        raise MissingDataError(
            f"{file.path} is not in {data_folder()}; {get}, or set MI_DATA to the folder that "
            "holds it"
        )
    stat = path.stat()
    found = digest(path, stat.st_mtime_ns, stat.st_size)
    if found != file.sha256:
        raise ValueError(
            f"{path} has SHA-256 {found[:12]}..., expected {file.sha256[:12]}...: it is cut or "
            "another version; delete it and fetch it again"
        )
    return path


@cache
def digest(path: Path, mtime: int, size: int) -> str:
    """SHA-256 of a file; time and size are there so that a changed file is read again."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(name: str) -> list[Path]:
    """Download what is missing of a data set, check it, and return the paths.

    A file is written under a temporary name and renamed when its hash is right, so a broken
    connection leaves nothing that looks whole; the next try goes on where it ended.
    """
    missing = [f for f in DATA[one_of("data set", name, DATA)] if not _path(f).is_file()]
    for file in missing:
        if not file.url:
            raise MissingDataError(f"{file.path} has no address to fetch from; {file.how}")
    for file in missing:
        _download(file)
    return list(locate(name))


def _download(file: DataFile) -> None:
    path = _path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        for left in reversed(range(TRIES)):
            try:
                _go_on(file, part)
                break
            except OSError as error:
                if not left:
                    raise OSError(
                        f"{file.url} could not be fetched: {error}; try again, or set MI_DATA to a "
                        f"folder that holds {file.path}"
                    ) from None
                time.sleep(1)
        # Not for its owner alone: a folder of data may be shared.
        part.chmod(0o644)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _go_on(file: DataFile, part: Path) -> None:
    """One try to get the bytes that ``part`` lacks; an OSError where it may be worth another."""
    # Imported when needed: nothing else here reads from a network.
    import requests
    from tqdm.std import tqdm

    have = part.stat().st_size if part.is_file() else 0
    # As it lies there: a host must not pack it for the way, nor requests unpack what is packed.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with requests.get(file.url, headers=headers, timeout=SECONDS, stream=True) as answer:
        answer.raise_for_status()
        if not all(map(_is_safe, (answer.url, *(step.url for step in answer.history)))):
            raise ValueError(f"{file.url} leads to {answer.url}, which is not https; not fetched")
        have = have if answer.status_code == 206 else 0
        bar = tqdm(
            total=file.size,
            initial=have,
            unit="B",
            unit_scale=True,
            disable=not sys.stderr.isatty(),
        )
        with part.open("ab" if have else "wb") as target, bar:
            for piece in answer.iter_content(PIECE):
                have += len(piece)
                if have > file.size:
                    raise ValueError(
                        f"{file.url} gives more than the {file.size:,} bytes that {file.path} has: "
                        "the host changed it; do not use it, and tell us"
                    )
                target.write(piece)
                bar.update(len(piece))
    if have < file.size:
        raise OSError(f"the connection ended after {have:,} of {file.size:,} bytes")
    with part.open("rb") as whole:
        found = hashlib.file_digest(whole, "sha256").hexdigest()
    if found != file.sha256:
        part.unlink()
        raise OSError(f"SHA-256 {found[:12]}... instead of {file.sha256[:12]}...")
