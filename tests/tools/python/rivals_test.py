"""tools/python/rivals.py without a GPU and without PyTorch: recipes of permutes against the definition by indices, when
a row is timed and timed again, and what becomes of files."""
import contextlib
import io
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "python")
sys.path.insert(0, TOOLS)

import rivals
import rivals_rows
import rivals_steady
from rivals_torch_test import MatmulsInTorch   # its tests run with these


class Array:
    """As much of a tensor as recipes need, in plain Python: a shape and elements in row-major order."""

    def __init__(self, shape, elements):
        self.shape, self.elements = list(shape), list(elements)
        assert math.prod(self.shape) == len(self.elements), (shape, len(self.elements))

    def picked(self, shape, element_of):
        at = rivals_rows.packed_strides(self.shape)
        one = lambda index: 0 if index is None else self.elements[sum(i * s for i, s in zip(index, at))]
        return Array(shape, (one(element_of(index)) for index in indices(shape)))

    def run(self, name, *values):
        if name == "reshape":
            return Array(values[0], self.elements)
        if name == "permute":
            axes = values[0]
            assert sorted(axes) == list(range(len(self.shape))), axes
            before = lambda index: [index[axes.index(a)] for a in range(len(axes))]
            return self.picked([self.shape[a] for a in axes], before)
        if name == "narrow":
            axis, start, count = values
            assert 0 <= start and start + count <= self.shape[axis]
            moved = lambda index: [i + (start if a == axis else 0) for a, i in enumerate(index)]
            return self.picked([count if a == axis else n for a, n in enumerate(self.shape)], moved)
        assert name == "pad", name
        inside = lambda index: index if all(i < n for i, n in zip(index, self.shape)) else None
        return self.picked([n + more for n, more in zip(self.shape, values[0], strict=True)], inside)


def indices(shape):
    return itertools.product(*map(range, shape))


def addresses(view):
    return [view.offset + sum(i * s for i, s in zip(index, view.strides, strict=True)) for index in indices(view.shape)]


def addresses_of(view):
    return dict(zip(indices(view.shape), addresses(view), strict=True))


def by_recipe(row, lanes=1):
    """The destination's buffer, -1 where nothing is written. Source elements are their own addresses, from 1; 0 is zero
    bits."""
    recipe = rivals_rows.permute_recipe(row, lanes)
    taken = addresses(recipe.src)
    assert max(taken) == recipe.src.span - 1
    result = Array(recipe.src.shape, (at + 1 for at in taken))
    for op in recipe.ops:
        result = result.run(*op)
    assert result.shape == list(recipe.dst.shape), (result.shape, recipe.dst.shape)
    if recipe.packed:
        return Array(recipe.dst_shape, result.elements).elements
    target = [-1] * recipe.dst.span
    for at, element in zip(addresses(recipe.dst), result.elements, strict=True):
        target[at] = element
    return target


def by_definition(row, lanes=1):
    problem = rivals_rows.Permute(row)
    coordinates = list(indices(problem.dst_shape))
    target = [-1] * lanes * (1 + max(map(problem.destination_at, coordinates)))
    for at in coordinates:
        source = problem.source_at(at)
        for lane in range(lanes):
            target[problem.destination_at(at) * lanes + lane] = 0 if source is None else source * lanes + lane + 1
    return target


def by_axes(shape, axes, **more):
    return {"type": "f32", "shape": shape, "permutation": axes, "axes": None} | more


def by_layout(shape, src, dst, **more):
    return {"type": "f32", "shape": shape, "src_layout": src, "dst_layout": dst, "axes": None} | more


class Recipes(unittest.TestCase):
    def same(self, row):
        for lanes in (1, 2):
            self.assertEqual(by_recipe(row, lanes), by_definition(row, lanes), row)

    def test_axes_strides_and_offsets(self):
        self.same({"type": "f32", "shape": [3, 4, 5], "axes": [2, 0, 1]})
        self.same(by_axes([3, 4], [1, 0], src_strides=[9, 2], src_offset=3))
        self.same(by_axes([3, 4], [1, 0], dst_strides=[8, 2], dst_offset=5))
        self.same(by_axes([3, 4], [0, 1], src_strides=[0, 1]))
        self.same(by_axes([3, 4], [1, 0], src_offset=2))
        self.same(by_axes([7], [0]))

    def test_the_definition_is_that_of_the_documents_examples(self):
        turned = rivals_rows.Permute({"shape": [2, 3], "axes": [1, 0]})
        self.assertEqual(turned.dst_shape, [3, 2])
        self.assertEqual(turned.source_at([2, 1]), 5)
        # 3 channels are 3, 0 in a block of 4.
        padded = rivals_rows.Permute(by_layout([1, 2, 2, 3], "NHWC", "NCHW4c"))
        self.assertEqual(padded.dst_shape, [1, 1, 2, 2, 4])
        self.assertEqual([padded.source_at([0, 0, 1, 0, c]) for c in range(4)], [6, 7, 8, None])
        # ... and back, without the fourth.
        back = rivals_rows.Permute(by_layout([1, 1, 2, 2, 4], "NCHW4c", "NHWC", extents={"C": 3}))
        self.assertEqual(back.dst_shape, [1, 2, 2, 3])
        self.assertEqual(back.source_at([0, 1, 0, 2]), 10)
        # Blocks nest from left to right: index 7 of I is block 0, 3 of 4i, 1 of 2i.
        nested = rivals_rows.Permute(by_layout([16, 16], "OI", "OI4i8o2i"))
        self.assertEqual(nested.dst_shape, [2, 2, 4, 8, 2])
        self.assertEqual(nested.source_at([0, 0, 3, 5, 1]), 5 * 16 + 7)

    def test_blocks(self):
        self.same(by_layout([2, 3, 4, 5], "NHWC", "NCHW"))
        self.same(by_layout([2, 8, 3, 2], "NCHW", "NCHW4c"))
        self.same(by_layout([2, 2, 3, 8], "NHWC", "NCHW8c"))
        self.same(by_layout([16, 8, 2, 1], "OIHW", "OIHW4i8o"))
        self.same(by_layout([16, 16], "OI", "OI4i8o2i"))
        self.same(by_layout([2, 2, 4, 8, 2], "OI4i8o2i", "IO"))
        self.same(by_layout([2, 2, 3, 2, 8], "NCHW8c", "NCHW4c"))
        self.same(by_layout([2, 4, 3, 2, 4], "NCHW4c", "NCHW8c"))
        self.same(by_layout([4, 2, 3], "4cCN", "NC"))
        self.same(by_layout([3, 1, 4], "NC4c", "NC1c2c"))

    def test_surplus(self):
        self.same(by_layout([2, 2, 3, 3], "NHWC", "NCHW4c"))
        self.same(by_layout([2, 13, 3, 2], "NCHW", "NCHW8c"))
        self.same(by_layout([13, 7, 2, 1], "OIHW", "OIHW4i8o"))
        self.same(by_layout([1, 1, 3, 2, 4], "NCHW4c", "NHWC", extents={"C": 3}))
        self.same(by_layout([2, 2, 3, 2, 8], "NCHW8c", "NCHW4c", extents={"C": 13}))
        self.same(by_layout([2, 2, 3, 2, 8], "NCHW8c", "NCHW8c", extents={"C": 13}))
        self.same(by_layout([2, 3, 3, 2, 8], "NCHW8c", "NCHW4c", extents={"C": 2}))
        self.same(by_layout([2, 2, 3, 3], "NHWC", "NCHW4c", src_strides=[50, 20, 4, 1], src_offset=7))
        self.same(by_layout([2, 2, 3, 3], "NHWC", "NCHW4c", dst_strides=[60, 60, 20, 5, 1], dst_offset=2))
        self.same(by_layout([2, 2, 3, 2, 8], "NCHW8c", "NCHW4c", extents={"C": 13}, dst_strides=[100, 25, 8, 4, 1]))

    def test_random_layouts(self):
        chosen = random.Random(3)
        for _ in range(300):
            letters = chosen.sample("NCHW", chosen.randint(1, 3))
            sides, extents = [], {}
            whole = {x: chosen.randint(1, 9) for x in letters}
            for side in range(2):
                axes = []
                for x in letters:
                    axes.append((x, 0))
                    for _ in range(chosen.choice((0, 0, 1, 2))):
                        axes.append((x, chosen.choice((1, 2, 4))))
                chosen.shuffle(axes)
                sides.append(axes)
            text = ["".join(x if b == 0 else f"{b}{x.lower()}" for x, b in axes) for axes in sides]
            shape = []
            for x, b in sides[0]:
                inner = math.prod(c for y, c in sides[0] if x == y and c)
                shape.append(b or -(-whole[x] // inner))
                if not b and inner > 1:
                    extents[x] = chosen.randint(1, -(-whole[x] // inner) * inner)
            row = by_layout(shape, *text, extents=extents)
            if chosen.random() < 0.5:
                row["src_strides"] = [3 * s + 1 for s in rivals_rows.packed_strides(shape)]
                row["src_offset"] = chosen.randint(0, 5)
            if chosen.random() < 0.5:
                row["dst_strides"] = [2 * s for s in rivals_rows.packed_strides(rivals_rows.Permute(row).dst_shape)]
                row["dst_offset"] = chosen.randint(0, 5)
            self.same(row)

    def test_what_fits_its_blocks_is_moved_once(self):
        """No operation before the last may copy: digits are split and permuted alone."""
        for row in (by_layout([2, 8, 3, 2], "NCHW", "NCHW4c"), by_layout([2, 2, 3, 2, 8], "NCHW8c", "NCHW4c"),
                    by_layout([16, 16], "OI", "OI4i8o2i")):
            self.assertLessEqual([op[0] for op in rivals_rows.permute_recipe(row).ops], ["reshape", "permute"])
        # One block that is not full is cut before anything moves.
        one = rivals_rows.permute_recipe(by_layout([1, 1, 3, 2, 4], "NCHW4c", "NHWC", extents={"C": 3}))
        self.assertEqual([op[0] for op in one.ops], ["permute", "reshape", "narrow"])

    def test_bytes(self):
        self.assertEqual(rivals_rows.row_bytes(by_axes([8, 6], [1, 0])), 2 * 48 * 4)
        self.assertEqual(rivals_rows.row_bytes(by_axes([8, 6], [0, 1], src_strides=[0, 1])), (6 + 48) * 4)
        self.assertEqual(rivals_rows.row_bytes(by_layout([1, 2, 2, 3], "NHWC", "NCHW4c", type="c128")), (12 + 16) * 16)
        self.assertEqual(rivals_rows.stage_of(by_axes([8], [0], out="i8")), ["out"])
        self.assertEqual(rivals_rows.stage_of(by_axes([8], [0])), [])


def matmul(**more):
    return {"operation": "matmul", "type": "f16", "acc": "f32", "out": "f16", "m": 64, "n": 32, "k": 48, "batch": 1,
            "transpose_a": False, "transpose_b": False} | more


class Matmuls(unittest.TestCase):
    def test_operands(self):
        operands = rivals_rows.matmul_operands(matmul(batch=3, transpose_b=True, lda=50, a_batch=0, ldd=96, d_batch=32))
        self.assertEqual(operands["a"][0], rivals_rows.View([3, 64, 48], [0, 50, 1], 0, 63 * 50 + 48))
        self.assertEqual(operands["b"][0], rivals_rows.View([3, 32, 48], [1536, 48, 1], 0, 3 * 1536))
        self.assertEqual(operands["d"][0], rivals_rows.View([3, 64, 32], [32, 96, 1], 0, 64 + 63 * 96 + 32))
        self.assertFalse(rivals_rows.is_packed(operands["d"][0]))
        self.assertTrue(rivals_rows.is_packed(operands["b"][0]))
        self.assertNotIn("c", operands)
        inplace = rivals_rows.matmul_operands(matmul(beta=1, c_is_d=True, ldd=40, residual=True))
        self.assertEqual(inplace["c"], inplace["d"])
        self.assertTrue(rivals_rows.is_packed(inplace["residual"][0]))

    def test_work(self):
        self.assertEqual(rivals_rows.row_operations(matmul(batch=2)), 2 * 2 * 64 * 32 * 48)
        self.assertEqual(rivals_rows.row_bytes(matmul()), 2 * (64 * 48 + 48 * 32 + 64 * 32))
        self.assertEqual(rivals_rows.row_bytes(matmul(batch=5, b_batch=0)), 2 * (5 * 64 * 48 + 48 * 32 + 5 * 64 * 32))
        self.assertEqual(rivals_rows.row_bytes(matmul(b_format="q4", b_type="i8")), 2 * (64 * 48 + 64 * 32) + 48 * 16)

    def test_calls(self):
        call = lambda **more: rivals_rows.matmul_calls(matmul(**more))[:2]
        self.assertEqual(call(), ("matmul", False))
        self.assertEqual(call(batch=4), ("matmul", False))
        self.assertEqual(call(out="f32"), ("mm_out", False))
        self.assertEqual(call(out="bf16"), (None, True))
        self.assertEqual(call(alpha=0.5), ("alpha", True))
        self.assertEqual(call(beta=1), ("addmm", True))
        self.assertEqual(call(beta=1, batch=4), ("baddbmm", True))
        self.assertEqual(call(beta=1, activation="relu"), (None, True))
        self.assertEqual(call(bias="column"), ("bias", True))
        self.assertEqual(call(bias="column", batch=2), ("batched bias", True))
        self.assertEqual(call(bias="row"), (None, True))
        self.assertEqual(call(bias="column", activation="relu"), ("addmm_activation", True))
        self.assertEqual(call(bias="column", activation="gelu_tanh"), ("addmm_activation", True))
        self.assertEqual(call(bias="column", activation="gelu"), (None, True))   # its gelu is the other one
        self.assertEqual(call(bias="column", activation="relu", residual=True), (None, True))
        for activation in ("leaky_relu:0.1", "relu last"):   # torch's calls here have no parameters and one order
            self.assertEqual(call(bias="column", activation=activation), (None, False))
        self.assertEqual(call(b_format="q4", b_type="i8"), (None, True))
        self.assertEqual(call(a_type="f32"), (None, True))
        self.assertEqual(call(a_scale=True), (None, True))
        i8 = lambda **more: rivals_rows.matmul_calls(matmul(type="i8", acc="i32", out="i32", **more))
        self.assertEqual(i8()[:2], ("int_mm", False))
        self.assertEqual(i8(bias="column")[:2], (None, True))
        for more in ({"m": 16}, {"k": 20}, {"n": 31}, {"batch": 2}, {"a_scale": True}):
            self.assertIn("_int_mm", i8(**more).left_out)
            self.assertEqual(i8(**more)[:2], (None, False))


def conv2d(**more):
    """As BenchConv2d::describe says a row."""
    return {"operation": "conv2d", "type": "f16", "x_type": "f16", "w_type": "f16", "w_format": "plain", "acc": "f32",
            "out": "f16", "x_layout": "nhwc", "y_layout": "nhwc", "w_layout": "krsc", "n": 2, "c": 6, "h": 9, "w": 7,
            "k": 4, "r": 3, "s": 2, "stride": [1, 1], "dilation": [1, 1], "pad": [1, 0, 1, 0], "groups": 1,
            "alpha": 1.0, "beta": 0.0, "c_is_d": False, "bias": False, "scale": False, "activation": "none",
            "residual": False, "x_scale": False, "x_bias": False, "x_relu": False} | more


class Convolutions(unittest.TestCase):
    def test_output(self):
        output = lambda **more: rivals_rows.conv2d_output(conv2d(**more))
        self.assertEqual(output(), (9, 6))
        self.assertEqual(output(stride=[2, 3]), (5, 2))
        self.assertEqual(output(dilation=[2, 5], pad=[0, 0, 1, 2]), (6, 4))
        self.assertEqual(output(r=11, s=7, pad=[1, 0, 1, 0]), (1, 1))

    def test_views_are_where_the_layouts_put_elements(self):
        """Against the words: N, C, H, W outermost first in NCHW, and C innermost in NHWC."""
        places = lambda view, order: [addresses_of(view)[index] for index in order]
        index = list(itertools.product(range(2), range(3), range(4), range(5)))   # n, c, h, w
        nchw, nhwc = (rivals_rows.image_view(layout, 2, 3, 4, 5, 0) for layout in ("nchw", "nhwc"))
        self.assertEqual(places(nchw, index), list(range(120)))
        by_c_last = lambda i: (i[0], i[2], i[3], i[1])
        self.assertEqual(places(nhwc, sorted(index, key=by_c_last)), list(range(120)))
        # A slice of the channels of a larger image: pixels lie 8 apart, images of 3 channels 200.
        sliced = rivals_rows.image_view("nhwc", 2, 3, 4, 5, 8)
        self.assertEqual(sliced, rivals_rows.View([2, 3, 4, 5], [160, 1, 40, 8], 0, 160 + 19 * 8 + 3))
        self.assertEqual(rivals_rows.image_view("nchw", 2, 3, 4, 5, 200).span, 260)
        self.assertEqual(rivals_rows.image_view("nhwc", 0, 3, 4, 5, 0).span, 0)
        filters = {layout: rivals_rows.filter_view(layout, 2, 3, 4, 5) for layout in ("kcrs", "krsc", "rsck")}
        self.assertEqual(places(filters["kcrs"], index), list(range(120)))
        self.assertEqual(places(filters["krsc"], sorted(index, key=by_c_last)), list(range(120)))
        k_last = sorted(index, key=lambda i: (i[2], i[3], i[1], i[0]))
        self.assertEqual(places(filters["rsck"], k_last), list(range(120)))

    def test_operands(self):
        operands = rivals_rows.conv2d_operands(conv2d(groups=2, beta=0.5, residual=True, r_pitch=10))
        self.assertEqual(list(operands), ["x", "w", "y", "c", "residual"])
        self.assertEqual(operands["w"][0].shape, [4, 3, 3, 2])
        self.assertEqual(operands["y"], operands["c"])
        self.assertEqual(operands["y"][0], rivals_rows.View([2, 4, 9, 6], [216, 1, 24, 4], 0, 432))
        self.assertEqual(operands["residual"][0].strides, [540, 1, 60, 10])
        self.assertEqual(rivals_rows.conv2d_operands(conv2d(x_type="f32"))["x"][1], 4)

    def test_work(self):
        self.assertEqual(rivals_rows.row_operations(conv2d()), 2 * 2 * 4 * 9 * 6 * 6 * 3 * 2)
        self.assertEqual(rivals_rows.row_operations(conv2d(groups=2)), 2 * 2 * 4 * 9 * 6 * 3 * 3 * 2)
        self.assertEqual(rivals_rows.row_bytes(conv2d()), 2 * (2 * 6 * 9 * 7 + 4 * 6 * 3 * 2 + 2 * 4 * 9 * 6))

    def test_calls(self):
        call = lambda **more: rivals_rows.conv2d_calls(conv2d(**more))[:2]
        self.assertEqual(call(), ("conv2d", False))
        self.assertEqual(call(bias=True), ("conv2d", True))
        self.assertEqual(call(bias=True, activation="relu"), ("cudnn_convolution_relu", True))
        self.assertEqual(call(activation="relu"), ("cudnn_convolution_relu", True))
        self.assertEqual(call(x_layout="nchw", y_layout="nchw", w_layout="kcrs"), ("conv2d", False))
        self.assertEqual(call(beta=1, bias=True, activation="relu"), ("cudnn_convolution_add_relu", True))
        self.assertEqual(call(beta=1), (None, True))
        # cuDNN adds before its relu, a residual is added behind ours.
        self.assertEqual(call(residual=True, activation="relu"), (None, True))
        for more in ({"activation": "silu"}, {"alpha": 0.5}, {"scale": True}, {"residual": True}, {"out": "f32"},
                     {"pad": [1, 0, 0, 0]}, {"pad": [1, 1, 1, 0]}, {"x_relu": True}, {"x_scale": True},
                     {"w_format": "q8", "w_type": "i8"}, {"x_type": "f32"}, {"y_layout": "nchw"}, {"y_pitch": 9},
                     {"w_layout": "kcrs"}, {"x_layout": "nchw", "y_layout": "nchw"}, {"w_layout": "rsck"}):
            self.assertEqual(call(**more), (None, True), more)
            self.assertTrue(rivals_rows.conv2d_calls(conv2d(**more)).why)
        for more in ({"type": "i8"}, {"x_layout": "nchw4c"}, {"y_layout": "nchw8c"}):
            self.assertEqual(call(**more), (None, False))
            self.assertTrue(rivals_rows.left_out(conv2d(**more)))


class Gpu:
    """A clock, and a reference whose speed is a function of it."""

    def __init__(self, seconds):
        self.now, self.seconds, self.log = 0.0, seconds, []

    def clock(self):
        return self.now

    def measure(self, kind, window):
        self.now += window
        self.log.append(("reference", kind))
        return self.seconds(self.now)

    def reference(self, most=4.0):
        return rivals_steady.Reference(self.measure, self.clock, most)


class Steadiness(unittest.TestCase):
    def test_three_windows_agree(self):
        gpu = Gpu(lambda now: 1.0)
        self.assertEqual(gpu.reference().settle("copy"), (1.0, True))
        self.assertEqual(len(gpu.log), 3)

    def test_it_waits_for_the_clocks(self):
        gpu = Gpu(lambda now: 3.0 if now < 0.5 else 1.5 if now < 0.9 else 1.0)
        self.assertEqual(gpu.reference().settle("copy"), (1.0, True))
        self.assertEqual(len(gpu.log), 7)

    def test_agreement_alone_is_not_enough(self):
        """A GPU that is steadily slow is slower than it was before."""
        gpu = Gpu(lambda now: 1.0 if now < 1 else 2.0)
        reference = gpu.reference()
        reference.settle("copy")
        gpu.now = 1
        self.assertEqual(reference.settle("copy"), (2.0, False))
        self.assertAlmostEqual(gpu.now, 5.0)
        # 2.9 % less is not too slow, 3.1 % less is.
        for rate, agreed in ((0.971, True), (0.969, False)):
            gpu.seconds = lambda now, rate=rate: 1 / rate
            self.assertEqual(reference.settle("copy")[1], agreed)

    def test_a_fast_beginning_is_no_best(self):
        """A GPU that comes from idling runs above its power limit for some windows, and they agree."""
        gpu = Gpu(lambda now: 0.95 if now < 0.7 else 1.0)
        reference = gpu.reference()
        self.assertEqual(reference.settle("copy", 1.0), (1.0, True))
        self.assertEqual(reference.best, {"copy": 1.0})
        # One fast window alone is none either, and without an agreement the last windows stand in.
        gpu = Gpu(lambda now: 0.9 if now < 0.3 else 1.0)
        reference = gpu.reference()
        self.assertEqual(reference.settle("copy"), (1.0, True))
        self.assertEqual(reference.best, {"copy": 1.0})
        noise = itertools.cycle([1.0, 1.02])
        reference = Gpu(lambda now: next(noise)).reference(most=1.0)
        reference.settle("copy")
        self.assertEqual(reference.best, {"copy": 1.0})

    def test_a_row_that_heats_is_not_unsteady(self):
        """The windows right behind it are slow, and those behind them are not."""
        gpu = Gpu(lambda now: 1.0)
        reference = gpu.reference()

        def heats():
            end = gpu.now
            gpu.seconds = lambda now: 1.08 if now < end + 0.3 else 1.0
            return 2.0

        told = rivals_steady.time_row(lambda: {"a": heats}, reference, "copy", 0.1, gpu.clock)[1]
        self.assertEqual(told, {"kind": "copy", "before": 1.0, "after": 1.0, "agreed": True})
        self.assertFalse(reference.unsteady(told))
        gpu.seconds = lambda now: 1.0
        reference.settle("copy")

        def slows():
            gpu.seconds = lambda now: 1.08
            return 2.0

        self.assertTrue(reference.unsteady(
            rivals_steady.time_row(lambda: {"a": slows}, reference, "copy", 0.1, lambda: gpu.now + len(gpu.log))[1]))

    def test_it_gives_up(self):
        noise = itertools.cycle([1.0, 1.02])
        gpu = Gpu(lambda now: next(noise))
        self.assertFalse(gpu.reference(most=1.0).settle("copy")[1])
        self.assertEqual(len(gpu.log), 5)

    def test_kinds_have_a_best_each(self):
        gpu = Gpu(lambda now: 1.0)
        reference = gpu.reference()
        reference.settle("copy")
        gpu.seconds = lambda now: 9.0
        self.assertEqual(reference.settle("matmul f16"), (9.0, True))

    def test_the_reference_is_what_bounds_the_row(self):
        rates = {"copy": 4e12, "matmul f16": 7e14}
        choose = lambda bytes_, work: rivals_steady.choose(bytes_, work, "matmul f16", rates)
        self.assertEqual(choose(1e9, 0), "copy")
        self.assertEqual(choose(3 * 2 * 4096**2, 2 * 4096**3), "matmul f16")
        self.assertEqual(choose(2 * 4096**2, 2 * 4096**2), "copy")
        for type_, kind in (("i8", "matmul f16"), ("bf16", "matmul f16"), ("f32", "matmul f32")):
            self.assertEqual(rivals_steady.matmul_reference(type_), kind)
        gpu = Gpu(lambda now: 1e-3)
        self.assertEqual(gpu.reference().rates(["copy"]), {"copy": 512e9})

    def test_nothing_runs_between_settling_and_samples(self):
        gpu = Gpu(lambda now: 1.0)

        def rival(name):
            def run():
                gpu.now += 0.01
                gpu.log.append(name)
                return 99.0 if gpu.log.count(name) == 1 else 2.0
            return run

        def prepare():
            gpu.log.append("prepare")
            return {"a": rival("a"), "b": rival("b")}

        taken, told = rivals_steady.time_row(prepare, gpu.reference(), "copy", 0.1, gpu.clock)
        windows = [("reference", "copy")]
        self.assertEqual(gpu.log[:8], ["prepare", *windows * 5, "a", "b"])
        self.assertEqual(gpu.log[-3:], windows * 3)
        self.assertNotIn("prepare", gpu.log[1:])
        self.assertEqual(gpu.log[6:-3], ["a", "b"] * 11)   # 10 rounds fill 0.2 s; the first is no sample
        self.assertEqual(taken["a"], {"median": 2.0, "p10": 2.0, "p90": 2.0, "samples": 10})
        self.assertEqual(told, {"kind": "copy", "before": 1.0, "after": 1.0, "agreed": True})
        gpu.log.clear()
        self.assertIsNone(rivals_steady.time_row(prepare, None, None, 0.1, gpu.clock)[1])
        self.assertEqual(gpu.log[:3], ["prepare", "a", "b"])
        self.assertEqual(rivals_steady.time_row(dict, gpu.reference(), "copy", 0.1, gpu.clock), ({}, None))

    def test_spread(self):
        self.assertEqual(rivals_steady.spread([5, 1, 4, 2, 3]), {"median": 3, "p10": 1, "p90": 5, "samples": 5})
        self.assertEqual(rivals_steady.spread(list(range(101)))["p10"], 10)


class Rows(unittest.TestCase):
    """Which rows are measured again."""

    def run_rows(self, speeds):
        """`speeds`: of each row, those of the reference (before, after) at each measurement."""
        reference = rivals_steady.Reference(None, None, 0)
        measured, told = [], []

        def measure_row(row):
            name = row["name"]
            before, after = speeds[name][measured.count(name)]
            measured.append(name)
            for seconds in (before, after):
                reference.best["copy"] = min(seconds, reference.best.get("copy", seconds))
            return {"eager": {"median": measured.count(name)},
                    "reference": {"kind": "copy", "before": before, "after": after, "agreed": True}}

        unsteady = rivals_steady.time_rows([{"name": name} for name in speeds], measure_row, reference,
                                           lambda row, details: told.append((row["name"], dict(details))))
        return measured, dict(told), unsteady

    def test_a_steady_row_is_measured_once(self):
        measured, told, unsteady = self.run_rows({"x": [(1.0, 1.02)], "y": [(1.01, 1.0)]})
        self.assertEqual((measured, unsteady), (["x", "y"], []))
        self.assertFalse(told["x"]["unsteady"])

    def test_a_slow_row_is_measured_again_once(self):
        for slow in ((1.5, 1.0), (1.0, 1.5)):
            measured, told, unsteady = self.run_rows({"x": [slow, (1.0, 1.0)], "y": [(1.0, 1.0)]})
            self.assertEqual((measured, unsteady), (["x", "y", "x"], []))
            self.assertEqual((told["x"]["eager"]["median"], told["x"]["measured"]), (2, 2))

    def test_the_best_of_the_whole_call_counts(self):
        measured, told, unsteady = self.run_rows({"x": [(1.0, 1.0), (0.9, 0.9)], "y": [(0.9, 0.9)]})
        self.assertEqual((measured, unsteady), (["x", "y", "x"], []))

    def test_what_repeats_is_marked(self):
        measured, told, unsteady = self.run_rows({"x": [(1.5, 1.5), (1.4, 1.0)], "y": [(1.0, 1.0)]})
        self.assertEqual((measured, unsteady), (["x", "y", "x"], ["x"]))
        self.assertTrue(told["x"]["unsteady"])
        self.assertEqual(told["x"]["eager"]["median"], 2)
        # The steadier of the two measurements stands.
        told = self.run_rows({"x": [(1.2, 1.2), (1.4, 1.0)], "y": [(1.0, 1.0)]})[1]
        self.assertEqual(told["x"]["eager"]["median"], 1)
        self.assertTrue(told["x"]["unsteady"])

    def test_a_best_that_comes_last_marks_what_was_before(self):
        measured, told, unsteady = self.run_rows({"x": [(1.0, 1.0)], "y": [(2.0, 2.0), (0.5, 0.5)]})
        self.assertEqual(measured, ["x", "y", "y"])
        self.assertEqual(unsteady, ["x"])
        self.assertTrue(told["x"]["unsteady"])

    def test_without_a_reference_nothing_is_unsteady(self):
        details = {"reference": None}
        calls = []
        self.assertEqual(rivals_steady.time_rows([{"name": "x"}], lambda row: dict(details), None,
                                                 lambda row, told: calls.append(told)), [])
        self.assertEqual(calls, [{"reference": None, "unsteady": False, "measured": 1}])


class Backend:
    """In the place of rivals_torch: rows that end as their names say."""

    class Call:
        def __init__(self, value):
            self.value = value

        def seconds(self):
            return self.value

    def prepare(self, row, arguments, left_out):
        if "broken" in row["name"]:
            raise RuntimeError("out of memory")
        left_out["torch"] = "a reason"
        return {"eager": self.Call(1e-3), "inductor": self.Call(2e-3)}

    def idle(self):
        pass


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, value):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(value, file)
        return self.path(name)

    def command(self, *words):
        command = [sys.executable, "-B", os.path.join(TOOLS, "rivals.py"), *words]
        return subprocess.run(command, capture_output=True, text=True)

    def test_rows_are_written_one_by_one_and_whole(self):
        results = rivals.Results(self.path("out"), self.path("details"), resume=False)
        spread = rivals_steady.spread([1.0, 2.0, 3.0])
        results.put("x", {"eager": spread, "reference": None, "unsteady": False, "left_out": {}})
        self.assertEqual(rivals.read_object(self.path("out")), {"x": {"eager": 2.0}})
        results.put("y", {"reference": None, "unsteady": False, "left_out": {"all": "no memory"}})
        self.assertEqual(rivals.read_object(self.path("out")), {"x": {"eager": 2.0}, "y": {}})
        self.assertEqual(rivals.read_object(self.path("details"))["x"]["eager"], spread)
        self.assertEqual(sorted(os.listdir(self.folder)), ["details", "out"])
        # A write that fails leaves what was there, and nothing beside it.
        with self.assertRaises(TypeError):
            rivals.write_atomically(self.path("out"), {"z": object()})
        self.assertEqual(rivals.read_object(self.path("out")), {"x": {"eager": 2.0}, "y": {}})
        self.assertEqual(sorted(os.listdir(self.folder)), ["details", "out"])

    def test_resume_keeps_what_is_there(self):
        self.write("out", {"x": {"eager": 2.0}})
        self.write("details", {"x": {"unsteady": True}})
        results = rivals.Results(self.path("out"), self.path("details"), resume=True)
        rows = [{"name": name} for name in ("x", "y", "z")]
        self.assertEqual(rivals.chosen_rows(rows, "", "", results.seconds), rows[1:])
        results.put("y", {"reference": None, "unsteady": False, "left_out": {}})
        self.assertEqual(rivals.read_object(self.path("out")), {"x": {"eager": 2.0}, "y": {}})
        self.assertEqual(rivals.read_object(self.path("details"))["x"], {"unsteady": True})
        # Without it the file is begun anew.
        self.assertEqual(rivals.Results(self.path("out"), None, resume=False).seconds, {})
        # Nothing left to do: no PyTorch is needed, and the file is what is printed.
        ran = self.command("--rows", self.write("rows", {"rows": rows[:1]}), "--output", self.path("out"), "--resume")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(json.loads(ran.stdout), {"x": {"eager": 2.0}, "y": {}})

    def test_shards_are_disjoint_and_all(self):
        rows = [{"name": str(i)} for i in range(10)]
        parts = [rivals.chosen_rows(rows, "", f"{i}/3", {}) for i in (1, 2, 3)]
        self.assertEqual(parts[1], [rows[1], rows[4], rows[7]])
        self.assertEqual(sorted((row["name"] for part in parts for row in part)), sorted(row["name"] for row in rows))
        # What a shard has to do does not hang on what it has done.
        self.assertEqual(rivals.chosen_rows(rows, "", "2/3", {"1": {}}), [rows[4], rows[7]])
        for bad in ("0/3", "4/3", "1", "a/b", "1/0", ""):
            with self.assertRaises(ValueError):
                rivals_rows.shard_of(rows, bad)
        ran = self.command("--rows", self.write("rows", {"rows": rows}), "--shard", "9/3")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("--shard: 9/3 (want I/N", ran.stderr)

    def test_a_name_that_two_problems_share_is_left_out(self):
        rows = [{"name": name, "problem": problem} for name, problem in ("xp", "yq", "yr", "xp")]
        with contextlib.redirect_stderr(io.StringIO()) as told:
            self.assertEqual(rivals.chosen_rows(rows, "", "", {}), rows[3:])
        self.assertIn("y: left out: 2 problems", told.getvalue())

    def test_merge_is_the_union_and_the_later_file_wins(self):
        a = self.write("a", {"x": {"eager": 1.0, "inductor": 2.0}, "y": {"eager": 3.0}})
        b = self.write("b", {"x": {"eager": 1.5}, "y": {"eager": 3.0}, "z": {}})
        ran = self.command("--merge", a, b, "--output", self.path("both"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(json.loads(ran.stdout), {"x": {"eager": 1.5, "inductor": 2.0}, "y": {"eager": 3.0}, "z": {}})
        self.assertEqual(rivals.read_object(self.path("both")), json.loads(ran.stdout))
        self.assertEqual(ran.stderr.count("which stands"), 1)
        self.assertIn("x: eager: 1.0 before, 1.5 in", ran.stderr)
        self.assertEqual(self.command("--merge", self.write("bad", [1])).returncode, 2)
        self.assertEqual(self.command("--merge", self.path("missing")).returncode, 2)

    def test_details_of_rows(self):
        class Arguments:
            min_time = 0.01

        gpu = Gpu(lambda now: 1.0)
        measure = lambda row: rivals.measure(row, Backend(), gpu.reference(), Arguments)
        good = measure(by_axes([8, 6], [1, 0], name="good"))
        self.assertEqual(good["eager"]["median"], 1e-3)
        self.assertEqual(good["reference"]["kind"], "copy")
        self.assertEqual(good["left_out"], {"torch": "a reason"})
        broken = measure(matmul(name="broken"))
        self.assertEqual(broken, {"reference": None, "left_out": {"all": "RuntimeError: out of memory"}})
        staged = measure(by_axes([8, 6], [1, 0], name="staged", out="i8"))
        self.assertIn("elements are computed with (out)", staged["left_out"]["all"])
        unknown = measure({"operation": "fft", "name": "unknown"})
        self.assertEqual(unknown, {"reference": None, "left_out": {"all": "no rival of a fft is known"}})
        int8 = measure(conv2d(name="int8", type="i8", x_type="i8", w_type="i8"))
        self.assertIn("int8", int8["left_out"]["all"])
        self.assertEqual(measure(conv2d(name="good"))["eager"]["median"], 1e-3)
        large = measure(matmul(name="large", m=4096, n=4096, k=4096))
        self.assertTrue(large["reference"]["agreed"])
        # What is printed, and read by C++, holds numbers alone.
        results = rivals.Results(None, None, resume=False)
        for name, details in (("good", good), ("broken", broken)):
            results.put(name, details | {"unsteady": False, "measured": 1})
        self.assertEqual(results.seconds, {"good": {"eager": 1e-3, "inductor": 2e-3}, "broken": {}})
        self.assertIn("eager 1000.0 us", rivals.told("good", results.details["good"]))

    def test_resume_wants_a_file(self):
        ran = self.command("--rows", self.write("rows", {"rows": []}), "--resume")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("--resume", ran.stderr)


if __name__ == "__main__":
    unittest.main()
