"""What callers may hand in: an answer or a clear ValueError, whatever it is."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mi_lib import MIEstimator
from mi_lib.inference import table

RNG = np.random.default_rng(0)
X = RNG.standard_normal(60)


def quick(**parameters):
    small = {"steps": 2, "seeds": 1, "folds": 2, "stability": False, "permutations": 9}
    return MIEstimator(random_state=0, **(small | parameters))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "x has 0 rows"),
        (X[:49], "x has 49 rows; an estimate needs at least 50"),
        (np.zeros((60, 0)), "x has no columns"),
        (np.zeros((60, 2, 2)), r"x has shape \(60, 2, 2\)"),
        (3.0, r"x has shape \(\)"),
        (np.where(X > 1, np.nan, X), "NaN of 60 values"),
        (np.where(X > 1, np.inf, X), "infinite of 60 values"),
        (np.ones(60), "x is constant"),
        (np.full(60, "a"), "x is constant"),
        (X + 1j, "dtype complex128"),
        (pd.date_range("2020-01-01", periods=60), "dtype datetime64"),
        (pd.Series(pd.date_range("2020-01-01", periods=60)), "dtype datetime64"),
        ([f"name {i}" for i in range(60)], "60 distinct strings in 60 rows"),
        (pd.Series(["a", None] * 30), "30 missing of 60 values"),
        (pd.Series([1.0, None] * 30), "30 NaN of 60 values"),
        ([[1.0], [2.0, 3.0]] * 30, "ragged"),
        (np.array(["a", 1.5] * 30, dtype=object), "mixes float and str"),
        (np.array([{}, 1.5] * 30, dtype=object), "of type dict among its values"),
        (pd.DataFrame(np.ones((60, 2)), columns=["a", "a"]), "several columns named a"),
        ({"a": 1}, r"x has shape \(\)"),
        (None, r"x has shape \(\)"),
        (torch.empty(60, device="meta"), "on meta, cannot be read"),
        ([torch.tensor(v, requires_grad=True) for v in X], "ragged or no array"),
        (np.ma.masked_less(X, 0), "masked values; drop or fill"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(values, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(values, X)


@pytest.mark.parametrize(
    "values",
    [
        torch.from_numpy(X).to_sparse(),
        torch.from_numpy(X).requires_grad_(),
        np.ma.masked_less(X, -99),
        X * 1e-308,
        X * 1e306,
    ],
    ids=["sparse", "with gradient", "nothing masked", "tiny", "huge"],
)
def test_other_forms_of_the_same_values_give_the_same_answer(values):
    y = X + 0.5 * np.random.default_rng(1).standard_normal(60)
    found = quick().fit(values, y)
    assert found.mi_ == pytest.approx(quick().fit(X, y).mi_, abs=1e-6)


def test_narrow_numbers_and_numbers_below_the_normal_range_are_read():
    y = X + 0.5 * np.random.default_rng(1).standard_normal(60)
    for values in (torch.from_numpy(X).to(torch.float8_e4m3fn), np.arange(60) * 5e-324):
        assert np.isfinite(quick().fit(values, y).mi_)


def test_new_values_without_names_are_matched_by_place():
    y = X + 0.5 * np.random.default_rng(1).standard_normal(60)
    frame = pd.DataFrame({"a": X, "b": X**2})
    est = quick().fit(frame, pd.Series(y, name="y"))
    assert est.pmi(frame.to_numpy(), y) == pytest.approx(est.pmi(frame[["b", "a"]], y))
    with pytest.raises(ValueError, match=r"x lacks the columns x\[a\], x\[b\]"):
        est.pmi(X, y)


def test_sides_of_different_length_are_refused():
    with pytest.raises(ValueError, match="x has 60 rows and y 59"):
        quick().fit(X, X[:59])


@pytest.mark.parametrize(
    "values",
    [
        X.astype(np.float16),
        X * 1e300,
        X * 1e-300,
        np.sign(X) * np.finfo(float).max * RNG.random(60),
        (X * 10).round().astype(int),
        (X > 0),
        np.array(["yes", "no"])[(X > 0).astype(int)],
        np.array([b"yes", b"no"])[(X > 0).astype(int)],
        pd.Categorical(np.array(["low", "high"])[(X > 0).astype(int)]),
        np.repeat(X[:30], 2),
        np.column_stack([X, X, np.ones(60)])[:, ::-1],
        np.asfortranarray(np.column_stack([X, X**2])),
        np.stack([X, X])[:, ::-1].T,
        X.astype(object),
        X.tolist(),
        torch.from_numpy(X),
        torch.from_numpy(X).to(torch.bfloat16),
        torch.from_numpy(X).requires_grad_(),
        pd.DataFrame({"a": X, "b": np.where(X > 0, "u", "v")}),
        pd.Series(X, index=range(100, 160)),
        pd.Series(X).astype("Float64"),
        np.where(X > 1, X, 0.0),
    ],
    ids=lambda values: f"{type(values).__name__}",
)
def test_what_can_be_used_gives_finite_numbers(values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est = quick().fit(values, X)
    numbers = [est.mi_, *est.interval_, est.lower_bound_, est.dv_, est.p_value_]
    assert np.isfinite(numbers).all() and np.isfinite(est.pmi_).all()
    assert np.isfinite(est.pmi(values, X)).all()


ODD = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1e308, -1e308, 5e-324, 1.0]),
    st.integers(-(10**30), 10**30),
    st.text(max_size=2),
    st.none(),
    st.booleans(),
)
ARRAYS = st.one_of(
    hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.float16, np.int8, np.int64, np.bool_]),
        st.one_of(st.tuples(st.integers(0, 70)), st.tuples(st.integers(45, 70), st.integers(0, 3))),
    ),
    st.lists(ODD, max_size=70),
    st.lists(ODD, min_size=1, max_size=4).map(lambda few: (few * 70)[:60]),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(ARRAYS)
def test_any_array_gives_columns_or_a_value_error(values):
    try:
        columns = table.read(values, "x")
    except ValueError as error:
        assert str(error)
        return
    for column in columns:
        assert np.isfinite(column.values).all()
        assert len(np.unique(column.values)) > 1


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    hnp.arrays(
        np.float64,
        (60, 2),
        elements=st.one_of(st.floats(-1e300, 1e300), st.sampled_from([0.0, 1.0, 1e-300])),
    )
)
def test_any_finite_numbers_give_finite_results_or_a_value_error(values):
    try:
        est = quick().fit(values[:, 0], values[:, 1])
    except ValueError as error:
        assert "constant" in str(error)
        return
    assert np.isfinite([est.mi_, *est.interval_, est.dv_, est.lower_bound_]).all()


def test_more_columns_than_rows_give_finite_numbers():
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((60, 80)), rng.standard_normal((60, 40))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est = quick().fit(x, y)
    assert np.isfinite([est.mi_, *est.interval_, est.dv_, est.lower_bound_]).all()


def test_few_numbers_are_symbols_and_many_are_numbers():
    few, many = table.read(np.arange(60) % 3, "x")[0], table.read(np.arange(60), "x")[0]
    assert few.symbols == (0.0, 1.0, 2.0) and many.symbols is None
    assert few.values.tolist()[:4] == [0, 1, 2, 0]


def test_constant_columns_are_left_out():
    assert len(table.read(np.column_stack([X, np.ones(60)]), "x")) == 1


def test_new_values_must_have_the_columns_and_symbols_of_the_fit():
    frame = pd.DataFrame({"a": X, "b": np.where(X > 0, "u", "v")})
    est = quick().fit(frame, X)
    assert np.array_equal(est.pmi(frame[["b", "a"]], X), est.pmi(frame, X))
    assert est.pmi(frame[:0], X[:0]).shape == (0,)
    with pytest.raises(ValueError, match=r"x lacks the columns x\[b\]"):
        est.pmi(frame[["a"]], X)
    with pytest.raises(ValueError, match="were not there at the fit: w"):
        est.pmi(frame.assign(b="w"), X)
    with pytest.raises(ValueError, match="x has 60 rows and y 10"):
        est.pmi(frame, X[:10])
