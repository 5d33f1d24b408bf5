"""Any call at a public door ends in an answer or in a sentence.

A sentence is a ValueError or a TypeError, or an error that this library raises itself. What torch,
numpy or Python say of an index, a shape or an attribute deep inside is none. `make test` tries a
sample, `make test-long` 5,000 calls, spread over all doors and three seeds.

Critics, scoring rules and the rows of Table 1 are called with tensors that fit: their code decides
stored numbers, it stays as short as it is, and what torch says of other tensors passes through.
"""

import math
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st

import mi_lib
from mi_lib import finite
from mi_lib.critic_fit import CriticFit

SAMPLE, CALLS = 15, 5_000  # at a door in `make test`; at all doors in `make test-long`
long = pytest.mark.long
SEEDS = [0, *(pytest.param(seed, marks=long) for seed in (1, 2, 3))]

TINY = 1e-300
NUMBERS = st.one_of(
    st.integers(-3, 12),
    st.floats(-5, 50),
    st.sampled_from([math.nan, math.inf, -math.inf, 0.0, TINY, 1e300, 1.0, 0.5, True]),
)
WORDS = st.sampled_from(["bits", "nats", "k", "x", "y", "both", "cpu", "", "trits", "auto"])
ODD = st.sampled_from(
    [
        None,
        {},
        (),
        [],
        object(),
        b"ab",
        3 + 4j,
        len,
        np.array("a"),
        np.datetime64("2020"),
        [[1], [2, 3]],
    ]
)
SIZES = st.lists(st.integers(0, 6), max_size=3).map(tuple)
KINDS = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool)


@st.composite
def tensors(draw):
    """Tensors of all shapes and types, some with NaN or infinity in them."""
    shape = draw(st.one_of(SIZES, st.integers(1, 7).map(lambda b: (b, b))))
    kind = draw(st.sampled_from((*KINDS, torch.complex64)))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 9)))
    values = (draw(st.sampled_from([0.0, 1.0, 30.0])) * torch.randn(shape, generator=generator)).to(
        kind
    )
    if values.is_floating_point() and values.numel() and draw(st.booleans()):
        values.view(-1)[0] = draw(st.sampled_from([math.nan, math.inf, -math.inf, 0.0]))
    return values.requires_grad_(kind.is_floating_point and draw(st.booleans()))


@st.composite
def arrays(draw):
    """Arrays, lists and frames, most of them with enough rows to be fitted."""
    n = draw(st.sampled_from([60] * 12 + [0, 1, 49, 61]))
    d = draw(st.sampled_from([None, 1, 2] * 4 + [0]))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    values = rng.standard_normal(n if d is None else (n, d))
    change = draw(
        st.sampled_from(
            [
                *[lambda v: v] * 12,
                lambda v: v > 0,
                lambda v: v.round(),
                lambda v: np.where(v > 0, "a", "b"),
                lambda v: v.astype(object),
                lambda v: v.astype(np.float16),
                lambda v: v * np.nan,
                lambda v: v * 1e308 * 10,
                lambda v: v * 0,
                lambda v: v.tolist(),
                lambda v: torch.from_numpy(v),
                lambda v: torch.from_numpy(v).float().requires_grad_(),
                lambda v: pd.DataFrame(v),
                lambda v: pd.Series(list(v)),
                lambda v: np.ma.masked_greater(v, 1.0),
                lambda v: v + 1j,
                lambda v: v[..., None, None],
            ]
        )
    )
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return change(values)


ANY = st.one_of(NUMBERS, WORDS, ODD, tensors(), arrays(), st.lists(NUMBERS, max_size=4))


@st.composite
def spoilt(draw, usual):
    """What is usual for each argument; every other time one of them is anything."""
    given = {name: draw(strategy) for name, strategy in usual.items()}
    if draw(st.booleans()):
        given[draw(st.sampled_from(sorted(given)))] = draw(ANY)
    return given


@st.composite
def matrices(draw, least=2):
    """Square matrices of scores."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 9)))
    b, kind = draw(st.integers(least, 7)), draw(st.sampled_from(KINDS[:4]))
    leading = draw(st.sampled_from([(), (2,)]))
    scale = draw(st.sampled_from([1.0, 0.0, 100.0]))
    return (scale * torch.randn(*leading, b, b, generator=generator)).to(kind)


@st.composite
def shares(draw):
    """The probabilities of three symbols."""
    counts = draw(st.tuples(*3 * [st.integers(1, 5)]))
    return [count / sum(counts) for count in counts]


UNIT = st.sampled_from(["bits", "nats"])
POSITIVE = st.floats(0.01, 9.0)
CONTRAST = st.sampled_from(["x", "y", "both"])


def use_loss(name):
    parameters = {"temperature": POSITIVE, "check": st.booleans()}
    if name == "MINE":
        parameters["rate"] = st.floats(0.01, 1)
    if name.startswith("InfoNCE"):
        parameters |= {"contrast": CONTRAST, "block": st.sampled_from(["auto", None, 2])}
    if name == "InfoNCEAnchor":
        parameters |= {"nu": st.one_of(POSITIVE, st.just("k")), "k": st.sampled_from([None, 1, 2])}
        rules = [mi_lib.Log(), mi_lib.Kliep(), mi_lib.Power(2.0)]
        parameters["rule"] = st.sampled_from(rules)
    given = {
        "scores": matrices(),
        "other": st.none(),
        "value": POSITIVE,
        "pairs": st.integers(2, 9),
    }

    def call(scores, other, value, pairs, **parameters):
        loss = getattr(mi_lib, name)(**parameters)
        return (
            loss(scores, other),
            loss(scores, scores),
            loss.setting(pairs),
            loss.bound(value, pairs),
        )

    return spoilt(parameters | given).map(lambda drawn: lambda: call(**drawn))


def use_critic(name):
    sizes = dict.fromkeys(("x_dim", "y_dim", "hidden", "layers"), st.integers(1, 3))

    def call(seed, rows, columns, **sizes):
        critic = getattr(mi_lib, name)(**sizes, seeds=(seed,))
        return critic(torch.ones(rows, sizes["x_dim"]), torch.ones(columns, sizes["y_dim"]))

    given = sizes | {"seed": st.integers(0, 9)}
    given |= dict.fromkeys(("rows", "columns"), st.integers(1, 2))
    return st.fixed_dictionaries(given).map(lambda drawn: lambda: call(**drawn))


def use_fit_critic():
    """Two steps on whatever comes."""
    parameters = {
        "batch": st.integers(2, 6),
        "steps": st.integers(1, 2),
        "rate": st.floats(1e-4, 1e-1),
        "held_out": st.sampled_from([0.5, 30]),
        "patience": st.sampled_from([None, 1]),
        "every": st.integers(1, 2),
        "average": st.sampled_from([None, 0.9]),
        "clip": st.sampled_from([None, 1.0]),
        "precision": st.sampled_from(["float32", "bfloat16"]),
        "seed": st.integers(-5, 2**40),
        "unit": UNIT,
        "loss": st.sampled_from([mi_lib.JS(), mi_lib.DV(), mi_lib.InfoNCE()]),
        "device": st.just("cpu"),
        "checkpoint": st.none(),
        "progress": st.just(False),
    }
    numbers = st.integers(0, 9).map(lambda k: torch.randn(60, 1) + k)
    given = {name: st.one_of(numbers, arrays()) for name in ("x", "y", "new")}
    given["critic"] = st.integers(1, 2).map(lambda d: mi_lib.Separable(d, 1, hidden=2))

    def call(critic, x, y, new, **parameters):
        fit = mi_lib.fit_critic(critic, (x, y), **parameters)
        return str(fit.report()), fit.pmi(new, y)

    return spoilt(parameters | given).map(lambda drawn: lambda: call(**drawn))


def use_chunks():
    """One step on two encoders of two inputs each."""

    def call(loss, x, y, chunk):
        encoders = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
        return mi_lib.backward_in_chunks(loss, encoders, (x, y), chunk)

    rows = st.integers(4, 5).map(lambda b: torch.ones(b, 2))
    given = {"loss": st.just(mi_lib.JS()), "x": rows, "y": rows, "chunk": st.integers(-1, 6)}
    return st.fixed_dictionaries(given).map(lambda drawn: lambda: call(**drawn))


SMALL = {
    "unit": UNIT,
    "random_state": st.integers(0, 9),
    "confidence": st.floats(0.01, 0.99),
    "folds": st.integers(2, 4),
    "seeds": st.integers(1, 2),
    "hidden": st.integers(1, 4),
    "batch": st.integers(8, 9),
    "steps": st.integers(1, 2),
    "device": st.just("cpu"),
}
TESTED = SMALL | {"permutations": st.integers(0, 5), "stability": st.booleans()}


def use_estimator():
    def call(x, y, new, **parameters):
        est = mi_lib.MIEstimator(**parameters).fit(x, y)
        return str(est.report()), est.pmi(x, y), est.pmi(new, y)

    given = {name: arrays() for name in ("x", "y", "new")}
    return spoilt(TESTED | given).map(lambda drawn: lambda: call(**drawn))


def use_table():
    def call(row, scores, unit):
        return row.loss(scores), row.estimate(scores, unit), row.new_loss()(scores)

    given = {"row": st.sampled_from(mi_lib.TABLE_1), "scores": matrices(), "unit": UNIT}
    return st.fixed_dictionaries(given).map(lambda drawn: lambda: call(**drawn))


def plain(name, home=mi_lib, **arguments):
    """A function of arguments that have names."""
    return spoilt(arguments).map(lambda drawn: lambda: getattr(home, name)(**drawn))


COUNT = st.integers(1, 5)
CLOSED = {"k": COUNT, "nu": POSITIVE, "unit": UNIT}
ALPHABET = {name: shares() for name in ("q1", "q0")}
CRITIC = {"r": st.lists(POSITIVE, min_size=3, max_size=3)} | ALPHABET
FINITE = {
    "kl": ALPHABET | {"unit": UNIT},
    "chi_square": ALPHABET,
    "infonce": CRITIC | {"k": COUNT, "unit": UNIT},
    "alpha_infonce": CRITIC | {"k": st.integers(2, 5), "alpha": st.floats(0, 1), "unit": UNIT},
    "ml_infonce": CRITIC | {"k": COUNT, "m": st.integers(1, 2), "unit": UNIT},
    "anchored_risk": CRITIC | {"k": COUNT, "nu": POSITIVE, "rule": st.none()},
    "generalised_dv": CRITIC | {"beta": POSITIVE, "unit": UNIT},
    "dv": CRITIC | {"unit": UNIT},
    "nwj": CRITIC | {"unit": UNIT},
}


def use_rule(name):
    rule = getattr(mi_lib, name)
    alpha = {"alpha": POSITIVE} if "alpha" in getattr(rule, "__dataclass_fields__", {}) else {}

    @st.composite
    def calls(draw):
        parameters, values = draw(spoilt(alpha)) if alpha else {}, draw(matrices())
        power = parameters.get("alpha", 1.0)
        assume(not isinstance(power, float) or not 0 < abs(power) < 0.1)  # 3 ** (1 / alpha)
        return lambda: (rule(**parameters)(values), rule(**parameters).loss(values, 0))

    return calls()


DOORS = {
    **{name: use_loss(name) for name in ("DV", "InfoNCE", "InfoNCEAnchor", "JS", "MINE", "NWJ")},
    **{name: use_critic(name) for name in ("Joint", "Separable")},
    "fit_critic": use_fit_critic(),
    "backward_in_chunks": use_chunks(),
    "TABLE_1": use_table(),
    "MIEstimator": use_estimator(),
    "conditional_mi": plain("conditional_mi", x=arrays(), y=arrays(), z=arrays(), **TESTED),
    "mi_matrix": plain("mi_matrix", values=arrays(), **SMALL),
    "certified_kl": plain("certified_kl", value=POSITIVE, **CLOSED),
    "infonce_ceiling": plain("infonce_ceiling", kl=POSITIVE, **CLOSED),
    "chi_square_floor": plain("chi_square_floor", kl=POSITIVE, chi2=POSITIVE, k=COUNT, unit=UNIT),
    "generalised_dv": plain(
        "generalised_dv", mean_log_r=POSITIVE, mean_r=POSITIVE, beta=POSITIVE, unit=UNIT
    ),
    "finite": st.one_of(*(plain(name, finite, **given) for name, given in FINITE.items())),
    "k_way_jsd": plain("k_way_jsd", **ALPHABET, k=COUNT, unit=UNIT),
    **{
        name: use_rule(name)
        for name in (
            "InverseLog",
            "Kliep",
            "Log",
            "Power",
            "PseudoSpherical",
            "RobustDRE",
            "SymmetricInverseLog",
        )
    },
}
BASES = {"ScoringRule"}  # what others derive from: nothing to call


def is_sentence(error):
    """A ValueError or TypeError, or an error that a line of ours raises on purpose."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = Path(last.filename).is_relative_to(Path(mi_lib.__file__).parent)
    return isinstance(error, ValueError | TypeError) or (ours and last.line.startswith("raise"))


def test_every_public_name_is_a_door():
    assert DOORS.keys() | BASES == set(mi_lib.__all__)


@pytest.mark.parametrize("start", SEEDS)
@pytest.mark.parametrize("name", DOORS)
def test_a_call_ends_in_an_answer_or_a_sentence(name, start):
    @seed(start)
    @settings(
        max_examples=SAMPLE if start == 0 else math.ceil(CALLS / len(DOORS) / 3),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(DOORS[name])
    def try_calls(call):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                call()
            except Exception as error:
                if not is_sentence(error):
                    raise

    try_calls()


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06" + 18 * b"\0", 99 * b"\0"])
def test_a_file_of_anything_gets_a_sentence(content, tmp_path):
    path = tmp_path / "fit.npz"
    path.write_bytes(content)
    for load in (
        lambda: mi_lib.MIEstimator.load(path),
        lambda: CriticFit.load(path, mi_lib.Separable(1, 1, hidden=2), mi_lib.JS()),
    ):
        with pytest.raises(ValueError, match="damaged"):
            load()
