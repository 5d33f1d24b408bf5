"""Plain arrays from NPZ files that anybody may have written: no pickle, no size that is not there.

The header of an array can promise any shape, and a reader that believes it allocates as much. Here
a promise is compared with the bytes that the archive holds for the array before it is read.
"""

import math
import zipfile
from pathlib import Path
from typing import IO

import numpy as np

SHRUNK = 1_032  # deflate, at its best, makes so many bytes one
SUFFIX = ".npy"
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a file; a ValueError, or an error of `zipfile`, where it is no such file."""
    with zipfile.ZipFile(path) as archive:
        for part in archive.infolist():
            if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"{part.filename} is packed in a way that numpy does not use")
            if part.file_size > SHRUNK * (part.compress_size + 1):
                raise ValueError(f"{part.filename} says that it is larger than it can be")
            with archive.open(part) as file:
                size = _promised(file) + file.tell()
            if not part.filename.endswith(SUFFIX) or size != part.file_size:
                raise ValueError(f"{part.filename} is not an array of the size that it says")
        names = archive.namelist()
    if len(set(names)) < len(names):
        raise ValueError("two arrays have one name")
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _promised(file: IO[bytes]) -> int:
    """The bytes of the values, as the header has them; object arrays are pickles, and refused."""
    version = np.lib.format.read_magic(file)
    shape, _, dtype = HEADERS[version](file)
    if dtype.hasobject:
        raise ValueError("an object array would need pickle, which can run code")
    return math.prod(shape) * dtype.itemsize


def all_finite(arrays: dict[str, np.ndarray]) -> bool:
    """Whether no array of numbers holds NaN or infinity."""
    return all(np.isfinite(part).all() for part in arrays.values() if part.dtype.kind in "fc")
