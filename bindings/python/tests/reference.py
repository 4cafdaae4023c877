"""What the operations compute, in double precision, and how far a result may be from it."""

import math

import numpy as np

import sectile

HALF_ULP = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8, "i32": 0.0}
LEAST = {"f32": 2.0**-149, "f16": 2.0**-25, "bf16": 2.0**-133, "i32": 0.0}

_erf = np.vectorize(math.erf, otypes=[float])

ACTIVATIONS = {
    None: lambda v: v,
    "none": lambda v: v,
    "relu": lambda v: np.maximum(v, 0),
    "gelu": lambda v: v / 2 * (1 + _erf(v / math.sqrt(2))),
    "gelu_tanh": lambda v: v / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))),
    "silu": lambda v: v / (1 + np.exp(-v)),
    "leaky_relu:0.1": lambda v: np.where(v < 0, np.float64(np.float32(0.1)) * v, v),
    ("leaky_relu", 0.25): lambda v: np.where(v < 0, 0.25 * v, v),
    "clamp:-0.5:0.75": lambda v: np.clip(v, -0.5, 0.75),
    ("clamp", 0, 2): lambda v: np.clip(v, 0, 2),
    "relu6": lambda v: np.clip(v, 0, 6),
    "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    "hard_swish": lambda v: v * np.clip(v + 3, 0, 6) / 6,
    "hard_sigmoid": lambda v: np.clip(v + 3, 0, 6) / 6,
    "tanh": np.tanh,
}


def wide(array):
    """An array of any type, bf16 too, in double precision."""
    array = np.asarray(array)
    if array.dtype == np.dtype("V2") or array.dtype.name == "bfloat16":
        array = sectile.from_bf16(array)
    return array.astype(np.float64)


def random(rng, shape, dtype):
    """Random numbers: from -1 to 1, integers from -8 to 8."""
    if dtype == "bf16":
        return sectile.to_bf16(rng.uniform(-1, 1, shape).astype(np.float32))
    dtype = np.dtype({"f32": "f4", "f16": "f2"}.get(dtype, dtype))
    if dtype.kind == "f":
        return rng.uniform(-1, 1, shape).astype(dtype)
    return rng.integers(0 if dtype.kind in "ub" else -8, 2 if dtype.kind == "b" else 9, shape).astype(dtype)


def epilogue(acc, alpha=1.0, scale=None, c=None, beta=1.0, bias=None, activation=None, residual=None, last=False):
    v = alpha * acc * (1 if scale is None else scale)
    if c is not None:
        v = v + beta * wide(c)
    if bias is not None:
        v = v + wide(bias)
    act = ACTIVATIONS[activation]
    if residual is None:
        return act(v)
    return act(v + wide(residual)) if last else act(v) + wide(residual)


def near(got, want, magnitude, length, out="f32", acc="f32"):
    """Whether each result is within the rounding of `length` sums of products whose absolute values add up to
    `magnitude`, and of the result. The poison's bytes are no such numbers: they are -4e8 as f32, -23 as f16."""
    got = wide(got)
    assert got.shape == want.shape, f"{got.shape} for {want.shape}"
    ulp = HALF_ULP["f16" if acc == "f16" else "f32"]
    bound = 2 * (length + 8) * ulp * (magnitude + 1) + 2 * HALF_ULP[out] * np.abs(want) + LEAST[out]
    wrong = ~(np.abs(got - want) <= bound)
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        raise AssertionError(
            f"{wrong.sum()} of {wrong.size} wrong, first at {at}: {got[at]!r}, not {want[at]!r}, "
            f"bound {np.broadcast_to(bound, want.shape)[at]!r}"
        )


def conv2d(x, w, stride=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1), groups=1):
    """Of NCHW and KCRS, in double precision."""
    x, w = wide(x), wide(w)
    top, left, bottom, right = padding
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    k, c, r, s = w.shape
    p = (x.shape[2] - dilation[0] * (r - 1) - 1) // stride[0] + 1
    q = (x.shape[3] - dilation[1] * (s - 1) - 1) // stride[1] + 1
    y = np.zeros((x.shape[0], k, p, q))
    per = k // groups if groups else 0
    for g in range(groups):
        part = x[:, g * c : (g + 1) * c]
        for i in range(r):
            for j in range(s):
                rows = slice(i * dilation[0], i * dilation[0] + (p - 1) * stride[0] + 1, stride[0])
                columns = slice(j * dilation[1], j * dilation[1] + (q - 1) * stride[1] + 1, stride[1])
                y[:, g * per : (g + 1) * per] += np.einsum(
                    "nchw,kc->nkhw", part[:, :, rows, columns], w[g * per : (g + 1) * per, :, i, j]
                )
    return y
