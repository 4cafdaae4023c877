"""permute: axes, layouts, and a computation on each element."""

from __future__ import annotations

import operator
import re
from typing import Any, Optional, Sequence

import numpy as np

from . import _arrays, _types
from ._errors import invalid
from ._runtime import Device, default_device

_LAYOUT = re.compile(r"(?:\d+[A-Za-z]|[A-Za-z])+")
_TOKEN = re.compile(r"(\d*)([A-Za-z])")


class _Layouts:
    """ "NHWC:NCHW4c", as the problem has it, and the shape of the result."""

    def __init__(self, text: str) -> None:
        sides = re.split(r":|->", text)
        if len(sides) != 2 or not all(_LAYOUT.fullmatch(side) for side in sides):
            raise invalid("layout", repr(text), "FROM:TO, as NHWC:NCHW4c")
        self.src, self.dst = (self._letters(side) for side in sides)

    @staticmethod
    def _letters(side: str) -> list[tuple[int, str]]:
        """(0, "C") is an axis, (4, "c") a block of it."""
        return [(int(size), letter.lower()) if size else (0, letter.upper()) for size, letter in _TOKEN.findall(side)]

    @property
    def text(self) -> str:
        return ":".join("".join(f"{size or ''}{letter}" for size, letter in side) for side in (self.src, self.dst))

    def block(self) -> Optional[str]:
        """The axis that the source splits, if it splits one."""
        return next((letter.upper() for size, letter in self.src if size), None)

    def result(self, shape: Sequence[int], channels: Optional[int]) -> Optional[tuple[int, ...]]:
        """The result's shape; None where the library refuses the problem."""
        if len(shape) != len(self.src):
            return None
        extents: dict[str, int] = {}
        for size, (_, letter) in zip(shape, self.src):
            extents[letter.upper()] = extents.get(letter.upper(), 1) * size
        block = self.block()
        if channels is not None and block is not None:
            extents[block] = channels
        blocks: dict[str, int] = {}
        for size, letter in self.dst:
            if size:
                blocks[letter.upper()] = blocks.get(letter.upper(), 1) * size
        try:
            return tuple(size if size else -(-extents[letter] // blocks.get(letter, 1)) for size, letter in self.dst)
        except KeyError:
            return None


class _Call:
    """The words of one call, and its operands."""

    def __init__(self, a: "np.ndarray[Any, Any]") -> None:
        self.a = a
        self.words: list[str] = []
        self.sources: dict[str, "np.ndarray[Any, Any]"] = {}
        self.out: str = ""  # the result's type; "": the source's
        self.shape: Optional[tuple[int, ...]] = None
        self.axis_names: list[str] = []  # of the source, as scale and bias name them
        self.extents: list[int] = []  # their true sizes


def _axes_of(axes: Optional[Sequence[int]], rank: int) -> list[int]:
    if axes is None:
        return list(range(rank))[::-1]
    try:
        given = [operator.index(axis) for axis in axes]
    except TypeError:
        raise invalid("axes", repr(axes), "integers, as (0, 3, 1, 2)") from None
    return [axis + rank if -rank <= axis < 0 else axis for axis in given]


def _set_axes(call: _Call, axes: Optional[Sequence[int]]) -> None:
    shape = call.a.shape
    order = _axes_of(axes, len(shape))
    if not shape:  # a problem has an axis at least
        if order:
            raise invalid("axes", axes, "() of an array without axes")
        shape, order = (1,), [0]
    call.words.append("axes=" + ",".join(map(str, order)))
    call.axis_names = [str(axis) for axis in range(len(shape))]
    call.extents = list(shape)
    if sorted(order) == list(range(len(shape))):
        call.shape = tuple(shape[axis] for axis in order) if call.a.ndim else ()


def _set_layout(call: _Call, layout: str, channels: Optional[int]) -> None:
    layouts = _Layouts(layout)
    call.words.append(f"layout={layouts.text}")
    if channels is not None:
        block = layouts.block()
        if block is None:
            raise invalid("channels", channels, "a source layout with blocks, as NCHW4c:NHWC")
        call.words.append(f"extent={block}:{int(channels)}")
    call.shape = layouts.result(call.a.shape, channels)
    call.axis_names = [letter for _, letter in layouts.src]
    totals: dict[str, int] = {}
    for size, (_, letter) in zip(call.a.shape, layouts.src):
        totals[letter.upper()] = totals.get(letter.upper(), 1) * size
    if channels is not None:
        totals[layouts.block() or ""] = int(channels)
    call.extents = [totals.get(letter.upper(), 0) for _, letter in layouts.src]


def _axis_name(call: _Call, what: str, axis: Any) -> str:
    """An axis by number or letter, as the problem names it."""
    if isinstance(axis, str) and len(axis) == 1 and axis.upper() in call.axis_names:
        return axis.upper()
    if hasattr(axis, "__index__") and all(name.isdigit() for name in call.axis_names):
        number = axis.__index__()
        number += len(call.axis_names) if number < 0 else 0
        if 0 <= number < len(call.axis_names):
            return str(number)
    raise invalid(
        what, repr(axis), "an axis of the source: " + ", ".join(name for name in call.axis_names if not name.islower())
    )


def _vector(call: _Call, what: str, given: Any) -> None:
    """(axis, values)."""
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise invalid(what, type(given).__name__, 'a number, or a pair of an axis and values, as ("C", mean)')
    name = _axis_name(call, what, given[0])
    values = np.ascontiguousarray(_arrays.operand(what, given[1], "f32"))
    extent = call.extents[call.axis_names.index(name)]
    if values.shape != (extent,):
        raise invalid(f"{what}: shape", values.shape, f"({extent},), one for each of the axis")
    call.words.append(f"{what}={name}")
    call.sources[what] = values


def _set_bias(call: _Call, bias: Any) -> None:
    if bias is None:
        return
    if not _arrays.is_number(bias):
        _vector(call, "bias", bias)
        return
    name = next(name for name in call.axis_names if not name.islower())
    call.words.append(f"bias={name}")
    call.sources["bias"] = _arrays.filled("bias", bias, "f32", call.extents[call.axis_names.index(name)])


def _set_add(call: _Call, add: Any, to: str) -> None:
    array = _arrays.operand("add", add, to)
    if call.shape is None:  # the library says why when it is asked; this word does not change that
        call.words.append("add=packed")
        return
    try:
        array = np.broadcast_to(array, call.shape)
    except ValueError:
        raise invalid("add: shape", array.shape, f"{call.shape}, the result's") from None
    strides = _arrays.element_strides(array)
    if array.flags.c_contiguous or not array.ndim or strides is None or not _arrays.few_gaps(array.shape, strides):
        array = np.ascontiguousarray(array)
        call.words.append("add=packed")
    else:
        call.words.append("add=" + "x".join(map(str, strides)))
    call.sources["add"] = array


def _stage_source(
    a: "np.ndarray[Any, Any]", type: Optional[str], dtype: Optional[str], computes: bool
) -> tuple["np.ndarray[Any, Any]", str]:
    """The source's elements in a type that a permute computes with."""
    a = _types.native(a)
    name = _types.number_name(a.dtype, bf16=type == "bf16")
    if name is None:
        raise invalid("type", f"dtype {a.dtype}", "floats, integers or bf16, where elements are computed with")
    if type is not None and type != name:
        raise invalid("type", type, f"the elements' own, {name}; type says only that uint16 is bf16")
    if name in _types.STAGES:
        return a, name
    if name == "f64" and dtype is not None and not computes:
        return _types.rounded(a, dtype), dtype
    if name == "f64":
        raise invalid("type", "f64", ", ".join(_types.STAGES) + "; a.astype(numpy.float32) rounds")
    if a.dtype.kind not in "iub":
        raise invalid("type", name, ", ".join(_types.STAGES))
    return _types.exact("a", a, "i32"), "i32"


def _result_dtype(a: "np.ndarray[Any, Any]", name: str, staged: bool, given: Optional[str]) -> "np.dtype[Any]":
    if not staged:
        dtype: "np.dtype[Any]" = a.dtype
        return dtype
    if given is None and _types.number_name(a.dtype) == name:  # bf16 has two dtypes
        own: "np.dtype[Any]" = a.dtype.newbyteorder("=")
        return own
    return _types.numpy_of(name)


def permute(
    a: Any,
    axes: Optional[Sequence[int]] = None,
    *,
    layout: Optional[str] = None,
    channels: Optional[int] = None,
    dtype: Any = None,
    scale: Any = None,
    bias: Any = None,
    activation: Any = None,
    add: Any = None,
    activation_last: bool = False,
    type: Optional[str] = None,
    out: Optional["np.ndarray[Any, Any]"] = None,
    device: Optional[Device] = None,
) -> "np.ndarray[Any, Any]":
    """Changes the order of axes, as numpy.transpose does, into a new array; or from one layout to another.

    a: an array of 0 to 16 axes. Without dtype, scale, bias, activation and add, elements of 1, 2, 4, 8 or 16 bytes of
    any dtype are moved as they are. Otherwise float32, float16, bf16 and integers are computed with:

        v = scale * a + bias;  v = activation(v);  v = v + add;  rounded once to `dtype`

    axes: axis i of the result is axis axes[i] of a; None: reversed. layout: "NHWC:NCHW4c" in place of axes, from and
    to; channels: the true size of the axis that the source splits in blocks. What the result's last block has too much
    is zero.
    dtype: of the result; None: a's. scale, bias: a number, or (axis, values): float32 along an axis of a, which is a
    number where there are axes and a letter where there is a layout. activation: "relu", "clamp:0:6", ("clamp", 0, 6).
    add: an array that is broadcast to the result's shape. activation_last: after the sum. type: "bf16" says that
    uint16 elements are that.
    out: an array of the result's shape and dtype, of any strides; it may share memory with the others.

    A strided array, a transposed one too, is sent as it lies, unless its elements are far apart.
    Errors: InvalidProblemError, SizeOverflowError, UnsupportedError, LimitExceededError; those of the device.
    """
    if layout is not None and axes is not None:
        raise invalid("axes, layout", "both", "one of axes and layout")
    if channels is not None and layout is None:
        raise invalid("channels", channels, "a layout with blocks, as NCHW4c:NHWC")
    array = _arrays.as_array("a", a)
    result = None if dtype is None else _stage_dtype(array, dtype)
    word = _arrays.activation_words(activation)
    computes = scale is not None or bias is not None or add is not None or bool(word)
    staged = computes or result is not None or type is not None
    if staged:
        array, name = _stage_source(
            array, None if type is None else _types.named("type", type, _types.STAGES), result, computes
        )
    else:
        name = _types.bits_name(array.dtype)
    call = _source(array, layout, axes, channels)
    out_name = name if result is None else result
    if staged:
        _stage(call, out_name, name, scale, bias, word, add, activation_last)
    shape = "x".join(map(str, call.a.shape)) or "1"
    problem = f"permute {name} {shape} {' '.join(call.words)}"
    device = default_device() if device is None else device
    if call.shape is None:
        device._check(problem)  # raises: the library says what is wrong
        raise invalid("layout", layout, "a layout that this package can follow")
    made = _result_dtype(_arrays.as_array("a", a), out_name, staged, result)
    if out is not None:
        fits = (
            _arrays.bits_dtype(out_name, out.dtype)
            if staged and hasattr(out, "dtype")
            else (getattr(out, "dtype", None) == made)
        )
        _arrays.check_out(out, call.shape, fits, str(made))
    return device._run(problem, call.sources, call.shape, made, out)


def _stage_dtype(array: "np.ndarray[Any, Any]", dtype: Any) -> Optional[str]:
    """The result's type, or None where the elements have it and are moved."""
    if not isinstance(dtype, str) or dtype not in _types.STAGES:
        try:
            if np.dtype(dtype) == array.dtype:
                return None
        except TypeError:
            pass  # named() says what there is
    return _types.named("dtype", dtype, _types.STAGES)


def _source(
    array: "np.ndarray[Any, Any]", layout: Optional[str], axes: Optional[Sequence[int]], channels: Optional[int]
) -> _Call:
    """The axes or layouts, and how the source lies."""
    call = _Call(array)
    if layout is None:
        _set_axes(call, axes)
    else:
        _set_layout(call, layout, channels)
    if not array.flags.c_contiguous and array.size > 0:
        strides = _arrays.element_strides(array)
        if strides is None or not _arrays.few_gaps(array.shape, strides):
            call.a = np.ascontiguousarray(array)
        else:
            call.words.append("src.strides=" + "x".join(map(str, strides)))
    call.sources["src"] = call.a
    return call


def _stage(call: _Call, to: str, name: str, scale: Any, bias: Any, word: str, add: Any, activation_last: bool) -> None:
    """The words of the computation, and the operands of each."""
    if to != name:
        call.words.append(f"out={to}")
    if scale is not None:
        if _arrays.is_number(scale):
            call.words.append(f"alpha={_arrays.decimal(_arrays.finite('scale', scale))}")
        else:
            _vector(call, "scale", scale)
    _set_bias(call, bias)
    if word:
        call.words.append(f"{'act.last' if activation_last else 'act'}={word}")
    if add is not None:
        _set_add(call, add, to)
