"""What a row of `sectile bench --list --json` is in PyTorch's words: views, an order of operations on them, and which
calls say the same. Nothing here imports torch: tools/python/rivals_torch.py runs it, tests/tools/python/rivals_test.py checks it
against the definition of a permute by its indices."""
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
        """A side's digits: names, (letter, weight) of an axis that fits and (letter, place) of one that does not; sizes;
        strides."""
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


def matmul_bytes(row):
    operands = matmul_operands(row)
    return sum(math.prod(n for n, s in zip(v.shape, v.strides) if s != 0) * size for v, size in operands.values())


def matmul_operations(row):
    return 2 * row["m"] * row["n"] * row["k"] * row["batch"]


# What is asked of an operation here: bytes that a row has to move, each once; operations of arithmetic; why nothing can
# be run (empty: something can).
Operation = namedtuple("Operation", "bytes work left_out")


def stage_left_out(row):
    stage = stage_of(row)
    return f"elements are computed with ({', '.join(stage)}), not moved alone" if stage else ""


OPERATIONS = {
    "permute": Operation(permute_bytes, lambda row: 0, stage_left_out),
    "matmul": Operation(matmul_bytes, matmul_operations, lambda row: ""),
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


# How a matmul row is said: the one call of cuBLAS that says all of it (None: there is none, and `why` tells the
# reason), and whether it is also run as a product with pointwise operations behind it. `left_out`: nothing can be run.
MatmulCalls = namedtuple("MatmulCalls", "call composed why left_out")


def matmul_calls(row):
    m, n, k = row["m"], row["n"], row["k"]
    type_, a_type, b_type = row["type"], row.get("a_type", row["type"]), row.get("b_type", row["type"])
    quantised = row.get("b_format", "plain") != "plain"
    alpha, beta = row.get("alpha", 1), row.get("beta", 0)
    bias, scale, activation = (row.get(key, "none") for key in ("bias", "scale", "activation"))
    more = {bias, scale, activation} != {"none"} or row.get("residual", False) or alpha != 1 or beta != 0
    if type_ == "i8":
        if row["batch"] != 1:
            return MatmulCalls(None, False, "", "torch._int_mm takes no batch")
        if m <= 16 or k % 8 != 0 or n % 8 != 0 or k == 0:
            return MatmulCalls(None, False, "", "torch._int_mm wants M above 16 and K and N that are multiples of 8")
        if row.get("a_scale"):
            return MatmulCalls(None, False, "", "torch._int_mm takes no scales along K")
        if not more and row["out"] == "i32":
            return MatmulCalls("int_mm", False, "", "")
        return MatmulCalls(None, True, "an epilogue behind torch._int_mm", "")
    if quantised or a_type != type_ or b_type != type_ or row.get("a_scale"):
        scaled = "A is scaled first" if row.get("a_scale") else "operands are converted first"
        return MatmulCalls(None, True, "weights are unpacked first" if quantised else scaled, "")
    if row["out"] != type_:
        # torch.mm's out_dtype knows f32 alone.
        if not more and row["out"] == "f32" and type_ != "f32":
            return MatmulCalls("mm_out", False, "", "")
        return MatmulCalls(None, True, "the result has another type", "")
    if not more:
        return MatmulCalls("matmul", False, "", "")
    if scale != "none" or bias == "row" or row.get("residual"):
        return MatmulCalls(None, True, "no single call has this epilogue", "")
    if beta != 0:
        if bias != "none" or activation != "none":
            return MatmulCalls(None, True, "no single call has this epilogue", "")
        return MatmulCalls("addmm" if row["batch"] == 1 else "baddbmm", True, "", "")
    if bias == "none":
        if activation == "none":
            return MatmulCalls("alpha", True, "", "")
        return MatmulCalls(None, True, "no single call has this epilogue", "")
    if activation == "none":
        return MatmulCalls("bias" if row["batch"] == 1 else "batched bias", True, "", "")
    # Its gelu is the one by tanh.
    if activation in ("relu", "gelu_tanh") and row["batch"] == 1 and alpha == 1:
        return MatmulCalls("addmm_activation", True, "", "")
    return MatmulCalls(None, True, "no single call has this epilogue", "")


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
