"""conv2d, compared with sums in double precision."""

import numpy as np
import pytest

import reference
import sectile
from reference import near, random, wide
from sectile import conv2d


def want_of(x, w, stride=1, padding=0, dilation=1, groups=1):
    pair = lambda v: (v, v) if isinstance(v, int) else tuple(v)  # noqa: E731
    pads = (padding,) * 4 if isinstance(padding, int) else tuple(padding) * (4 // len(padding))
    return reference.conv2d(x, w, pair(stride), pads, pair(dilation), groups)


CASES = [
    dict(),
    dict(padding=1),
    dict(stride=2, padding=(1, 0)),
    dict(padding=(0, 1, 2, 0), stride=(1, 2)),
    dict(dilation=2, padding=2),
    dict(dilation=(1, 2)),
    dict(groups=2, padding=1),
    dict(groups=6, padding=1, stride=2),
]


@pytest.mark.parametrize("arguments", CASES)
def test_geometry(rng, arguments):
    x, w = random(rng, (2, 6, 9, 11), "f4"), random(rng, (12, 6 // arguments.get("groups", 1), 3, 3), "f4")
    near(conv2d(x, w, **arguments), want_of(x, w, **arguments), 54, 54)


# Each layout and each order of the filters with one or two of the others: each pair is a kernel to compile.
@pytest.mark.parametrize(
    "layout, weights",
    [
        ("nchw", "krsc"),
        ("nchw", "rsck"),
        ("nhwc", "kcrs"),
        ("NHWC", "rsck"),
        ("nchw:nhwc", "krsc"),
        ("nhwc:nchw", "kcrs"),
        ("nchw4c", "kcrs"),
        ("nchw8c:nhwc", "rsck"),
        ("nhwc:nchw4c", "krsc"),
    ],
)
def test_layouts(rng, layout, weights):
    x, w = random(rng, (2, 6, 7, 5), "f4"), random(rng, (10, 6, 3, 2), "f4")

    def placed(array, side):
        block = {"nchw4c": 4, "nchw8c": 8}.get(side)
        if block is None:
            return array.transpose(0, 2, 3, 1).copy() if side == "nhwc" else array
        n, c, h, w_ = array.shape
        blocks = np.zeros((n, -(-c // block) * block, h, w_), array.dtype)
        blocks[:, :c] = array
        return blocks.reshape(n, -1, block, h, w_).transpose(0, 1, 3, 4, 2).copy()

    sides = layout.lower().split(":")
    got = conv2d(
        placed(x, sides[0]),
        w.transpose(["kcrs".index(one) for one in weights]).copy(),
        layout=layout,
        weights=weights,
        padding=1,
    )
    want = placed(want_of(x, w, padding=1), sides[-1])
    near(got, want, 36, 36)
    if sides[-1] == "nchw4c":
        assert (got[:, 2, :, :, 2:] == 0).all()


@pytest.mark.parametrize(
    "types",
    [
        ("f2", "f2", "f16"),
        ("bf16", "bf16", "bf16"),
        ("f4", "f2", "f32"),
        ("i1", "i1", "i32"),
        ("u1", "f4", "f32"),
        (">f4", "f4", "f32"),
    ],
)
def test_types(rng, types):
    x, w = random(rng, (1, 5, 6, 7), types[0]), random(rng, (4, 5, 3, 3), types[1])
    near(conv2d(x, w, padding=1), want_of(x, w, padding=1), 45 if "i1" not in types else 45 * 64, 45, types[2])


def test_strided_images_are_said_and_not_copied(rng, device):
    x, w = random(rng, (3, 8, 6, 7), "f4"), random(rng, (4, 8, 3, 3), "f4")
    channels_last = x.transpose(0, 2, 3, 1).copy()
    near(conv2d(channels_last.transpose(0, 3, 1, 2), w), want_of(x, w), 72, 72)
    assert "nhwc:nchw 3x8x6x7" in device.problems[-1]
    near(
        conv2d(channels_last[..., 2:6], w[:, 2:6], layout="nhwc"),
        want_of(x[:, 2:6], w[:, 2:6]).transpose(0, 2, 3, 1),
        72,
        72,
    )
    assert "x.pitch=8" in device.problems[-1]
    near(conv2d(x[:, :4], w[:, :4]), want_of(x[:, :4], w[:, :4]), 72, 72)
    assert "x.pitch=336" in device.problems[-1]
    near(conv2d(x[:, :, ::-1], w), want_of(x[:, :, ::-1], w), 72, 72)
    assert "pitch" not in device.problems[-1]
    near(conv2d(x[:, :, 1:5, 1:], w), want_of(x[:, :, 1:5, 1:], w), 72, 72)
    turned = w.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)
    near(conv2d(x, turned), want_of(x, w), 72, 72)
    assert "weights=krsc" in device.problems[-1]
    one = channels_last[1:2, :1, :, 3:4]
    near(
        conv2d(one, w[:, 3:4, :1, :3], layout="nhwc"),
        want_of(one.transpose(0, 3, 1, 2), w[:, 3:4, :1, :3]).transpose(0, 2, 3, 1),
        72,
        72,
    )


@pytest.mark.parametrize(
    "activation, layout", [("relu", "nchw"), ("leaky_relu:0.1", "nhwc"), (("clamp", 0, 2), "nchw"), (None, "nhwc")]
)
def test_epilogue(rng, activation, layout):
    x, w = random(rng, (2, 4, 6, 5), "f4"), random(rng, (6, 4, 3, 3), "f4")
    bias, scale = random(rng, (6,), "f4"), random(rng, (6,), "f4")
    c, residual = random(rng, (2, 6, 4, 3), "f4"), random(rng, (2, 6, 4, 3), "f4")
    acc = want_of(x, w)
    there = (lambda a: a.transpose(0, 2, 3, 1).copy()) if layout == "nhwc" else (lambda a: a)
    for last in (False, True):
        got = conv2d(
            there(x),
            w,
            bias,
            layout=layout,
            scale=scale,
            c=there(c),
            beta=0.5,
            alpha=2,
            activation=activation,
            residual=there(residual),
            activation_last=last,
        )
        want = reference.epilogue(acc, 2, scale[:, None, None], c, 0.5, bias[:, None, None], activation, residual, last)
        near(got, there(want), 80, 36)
    if layout == "nhwc":
        wider = random(rng, (2, 4, 3, 16), "f4")
        got = conv2d(there(x), w, layout=layout, residual=wider[..., 4:10], c=wider[..., :6])
        near(got, there(acc) + wider[..., 4:10] + wider[..., :6], 80, 36)


def test_vectors_numbers_and_the_prologue(rng):
    x, w = random(rng, (1, 4, 6, 5), "f4"), random(rng, (6, 4, 3, 3), "f4")
    near(conv2d(x, w, 0.5, scale=2), 2 * want_of(x, w) + 0.5, 72, 36)
    bias = random(rng, (1, 6, 1, 1), "f4")
    near(conv2d(x, w, bias), want_of(x, w) + bias, 72, 36)
    xs, xb = random(rng, (4,), "f4"), random(rng, (4,), "f4")
    fetched = np.maximum(wide(x) * xs[:, None, None] + xb[:, None, None], 0)
    near(conv2d(x, w, padding=1, x_scale=xs, x_bias=xb, x_relu=True), want_of(fetched, w, padding=1), 72, 36)
    quantized = rng.integers(-127, 128, w.shape).astype("i1")
    ws = random(rng, (6,), "f4")
    near(conv2d(x, quantized, w_scale=ws), want_of(x, wide(quantized) * ws[:, None, None, None]), 36 * 127, 36)
    near(conv2d(x, w, padding=1, exact=True), want_of(x, w, padding=1), 36, 36)


def test_no_images_channels_or_filters(rng):
    w = random(rng, (6, 4, 3, 3), "f4")
    assert conv2d(np.zeros((0, 4, 5, 5), "f4"), w).shape == (0, 6, 3, 3)
    assert conv2d(np.zeros((2, 4, 5, 5), "f4"), w[:0]).shape == (2, 0, 3, 3)
    got = conv2d(np.zeros((2, 0, 5, 5), "f4"), w[:, :0], 1.5)
    assert got.shape == (2, 6, 3, 3) and (got == 1.5).all()


def test_out(rng):
    x, w = random(rng, (2, 3, 6, 6), "f4"), random(rng, (3, 3, 3, 3), "f4")
    wider = np.full((2, 6, 6, 6), np.nan, "f4")
    conv2d(x, w, padding=1, out=wider[:, ::2])
    near(wider[:, ::2], want_of(x, w, padding=1), 27, 27)
    assert np.isnan(wider[:, 1::2]).all()
    own = x.copy()
    conv2d(own, w, padding=1, out=own, residual=own)
    near(own, want_of(x, w, padding=1) + x, 30, 27)


X, W = np.ones((1, 4, 5, 5), "f4"), np.ones((6, 4, 3, 3), "f4")


@pytest.mark.parametrize(
    "x, w, arguments, text",
    [
        (X[0], W, {}, "x: shape"),
        (X, W[0], {}, "w: shape"),
        (X, W, dict(groups=3), "channels|groups"),
        (X, W, dict(groups=0), "groups"),
        (X, W[:, :2], {}, "w: shape"),
        (X, W, dict(layout="chwn"), "layout"),
        (X, W, dict(layout="nchw4c"), "x: shape"),
        (X, W, dict(weights="ckrs"), "kcrs"),
        (X, W, dict(stride=0), "stride"),
        (X, W, dict(padding=(1, 2, 3)), "padding"),
        (X, W, dict(padding=-1), "padding"),
        (X, W, dict(dilation=1.5), "dilation"),
        (X, W, dict(dilation=3), "invalid_problem"),
        (X.astype("f8"), W, {}, "f64 in x"),
        (X, W, dict(bias=np.ones(5, "f4")), "bias: shape"),
        (X, W, dict(residual=np.ones((1, 6, 3, 4), "f4")), "residual: shape"),
        (X, W, dict(beta=1.0), "beta"),
        (X, W, dict(activation="epi"), "epi"),
        (X, W, dict(out=np.zeros((1, 6, 3, 3))), "out: dtype"),
        (X, W, dict(groups=4), "w: shape"),
    ],
)
def test_errors_name_what_is_wrong(x, w, arguments, text):
    with pytest.raises((sectile.InvalidProblemError, sectile.ParseError), match=text):
        conv2d(x, w, **arguments)


def test_random_convolutions(rng):
    for case in range(40):
        groups = int(rng.choice([1, 1, 2, 3]))
        n, c, k = int(rng.integers(1, 3)), groups * int(rng.integers(1, 6)), groups * int(rng.integers(1, 6))
        r, s = (int(size) for size in rng.integers(1, 4, 2))
        arguments = dict(
            stride=tuple(int(v) for v in rng.integers(1, 3, 2)),
            padding=tuple(int(v) for v in rng.integers(0, 3, 4)),
            dilation=tuple(int(v) for v in rng.integers(1, 3, 2)),
            groups=groups,
        )
        x = random(rng, (n, c, int(rng.integers(5, 12)), int(rng.integers(5, 12))), "f4")
        w = random(rng, (k, c // groups, r, s), "f4")
        last = bool(rng.integers(2))
        there = x.transpose(0, 2, 3, 1) if last else x
        got = conv2d(there, w, layout="nhwc" if last else "nchw", **arguments)
        try:
            near(got.transpose(0, 3, 1, 2) if last else got, want_of(x, w, **arguments), c * r * s, c * r * s)
        except AssertionError as error:
            raise AssertionError(f"case {case}: {x.shape} {w.shape} {arguments}: {error}") from None
