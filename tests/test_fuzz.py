"""Any call at a public door ends in an answer or in a sentence.

A sentence is a ValueError or a TypeError, or an error that this library raises itself. What torch,
numpy or Python say of an index, a shape or an attribute deep inside is none. `make test` tries a
sample; with MI_LONG=1 there are 5,000 calls, spread over all doors and several seeds.
"""

import math
import os
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import mi_lib
from mi_lib import finite
from mi_lib.critic_fit import CriticFit

LONG = os.environ.get("MI_LONG") == "1"
SEEDS = range(3) if LONG else range(1)
CALLS = 5_000 if LONG else 400  # of all doors together, in all seeds

NUMBERS = st.one_of(
    st.integers(-3, 12),
    st.floats(-5, 50),
    st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1e-300, 1e300, 1.0, 0.5, True]),
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
    n, d = draw(st.sampled_from([0, 1, 49, 60, 61])), draw(st.sampled_from([None, 0, 1, 2]))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    values = rng.standard_normal(n if d is None else (n, d))
    change = draw(
        st.sampled_from(
            [
                lambda v: v,
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
SHARES = st.one_of(
    st.lists(st.integers(0, 5), min_size=1, max_size=4).map(
        lambda v: [i / (sum(v) or 1) for i in v]
    ),
    ANY,
)


def either(usual, odd=ANY):
    """Mostly the usual kind, now and then anything."""
    return st.integers(0, 4).flatmap(lambda i: usual if i else odd)


UNIT = either(st.sampled_from(["bits", "nats"]))
SCORES = either(tensors())


def some(**strategies):
    """Keyword arguments, each there or not."""
    return st.fixed_dictionaries({}, optional=strategies)


def use_loss(name):
    special = {"MINE": {"rate": either(NUMBERS)}, "InfoNCE": {"contrast": either(WORDS)}}
    special["InfoNCEAnchor"] = {
        "nu": either(st.one_of(NUMBERS, st.just("k"))),
        "contrast": either(WORDS),
        "k": either(st.integers(-1, 5)),
        "rule": either(st.sampled_from([mi_lib.Log(), mi_lib.Kliep(), mi_lib.Power(2)])),
    }
    shared = {"temperature": either(NUMBERS), "check": either(st.booleans())}
    more = special.get(name, {})
    least = {"nu": more["nu"]} if name == "InfoNCEAnchor" else {}

    @st.composite
    def calls(draw):
        parameters = draw(some(**shared, **more)) | {k: draw(v) for k, v in least.items()}
        scores, other = draw(SCORES), draw(either(st.none(), tensors()))
        value, pairs = draw(either(NUMBERS)), draw(either(st.integers(0, 9)))

        def call():
            loss = getattr(mi_lib, name)(**parameters)
            return loss(scores, other), loss.setting(pairs), loss.bound(value, pairs)

        return call

    return calls()


def use_critic(name):
    @st.composite
    def calls(draw):
        dims = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
        parameters = draw(
            some(seeds=st.lists(st.integers(-3, 5), max_size=2), hidden=st.integers(1, 4))
        )
        x, y = draw(tensors()), draw(tensors())
        return lambda: getattr(mi_lib, name)(*dims, **parameters)(x, y)

    return calls()


@st.composite
def use_fit_critic(draw):
    """Two steps on whatever comes."""
    data = draw(either(st.tuples(arrays(), arrays())))
    parameters = {"batch": 4, "steps": 2, "device": "cpu"} | draw(
        some(
            batch=either(st.integers(-1, 70)),
            steps=either(st.integers(-1, 2)),
            rate=either(NUMBERS),
            held_out=either(NUMBERS),
            patience=either(st.integers(-1, 3)),
            every=either(st.integers(0, 2)),
            average=either(NUMBERS),
            clip=either(NUMBERS),
            precision=either(st.sampled_from(["float32", "bfloat16"])),
            seed=either(st.integers(-5, 2**40)),
            unit=UNIT,
            loss=either(st.sampled_from([mi_lib.JS(), mi_lib.DV(), mi_lib.InfoNCE()])),
            progress=st.none(),
            device=either(WORDS),
            checkpoint=st.sampled_from(["", 3, "/", [], "/dev/null/x"]),
        )
    )
    critic = draw(either(st.integers(1, 2).map(lambda d: mi_lib.Separable(d, 1, hidden=2))))
    new = draw(st.tuples(arrays(), arrays()))

    def call():
        fit = mi_lib.fit_critic(critic, data, **parameters)
        return str(fit.report()), fit.pmi(*new)

    return call


PARAMETERS = some(
    unit=UNIT,
    random_state=either(st.integers(0, 9)),
    confidence=either(st.floats(0.01, 0.99)),
    folds=either(st.integers(1, 6)),
    seeds=either(st.integers(0, 2)),
    hidden=either(st.integers(0, 4)),
    batch=either(st.integers(7, 9)),
    permutations=either(st.integers(-1, 5)),
    stability=st.booleans(),
    device=either(st.just("cpu"), WORDS),
)
SMALL = {"folds": 2, "seeds": 1, "hidden": 2, "batch": 8, "permutations": 3, "device": "cpu"}


@st.composite
def use_estimator(draw):
    x, y, new = (draw(either(arrays())) for _ in range(3))
    parameters = SMALL | draw(PARAMETERS) | {"steps": draw(either(st.integers(0, 2), NUMBERS))}

    def call():
        est = mi_lib.MIEstimator(**parameters).fit(x, y)
        return str(est.report()), est.pmi(x, y), est.pmi(new, y)

    return call


@st.composite
def use_conditional(draw):
    sides = [draw(either(arrays())) for _ in range(3)]
    parameters = SMALL | draw(PARAMETERS) | {"steps": 1}
    return lambda: str(mi_lib.conditional_mi(*sides, **parameters))


@st.composite
def use_matrix(draw):
    values = draw(either(arrays()))
    parameters = SMALL | {"permutations": 0} | draw(PARAMETERS) | {"steps": 1}
    return lambda: mi_lib.mi_matrix(values, **parameters)


@st.composite
def use_table(draw):
    row, scores, unit = draw(st.sampled_from(mi_lib.TABLE_1)), draw(SCORES), draw(UNIT)
    return lambda: (row.loss(scores), row.estimate(scores, unit), row.new_loss()(scores))


def plain(name, *arguments):
    """A function of these arguments and a unit."""
    return st.tuples(*arguments, UNIT).map(lambda given: lambda: getattr(mi_lib, name)(*given))


COUNT = either(st.integers(0, 6), st.one_of(NUMBERS, WORDS, ODD))
VALUE = either(NUMBERS)


@st.composite
def use_finite(draw):
    """Any function of the module that takes an alphabet."""
    name = draw(st.sampled_from(FINITE))
    given = {"r": SHARES, "q1": SHARES, "q0": SHARES, "k": COUNT, "m": st.integers(-1, 2)}
    given |= {"alpha": VALUE, "nu": VALUE, "beta": VALUE, "unit": UNIT, "rule": st.none()}
    function = getattr(finite, name)
    code = function.__code__
    arguments = [draw(given[key]) for key in code.co_varnames[: code.co_argcount]]
    return lambda: function(*arguments)


FINITE = [
    "kl",
    "chi_square",
    "infonce",
    "k_way_jsd",
    "alpha_infonce",
    "ml_infonce",
    "anchored_risk",
    "generalised_dv",
    "dv",
    "nwj",
]


def use_rule(name):
    @st.composite
    def calls(draw):
        rule = getattr(mi_lib, name)
        alpha = [draw(VALUE)] if "alpha" in getattr(rule, "__dataclass_fields__", {}) else []
        values, z = draw(either(tensors())), draw(st.integers(-3, 6))
        return lambda: (rule(*alpha)(values), rule(*alpha).loss(values, z))

    return calls()


DOORS = {
    **{name: use_loss(name) for name in ("DV", "InfoNCE", "InfoNCEAnchor", "JS", "MINE", "NWJ")},
    **{name: use_critic(name) for name in ("Joint", "Separable")},
    "fit_critic": use_fit_critic(),
    "TABLE_1": use_table(),
    "MIEstimator": use_estimator(),
    "conditional_mi": use_conditional(),
    "mi_matrix": use_matrix(),
    "certified_kl": plain("certified_kl", VALUE, COUNT, VALUE),
    "infonce_ceiling": plain("infonce_ceiling", VALUE, COUNT, VALUE),
    "chi_square_floor": plain("chi_square_floor", VALUE, VALUE, COUNT),
    "generalised_dv": plain("generalised_dv", VALUE, VALUE, VALUE),
    "finite": use_finite(),
    "k_way_jsd": plain("k_way_jsd", SHARES, SHARES, COUNT),
    **{
        name: use_rule(name)
        for name in (
            "InverseLog",
            "Kliep",
            "Log",
            "Power",
            "PseudoSpherical",
            "RobustDRE",
            "ScoringRule",
            "SymmetricInverseLog",
        )
    },
}


def is_sentence(error):
    """A ValueError or TypeError, or an error that a line of ours raises on purpose."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = Path(last.filename).is_relative_to(Path(mi_lib.__file__).parent)
    return isinstance(error, ValueError | TypeError) or (ours and last.line.startswith("raise"))


def test_every_public_name_is_a_door():
    assert DOORS.keys() == set(mi_lib.__all__)


@pytest.mark.parametrize("start", SEEDS)
@pytest.mark.parametrize("name", DOORS)
def test_a_call_ends_in_an_answer_or_a_sentence(name, start):
    @seed(start)
    @settings(
        max_examples=math.ceil(CALLS / len(DOORS) / len(SEEDS)),
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
