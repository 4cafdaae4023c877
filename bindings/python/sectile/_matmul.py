"""matmul: batches, strides, epilogue."""

from __future__ import annotations

import math
from typing import Any, Optional, Sequence

import numpy as np

from . import _arrays, _product, _types
from ._errors import invalid
from ._runtime import Device, default_device


class _Placed:
    """An operand as batches of matrices in memory. Copies what no problem can say: negative strides, elements of rows
    that are apart in both directions, batch axes that are no single step, large gaps."""

    def __init__(self, array: "np.ndarray[Any, Any]", batch: tuple[int, ...], transposes: bool) -> None:
        self.rows, self.columns = array.shape[-2:]
        self.count = math.prod(batch)
        if not self._place(array, batch, transposes):
            shape = batch + array.shape[-2:] if array.ndim > 2 else array.shape
            packed = np.ascontiguousarray(np.broadcast_to(array, shape))
            placed = self._place(packed, batch, transposes)
            assert placed

    def _place(self, array: "np.ndarray[Any, Any]", batch: tuple[int, ...], transposes: bool) -> bool:
        self.array = array
        self.letter, self.ld, self.step = "n", 0, 0
        if array.size == 0:
            self.step = self.rows * self.columns if array.ndim > 2 else 0
            return array.flags.c_contiguous
        strides = _arrays.element_strides(array)
        if strides is None:
            return False
        step = _step(array.shape[:-2], strides[:-2], batch)
        if step is None or not self._set_rows(strides[-2], strides[-1], transposes):
            return False
        self.step = step
        return bool(array.flags.c_contiguous) or _arrays.few_gaps(array.shape, strides)

    def _set_rows(self, row: int, column: int, transposes: bool) -> bool:
        rows, columns = self.rows, self.columns
        if (columns <= 1 or column == 1) and (rows <= 1 or row >= columns):
            self.letter, self.ld = "n", 0 if rows <= 1 or row == columns else row
            return True
        if transposes and (rows <= 1 or row == 1) and (columns <= 1 or column >= rows):
            self.letter, self.ld = "t", 0 if columns <= 1 or column == rows else column
            return True
        return False

    def words(self, name: str, stored: str) -> list[str]:
        """ld and batch, where they are not the packed ones."""
        words = [f"ld{name}={self.ld}"] if self.ld else []
        if self.count > 1:
            ld = self.ld or (self.columns if self.letter == "n" else self.rows)
            if self.step != ld * (self.rows if self.letter == "n" else self.columns):
                words.append(f"{stored}.batch={self.step}")
        return words


def _step(shape: Sequence[int], strides: Sequence[int], batch: Sequence[int]) -> Optional[int]:
    """The elements from one batch to the next, where batch axes are one step; 0 for an array that is the same for all;
    None where they are not."""
    missing = len(batch) - len(shape)
    steps = [0] * missing + list(strides)  # 0 where the array has one element
    axes = [(extent, stride) for extent, stride in zip(batch, steps) if extent != 1]
    if not axes:
        return 0
    for (_, outer), (extent, inner) in zip(axes, axes[1:]):
        if outer != inner * extent:
            return None
    return axes[-1][1]


def _factor(what: str, given: Any, transpose: bool) -> "np.ndarray[Any, Any]":
    array = _arrays.as_array(what, given)
    if array.ndim == 0:
        raise invalid(f"{what}: shape", "()", "one axis at least: numpy.multiply takes numbers")
    if transpose:
        if array.ndim == 1:
            raise invalid(f"transpose_{what}", "a vector", "a matrix")
        array = array.swapaxes(-1, -2)
    return array


def _shared(what: str, given: Any, to: str, shape: tuple[int, ...]) -> "np.ndarray[Any, Any]":
    """C or the residual: broadcast to the result's shape."""
    array = _arrays.operand(what, given, to)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise invalid(f"{what}: shape", array.shape, f"{shape}, the result's") from None


def _per_axis(what: str, given: Any, to: str, m: int, n: int, by_row: bool) -> tuple[str, "np.ndarray[Any, Any]"]:
    """A value for each column, or for each row: the stage's word and the vector. by_row: a vector is of the rows."""
    if _arrays.is_number(given):
        return what, _arrays.filled(what, given, to, n)
    array = _arrays.operand(what, given, to)
    if array.shape == (m,) and by_row:
        return f"{what}.m", np.ascontiguousarray(array)
    if array.shape in ((n,), (1, n)):
        return what, np.ascontiguousarray(array).reshape(n)
    if array.shape == (m, 1):
        return f"{what}.m", np.ascontiguousarray(array).reshape(m)
    raise invalid(f"{what}: shape", array.shape, f"({n},) for a value a column, ({m}, 1) for one a row")


def _sizes(a: "np.ndarray[Any, Any]", b: "np.ndarray[Any, Any]") -> tuple[int, ...]:
    """The batch axes. Errors: invalid_problem (K; batches that do not fit)."""
    if a.shape[-1] != b.shape[-2]:
        raise invalid("K", f"{a.shape[-1]} in a, {b.shape[-2]} in b", "as many columns in a as rows in b")
    if a.ndim == b.ndim == 2:
        return ()
    try:
        return np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise invalid("batch", f"{a.shape[:-2]} in a, {b.shape[:-2]} in b", "axes that broadcast") from None


def matmul(
    a: Any,
    b: Any,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    c: Any = None,
    beta: Optional[float] = None,
    bias: Any = None,
    scale: Any = None,
    activation: Any = None,
    residual: Any = None,
    activation_last: bool = False,
    a_scale: Any = None,
    b_scale: Any = None,
    type: Any = None,
    acc: Any = None,
    dtype: Any = None,
    out: Optional["np.ndarray[Any, Any]"] = None,
    device: Optional[Device] = None,
) -> "np.ndarray[Any, Any]":
    """The matrix product of two arrays, as numpy.matmul, with an epilogue:

        v = alpha * scale * (a @ b) + beta * c + bias;  v = activation(v);  v = v + residual;  rounded once to `dtype`

    a: (..., M, K), or (K,). b: (..., K, N), or (K,). The axes before the last two broadcast. A vector is a row of one
    or a column of one, and that axis is not in the result. Floats (float32, float16, bf16), int8, and integers that the
    type has exactly.
    transpose_a, transpose_b: exchange the last two axes first. c, residual: broadcast to the result's shape (with M
    and N in it, for vectors 1); beta is 1 where c is given and beta is not.
    bias, scale: a number, (N,) for a value a column, (M, 1) for one a row. activation: "relu", "leaky_relu:0.1",
    ("clamp", 0, 6). activation_last: after the residual.
    a_scale: (K,), float32: a is multiplied by it before. b_scale: (N,), float32: b is int8 and multiplied by it.
    type: what a and b are rounded to before they are multiplied: "f32", "f16", "bf16", "i8"; None: NumPy's promotion of
    theirs, as far as that is one of these. float64 is refused without it. "bf16" takes uint16 for bf16.
    acc: the type of the sums: "f32", "f16" (for f16), "i32" (for i8). dtype: of the result; None: `type`, int32 for
    int8.
    out: an array of the result's shape and dtype, of any strides; it may share memory with the others.

    Transposed and strided matrices, and batches one step apart, are sent as they lie; NumPy packs all others first.
    Errors: InvalidProblemError, SizeOverflowError, UnsupportedError, LimitExceededError; those of the device.
    """
    first, second = _factor("a", a, transpose_a), _factor("b", b, transpose_b)
    types, first, second = _product.factors(("a", "b"), (first, second), type, acc, dtype, b_scale is not None)
    row, column = first.ndim == 1, second.ndim == 1
    first = first[np.newaxis, :] if row else first
    second = second[:, np.newaxis] if column else second
    batch = _sizes(first, second)
    m, k, n = first.shape[-2], first.shape[-1], second.shape[-1]
    sources: dict[str, "np.ndarray[Any, Any]"] = {}
    placed_a, placed_b = _Placed(first, batch, True), _Placed(second, batch, True)
    sources["a"], sources["b"] = placed_a.array, placed_b.array
    words = [f"matmul {types.type} {placed_a.letter}{placed_b.letter} {m}x{n}x{k}"]
    if batch:
        words.append(f"batch={math.prod(batch)}")
    words += _product.type_words(types, ("a", "b"), b_scale is not None)
    words += placed_a.words("a", "a") + placed_b.words("b", "b")
    whole = batch + (m, n)
    for name, short, given in (("c", "c", c), ("residual", "r", residual)):
        if given is None or (name == "c" and not _product.reads_c(beta, True)):
            continue
        placed = _Placed(_shared(name, given, types.out, whole), batch, False)
        sources[name] = placed.array
        words += placed.words(short, short)
    words += _product.number_words(alpha, beta, c is not None)
    stages = {"scale": "", "bias": ""}
    for name, given, to in (("scale", scale, "f32"), ("bias", bias, types.out)):
        if given is not None:
            stages[name], sources[name] = _per_axis(name, given, to, m, n, column)
    words += _product.epilogue_word(stages["scale"], stages["bias"], activation, residual is not None, activation_last)
    for name, given, count in (("a.scale", a_scale, k), ("b.scale", b_scale, n)):
        if given is not None:
            sources[name] = _vector(name, given, count)
    if a_scale is not None:
        words.append("pro=scale")
    shape = batch + (() if row else (m,)) + (() if column else (n,))
    out = _product.result_out(out, shape, types.out)
    device = default_device() if device is None else device
    return device._run(" ".join(words), sources, shape, _types.numpy_of(types.out), out)


def _vector(name: str, given: Any, count: int) -> "np.ndarray[Any, Any]":
    values = np.ascontiguousarray(_arrays.operand(name.replace(".", "_"), given, "f32"))
    if values.shape != (count,):
        raise invalid(f"{name.replace('.', '_')}: shape", values.shape, f"({count},)")
    return values
