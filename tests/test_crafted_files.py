"""Files that somebody made to do harm, or that hold no estimator: one sentence, and no memory."""

import io
import json
import math
import tracemalloc
import zipfile

import numpy as np
import pytest
import torch

from mi_lib import InfoNCEAnchor, MIEstimator, Separable, fit_critic
from mi_lib.archives import read_arrays
from mi_lib.critic_fit import CriticFit
from mi_lib.inference import storage
from mi_lib.inference.files import read_table

SMALL = {"steps": 5, "seeds": 1, "folds": 2, "stability": False, "permutations": 9, "hidden": 8}
SENTENCE = "is damaged, or not an estimator saved by this version; fit and save again"


def npy(shape, values=b"", kind="<f4"):
    """The bytes of an array file whose header promises this shape."""
    file = io.BytesIO()
    header = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + values


def put(path, name, content, compression=zipfile.ZIP_DEFLATED):
    """The archive with one part replaced or added."""
    with zipfile.ZipFile(path) as old:
        parts = {part: old.read(part) for part in old.namelist()}
    with zipfile.ZipFile(path, "w", compression) as new:
        for part, kept in (parts | {name: content}).items():
            new.writestr(part, kept)
    return path


def put_meta(path, change):
    """The archive with its metadata changed in place by a function."""
    with np.load(path) as file:
        meta = json.loads(str(file["meta"]))
    change(meta)
    file = io.BytesIO()
    np.save(file, np.array(json.dumps(meta)))
    return put(path, "meta.npy", file.getvalue())


def most_memory(work):
    """Bytes that numpy and Python allocate at most during some work, and its error."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError) as error:
            work()
        return tracemalloc.get_traced_memory()[1], str(error.value)
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def est():
    x, noise = np.random.default_rng(0).standard_normal((2, 100))
    return MIEstimator(random_state=0, **SMALL).fit(x, np.where(x + noise > 0, "u", "v"))


@pytest.fixture
def saved(est, tmp_path):
    return est.save(tmp_path / "fit.npz")


@pytest.fixture
def critic_fit(tmp_path):
    x = torch.randn(200, 1, generator=torch.Generator().manual_seed(0))
    fit = fit_critic(small(), (x, x), steps=4, batch=8, device="cpu", loss=InfoNCEAnchor(nu="k"))
    return fit, fit.save(tmp_path / "critic.npz")


def small():
    return Separable(1, 1, hidden=4, embedding=2)


def test_the_parameters_of_a_file_are_those_of_the_estimator():
    assert MIEstimator().get_params().keys() == storage.PARAMETERS


def test_a_promise_of_gigabytes_is_seen_through_before_they_are_allocated(saved):
    """4.7 billion numbers, in a file of a few kilobytes."""
    put(saved, "pmi.npy", npy((4_700_000_000,), b"\0" * 1_000))
    used, said = most_memory(lambda: MIEstimator.load(saved))
    assert used < 20e6 and SENTENCE in said


def test_a_network_of_gigabytes_is_not_built(saved, monkeypatch):
    def change(meta):
        meta["critic"]["sizes"][2] = 40_000  # hidden: two layers of 1.6 billion weights each

    built = []
    monkeypatch.setattr(storage, "RatioNetwork", lambda *given: built.append(given))
    with pytest.raises(ValueError, match=SENTENCE):
        MIEstimator.load(put_meta(saved, change))
    assert not built


def test_an_archive_cannot_claim_more_than_deflate_can_hold(tmp_path):
    """The directory of the archive is changed, too: a part of 1 kB says that it is 8 GB."""
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", npy((10**9,), b"\0" * 1_000, "<f8"))
    whole, real = path.read_bytes(), len(npy((10**9,), b"\0" * 1_000, "<f8"))
    claimed = min(len(npy((10**9,), b"", "<f8")) + 8 * 10**9, 2**32 - 1)
    path.write_bytes(whole.replace(real.to_bytes(4, "little"), claimed.to_bytes(4, "little")))
    used, said = most_memory(lambda: read_arrays(path))
    assert used < 20e6 and "larger than it can be" in said


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packings_are_refused(saved, packing):
    with pytest.raises(ValueError, match=SENTENCE):
        MIEstimator.load(put(saved, "pmi.npy", npy((100,), b"\0" * 800, "<f8"), packing))


BAD_ARRAYS = {
    "a weight that is NaN": ("critic/weights.0", lambda a: np.where(a == a[0, 0, 0], np.nan, a)),
    "an infinite weight": ("critic/first_x", lambda a: a + np.inf),
    "weights of another shape": ("critic/weights.1", lambda a: a[:, :, :-1]),
    "weights that are words": ("critic/bias_x", lambda a: np.full(a.shape, "a")),
    "slopes that are NaN": ("slopes", lambda a: a * np.nan),
    "slopes of another number": ("slopes", lambda a: a[:, :2]),
    "pmi that is NaN": ("pmi", lambda a: a * np.nan),
    "pmi of other pairs": ("pmi", lambda a: a[1:]),
    "knots that are NaN": ("0/x0/values", lambda a: a * np.nan),
    "knots that do not belong": ("0/x0/scores", lambda a: a[1:]),
    "shares of another alphabet": ("1/y0/shares", lambda a: a[:1]),
    "limits of another alphabet": ("0/limits/y", lambda a: a[:1]),
    "centres of other columns": ("0/centres", lambda a: np.repeat(a, 2, axis=1)),
    "a limit that is a list": ("0/limits/least", lambda a: np.zeros(3)),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_arrays_that_do_not_belong_get_the_sentence(saved, case):
    name, change = BAD_ARRAYS[case]
    with np.load(saved) as file:
        changed = change(file[name])
    content = io.BytesIO()
    np.save(content, changed)
    with pytest.raises(ValueError, match=SENTENCE):
        MIEstimator.load(put(saved, f"{name}.npy", content.getvalue()))


def setting(*keys, to):
    """A change of one entry of the metadata."""

    def change(meta):
        for key in keys[:-1]:
            meta = meta[key]
        meta[keys[-1]] = to

    return change


BAD_META = {
    "a list": setting("values", to=[]),
    "an estimate in words": setting("values", "mi_", to="much"),
    "no estimate": setting("values", "mi_", to=None),
    "NaN": setting("values", "dv_", to=math.nan),
    "infinity": setting("interval", 1, to=math.inf),
    "an interval of one end": setting("interval", to=[0.0]),
    "an attribute of another name": setting("values", "pmi", to=1.0),
    "a parameter of another name": setting("parameters", "code", to=1),
    "a unit of another name": setting("parameters", "unit", to="bans"),
    "a list of a unit": setting("parameters", "unit", to=["bits"]),
    "whole numbers in words": setting("parameters", "folds", to="five"),
    "stability in words": setting("parameters", "stability", to="no"),
    "a device that is a number": setting("parameters", "device", to=7),
    "confidence in words": setting("parameters", "confidence", to="high"),
    "pairs of another number": setting("pairs", to=7),
    "steps with a fraction": setting("steps", to=1.5),
    "a curve in words": setting("curve", 0, to=["low"]),
    "a plan with another setting": setting("plan", "code", to=1),
    "a plan in words": setting("plan", "batch", to="large"),
    "a diagnostic without advice": setting("diagnostics", 0, to={"name": "n", "value": 1.0}),
    "a diagnostic in words": setting("diagnostics", 0, "value", to="fine"),
    "a column whose name is a number": setting("columns", 0, 0, 0, to=3),
    "symbols of two kinds": setting("columns", 1, 0, 1, to=["u", 1.0]),
    "members out of the stack": setting("members", 1, to=[5, 6]),
    "members that are words": setting("members", 0, to=["a", "b"]),
    "negative sizes": setting("critic", "sizes", 3, to=-2),
    "another format": setting("format", to=99),
}


@pytest.mark.parametrize("case", BAD_META)
def test_metadata_of_another_kind_get_the_sentence(saved, case):
    with pytest.raises(ValueError, match=SENTENCE):
        MIEstimator.load(put_meta(saved, BAD_META[case]))


def test_what_nobody_touched_loads(saved, est):
    loaded = MIEstimator.load(put_meta(saved, lambda meta: None))
    assert str(loaded.report()) == str(est.report())


# a trained critic


def test_a_critics_weights_are_compared_with_the_critic(critic_fit):
    fit, path = critic_fit
    used, said = most_memory(
        lambda: CriticFit.load(
            put(path, "critic/weights.0.npy", npy((10**9,), b"\0" * 99)), small(), fit.loss
        )
    )
    assert used < 20e6 and "of a critic of another shape" in said


BAD_CRITICS = {
    "NaN": ("critic/first_x", lambda a: a * np.nan),
    "another shape": ("critic/first_x", lambda a: a[..., :1]),
    "whole numbers": ("critic/first_x", lambda a: a.astype(int)),
    "one array more": ("critic/extra", lambda a: np.zeros(3)),
}


@pytest.mark.parametrize("case", BAD_CRITICS)
def test_other_weights_are_refused_and_the_critic_stays_as_it_was(critic_fit, case):
    fit, path = critic_fit
    name, change = BAD_CRITICS[case]
    with np.load(path) as file:
        changed = change(file.get(name))
    content, critic = io.BytesIO(), small()
    np.save(content, changed)
    before = [p.clone() for p in critic.parameters()]
    with pytest.raises(ValueError, match="of a critic of another shape"):
        CriticFit.load(put(path, f"{name}.npy", content.getvalue()), critic, fit.loss)
    assert all(map(torch.equal, before, critic.parameters()))


@pytest.mark.parametrize(
    "change",
    [
        setting("values", "mi_", to="much"),
        setting("values", "mi_", to=math.nan),
        setting("values", "mi_", to=None),
        setting("values", "interval_", to=[0.0]),
        setting("values", "interval_", to=[0.0, "one"]),
        setting("values", "unit", to="bans"),
        setting("values", "pairs_", to=1.5),
        setting("values", "curve_", to=[[1, math.nan]]),
        setting("values", "curve_", to=[1]),
        setting("values", "code", to=1),
        setting("values", "diagnostics_", 0, "value", to="fine"),
    ],
)
def test_values_of_another_kind_are_refused(critic_fit, change):
    fit, path = critic_fit
    with pytest.raises(ValueError, match="not saved by a CriticFit"):
        CriticFit.load(put_meta(path, change), small(), fit.loss)


def test_another_loss_leaves_the_critic_as_it_was(critic_fit):
    _, path = critic_fit
    critic = small()
    before = [p.clone() for p in critic.parameters()]
    with pytest.raises(ValueError, match="was trained with"):
        CriticFit.load(path, critic, InfoNCEAnchor(nu=1.0))
    assert all(map(torch.equal, before, critic.parameters()))


# tables for the shell


def test_a_table_that_promises_gigabytes_is_refused(tmp_path):
    path = tmp_path / "table.npz"
    np.savez(path, x=np.zeros(5))
    put(path, "x.npy", npy((3_000_000_000,), b"\0" * 99, "<f8"))
    used, said = most_memory(lambda: read_table(path))
    assert used < 20e6 and "is not an NPZ file of plain arrays" in said
