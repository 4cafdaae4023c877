"""permute, compared with NumPy's transpose and with double precision."""

import datetime

import numpy as np
import pytest

import reference
import sectile
from sectile import permute

DTYPES = [
    "?",
    "i1",
    "u1",
    "i2",
    "u2",
    "f2",
    "V2",
    "i4",
    "u4",
    "f4",
    ">f4",
    "i8",
    "u8",
    "f8",
    "c8",
    "c16",
    "V16",
    "U1",
    "S8",
    "U4",
    "datetime64[s]",
    "g",
]


def bits(rng, shape, dtype):
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    if dtype.kind == "U":  # code points
        return rng.integers(65, 91, count * dtype.itemsize // 4).astype("u4").view(dtype).reshape(shape)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).reshape(shape)


def same(got, want):
    assert got.shape == want.shape and got.dtype == want.dtype
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_moved_as_it_is(rng, dtype):
    a = bits(rng, (3, 5, 7), dtype)
    same(permute(a, (1, 2, 0)), a.transpose(1, 2, 0))


@pytest.mark.parametrize(
    "axes", [None, (0, 1, 2, 3), (3, 1, 0, 2), (-1, 0, -2, 1), [2, 3, 0, 1], np.array([1, 0, 3, 2])]
)
def test_axes_as_transpose_takes_them(rng, axes):
    a = bits(rng, (4, 3, 6, 5), "f4")
    same(permute(a, axes), np.transpose(a, axes))


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a.T,
        lambda a: a[::2],
        lambda a: a[:, ::3, 1:],
        lambda a: a[::-1],
        lambda a: a[:, ::-1],
        lambda a: np.asfortranarray(a),
        lambda a: a.swapaxes(0, 1)[1:],
        lambda a: np.broadcast_to(a[:, :1], a.shape),
        lambda a: np.broadcast_to(a[0], (4,) + a.shape[1:]),
        lambda a: a[:, :, ::100],
        lambda a: a[:0],
        lambda a: a[1:2, :, 2:3],
        lambda a: a.view("V8"),
        lambda a: a.real,
    ],
)
def test_strided_arrays(rng, make):
    a = make(bits(rng, (6, 9, 8), "c8"))
    if a.dtype.kind == "f":
        a = np.where(np.isnan(a), 0, a)
    same(permute(a, (2, 0, 1)), a.transpose(2, 0, 1))


def test_strides_are_said_and_not_copied(rng, device):
    a = bits(rng, (6, 9), "f4")
    permute(a.T, (0, 1))
    assert device.problems[-1] == "permute f32 9x6 axes=0,1 src.strides=1x9"
    permute(a[:, 2:], (1, 0))
    assert device.problems[-1] == "permute f32 6x7 axes=1,0 src.strides=9x1"
    permute(a[::-1], (1, 0))
    assert device.problems[-1] == "permute f32 6x9 axes=1,0"


def test_overlapping_and_odd_strides(rng):
    data = bits(rng, (64,), "u1")
    windows = np.lib.stride_tricks.sliding_window_view(data, 9)
    same(permute(windows), windows.T)
    fields = np.zeros(12, np.dtype([("a", "i1"), ("b", "<f4")], align=False))
    fields["b"] = np.arange(12)
    b = fields["b"].reshape(3, 4)  # 5 bytes apart
    same(permute(b), b.T)


def test_no_axes_one_axis_and_none():
    for a in (np.float32(2.5), np.array(7, "i8"), np.arange(5.0), np.zeros((0,)), np.zeros((3, 0, 2), "f4")):
        same(permute(a), np.transpose(a))
    assert permute([[1, 2], [3, 4]]).tolist() == [[1, 3], [2, 4]]


def test_layouts_with_blocks(rng):
    x = reference.random(rng, (2, 5, 3, 7), "f4")  # NHWC
    y = permute(x, layout="nhwc->nchw4c")
    want = np.zeros((2, 2, 5, 3, 4), "f4")
    for channel in range(7):
        want[:, channel // 4, :, :, channel % 4] = x[..., channel]
    same(y, want)
    same(permute(y, layout="NCHW4c:NHWC", channels=7), x)
    w = reference.random(rng, (64, 32), "f2")
    got = permute(w, layout="OI:OI4i8o2i")
    want = w.reshape(8, 8, 4, 4, 2).transpose(0, 2, 3, 1, 4)  # o, I, 4i, 8o, 2i
    assert got.shape == (8, 4, 4, 8, 2)
    same(got, np.ascontiguousarray(want))


@pytest.mark.parametrize("source", ["f4", "f2", "bf16", "i1", "u1", "i4", "i8", "?", ">f4", ">i2"])
@pytest.mark.parametrize("to", ["f32", "f16", "bf16"])
def test_cast(rng, source, to):
    a = reference.random(rng, (5, 6), source)
    got = permute(a, dtype=to)
    assert got.dtype == (sectile.to_bf16(0.0).dtype if to == "bf16" else np.dtype({"f32": "f4", "f16": "f2"}[to]))
    want = reference.wide(a).T
    rounded = sectile.to_bf16(want) if to == "bf16" else want.astype(got.dtype)
    assert got.tobytes() == np.ascontiguousarray(rounded).tobytes()


def test_cast_saturates_and_double_is_rounded_once():
    a = np.array([[-1e9, -1.5, 0.5, 300, np.nan]], "f4")
    assert permute(a, dtype="i8")[:, 0].tolist() == [-128, -2, 0, 127, 0]
    assert permute(a.astype("f8"), dtype=np.uint8)[:, 0].tolist() == [0, 0, 0, 255, 0]
    # Halfway between two of f16, and a bit more, which f32 does not hold.
    assert permute(np.array([1 + 2.0**-11 + 2.0**-40]), dtype="f16")[0] == np.float16(1 + 2.0**-10)
    with pytest.raises(sectile.InvalidProblemError, match="f64.*a.astype"):
        permute(a.astype("f8"), scale=2)


@pytest.mark.parametrize("activation", list(reference.ACTIVATIONS))
@pytest.mark.parametrize("last", [False, True])
def test_computation(rng, activation, last):
    a = reference.random(rng, (4, 6, 5), "f4") * 4
    s, b, c = (reference.random(rng, shape, "f4") for shape in ((6,), (5,), (5, 4, 6)))
    got = permute(a, (2, 0, 1), scale=(1, s), bias=(-1, b), activation=activation, add=c, activation_last=last)
    v = (reference.wide(a) * s[:, None] + b).transpose(2, 0, 1)
    want = reference.epilogue(v, activation=activation, residual=c, last=last)
    reference.near(got, want, np.abs(v) + 1, 4)


def test_computation_by_letters_numbers_and_broadcasts(rng):
    x = reference.random(rng, (2, 3, 4, 6), "u1")
    mean = reference.random(rng, (6,), "f4")
    got = permute(x, layout="NHWC:NCHW", dtype="f32", scale=0.5, bias=("c", mean))
    reference.near(got, (0.5 * reference.wide(x) + mean).transpose(0, 3, 1, 2), 8, 4)
    a = reference.random(rng, (3, 4), "f4")
    got = permute(a, scale=2, bias=-1.5, add=np.float32([[1], [2], [3], [4]]))
    reference.near(got, (2 * reference.wide(a) - 1.5).T + np.arange(1, 5)[:, None], 8, 4)
    for factor in (1e20, 2.5e-12, -1):
        reference.near(permute(a, scale=factor) / np.float32(factor), reference.wide(a).T, 1, 4)
    swapped = permute(a.astype(">f4"), scale=2)
    same(swapped, np.ascontiguousarray(2 * a.T))
    reference.near(permute(a, add=a.T), 2 * reference.wide(a).T, 2, 4)


def test_uint16_is_bf16_where_the_caller_says_so(rng):
    numbers = reference.random(rng, (3, 4), "f4")
    raw = sectile.to_bf16(numbers).view("u2")
    assert permute(raw, type="bf16", dtype="f32").tolist() == sectile.from_bf16(raw).T.tolist()
    same(permute(raw), raw.T)
    with pytest.raises(sectile.InvalidProblemError, match="u16 is bf16|uint16"):
        permute(numbers, type="bf16")


def test_out(rng):
    a = bits(rng, (4, 6), "i4")
    whole = np.full((6, 4), 99, "i4")
    assert permute(a, out=whole) is whole
    same(whole, np.ascontiguousarray(a.T))
    wider = np.full((12, 9), 99, "i4")
    permute(a, out=wider[::2, 1:5])
    want = np.full((12, 9), 99, "i4")
    want[::2, 1:5] = a.T
    same(wider, want)
    square = bits(rng, (5, 5), "i4").copy()
    want = square.T.copy()
    permute(square, out=square)
    same(square, want)
    permute(square, out=square.T)
    same(square, np.ascontiguousarray(want))  # the transpose of the transpose, seen transposed


@pytest.mark.parametrize(
    "out, text",
    [
        (np.zeros((4, 6), "f4"), "out: shape"),
        (np.zeros((6, 4), "f8"), "out: dtype"),
        (np.zeros((6, 4), ">f4"), "out: dtype"),
        ([[0]], "ndarray"),
    ],
)
def test_out_that_does_not_fit(out, text):
    with pytest.raises(sectile.InvalidProblemError, match=text):
        permute(np.zeros((4, 6), "f4"), out=out)
    read_only = np.zeros((6, 4), "f4")
    read_only.flags.writeable = False
    with pytest.raises(sectile.InvalidProblemError, match="read-only"):
        permute(np.zeros((4, 6), "f4"), out=read_only)


def test_read_only_sources():
    a = np.arange(6, dtype="f4").reshape(2, 3)
    a.flags.writeable = False
    same(permute(a), np.ascontiguousarray(a.T))


@pytest.mark.parametrize(
    "arguments, text",
    [
        (dict(axes=(0, 0)), "axes: 0,0 .want a permutation of 0..1"),
        (dict(axes=(0, 2)), "axes"),
        (dict(axes=(0,)), "axes"),
        (dict(axes=(0, -3)), "axes"),
        (dict(axes=(0.5, 1)), "axes"),
        (dict(axes=(0, 1), layout="AB:BA"), "one of axes and layout"),
        (dict(layout="AB"), "FROM:TO"),
        (dict(layout="AB:BC"), "layout"),
        (dict(layout="ABC:CBA"), "layout"),
        (dict(layout="AB:BA src.offset=3"), "FROM:TO"),
        (dict(channels=3), "blocks"),
        (dict(layout="AB:BA", channels=3), "blocks"),
        (dict(dtype="f64"), "dtype"),
        (dict(dtype=complex), "dtype"),
        (dict(scale=(3, [1, 2])), "an axis"),
        (dict(scale=(0, [1, 2])), "scale: shape"),
        (dict(scale=float("nan")), "finite"),
        (dict(bias=1e39), "finite"),
        (dict(add=np.zeros((2, 2), "f4")), "add: shape"),
        (dict(add=np.zeros((4, 3), "f8")), "f64|float64"),
        (dict(activation="reluu"), "reluu"),
        (dict(activation="relu axes=0,1"), "one word"),
        (dict(activation=3), "activation"),
    ],
)
def test_errors_name_what_is_wrong(arguments, text):
    with pytest.raises((sectile.InvalidProblemError, sectile.ParseError), match=text):
        permute(np.zeros((3, 4), "f4"), **arguments)


def test_arrays_that_cannot_be_moved():
    for a in (np.array([object()]), np.zeros(3, "V3"), np.zeros(2, "U5"), np.zeros(3, "S7")):
        with pytest.raises(sectile.InvalidProblemError, match="1, 2, 4, 8 or 16 bytes"):
            permute(a)
    with pytest.raises(sectile.InvalidProblemError, match="masked"):
        permute(np.ma.masked_equal([1, 2], 2))
    with pytest.raises(sectile.InvalidProblemError, match="rank"):
        permute(np.zeros((1,) * 17, "f4"))
    with pytest.raises(sectile.InvalidProblemError, match="datetime64"):
        permute(np.array([datetime.datetime(2026, 1, 1)], "datetime64[s]"), dtype="f32")


def test_random_permutes(rng):
    for case in range(150):
        rank = int(rng.integers(1, 7))
        shape = tuple(int(n) for n in rng.integers(1, 9, rank))
        a = bits(rng, shape, DTYPES[int(rng.integers(len(DTYPES)))])
        a = a.transpose(rng.permutation(rank))
        a = a[tuple(slice(int(rng.integers(0, 2)), None, int(rng.choice([1, 1, 1, 2, -1]))) for _ in range(rank))]
        axes = tuple(int(axis) for axis in rng.permutation(rank))
        got = permute(a, axes)
        assert got.tobytes() == a.transpose(axes).tobytes(), (case, a.shape, a.strides, a.dtype, axes)
