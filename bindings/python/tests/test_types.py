"""Element types: names, bf16, exact conversions."""

import sys

import numpy as np
import pytest

import sectile
from sectile import _types


def nearest_bf16(value):
    """By search among all finite bf16, in exact arithmetic of doubles; ties to even."""
    every = np.arange(0x10000, dtype=np.uint16)
    with np.errstate(invalid="ignore"):  # signaling NaNs become quiet
        wide = sectile.from_bf16(every).astype("f8")
    finite = np.isfinite(wide)
    distance = np.abs(wide[finite] - value)
    best = every[finite][distance == distance.min()]
    best = best[(best & 0x8000 != 0) == bool(np.signbit(value))] if value == 0 or (best & 0x7FFF == 0).all() else best
    return best[best & 1 == 0][0] if len(best) > 1 else best[0]


def test_bf16_is_rounded_once_to_nearest_even(rng):
    plain = [0.0, -0.0, 1.0, 1 + 2.0**-8, 1 + 3 * 2.0**-8, -1 - 2.0**-8, 1e-40, 2.0**-134, 3 * 2.0**-135]
    # Just beside the middle of two bf16: by way of f32 they would be rounded twice.
    hard = [1 + 2.0**-8 + 2.0**-40, 1 + 3 * 2.0**-8 - 2.0**-40, -(1 + 2.0**-8 + 2.0**-40)]
    values = np.array(plain + hard + list(rng.normal(size=20)))
    got = sectile.to_bf16(values).view(np.uint16)
    assert [hex(bits) for bits in got] == [hex(nearest_bf16(value)) for value in values]
    single = values.astype("f4")
    assert sectile.to_bf16(single).tobytes() == np.array([nearest_bf16(v) for v in single.astype("f8")]).tobytes()


def test_bf16_of_what_is_not_finite():
    values = np.array([np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e300])
    for given in (values, values[:5].astype("f4")):
        got = sectile.from_bf16(sectile.to_bf16(given))
        assert (
            np.isposinf(got[0])
            and np.isneginf(got[1])
            and np.isnan(got[2])
            and np.isposinf(got[3])
            and np.isneginf(got[4])
        )
    assert np.isposinf(sectile.from_bf16(sectile.to_bf16(values))[5])


def test_bf16_keeps_shapes_and_takes_integers():
    assert sectile.to_bf16(np.arange(6).reshape(2, 3)).shape == (2, 3)
    assert sectile.from_bf16(sectile.to_bf16(5)).item() == 5.0
    assert sectile.to_bf16(np.zeros((3, 4)).T).shape == (4, 3)
    already = sectile.to_bf16([1.5])
    assert sectile.to_bf16(already) is already
    for bad in (np.array(["x"]), np.zeros(2, complex)):
        with pytest.raises(sectile.InvalidProblemError):
            sectile.to_bf16(bad)
    with pytest.raises(sectile.InvalidProblemError):
        sectile.from_bf16(np.zeros(2, "f4"))


def test_ml_dtypes_is_taken_where_it_is_installed(monkeypatch):
    class Module:
        bfloat16 = np.dtype("f2")  # a stand-in: only which dtype is taken is seen here

    monkeypatch.setattr(_types, "_bf16", None)
    monkeypatch.setitem(sys.modules, "ml_dtypes", Module)
    assert _types.bf16_dtype() == np.dtype("f2")
    monkeypatch.setattr(_types, "_bf16", None)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert _types.bf16_dtype() == np.dtype("V2")


def test_a_real_bfloat16(rng):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = rng.uniform(-1, 1, (4, 5)).astype(ml_dtypes.bfloat16)
    got = sectile.matmul(a, a.T)
    assert got.dtype == a.dtype
    assert np.abs(got.astype("f4") - a.astype("f4") @ a.T.astype("f4")).max() < 0.05
    assert sectile.to_bf16(a.astype("f4")).tobytes() == a.tobytes()


def test_integers_are_converted_where_each_is_exact():
    exact = _types.exact
    for dtype in ("i1", "u2", "i4", "u4", "i8", "u8", "?"):
        assert exact("a", np.array([0, 1], dtype), "f16").tolist() == [0, 1]
    assert exact(
        "a", np.array([2**24, -(2**24), 2**62, 2**63], "f8").astype("u8")[[0, 2, 3]], "f32"
    ).tolist() == [2**24, 2**62, 2**63]
    assert exact("a", np.array([256, -1024, 65280]), "bf16").view("u2").tolist() == [0x4380, 0xC480, 0x477F]
    for values, to, first in (
        ([1, 2**24 + 1], "f32", 16777217),
        ([2049], "f16", 2049),
        ([65536], "f16", 65536),
        ([2**63 - 1], "f32", 2**63 - 1),
        ([257], "bf16", 257),
        ([-129], "i8", -129),
        ([2**31], "i32", 2**31),
        ([-1], "u8", -1),
    ):
        with pytest.raises(
            sectile.InvalidProblemError, match=rf"{first} at \({len(values) - 1}\)|{first} at \({len(values) - 1},\)"
        ):
            exact("a", np.array(values), to)


def test_names():
    for given, name in (
        ("f16", "f16"),
        ("i8", "i8"),
        (np.int8, "i8"),
        ("int8", "i8"),
        ("float32", "f32"),
        (np.dtype("V2"), "bf16"),
        ("bfloat16", "bf16"),
        ("bf16", "bf16"),
    ):
        assert _types.named("type", given, _types.STAGES) == name
    for given in ("f64", "float64", "int64", "nonsense", 3.5, "f16 epi=relu"):
        with pytest.raises(sectile.InvalidProblemError, match="one of"):
            _types.named("type", given, _types.STAGES)
