"""What a row of `sectile bench --list --json` is in PyTorch's words: views, an order of operations on them, and which
calls say the same. Nothing here imports torch: tools/python/rivals_torch.py runs it, and
tests/tools/python/rivals_test.py checks it against the definition of a permute by its indices."""
import math
import re
from collections import namedtuple

SIZES = {"i8": 1, "u8": 1, "b8": 1, "i16": 2, "u16": 2, "f16": 2, "bf16": 2, "b16": 2, "i32": 4, "u32": 4, "f32": 4,
         "b32": 4, "i64": 8, "u64": 8, "f64": 8, "c64": 8, "b64": 8, "c128": 16, "b128": 16}

# Strided elements in a buffer that has `span` of them.
View = namedtuple("View", "shape strides offset span")
# The source as the problem has it; operations that lead to the destination's digits in its order; the destination in
# those digits; its own shape; whether it is packed, so that a fresh contiguous result is the destination.
Recipe = namedtuple("Recipe", "src ops dst dst_shape packed")
# One axis of a layout: its letter, the block's size (0: the axis itself), and what a step along it means.
Axis = namedtuple("Axis", "letter block weight")


def parse_layout(text):
    parts = re.findall(r"([A-Z])|([0-9]+)([a-z])", text)
    items = [(upper or lower.upper(), int(block or 0)) for upper, block, lower in parts]
    axes = []
    for i, (letter, block) in enumerate(items):
        inside = [b for j, (l, b) in enumerate(items) if l == letter and b and (not block or j > i)]
        axes.append(Axis(letter, block, math.prod(inside)))
    return axes


def chain(axes, letter):
    """Places of a letter's axes, outermost first: the upper-case one, then its blocks from left to right."""
    places = [i for i, axis in enumerate(axes) if axis.letter == letter]
    return sorted(places, key=lambda i: (axes[i].block != 0, i))


def packed_strides(shape):
    return [math.prod(shape[i + 1:]) for i in range(len(shape))]


class Permute:
    """A row's axes on both sides, straight from the words of docs/reference/problem-string.md."""

    def __init__(self, row):
        self.shape = list(row["shape"])
        axes = row.get("axes") if row.get("axes") is not None else row.get("permutation")
        if row.get("src_layout"):
            self.src, self.dst = parse_layout(row["src_layout"]), parse_layout(row["dst_layout"])
        else:
            self.src = [Axis(i, 0, 1) for i in range(len(self.shape))]
            self.dst = [Axis(i, 0, 1) for i in axes]
        self.whole = {a.letter: n * a.weight for a, n in zip(self.src, self.shape) if a.block == 0}
        self.extent = self.whole | row.get("extents", {})
        outer = {a.letter: a.weight for a in self.dst if a.block == 0}
        self.written = {x: -(-self.extent[x] // outer[x]) * outer[x] for x in outer}
        self.dst_shape = [a.block or self.written[a.letter] // a.weight for a in self.dst]
        self.src_strides = row.get("src_strides") or packed_strides(self.shape)
        self.dst_strides = row.get("dst_strides") or packed_strides(self.dst_shape)
        self.src_offset, self.dst_offset = row.get("src_offset", 0), row.get("dst_offset", 0)
        # Lists of strides that say what would be without them change nothing.
        self.packed = self.dst_strides == packed_strides(self.dst_shape) and self.dst_offset == 0

    def destination_at(self, coordinate):
        return self.dst_offset + sum(i * s for i, s in zip(coordinate, self.dst_strides))

    def source_at(self, coordinate):
        """Where the element of a destination's coordinate comes from; None: it is zero bits."""
        index = {}
        for i, axis in zip(coordinate, self.dst):
            index[axis.letter] = index.get(axis.letter, 0) + i * axis.weight
        if any(i >= self.extent[letter] for letter, i in index.items()):
            return None
        at = self.src_offset
        for axis, size, stride in zip(self.src, self.shape, self.src_strides):
            steps = index[axis.letter] // axis.weight
            at += (steps % size if axis.block else steps) * stride
        return at

    def touched(self):
        """Elements that are read and written, each once."""
        read = math.prod(n for n, s in zip(self.shape, self.src_strides) if s != 0)
        return read + math.prod(self.dst_shape)


def span_of(shape, strides, offset):
    return offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides))


def digits_of(axes, place, sizes, weights):
    """Sizes of the digits that one axis is split in, outermost first. `weights`: of all digits of its letter,
    falling."""
    axis, places = axes[place], chain(axes, axes[place].letter)
    at = places.index(place)
    limit = axes[places[at - 1]].weight if at else math.inf
    mine = [w for w in weights if axis.weight <= w < limit]
    digits, top = [], sizes[place] * axis.weight
    for w in mine:
        digits.append((w, top // w))
        top = w
    return digits


def permute_recipe(row, lanes=1):
    """How torch says a permute. Axes that fit their blocks on both sides are split in digits and moved at once; one
    that is sliced or padded is put together first, cut or padded with zeros, and split again. `lanes`: an element is so
    many of the tensor's, side by side."""
    p = Permute(row)
    letters = list(p.whole)
    fits = {x: p.whole[x] == p.extent[x] == p.written[x] for x in letters}
    weights = {x: sorted({a.weight for a in p.src + p.dst if a.letter == x}, reverse=True) for x in letters}
    ops = []

    def in_digits(axes, sizes, strides):
        """A side's digits: names, (letter, weight) of an axis that fits and (letter, place) of one that does not;
        sizes; strides."""
        names, shape, steps = [], [], []
        for place, axis in enumerate(axes):
            parts = [(-1 - place, sizes[place])]
            if fits[axis.letter]:
                parts = digits_of(axes, place, sizes, weights[axis.letter])
            names += [(axis.letter, w) for w, _ in parts]
            shape += [n for _, n in parts]
            steps += [strides[place] * math.prod(n for _, n in parts[i + 1:]) for i in range(len(parts))]
        return names, shape, steps

    names, sizes, _ = in_digits(p.src, p.shape, p.src_strides)
    last = [lanes] if lanes > 1 else []
    keep = lambda order: list(order) + ([len(order)] if lanes > 1 else [])
    if sizes != p.shape:
        ops.append(("reshape", sizes + last))

    # In the destination's order, what does not fit at its upper-case axis.
    wanted, groups = [], []
    for place, axis in enumerate(p.dst):
        if fits[axis.letter]:
            parts = digits_of(p.dst, place, p.dst_shape, weights[axis.letter])
            wanted += [(axis.letter, w) for w, _ in parts]
            groups += [((axis.letter, w), n) for w, n in parts]
        elif axis.block == 0:
            wanted += [(axis.letter, -1 - i) for i in chain(p.src, axis.letter)]
            groups.append(((axis.letter, None), p.whole[axis.letter]))
    order = [names.index(name) for name in wanted]
    if order != sorted(order):
        ops.append(("permute", keep(order)))
    if len(groups) != len(wanted):
        ops.append(("reshape", [n for _, n in groups] + last))
    pads, split = [], []
    for at, ((letter, kind), size) in enumerate(groups):
        pads.append(0)
        if kind is not None:
            split.append(((letter, kind), size))
            continue
        if p.extent[letter] < size:
            ops.append(("narrow", at, 0, p.extent[letter]))
        pads[-1] = p.written[letter] - p.extent[letter]
        split += [((letter, -1 - i), p.dst_shape[i]) for i in chain(p.dst, letter)]
    if any(pads):
        ops.append(("pad", pads + ([0] if lanes > 1 else [])))
    if len(split) != len(groups):
        ops.append(("reshape", [n for _, n in split] + last))

    final, shape, strides = in_digits(p.dst, p.dst_shape, p.dst_strides)
    order = [[name for name, _ in split].index(name) for name in final]
    if order != sorted(order):
        ops.append(("permute", keep(order)))

    def view(shape, strides, offset):
        span = span_of(shape, strides, offset) * lanes
        return View(shape + last, [s * lanes for s in strides] + ([1] if last else []), offset * lanes, span)

    source, target = view(p.shape, p.src_strides, p.src_offset), view(shape, strides, p.dst_offset)
    return Recipe(source, ops, target, p.dst_shape + last, p.packed)


def stage_of(row):
    """What of a permute computes with elements; such rows are no permutation alone."""
    return [key for key in ("out", "alpha", "scale", "bias", "add") if key in row]


def permute_bytes(row):
    return Permute(row).touched() * SIZES[row["type"]]


def operand_bytes(operands):
    return sum(math.prod(n for n, s in zip(v.shape, v.strides) if s != 0) * size for v, size in operands.values())


def matmul_bytes(row):
    return operand_bytes(matmul_operands(row))


def matmul_operations(row):
    return 2 * row["m"] * row["n"] * row["k"] * row["batch"]


def conv2d_bytes(row):
    return operand_bytes(conv2d_operands(row))


def conv2d_operations(row):
    height, width = conv2d_output(row)
    return 2 * row["n"] * row["k"] * height * width * row["c"] // row["groups"] * row["r"] * row["s"]


# What is asked of an operation here: bytes that a row has to move, each once; operations of arithmetic; why nothing can
# be run (empty: something can).
Operation = namedtuple("Operation", "bytes work left_out")


def stage_left_out(row):
    stage = stage_of(row)
    return f"elements are computed with ({', '.join(stage)}), not moved alone" if stage else ""


OPERATIONS = {
    "permute": Operation(permute_bytes, lambda row: 0, stage_left_out),
    "matmul": Operation(matmul_bytes, matmul_operations, lambda row: ""),
    "conv2d": Operation(conv2d_bytes, conv2d_operations, lambda row: conv2d_calls(row).left_out),
}


def operation_of(row):
    return row.get("operation", "permute")


def left_out(row):
    name = operation_of(row)
    return OPERATIONS[name].left_out(row) if name in OPERATIONS else f"no rival of a {name} is known"


def row_bytes(row):
    return OPERATIONS[operation_of(row)].bytes(row)


def row_operations(row):
    return OPERATIONS[operation_of(row)].work(row)


def matmul_operands(row):
    """{name: (View [batch, rows, columns] as stored, bytes of an element)} of a, b, d, c and residual; 4 bits count as
    half."""
    m, n, k, batch, out = row["m"], row["n"], row["k"], row["batch"], SIZES[row["out"]]

    def matrix(rows, columns, ld, step):
        ld = row.get(ld) or columns
        step = row.get(step, rows * ld)
        shape, strides = [batch, rows, columns], [step if batch > 1 else 0, ld, 1]
        # A dimension of one step may have any stride; none is 0, which says that it is shared.
        if batch == 1:
            strides[0] = max(rows * ld, 1)
        return View(shape, strides, 0, span_of(shape, strides, 0) if 0 not in shape else 0)

    b_size = {"plain": SIZES[row.get("b_type", row["type"])], "q8": 1, "q4": 0.5}[row.get("b_format", "plain")]
    a_size = SIZES[row.get("a_type", row["type"])]
    operands = {
        "a": (matrix(*((k, m) if row["transpose_a"] else (m, k)), "lda", "a_batch"), a_size),
        "b": (matrix(*((n, k) if row["transpose_b"] else (k, n)), "ldb", "b_batch"), b_size),
        "d": (matrix(m, n, "ldd", "d_batch"), out),
    }
    if row.get("beta", 0) != 0:
        # What D held has D's place.
        operands["c"] = operands["d"] if row.get("c_is_d") else (matrix(m, n, "ldc", "c_batch"), out)
    if row.get("residual"):
        operands["residual"] = (matrix(m, n, "ldr", "r_batch"), out)
    return operands


def is_packed(view):
    return all(s == want for n, s, want in zip(view.shape, view.strides, packed_strides(view.shape)) if n > 1)


# How a row of products is said: the one call of cuBLAS or cuDNN that says all of it (None: there is none, and `why`
# tells the reason), and whether it is also run as a product with pointwise operations behind it. `left_out`: nothing
# can be run.
ProductCalls = namedtuple("ProductCalls", "call composed why left_out")


# Those that composed() computes. Others, with parameters or after the residual, have no rival.
ACTIVATIONS = ("none", "relu", "gelu", "gelu_tanh", "silu")


def matmul_calls(row):
    m, n, k = row["m"], row["n"], row["k"]
    type_, a_type, b_type = row["type"], row.get("a_type", row["type"]), row.get("b_type", row["type"])
    quantised = row.get("b_format", "plain") != "plain"
    alpha, beta = row.get("alpha", 1), row.get("beta", 0)
    bias, scale, activation = (row.get(key, "none") for key in ("bias", "scale", "activation"))
    if activation not in ACTIVATIONS:
        return ProductCalls(None, False, "", f"no torch call is known for the activation {activation}")
    more = {bias, scale, activation} != {"none"} or row.get("residual", False) or alpha != 1 or beta != 0
    if type_ == "i8":
        if row["batch"] != 1:
            return ProductCalls(None, False, "", "torch._int_mm takes no batch")
        if m <= 16 or k % 8 != 0 or n % 8 != 0 or k == 0:
            return ProductCalls(None, False, "", "torch._int_mm wants M above 16 and K and N that are multiples of 8")
        if row.get("a_scale"):
            return ProductCalls(None, False, "", "torch._int_mm takes no scales along K")
        if not more and row["out"] == "i32":
            return ProductCalls("int_mm", False, "", "")
        return ProductCalls(None, True, "an epilogue behind torch._int_mm", "")
    if quantised or a_type != type_ or b_type != type_ or row.get("a_scale"):
        scaled = "A is scaled first" if row.get("a_scale") else "operands are converted first"
        return ProductCalls(None, True, "weights are unpacked first" if quantised else scaled, "")
    if row["out"] != type_:
        # torch.mm's out_dtype knows f32 alone.
        if not more and row["out"] == "f32" and type_ != "f32":
            return ProductCalls("mm_out", False, "", "")
        return ProductCalls(None, True, "the result has another type", "")
    if not more:
        return ProductCalls("matmul", False, "", "")
    if scale != "none" or bias == "row" or row.get("residual"):
        return ProductCalls(None, True, "no single call has this epilogue", "")
    if beta != 0:
        if bias != "none" or activation != "none":
            return ProductCalls(None, True, "no single call has this epilogue", "")
        return ProductCalls("addmm" if row["batch"] == 1 else "baddbmm", True, "", "")
    if bias == "none":
        if activation == "none":
            return ProductCalls("alpha", True, "", "")
        return ProductCalls(None, True, "no single call has this epilogue", "")
    if activation == "none":
        return ProductCalls("bias" if row["batch"] == 1 else "batched bias", True, "", "")
    # Its gelu is the one by tanh.
    if activation in ("relu", "gelu_tanh") and row["batch"] == 1 and alpha == 1:
        return ProductCalls("addmm_activation", True, "", "")
    return ProductCalls(None, True, "no single call has this epilogue", "")


def conv2d_output(row):
    """Height and width of the result."""
    top, left, bottom, right = row["pad"]
    padded = (row["h"] + top + bottom, row["w"] + left + right)
    span = [d * (n - 1) + 1 for d, n in zip(row["dilation"], (row["r"], row["s"]))]
    return tuple((have - need) // step + 1 for have, need, step in zip(padded, span, row["stride"]))


def image_view(layout, n, c, h, w, pitch):
    """An image as torch has it, [N, C, H, W] in any layout. `pitch`: from pixel to pixel of NHWC, otherwise from image
    to image; 0: packed."""
    if layout == "nhwc":
        pitch = pitch or c
        strides = [h * w * pitch, 1, w * pitch, pitch]
    else:
        strides = [pitch or c * h * w, h * w, w, 1]
    shape = [n, c, h, w]
    return View(shape, strides, 0, span_of(shape, strides, 0) if 0 not in shape else 0)


def filter_view(layout, k, c, r, s):
    """Weights as torch has them, [K, C, R, S] in any layout."""
    sizes = {"k": k, "c": c, "r": r, "s": s}
    steps = dict(zip(layout, packed_strides([sizes[letter] for letter in layout])))
    shape, strides = [k, c, r, s], [steps[letter] for letter in "kcrs"]
    return View(shape, strides, 0, math.prod(shape))


def conv2d_operands(row):
    """{name: (View in torch's order of axes, bytes of an element)} of x, w, y, c and residual."""
    n, c, k, out = row["n"], row["c"], row["k"], SIZES[row["out"]]
    height, width = conv2d_output(row)
    result = lambda pitch: (image_view(row["y_layout"], n, k, height, width, row.get(pitch, 0)), out)
    operands = {
        "x": (image_view(row["x_layout"], n, c, row["h"], row["w"], row.get("x_pitch", 0)), SIZES[row["x_type"]]),
        "w": (filter_view(row["w_layout"], k, c // row["groups"], row["r"], row["s"]), SIZES[row["w_type"]]),
        "y": result("y_pitch"),
    }
    if row["beta"] != 0:
        operands["c"] = operands["y"] if row["c_is_d"] else result("c_pitch")
    if row["residual"]:
        operands["residual"] = result("r_pitch")
    return operands


def padded_alike(row):
    """Whether opposite sides have as many zeros, which is all that torch's convolutions know."""
    top, left, bottom, right = row["pad"]
    return top == bottom and left == right


def conv2d_calls(row):
    """cuDNN's own fused calls are a bias and a relu, and a tensor added before that relu."""
    if row["type"] == "i8":
        return ProductCalls(None, False, "", "torch has no int8 convolution on a GPU")
    if any(row[layout] not in ("nchw", "nhwc") for layout in ("x_layout", "y_layout")):
        return ProductCalls(None, False, "", "torch has no blocked layouts")
    if row["activation"] not in ACTIVATIONS:
        return ProductCalls(None, False, "", f"no torch call is known for the activation {row['activation']}")
    composed = lambda why: ProductCalls(None, True, why, "")
    if row["w_format"] != "plain":
        return composed("weights are unpacked first")
    if row["x_type"] != row["type"] or row["w_type"] != row["type"]:
        return composed("operands are converted first")
    if row["x_scale"] or row["x_bias"] or row["x_relu"]:
        return composed("X is computed with first")
    if row["out"] != row["type"]:
        return composed("the result has another type")
    if row["x_layout"] != row["y_layout"] or row.get("y_pitch"):
        return composed("the result lies in another way")
    if row["w_layout"] != {"nchw": "kcrs", "nhwc": "krsc"}[row["x_layout"]]:
        return composed("torch lays the result as the weights lie, or turns them first")
    if not padded_alike(row):
        return composed("the padding differs between sides")
    activation, added = row["activation"], row["beta"] != 0
    if row["scale"] or row["alpha"] != 1 or row["residual"] or activation not in ("none", "relu"):
        return composed("no single call has this epilogue")
    if activation == "relu":
        return ProductCalls("cudnn_convolution_add_relu" if added else "cudnn_convolution_relu", True, "", "")
    if added:
        return composed("no single call has this epilogue")
    return ProductCalls("conv2d", row["bias"], "", "")


def shard_of(rows, text):
    """Every N-th row, beginning with the I-th, of "I/N"."""
    match = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
    part, parts = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= part <= parts:
        raise ValueError(f"--shard: {text} (want I/N, I from 1 to N)")
    return rows[part - 1::parts]


def merged(files, say):
    """The union of [(name, {row: {rival: seconds}})]. Of two figures the later file's stands, and `say` is told."""
    union = {}
    for name, results in files:
        for row, rivals in results.items():
            into = union.setdefault(row, {})
            for rival, seconds in rivals.items():
                if rival in into and into[rival] != seconds:
                    say(f"{row}: {rival}: {into[rival]} before, {seconds} in {name}, which stands")
                into[rival] = seconds
    return union
