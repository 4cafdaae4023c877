"""conv2d: layouts, padding, groups, epilogue."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

import numpy as np

from . import _arrays, _product, _types
from ._errors import invalid
from ._runtime import Device, default_device

_BLOCKS = {"nchw": 0, "nhwc": 0, "nchw4c": 4, "nchw8c": 8}
_WEIGHTS = ("kcrs", "krsc", "rsck")


@dataclasses.dataclass
class _Images:
    """A layout, and the number of channels in arrays of it."""

    layout: str

    @property
    def block(self) -> int:
        return _BLOCKS[self.layout]

    @property
    def axes(self) -> int:
        return 5 if self.block else 4

    def shape(self, n: int, c: int, h: int, w: int) -> tuple[int, ...]:
        if self.block:
            return n, -(-c // self.block), h, w, self.block
        return (n, h, w, c) if self.layout == "nhwc" else (n, c, h, w)

    def sizes(self, shape: tuple[int, ...], channels: int) -> tuple[int, int, int, int]:
        """N, C, H, W. channels: those of the filters, where a block does not say how many it holds."""
        if self.block:
            return shape[0], channels, shape[2], shape[3]
        n, second, third, fourth = shape
        return (n, fourth, second, third) if self.layout == "nhwc" else (n, second, third, fourth)

    def pitch(self, array: "np.ndarray[Any, Any]") -> Optional[int]:
        """How the array lies: 0 packed, otherwise the pitch that a problem says; None where it says none."""
        if array.flags.c_contiguous or array.size == 0:
            return 0 if array.flags.c_contiguous else None
        strides = _arrays.element_strides(array)
        if strides is None or not _arrays.few_gaps(array.shape, strides):
            return None
        # The steps of axes with one element do not matter: those that the pitch gives are as good.
        if self.layout == "nhwc":
            n, h, w, c = array.shape
            pitch = next(
                (
                    stride // of
                    for extent, stride, of in ((w, strides[2], 1), (h, strides[1], w), (n, strides[0], w * h))
                    if extent > 1
                ),
                c,
            )
            wanted: tuple[int, ...] = (h * w * pitch, w * pitch, pitch, 1)
            least = c
        else:
            pitch = strides[0] if array.shape[0] > 1 else array[0].size
            packed = np.empty(array.shape[1:], np.uint8).strides
            wanted = (pitch, *packed)
            least = array[0].size
        same = all(extent == 1 or have == want for extent, have, want in zip(array.shape, strides, wanted))
        return pitch if same and pitch >= least else None


def _numbers(what: str, given: Any, least: int, four: bool) -> list[int]:
    """One number stands for two; two stand for vertical and horizontal, where there may be four."""
    many = isinstance(given, (tuple, list, np.ndarray))
    want = (
        "one number, two (vertical, horizontal) or four (top, left, bottom, right)"
        if four
        else "one number, or two (height, width)"
    )
    try:
        numbers = [one.__index__() for one in given] if many else [given.__index__()]
    except AttributeError:
        raise invalid(what, repr(given), f"{want}, each at least {least}") from None
    if len(numbers) not in ((1, 2, 4) if four else (1, 2)) or min(numbers, default=least - 1) < least:
        raise invalid(what, repr(given), f"{want}, each at least {least}")
    return numbers


def _layouts(layout: str) -> tuple[_Images, _Images]:
    sides = layout.lower().split(":") if isinstance(layout, str) else []
    if len(sides) not in (1, 2) or any(side not in _BLOCKS for side in sides):
        raise invalid("layout", repr(layout), "nchw, nhwc, nchw4c or nchw8c, or two of them, as nchw:nhwc")
    return _Images(sides[0]), _Images(sides[-1])


def _sent_x(array: "np.ndarray[Any, Any]", images: _Images) -> tuple["np.ndarray[Any, Any]", _Images, int]:
    """X as it is sent: as it lies where a problem can say that (a slice of channels, the other order of axes)."""
    pitch = images.pitch(array)
    if pitch is not None:
        return array, images, pitch
    if not images.block:
        other = _Images("nhwc" if images.layout == "nchw" else "nchw")
        turned = array.transpose(0, 2, 3, 1) if images.layout == "nchw" else array.transpose(0, 3, 1, 2)
        pitch = other.pitch(turned)
        if pitch is not None:
            return turned, other, pitch
    return np.ascontiguousarray(array), images, 0


def _sent_w(array: "np.ndarray[Any, Any]", weights: str) -> tuple["np.ndarray[Any, Any]", str]:
    """W as it is sent: packed in one of the orders that there are."""
    for order in (weights, *_WEIGHTS):
        turned = array.transpose([weights.index(letter) for letter in order])
        if turned.flags.c_contiguous:
            return turned, order
    return np.ascontiguousarray(array), weights


def _vector(what: str, given: Any, to: str, count: int) -> "np.ndarray[Any, Any]":
    """A value for each channel: (count,), or an array whose other axes have one element; or a number for all."""
    if _arrays.is_number(given):
        return _arrays.filled(what, given, to, count)
    array = _arrays.operand(what, given, to)
    if array.size != count or sum(extent != 1 for extent in array.shape) > 1:
        raise invalid(f"{what}: shape", array.shape, f"({count},), a value for each channel")
    return np.ascontiguousarray(array).reshape(count)


def _image(
    what: str, given: Any, to: str, shape: tuple[int, ...], images: _Images, short: str
) -> tuple["np.ndarray[Any, Any]", list[str]]:
    """C or the residual."""
    array = _arrays.operand(what, given, to)
    if array.shape != shape:
        raise invalid(f"{what}: shape", array.shape, f"{shape}, the result's")
    pitch = images.pitch(array)
    if pitch is None:
        array, pitch = np.ascontiguousarray(array), 0
    packed = pitch == 0 or pitch == (shape[-1] if images.layout == "nhwc" else array[0].size)
    return array, [] if packed else [f"{short}.pitch={pitch}"]


def _filters(w: "np.ndarray[Any, Any]", weights: str) -> dict[str, int]:
    if weights not in _WEIGHTS:
        raise invalid("weights", repr(weights), ", ".join(_WEIGHTS))
    if w.ndim != 4:
        raise invalid("w: shape", w.shape, f"4 axes, {weights}")
    return dict(zip(weights, w.shape))


def _output(size: int, filter_: int, stride: int, dilation: int, before: int, after: int) -> int:
    return (size + before + after - dilation * (filter_ - 1) - 1) // stride + 1


def _geometry(stride: Any, padding: Any, dilation: Any) -> tuple[list[int], list[int], list[int], list[str]]:
    """Strides, padding (top, left, bottom, right), dilations, and their words."""
    strides, dilations = _numbers("stride", stride, 1, False), _numbers("dilation", dilation, 1, False)
    pads = _numbers("padding", padding, 0, True)
    words = []
    for name, numbers, plain in (("s", strides, 1), ("p", pads, 0), ("d", dilations, 1)):
        if any(number != plain for number in numbers):
            words.append(f"{name}={','.join(map(str, numbers))}")
    full = pads * (4 // len(pads)) if len(pads) < 4 else pads
    return strides * (2 // len(strides)), full, dilations * (2 // len(dilations)), words


def _prologue(
    x_scale: Any, x_bias: Any, x_relu: bool, channels: int, sources: dict[str, "np.ndarray[Any, Any]"]
) -> list[str]:
    fetches = []
    for name, given in (("scale", x_scale), ("bias", x_bias)):
        if given is not None:
            fetches.append(name)
            sources[f"x.{name}"] = _vector(f"x_{name}", given, "f32", channels)
    fetches += ["relu"] if x_relu else []
    return [f"pro={'+'.join(fetches)}"] if fetches else []


def _read(
    x: Any, w: Any, layout: str, weights: str, groups: int
) -> tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]", _Images, _Images, dict[str, int]]:
    """The factors, their layouts, and the sizes by letter: n, c, h, w of X, k, r, s of the filters."""
    images, result = _layouts(layout)
    x_array, w_array = _arrays.as_array("x", x), _arrays.as_array("w", w)
    filters = _filters(w_array, weights)
    if x_array.ndim != images.axes or (images.block and x_array.shape[-1] != images.block):
        raise invalid("x: shape", x_array.shape, f"{images.axes} axes, {images.layout}")
    if not hasattr(groups, "__index__") or groups < 1:
        raise invalid("groups", groups, "a whole number, at least 1")
    n, c, height, width = images.sizes(x_array.shape, filters["c"] * groups)
    if images.block and x_array.shape[1] != -(-c // images.block):
        raise invalid("x: shape", x_array.shape, f"{images.shape(n, c, height, width)}, of {c} channels")
    if c % groups != 0:
        raise invalid("groups", groups, f"a divisor of the {c} channels of x")
    if filters["c"] != c // groups:
        want = f"{c // groups} as {weights}'s c: {c} input channels in {groups} groups"
        raise invalid("w: shape", w_array.shape, want)
    sizes = {"n": n, "c": c, "h": height, "w": width, "k": filters["k"], "r": filters["r"], "s": filters["s"]}
    return x_array, w_array, images, result, sizes


def _factor_words(
    factors: tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"],
    images: _Images,
    result: _Images,
    weights: str,
    size: dict[str, int],
    sources: dict[str, "np.ndarray[Any, Any]"],
) -> tuple[list[str], list[str]]:
    """The problem's first words, and those that say how X and W lie. Both become sources."""
    sources["x"], sent, pitch = _sent_x(factors[0], images)
    sources["w"], order = _sent_w(factors[1], weights)
    sides = sent.layout if sent.layout == result.layout else f"{sent.layout}:{result.layout}"
    first = [
        f"{sides} {size['n']}x{size['c']}x{size['h']}x{size['w']} k={size['k']}",
        f"r={size['r']}x{size['s']}",
    ]
    words = [f"weights={order}"] if order != "kcrs" else []
    if pitch and pitch != (size["c"] if sent.layout == "nhwc" else sources["x"][0].size):
        words.append(f"x.pitch={pitch}")
    return first, words


def conv2d(
    x: Any,
    w: Any,
    bias: Any = None,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "nchw",
    weights: str = "kcrs",
    alpha: float = 1.0,
    scale: Any = None,
    c: Any = None,
    beta: Optional[float] = None,
    activation: Any = None,
    residual: Any = None,
    activation_last: bool = False,
    x_scale: Any = None,
    x_bias: Any = None,
    x_relu: bool = False,
    w_scale: Any = None,
    exact: bool = False,
    type: Any = None,
    acc: Any = None,
    dtype: Any = None,
    out: Optional["np.ndarray[Any, Any]"] = None,
    device: Optional[Device] = None,
) -> "np.ndarray[Any, Any]":
    """Convolves images with filters, as neural networks do, with an epilogue:

        v = alpha * scale * conv(x, w) + beta * c + bias;  v = activation(v);  v = v + residual

    rounded once to `dtype`.

    x: (N, C, H, W), or as `layout` has it: "nhwc", "nchw4c" (N, C/4, H, W, 4), "nchw8c"; "nchw:nhwc" gives a result of
    another layout. w: (K, C / groups, R, S), or as `weights` has it: "krsc", "rsck".
    stride, dilation: one number, or (height, width). padding: one number, (vertical, horizontal), or (top, left,
    bottom, right). groups: as many as x has channels is depthwise.
    bias, scale: a value for each output channel, or a number for all. c, residual: of the result's shape; beta is 1
    where c is given and beta is not. activation: "relu", "leaky_relu:0.1", ("clamp", 0, 6). activation_last: after the
    residual.
    x_scale, x_bias, x_relu: x is multiplied, added to and cut at 0 before, by input channel; the padding stays 0.
    w_scale: (K,), float32: w is int8 and multiplied by it. exact: no algorithm that adds other products (Winograd's).
    type, acc, dtype, out, device: as `matmul`.
    The result: (N, K, P, Q) in nchw, P = (H + top + bottom - dilation (R - 1) - 1) // stride + 1.

    A slice of channels (nhwc) or of the batch, and nhwc memory seen as nchw, are sent as they lie; NumPy packs all
    others first.
    Errors: InvalidProblemError, SizeOverflowError, UnsupportedError, LimitExceededError; those of the device.
    """
    x_array, w_array, images, result, size = _read(x, w, layout, weights, groups)
    types, x_array, w_array = _product.factors(("x", "w"), (x_array, w_array), type, acc, dtype, w_scale is not None)
    strides, pads, dilations, geometry = _geometry(stride, padding, dilation)
    sources: dict[str, "np.ndarray[Any, Any]"] = {}
    first, placed = _factor_words((x_array, w_array), images, result, weights, size, sources)
    words = ["conv2d", types.type, *first, *geometry, *placed]
    words += [f"g={groups}"] if groups != 1 else []
    words += _product.type_words(types, ("x", "w"), w_scale is not None)
    height = _output(size["h"], size["r"], strides[0], dilations[0], pads[0], pads[2])
    width = _output(size["w"], size["s"], strides[1], dilations[1], pads[1], pads[3])
    shape = result.shape(size["n"], size["k"], max(height, 0), max(width, 0))
    for name, short, given in (("c", "c", c), ("residual", "r", residual)):
        if given is not None and (name == "residual" or _product.reads_c(beta, True)):
            sources[name], more = _image(name, given, types.out, shape, result, short)
            words += more
    words += _product.number_words(alpha, beta, c is not None)
    for name, given, to in (("scale", scale, "f32"), ("bias", bias, types.out), ("w.scale", w_scale, "f32")):
        if given is not None:
            sources[name] = _vector(name.replace(".", "_"), given, to, size["k"])
    stages = ("scale" if scale is not None else "", "bias" if bias is not None else "")
    words += _product.epilogue_word(*stages, activation, residual is not None, activation_last)
    words += _prologue(x_scale, x_bias, x_relu, size["c"], sources)
    words += ["exact=1"] if exact else []
    problem = " ".join(words)
    device = default_device() if device is None else device
    if height < 1 or width < 1:
        device._check(problem)  # the library says what is wrong, unless there are no images
    out = _product.result_out(out, shape, types.out)
    return device._run(problem, sources, shape, _types.numpy_of(types.out), out)
