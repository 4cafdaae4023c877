"""Element types: Sectile's names ("f16") and NumPy's.

NumPy has no bf16. An array has bf16 if its dtype is ml_dtypes.bfloat16, or V2 (two plain bytes, which is how NumPy
stores bfloat16 in a .npy file), or uint16 where the caller says type="bf16".
"""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ._errors import InvalidProblemError, invalid

FLOATS = ("f32", "f16", "bf16")
PRODUCTS = ("f32", "f16", "bf16", "i8")  # what matmuls and convolutions multiply
STAGES = ("f32", "f16", "bf16", "i8", "u8", "i32")  # what a permute computes with

_NAMES = {
    "f2": "f16",
    "f4": "f32",
    "f8": "f64",
    "i1": "i8",
    "i2": "i16",
    "i4": "i32",
    "i8": "i64",
    "u1": "u8",
    "u2": "u16",
    "u4": "u32",
    "u8": "u64",
    "c8": "c64",
    "c16": "c128",
}
_NUMPY = {name: np.dtype(code) for code, name in _NAMES.items()}
_BITS = {1: "b8", 2: "b16", 4: "b32", 8: "b64", 16: "b128"}
_V2 = np.dtype("V2")

_bf16: Optional["np.dtype[Any]"] = None


def bf16_dtype() -> "np.dtype[Any]":
    """The dtype of bf16 results: ml_dtypes.bfloat16 where ml_dtypes is installed, otherwise V2."""
    global _bf16
    if _bf16 is None:
        try:
            import ml_dtypes  # type: ignore[import-not-found, import-untyped, unused-ignore]

            _bf16 = np.dtype(ml_dtypes.bfloat16)
        except ImportError:
            _bf16 = _V2
    return _bf16


def number_name(dtype: "np.dtype[Any]", bf16: bool = False) -> Optional[str]:
    """Sectile's name for numbers of a dtype; "bool" for bool; None for what is no number. bf16: uint16 is bf16."""
    if dtype.kind in "fiuc":
        name = _NAMES.get(f"{dtype.kind}{dtype.itemsize}")
        return "bf16" if bf16 and name == "u16" else name
    if dtype.kind == "b":
        return "bool"
    if dtype == _V2 or dtype.name == "bfloat16":
        return "bf16"
    return None


def bits_name(dtype: "np.dtype[Any]") -> str:
    """The type of a permute that moves elements as they are. Errors: invalid_problem (Python objects; a size that is
    not 1, 2, 4, 8 or 16 bytes)."""
    own = _NAMES.get(f"{dtype.kind}{dtype.itemsize}") if dtype.kind in "fiuc" else None
    name = own or _BITS.get(dtype.itemsize)
    if name is None or dtype.hasobject:
        raise invalid("type", f"dtype {dtype}", "elements of 1, 2, 4, 8 or 16 bytes that hold no Python objects")
    return name


def numpy_of(name: str) -> "np.dtype[Any]":
    return bf16_dtype() if name == "bf16" else _NUMPY[name]


def named(what: str, given: Any, allowed: tuple[str, ...]) -> str:
    """An argument's type: a name of Sectile's, or what numpy.dtype() takes. Errors: invalid_problem."""
    want = "one of " + ", ".join(allowed)
    if isinstance(given, str) and given in allowed:
        return given
    if isinstance(given, str) and given in ("bfloat16", "i64", "u64", "u16", "i16", "f64"):  # i8 is numpy's int64
        given_name: Optional[str] = "bf16" if given == "bfloat16" else given
    else:
        try:
            given_name = number_name(np.dtype(given))
        except TypeError:
            raise invalid(what, given, want) from None
    if given_name not in allowed:
        raise invalid(what, given, want)
    return given_name


def promoted(a: str, b: str) -> str:
    """The type that two arrays are multiplied in: NumPy's promotion, as far as Sectile multiplies that. Bytes take the
    other's type, two of i8 are i8, and all else is f32."""
    byte = ("i8", "u8", "bool")
    if a in byte and b in byte:
        return "i8" if a == b == "i8" else "f32"
    if a in byte:
        a, b = b, a
    return a if a in ("f16", "bf16") and (b == a or b in byte) else "f32"


def native(array: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """The same numbers in the machine's byte order: a copy, where they are in the other."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def bf16_bits(array: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """f32 or f64 rounded once to bf16, to nearest, ties to even, as uint16."""
    with np.errstate(over="ignore"):
        single = array.astype(np.float32)
    bits = single.view(np.uint32)
    if array.dtype == np.float64:
        # Rounded to odd in between, so that the second rounding sees what the first one left out.
        wide = single.astype(np.float64)
        inexact = (wide != array) & np.isfinite(wide) & ((bits & 1) == 0)
        away = inexact & (np.abs(wide) < np.abs(array))
        bits = np.where(inexact, np.where(away, bits + np.uint32(1), bits - np.uint32(1)), bits)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    nan = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(single), nan, rounded).astype(np.uint16)


def to_bf16(array: Any) -> "np.ndarray[Any, Any]":
    """Numbers as bf16: rounded once, to nearest, ties to even.

    array: any shape; floats or integers. The result's dtype is ml_dtypes.bfloat16 where ml_dtypes is installed,
    otherwise V2, two plain bytes.
    """
    given: "np.ndarray[Any, Any]" = native(np.asarray(array))
    if number_name(given.dtype) == "bf16":
        return given
    if given.dtype.kind not in "fiub":
        raise invalid("type", f"dtype {given.dtype}", "floats or integers")
    wide = given if given.dtype == np.float32 else given.astype(np.float64)
    made: "np.ndarray[Any, Any]" = bf16_bits(np.ascontiguousarray(wide)).view(bf16_dtype()).reshape(given.shape)
    return made


def from_bf16(array: Any) -> "np.ndarray[Any, Any]":
    """bf16 as float32, exactly. array: ml_dtypes.bfloat16, V2, or uint16 that holds bf16."""
    array = native(np.asarray(array))
    if number_name(array.dtype, bf16=True) != "bf16":
        raise invalid("type", f"dtype {array.dtype}", "bf16: ml_dtypes.bfloat16, V2 or uint16")
    bits = np.ascontiguousarray(array).view(np.uint16).astype(np.uint32) << np.uint32(16)
    return bits.view(np.float32).reshape(array.shape)


def _first_bad(what: str, array: "np.ndarray[Any, Any]", good: "np.ndarray[Any, Any]", to: str) -> InvalidProblemError:
    index = tuple(int(i) for i in np.argwhere(~good)[0])
    dtype = "'bfloat16'" if to == "bf16" else f"numpy.{numpy_of(to).name}"
    help_ = "sectile.to_bf16(a) rounds" if to == "bf16" else f"a.astype({dtype}) converts all the same"
    return invalid(what, f"{array[index]} at {index}", f"values of {to}; {help_}")


def exact(what: str, array: "np.ndarray[Any, Any]", to: str) -> "np.ndarray[Any, Any]":
    """Integers or bool as another type, each value exactly. Errors: invalid_problem, with the first that is none."""
    if to in FLOATS:
        if to == "bf16":
            bits = bf16_bits(array.astype(np.float64))
            wide = from_bf16(bits)
            out = bits.view(bf16_dtype())
        else:
            with np.errstate(over="ignore"):
                out = wide = array.astype(numpy_of(to))
        # More than 64 bits of mantissa are in no integer, and longdouble has them.
        good = wide.astype(np.longdouble) == array.astype(np.longdouble)
    else:
        info = np.iinfo(_NUMPY[to])
        good = (array >= info.min) & (array <= info.max) if array.dtype.kind != "b" else np.ones(array.shape, bool)
        out = array.astype(_NUMPY[to])
    if not good.all():
        raise _first_bad(what, array, good, to)
    return out


def rounded(array: "np.ndarray[Any, Any]", to: str) -> "np.ndarray[Any, Any]":
    """f64 as another type, rounded once; for integers it saturates, and NaN becomes 0."""
    if to == "bf16":
        return to_bf16(array)
    dtype = numpy_of(to)
    if to in FLOATS:
        with np.errstate(over="ignore"):
            return array.astype(dtype)
    info = np.iinfo(dtype)
    made: "np.ndarray[Any, Any]" = np.clip(np.rint(np.nan_to_num(array, nan=0.0)), info.min, info.max).astype(dtype)
    return made
