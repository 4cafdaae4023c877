"""matmul, compared with NumPy in double precision."""

import numpy as np
import pytest

import reference
import sectile
from reference import near, random, wide
from sectile import matmul


def check(a, b, out="f32", acc="f32", **arguments):
    """A product of arrays that are exact in the product's type."""
    got = matmul(a, b, **arguments)
    length = a.shape[-1]
    near(got, wide(a) @ wide(b), np.abs(wide(a)) @ np.abs(wide(b)), length, out, acc)
    return got


SHAPES = [
    ((7, 9), (9, 5)),
    ((9,), (9, 5)),
    ((7, 9), (9,)),
    ((9,), (9,)),
    ((3, 7, 9), (9, 5)),
    ((7, 9), (3, 9, 5)),
    ((3, 7, 9), (3, 9, 5)),
    ((2, 3, 7, 9), (2, 3, 9, 5)),
    ((2, 3, 7, 9), (9,)),
    ((9,), (2, 9, 5)),
    ((2, 3, 7, 9), (3, 9, 5)),
    ((2, 1, 7, 9), (1, 3, 9, 5)),
    ((1, 7, 9), (4, 9, 5)),
    ((1, 1), (1, 1)),
    ((0, 4), (4, 3)),
    ((3, 0), (0, 4)),
    ((2, 0, 4), (4, 3)),
    ((0, 3, 4), (4, 2)),
    ((0,), (0,)),
    ((3, 4), (4, 0)),
]


@pytest.mark.parametrize("shapes", SHAPES)
def test_shapes_as_numpy_takes_them(rng, shapes):
    a, b = random(rng, shapes[0], "f4"), random(rng, shapes[1], "f4")
    got = check(a, b)
    assert got.dtype == np.float32 and got.shape == np.matmul(a, b).shape


@pytest.mark.parametrize(
    "types",
    [
        ("f2", "f2", "f16"),
        ("bf16", "bf16", "bf16"),
        ("f2", "f4", "f32"),
        ("f4", "f2", "f32"),
        ("bf16", "f2", "f32"),
        ("bf16", "f4", "f32"),
        ("i1", "i1", "i32"),
        ("i1", "f2", "f16"),
        ("f4", "i8", "f32"),
        ("u1", "u1", "f32"),
        ("?", "f2", "f16"),
        ("bf16", "i1", "bf16"),
        (">f4", "f4", "f32"),
        ("i4", ">i2", "f32"),
    ],
)
def test_types(rng, types):
    a, b = random(rng, (13, 17), types[0]), random(rng, (17, 11), types[1])
    got = check(a, b, types[2])
    want = {"f16": "f2", "f32": "f4", "i32": "i4"}.get(types[2])
    assert got.dtype == (np.dtype(want) if want else sectile.to_bf16(0.0).dtype)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", np.float32, "float16"])
def test_result_types(rng, dtype):
    a, b = random(rng, (5, 8), "f2"), random(rng, (8, 6), "f2")
    out = {np.float32: "f32", "float16": "f16"}.get(dtype, dtype)
    check(a, b, out, dtype=dtype)
    check(random(rng, (5, 8), "i1"), random(rng, (8, 6), "i1"), out, dtype=dtype)


def test_factors_are_rounded_where_the_caller_says_so(rng):
    a, b = rng.uniform(-1, 1, (6, 8)), rng.uniform(-1, 1, (8, 5))
    for type_, dtype in (("f32", "f4"), ("f16", "f2")):
        near(matmul(a, b, type=type_), wide(a.astype(dtype)) @ wide(b.astype(dtype)), 8, 8, type_)
    near(
        matmul(a.astype("f4"), b.astype("f4"), type="f16", dtype="f32"),
        wide(a.astype("f2")) @ wide(b.astype("f2")),
        8,
        8,
    )
    near(matmul(a, b, type="bf16", dtype="f32"), wide(sectile.to_bf16(a)) @ wide(sectile.to_bf16(b)), 8, 8)
    raw = sectile.to_bf16(a).view("u2")
    near(
        matmul(raw, sectile.to_bf16(b), type="bf16", dtype="f32"),
        wide(sectile.to_bf16(a)) @ wide(sectile.to_bf16(b)),
        8,
        8,
    )
    got = matmul(a.astype("f2"), b.astype("f2"), acc="f16")
    near(got, wide(a.astype("f2")) @ wide(b.astype("f2")), 8, 8, "f16", "f16")


@pytest.mark.parametrize(
    "make, letters",
    [
        (lambda a: a, "nn"),
        (lambda a: np.asfortranarray(a), "tn"),
        (lambda a: np.pad(a, ((0, 3), (2, 4)))[:-3, 2:-4], "nn lda"),
        (lambda a: np.pad(a.T.copy(), ((1, 3), (2, 4)))[1:-3, 2:-4].T, "tn lda"),
        (lambda a: a[::-1], "nn"),
        (lambda a: a[:, ::-1], "nn"),
        (lambda a: np.repeat(a, 2, 1)[:, ::2], "nn"),
        (lambda a: np.repeat(a, 2, 0)[::2], "nn lda"),
        (lambda a: np.repeat(a, 50, 0)[::50], "nn"),
        (lambda a: np.broadcast_to(a[:1], a.shape), "nn"),
    ],
)
def test_strided_matrices(rng, device, make, letters):
    a, b = make(random(rng, (12, 17), "f4")), random(rng, (17, 7), "f4")
    check(a, b)
    problem = device.problems[-1]
    assert problem.split()[2] == letters[:2] and ("lda=" in problem) == ("lda" in letters), problem
    check(b.T, a.T)  # as B
    problem = device.problems[-1]
    copied = not a.flags.c_contiguous and letters == "nn"
    assert problem.split()[2] == ("tn" if copied or letters[0] == "t" else "tt"), problem
    assert ("ldb=" in problem) == ("lda" in letters), problem


def test_transposes_by_argument(rng, device):
    a, b = random(rng, (9, 7), "f4"), random(rng, (5, 9), "f4")
    near(matmul(a, b, transpose_a=True, transpose_b=True), wide(a).T @ wide(b).T, 9, 9)
    assert device.problems[-1].startswith("matmul f32 tt 7x5x9")
    stacked = random(rng, (3, 5, 9), "f4")
    near(matmul(a.T, stacked, transpose_b=True), wide(a).T @ wide(stacked).transpose(0, 2, 1), 9, 9)


def test_batches_are_said_and_not_copied(rng, device):
    a, b = random(rng, (2, 3, 8, 9), "f4"), random(rng, (9, 5), "f4")
    check(a, b)
    assert "batch=6 " in device.problems[-1] and "b.batch=0" in device.problems[-1]
    check(a[:, :, 1:], b)
    assert "a.batch=72" in device.problems[-1]
    # A plus in a number would end the activation's word.
    near(matmul(a, b, activation=("clamp", -1e20, 1e20), bias=1), wide(a) @ wide(b) + 1, 10, 9)
    near(matmul(a, b, alpha=1e20) / np.float32(1e20), wide(a) @ wide(b), 9, 9)
    check(a.transpose(1, 0, 2, 3), b)  # two batch axes that are no single step
    check(a[0][::-1], b)
    interleaved = random(rng, (8, 3, 9), "f4").transpose(1, 0, 2)
    check(interleaved, b)
    assert "lda=27" in device.problems[-1] and "a.batch=9" in device.problems[-1]


@pytest.mark.parametrize("activation", list(reference.ACTIVATIONS))
def test_epilogue(rng, activation):
    a, b = random(rng, (9, 12), "f4"), random(rng, (12, 7), "f4")
    bias, scale, c, residual = (random(rng, shape, "f4") for shape in ((7,), (7,), (9, 7), (9, 7)))
    acc, size = wide(a) @ wide(b), 2 * np.abs(wide(a)) @ np.abs(wide(b)) + 4
    for last in (False, True) if activation in (None, "relu", "tanh") else (False,):
        got = matmul(
            a,
            b,
            alpha=0.5,
            scale=scale,
            c=c,
            beta=-2,
            bias=bias,
            activation=activation,
            residual=residual,
            activation_last=last,
        )
        near(got, reference.epilogue(acc, 0.5, scale, c, -2, bias, activation, residual, last), size, 12)
    near(matmul(a, b, activation=activation), reference.epilogue(acc, activation=activation), size, 12)


def test_epilogue_shapes(rng):
    a, b = random(rng, (2, 5, 8), "f2"), random(rng, (8, 6), "f2")
    acc = wide(a) @ wide(b)
    row, column = random(rng, (5, 1), "f2"), random(rng, (1, 6), "f2")
    near(matmul(a, b, bias=row), acc + wide(row), 16, 8, "f16")
    near(matmul(a, b, bias=column, scale=row.astype("f4")), acc * wide(row) + wide(column), 16, 8, "f16")
    near(matmul(a, b, bias=0.25, scale=2), acc * 2 + 0.25, 16, 8, "f16")
    near(matmul(a, b, bias=[1, 2, 3, 4, 5, 6.5]), acc + [1, 2, 3, 4, 5, 6.5], 16, 8, "f16")
    one = random(rng, (5, 6), "f2")
    near(matmul(a, b, c=one), acc + wide(one), 16, 8, "f16")
    near(matmul(a, b, residual=one[:1]), acc + wide(one[:1]), 16, 8, "f16")
    near(matmul(a, b, residual=np.asfortranarray(one), activation="relu"), np.maximum(acc, 0) + wide(one), 16, 8, "f16")
    wider = random(rng, (2, 5, 16), "f2")
    near(
        matmul(a, b, c=wider[..., 3:9], residual=wider[..., :6]),
        acc + wide(wider[..., 3:9]) + wide(wider[..., :6]),
        16,
        8,
        "f16",
    )
    near(matmul(a, b[:, 0], bias=row[:, 0]), acc[..., 0] + wide(row[:, 0]), 16, 8, "f16")
    near(matmul(a[0, 0], b, bias=column[0]), acc[0, 0] + wide(column[0]), 16, 8, "f16")
    integers = random(rng, (4, 8), "i1")
    got = matmul(integers, integers, transpose_b=True, bias=np.arange(4), activation="relu")
    assert got.tolist() == np.maximum(integers.astype("i4") @ integers.T.astype("i4") + np.arange(4), 0).tolist()


def test_scaled_factors(rng):
    a, b = random(rng, (5, 8), "f4"), rng.integers(-127, 128, (8, 6)).astype("i1")
    sa, sb = random(rng, (8,), "f4"), random(rng, (6,), "f4")
    near(matmul(a, b, b_scale=sb), wide(a) @ (wide(b) * sb), 8 * 127, 8)
    near(matmul(a.astype("f2"), b, b_scale=sb, dtype="f32"), wide(a.astype("f2")) @ (wide(b) * sb), 8 * 127, 2000)
    near(matmul(a, a, transpose_b=True, a_scale=sa), (wide(a) * sa) @ wide(a).T, 8, 8)
    with pytest.raises(sectile.InvalidProblemError, match="int8"):
        matmul(a, a, transpose_b=True, b_scale=sb)


def test_what_is_not_read_has_no_effect(rng):
    a, b = np.full((3, 4), np.nan, "f4"), random(rng, (4, 5), "f4")
    c = random(rng, (3, 5), "f4")
    assert (matmul(a, b, alpha=0, c=c) == c).all()
    near(matmul(c, b, transpose_b=True, c=np.full((3, 4), np.nan, "f4"), beta=0), wide(c) @ wide(b).T, 5, 5)
    assert (matmul(np.zeros((3, 0), "f4"), np.zeros((0, 5), "f4"), bias=np.arange(5)) == np.arange(5)).all()


def test_out_and_aliases(rng):
    a, b = random(rng, (6, 6), "f4"), random(rng, (6, 6), "f4")
    want = wide(a) @ wide(b)
    out = np.full((6, 6), np.nan, "f4")
    assert matmul(a, b, out=out) is out
    near(out, want, 6, 6)
    wider = np.full((6, 12), np.nan, "f4")
    matmul(a, b, out=wider[:, ::2])
    near(wider[:, ::2], want, 6, 6)
    assert np.isnan(wider[:, 1::2]).all()
    own = a.copy()
    matmul(own, b, c=own, out=own)
    near(own, want + wide(a), 8, 6)
    raw = np.zeros((6, 6), "u2")
    matmul(a, b, dtype="bf16", out=raw)
    near(sectile.from_bf16(raw), want, 6, 6, "bf16")
    for bad in (np.zeros((6, 6), "f8"), np.zeros((6, 5), "f4"), np.zeros((6, 6), ">f4"), [1]):
        with pytest.raises(sectile.InvalidProblemError, match="out"):
            matmul(a, b, out=bad)


A, B = np.ones((3, 4), "f4"), np.ones((4, 5), "f4")


@pytest.mark.parametrize(
    "a, b, arguments, text",
    [
        (A, A, {}, "K: 4 in a, 3 in b"),
        (1.0, B, {}, "one axis"),
        (A[None].repeat(2, 0), B[None].repeat(3, 0), {}, "batch"),
        (A.astype("f8"), B, {}, r"f64 in a \(want f32, f16, bf16, i8; a.astype\(numpy.float32\)"),
        (A, B.astype("f8"), {}, "f64 in b"),
        (A.astype("c8"), B, {}, "complex64"),
        (A.astype(object), B, {}, "dtype object"),
        (A, B, dict(type="f64"), "type"),
        (A, B, dict(type="i8"), "int8"),
        (A, B, dict(acc="i32"), "acc"),
        (A, B, dict(dtype="i32"), "out: i32"),
        (np.full((3, 4), 2**24 + 1), B, {}, r"16777217 at \(0, 0\)"),
        (A, B, dict(bias=np.ones(4, "f4")), r"bias: shape"),
        (A, B, dict(bias=np.ones(5)), "bias: type"),
        (A, B, dict(residual=np.ones((3, 4), "f4")), "residual: shape"),
        (A, B, dict(beta=2), "beta"),
        (A, B, dict(alpha=np.inf), "alpha"),
        (A, B, dict(activation="swish"), "swish"),
        (A.astype("i1"), B.astype("i1"), dict(alpha=2), "alpha"),
        (A.astype("i1"), B.astype("i1"), dict(bias=0.5), "whole number"),
        (A[0], B, dict(transpose_a=True), "vector"),
        (A, B, dict(a_scale=np.ones(3, "f4")), "a_scale: shape"),
        (np.ma.array(A), B, {}, "masked"),
    ],
)
def test_errors_name_what_is_wrong(a, b, arguments, text):
    with pytest.raises((sectile.InvalidProblemError, sectile.ParseError), match=text):
        matmul(a, b, **arguments)


def test_random_matmuls(rng):
    for case in range(30):
        m, n, k = (int(size) for size in rng.integers(1, 40, 3))
        batch = [(), (), (2,), (2, 3)][int(rng.integers(4))]
        dtype = ["f4", "f2", "i1"][int(rng.integers(3))]
        a = random(rng, batch + (m, k), dtype)
        b = random(rng, (batch if rng.integers(2) else ()) + (k, n), dtype)
        a = np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2) if rng.integers(2) else a
        b = np.repeat(b, 2, -1)[..., ::2] if rng.integers(2) else b
        out = {"f4": "f32", "f2": "f16", "i1": "i32"}[dtype]
        try:
            check(a, b, out)
        except AssertionError as error:
            raise AssertionError(
                f"case {case}: {a.shape} {a.strides} @ {b.shape} {b.strides} {dtype}: {error}"
            ) from None
