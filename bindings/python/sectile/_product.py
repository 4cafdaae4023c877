"""What matmul and conv2d share: types, factors, numbers, epilogue."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

import numpy as np

from . import _arrays, _types
from ._errors import invalid

_SUMS = ("f32", "f16", "i32")
_RESULTS = ("f32", "f16", "bf16", "i32")


@dataclasses.dataclass
class Types:
    type: str
    acc: str
    out: str
    first: str  # how the factors are stored
    second: str


def _name_of(what: str, array: "np.ndarray[Any, Any]", bf16: bool) -> str:
    name = _types.number_name(array.dtype, bf16)
    if name is None or name.startswith("c"):
        raise invalid(f"{what}: type", f"dtype {array.dtype}", "floats, integers, or bf16 (sectile.to_bf16)")
    return name


def _stored(
    what: str, array: "np.ndarray[Any, Any]", name: str, type: str, explicit: bool
) -> tuple["np.ndarray[Any, Any]", str]:
    """A factor as it is sent. f64 is rounded where the caller names the type; integers are converted exactly."""
    if name == type or (name in _types.FLOATS and type in _types.FLOATS):
        return array, name
    if name == "f64":
        if not explicit:
            raise invalid(
                "type",
                f"f64 in {what}",
                ", ".join(_types.PRODUCTS) + "; a.astype(numpy.float32), or " 'type="f32" to round',
            )
        if type in _types.FLOATS:
            return _types.rounded(array, type), type
    if name in _types.FLOATS or name == "f64":
        raise invalid(f"{what}: type", name, f"{type}: a.astype(numpy.int8)")
    return _types.exact(what, array, type), type


def factors(
    names: tuple[str, str],
    arrays: tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"],
    type: Any,
    acc: Any,
    dtype: Any,
    quantized: bool,
) -> tuple[Types, "np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]:
    """The problem's types, and the factors as they are sent. quantized: the second stays int8, and is scaled."""
    explicit = type is not None
    given = _types.named("type", type, _types.PRODUCTS) if explicit else ""
    first, second = (_types.native(array) for array in arrays)
    first_name = _name_of(names[0], first, given == "bf16")
    second_name = _name_of(names[1], second, given == "bf16")
    if quantized and second_name != "i8":
        raise invalid(f"{names[1]}: type", f"dtype {second.dtype}", "int8, whose scales are given")
    if not explicit and "f64" not in (first_name, second_name):
        given = first_name if quantized and first_name in _types.FLOATS else _types.promoted(first_name, second_name)
        given = "f32" if quantized and given == "i8" else given
    elif not explicit:
        given = "f32"  # refused below, by name
    first, first_name = _stored(names[0], first, first_name, given, explicit)
    if not quantized:
        second, second_name = _stored(names[1], second, second_name, given, explicit)
    integer = given == "i8"
    sums = ("i32" if integer else "f32") if acc is None else _types.named("acc", acc, _SUMS)
    out = ("i32" if integer else given) if dtype is None else _types.named("dtype", dtype, _RESULTS)
    return Types(given, sums, out, first_name, second_name), first, second


def type_words(types: Types, names: tuple[str, str], quantized: bool) -> list[str]:
    words = [] if types.first == types.type else [f"{names[0]}={types.first}"]
    if quantized:
        words.append(f"{names[1]}=q8")
    elif types.second != types.type:
        words.append(f"{names[1]}={types.second}")
    words.append(f"acc={types.acc}")
    words.append(f"out={types.out}")
    return words


def number_words(alpha: Any, beta: Any, has_c: bool) -> list[str]:
    """Errors: invalid_problem (no finite number; beta without C, whose beta is 1 where the caller says none)."""
    words = []
    if alpha != 1:
        words.append(f"alpha={_arrays.decimal(_arrays.finite('alpha', alpha))}")
    if not has_c and beta is not None and _arrays.finite("beta", beta) != 0:
        raise invalid("beta", beta, "c, which it is a factor of")
    of_c = (1.0 if beta is None else _arrays.finite("beta", beta)) if has_c else 0.0
    if of_c != 0:
        words.append(f"beta={_arrays.decimal(of_c)}")
    return words


def reads_c(beta: Any, has_c: bool) -> bool:
    return has_c and (beta is None or float(beta) != 0)


def epilogue_word(scale: str, bias: str, activation: Any, residual: bool, last: bool) -> list[str]:
    word = _arrays.activation_words(activation)
    stages = [one for one in (scale, bias) if one]
    tail = ["residual"] if residual else []
    if word:
        tail = tail + [word] if last else [word] + tail
    return [f"epi={'+'.join(stages + tail)}"] if stages + tail else []


def result_out(out: Any, shape: tuple[int, ...], name: str) -> Optional["np.ndarray[Any, Any]"]:
    if out is None:
        return None
    fits = isinstance(out, np.ndarray) and _arrays.bits_dtype(name, out.dtype)
    return _arrays.check_out(out, shape, fits, str(_types.numpy_of(name)))
