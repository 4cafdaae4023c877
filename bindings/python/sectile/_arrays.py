"""Arrays as operands: which bytes are sent, and which strides of theirs a problem can say."""

from __future__ import annotations

import math
from typing import Any, Optional, Sequence

import numpy as np

from . import _types
from ._errors import invalid

Array = "np.ndarray[Any, Any]"

# Strided arrays are sent with the gaps between their elements, up to so many bytes for each byte of theirs. NumPy
# packs those with larger gaps first.
MOST_GAPS = 2


def as_array(what: str, given: Any) -> "np.ndarray[Any, Any]":
    """An array as it lies. Masks would be lost without a word."""
    if isinstance(given, np.ma.MaskedArray):
        raise invalid(what, "a masked array", "an array without a mask: a.filled(0)")
    return np.asarray(given)


def is_weak(given: Any) -> bool:
    """Python's numbers and lists take the type that is wanted; arrays keep theirs."""
    return not isinstance(given, (np.ndarray, np.generic)) and not hasattr(given, "__array_interface__")


def finite(what: str, value: Any) -> float:
    """A number that f32 holds. Errors: invalid_problem."""
    number = float(value)
    with np.errstate(over="ignore"):
        single = np.float32(number)
    if not np.isfinite(single) or (single == 0) != (number == 0):
        raise invalid(what, value, "a finite number that f32 holds")
    return number


def decimal(value: float) -> str:
    """A number for a problem: no plus after its e."""
    return f"{value:.9g}".replace("e+", "e")


def address(array: "np.ndarray[Any, Any]") -> int:
    return int(array.__array_interface__["data"][0])


def reach(array: "np.ndarray[Any, Any]") -> int:
    """Bytes from an array's first element to the end of its last; its strides are not negative."""
    if array.flags.c_contiguous or array.size == 0:
        return array.nbytes
    return array.itemsize + sum(int((extent - 1) * stride) for extent, stride in zip(array.shape, array.strides))


def element_strides(array: "np.ndarray[Any, Any]") -> Optional[tuple[int, ...]]:
    """Strides in elements, 0 for axes of one element; None where a problem cannot say them: a negative stride, or
    one that is no whole number of elements."""
    size = array.itemsize
    out = []
    for extent, stride in zip(array.shape, array.strides):
        if extent == 1:
            stride = 0
        if stride < 0 or stride % size != 0:
            return None
        out.append(stride // size)
    return tuple(out)


def few_gaps(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether a strided array is sent as it lies."""
    span = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides))
    return span <= MOST_GAPS * max(1, math.prod(shape)) + 64


def operand(what: str, given: Any, to: str, *, narrow: bool = False) -> "np.ndarray[Any, Any]":
    """An operand beside the factors as elements of type `to`.

    Python's numbers and lists are rounded; integers are converted where each value is exact; f16 and bf16 widen to
    f32. narrow: f64 arrays are rounded. Errors: invalid_problem, with what NumPy can do.
    """
    array = _types.native(as_array(what, given))
    name = _types.number_name(array.dtype, bf16=to == "bf16")
    if name == to:
        return array
    if array.dtype.kind in "iub":
        return _types.exact(what, array, to)
    if name == "f64" and (narrow or is_weak(given)) and to in _types.FLOATS:
        return _types.rounded(array, to)
    if to == "f32" and name == "f16":
        return array.astype(np.float32)
    if to == "f32" and name == "bf16":
        return _types.from_bf16(array)
    how = "sectile.to_bf16(a)" if to == "bf16" else f"a.astype(numpy.{_types.numpy_of(to).name})"
    raise invalid(f"{what}: type", f"dtype {array.dtype}", f"{to}: {how}")


def filled(what: str, value: Any, to: str, count: int) -> "np.ndarray[Any, Any]":
    """One number, `count` times. Errors: invalid_problem, where the type has no such value."""
    number = finite(what, value)
    if to not in _types.FLOATS:
        info = np.iinfo(_types.numpy_of(to))
        if number != math.floor(number) or not info.min <= number <= info.max:
            raise invalid(what, value, f"a whole number from {info.min} to {info.max}, as the result's")
        return np.full(count, int(number), _types.numpy_of(to))
    if to == "bf16":
        return np.full(count, _types.bf16_bits(np.array([number]))[0], np.uint16).view(_types.bf16_dtype())
    with np.errstate(over="ignore"):
        made = np.full(count, number, _types.numpy_of(to))
    if count > 0 and not np.isfinite(made[0]):
        raise invalid(what, value, f"a number that the result's type, {to}, holds")
    return made


def is_number(given: Any) -> bool:
    return not isinstance(given, (str, bytes, tuple, list)) and np.ndim(given) == 0


def bits_dtype(name: str, dtype: "np.dtype[Any]") -> bool:
    """Whether an array of the dtype can take a result of the type."""
    if name == "bf16":
        return dtype.isnative and _types.number_name(dtype, bf16=True) == "bf16"
    return dtype == _types.numpy_of(name)


def check_out(out: Any, shape: tuple[int, ...], fits: bool, want: str) -> "np.ndarray[Any, Any]":
    """Errors: invalid_problem (no array, another shape or type, read-only)."""
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        raise invalid("out", type(out).__name__, "a numpy.ndarray")
    if out.shape != shape:
        raise invalid("out: shape", out.shape, f"{shape}, the result's")
    if not fits:
        raise invalid("out: dtype", out.dtype, f"{want}, the result's")
    if not out.flags.writeable:
        raise invalid("out", "a read-only array", "one that can be written")
    return out


def activation_words(activation: Any) -> str:
    """ "relu", "leaky_relu:0.1", ("clamp", 0, 6): the problem's word; "" for None and "none"."""
    if activation is None or activation == "none":
        return ""
    if isinstance(activation, str):
        word = activation
    elif isinstance(activation, (tuple, list)) and activation and isinstance(activation[0], str):
        word = ":".join([activation[0], *(decimal(finite("activation", one)) for one in activation[1:])])
    else:
        raise invalid("activation", repr(activation), 'a word, as "relu", or a tuple, as ("clamp", 0, 6)')
    if not word or any(c.isspace() or c in "+=," for c in word):
        raise invalid("activation", repr(word), 'one word, as "relu" or "leaky_relu:0.1"')
    return word
