"""The part of tools/python/rivals.py that runs on a GPU: rows as calls of PyTorch, checked, captured and timed."""
import gc
import math
import random
import statistics
import sys
import time

import torch
import torch.nn.functional as F

import rivals_rows
import rivals_steady

DEVICE = "cuda"
# Bits are moved as integers where torch has no such number, or Inductor none.
DTYPES = {
    "i8": torch.int8, "u8": torch.uint8, "b8": torch.uint8, "i16": torch.int16, "u16": torch.int16, "b16": torch.int16,
    "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "u32": torch.int32, "b32": torch.int32,
    "f32": torch.float32, "i64": torch.int64, "u64": torch.int64, "b64": torch.int64, "c64": torch.int64,
    "f64": torch.float64,
}
MOST_BYTES = 32e9          # of one operand's slots
CHECKED_ELEMENTS = 512     # of a permute's result; a matmul's are fewer, of long sums
CHECKED_SUMS = 32


def say(text):
    print(f"rivals: {text}", file=sys.stderr, flush=True)


class Calls:
    """One pass over all slots; results are kept a whole pass, so that they rotate as well."""

    def __init__(self, function, slots):
        self.function, self.slots, self.results, self.graph = function, slots, [None] * len(slots), None

    def plain(self):
        for i, slot in enumerate(self.slots):
            self.results[i] = self.function(*slot)

    def capture(self, name):
        """Runs the pass, captures it and replays it: no first run is left for a sample."""
        self.plain()
        torch.cuda.synchronize()
        self.results = [None] * len(self.slots)
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.plain()
            self.graph = graph
        except Exception as error:  # a function that may not be captured is timed as it is
            say(f"{name}: no graph, the host's part is timed too: {brief(error)}")
            torch.cuda.synchronize()
        self.run()
        torch.cuda.synchronize()
        return self

    def run(self):
        self.graph.replay() if self.graph is not None else self.plain()

    def begin(self):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        self.run()
        stop.record()
        return start, stop

    def end(self, events):
        events[1].synchronize()
        return events[0].elapsed_time(events[1]) / 1e3 / len(self.slots)

    def seconds(self):
        """Of one call, by CUDA events around a whole pass."""
        return self.end(self.begin())


def brief(error):
    """The first lines of what is often a page."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2])[:300] or type(error).__name__


class ReferenceKernels:
    """What rivals_steady.Reference measures: passes of some milliseconds, the next one queued before the last is
    read."""

    def __init__(self):
        self.calls = {}

    def make(self, kind):
        if kind == "copy":
            source = torch.empty(rivals_steady.COPY_BYTES, dtype=torch.uint8, device=DEVICE).random_(0, 256)
            target = torch.empty_like(source)
            return Calls(lambda: target.copy_(source), [()] * 40)
        set_numerics("f32")
        dtype, n = torch.float16 if kind == "matmul f16" else torch.float32, rivals_steady.MATMUL_SIZE
        a, b = (torch.randn(n, n, dtype=torch.float32, device=DEVICE).to(dtype) for _ in range(2))
        d = torch.empty(n, n, dtype=dtype, device=DEVICE)
        return Calls(lambda: torch.matmul(a, b, out=d), [()] * (200 if kind == "matmul f16" else 15))

    def prepare(self, kinds):
        for kind in kinds:
            if kind not in self.calls:
                self.calls[kind] = self.make(kind).capture(kind)

    def measure(self, kind, seconds):
        self.prepare([kind])
        calls, times, queued = self.calls[kind], [], []
        end = time.monotonic() + seconds
        while not times or time.monotonic() < end:
            queued.append(calls.begin())
            if len(queued) > 1:
                times.append(calls.end(queued.pop(0)))
        times.append(calls.end(queued.pop()))
        return statistics.median(times)


def set_numerics(acc):
    """f32 without TF32; f16 sums only where the row allows them."""
    matmul = torch.backends.cuda.matmul
    matmul.allow_tf32 = False
    matmul.allow_fp16_reduced_precision_reduction = acc == "f16"
    matmul.allow_bf16_reduced_precision_reduction = False
    if hasattr(matmul, "allow_fp16_accumulation"):
        matmul.allow_fp16_accumulation = acc == "f16"


def slot_count(cycle_bytes, one, spans, most):
    """Enough that none is in cache when its turn comes; fewer where operands with gaps would fill the memory."""
    return max(2, min(most, math.ceil(cycle_bytes / max(one, 1)), int(MOST_BYTES // max(spans))))


def compiled(arguments, function):
    """{rival: function} of Inductor."""
    rivals, options = {}, {"dynamic": False, "fullgraph": True}
    if not arguments.no_inductor:
        rivals["inductor"] = torch.compile(function, **options)
    if arguments.autotune:
        rivals["inductor-autotune"] = torch.compile(function, mode="max-autotune-no-cudagraphs", **options)
    return rivals


# Permutes

def run_ops(ops, x):
    for name, *values in ops:
        if name == "reshape":
            x = x.reshape(values[0])
        elif name == "permute":
            x = x.permute(values[0])
        elif name == "narrow":
            x = x.narrow(*values)
        else:
            x = F.pad(x, [n for pad in reversed(values[0]) for n in (0, pad)])
    return x


def strided(raw, dtype, view):
    typed = raw[:view.span * dtype.itemsize].view(dtype)
    return torch.as_strided(typed, view.shape, view.strides, typed.storage_offset() + view.offset)


def permute_function(recipe, x):
    """The recipe on such a source, into fresh memory or into a destination that is handed in."""
    ops, shape = recipe.ops, recipe.dst_shape
    if not recipe.packed:
        return lambda x, out: out.copy_(run_ops(ops, x))
    # A result that is still a view of the source has to be copied, whatever its order.
    if run_ops(ops, x).untyped_storage().data_ptr() == x.untyped_storage().data_ptr():
        return lambda x: run_ops(ops, x).clone(memory_format=torch.contiguous_format).view(shape)
    return lambda x: run_ops(ops, x).contiguous().view(shape)


def checked_coordinates(shape):
    chosen = random.Random(1)
    corners = [[0] * len(shape), [n - 1 for n in shape]]
    return corners + [[chosen.randrange(n) for n in shape] for _ in range(CHECKED_ELEMENTS)]


def permute_is_right(row, source, target):
    """Some elements by the problem's own words; `source` and `target` are bytes."""
    problem, size = rivals_rows.Permute(row), rivals_rows.SIZES[row["type"]]
    coordinates = checked_coordinates(problem.dst_shape)
    want = [problem.source_at(at) for at in coordinates]
    source, target = (data[:len(data) // size * size].view(-1, size) for data in (source, target))
    index = lambda numbers: torch.tensor(numbers, dtype=torch.int64, device=DEVICE)
    taken = source[index([at or 0 for at in want])]
    taken[index([i for i, at in enumerate(want) if at is None])] = 0
    return torch.equal(taken, target[index([problem.destination_at(at) for at in coordinates])])


def permute_rivals(row, arguments, left_out):
    """{rival: (function, slots, how a result is seen to be right)}."""
    size = rivals_rows.SIZES[row["type"]]
    # Inductor knows no complex numbers: 16 bytes are two integers to it.
    kinds = {"eager": (torch.complex128 if size == 16 else DTYPES[row["type"]], 1)}
    kinds["inductor"] = (torch.int64, 2) if size == 16 else kinds["eager"]
    recipes = {kind: rivals_rows.permute_recipe(row, lanes) for kind, (_, lanes) in kinds.items()}
    # Every slot is as well aligned as an allocation of its own: Inductor copies inputs that are not.
    pitch = lambda view: (view.span * size + 255) // 256 * 256
    plain = recipes["eager"]
    count = slot_count(arguments.cycle_mb * 1e6, rivals_rows.row_bytes(row), [pitch(plain.src), pitch(plain.dst)], 4096)
    noise = lambda view: torch.randint(0, 256, (count, pitch(view)), dtype=torch.uint8, device=DEVICE)
    raw = noise(plain.src)
    # Results are compared as bytes. Of a NaN some bits may change where f16 passes through f32: the exponent's highest
    # bit is cleared.
    if kinds["eager"][0].is_floating_point:
        raw.view(count, -1, size)[:, :, size - 1].bitwise_and_(0xBF)
    target = None if plain.packed else noise(plain.dst)

    def slots_of(kind):
        dtype, _ = kinds[kind]
        more = lambda i: () if target is None else (strided(target[i], dtype, recipes[kind].dst),)
        return [(strided(raw[i], dtype, recipes[kind].src), *more(i)) for i in range(count)]

    def right(result):
        if target is None:
            return permute_is_right(row, raw[0], result.contiguous().view(torch.uint8).flatten())
        good = permute_is_right(row, raw[0], target[0])
        target[0].bitwise_not_()  # or what one rival left there would pass for the next one's
        return good

    eager = slots_of("eager")
    rivals = {"eager": (permute_function(recipes["eager"], eager[0][0]), eager, right)}
    inductor = eager if size != 16 else slots_of("inductor")
    function = permute_function(recipes["inductor"], inductor[0][0])
    rivals |= {name: (one, inductor, right) for name, one in compiled(arguments, function).items()}
    if plain.packed and not any(row.get(key) for key in ("src_strides", "src_offset")):
        rivals["copy_cuda"] = (lambda x: x.clone(), eager, lambda result: True)
    return rivals


# Matmuls

def matmul_slot(row, operands):
    """Operands of one call by name, filled with random numbers; matrices as they are multiplied, [batch,] rows,
    columns."""
    out = DTYPES[row["out"]]

    def numbers(shape, dtype):
        if dtype.is_floating_point:
            return torch.randn(shape, dtype=torch.float32, device=DEVICE).to(dtype)
        low, high = (0, 256) if dtype == torch.uint8 else (-128, 128)
        return torch.randint(low, high, shape, dtype=dtype, device=DEVICE)

    types = {"a": DTYPES[row.get("a_type", row["type"])], "b": DTYPES[row.get("b_type", row["type"])]}
    if row.get("b_format", "plain") != "plain":
        types["b"] = torch.int8 if row["b_format"] == "q8" else torch.uint8
    slot = {}
    for name, (view, _) in operands.items():
        if name == "d" and rivals_rows.is_packed(view):
            continue
        # C is a matrix of its own also where it is D: in place, numbers would grow from call to call.
        shape, strides, span = view.shape, view.strides, view.span
        if name == "b" and row.get("b_format") == "q4":
            shape, span = [shape[0], shape[1], -(-shape[2] // 2)], -(-span // 2)
            strides = [strides[0] // 2, strides[1] // 2, 1]
        x = torch.as_strided(numbers((span,), types.get(name, out)), shape, strides)
        x = x[0] if row["batch"] == 1 else x
        turned = name in ("a", "b") and row["transpose_" + name] and not (name == "b" and row.get("b_format") == "q4")
        slot[name] = x.transpose(-1, -2) if turned else x
    for name in ("bias", "scale"):
        if row.get(name, "none") != "none":
            length = row["m"] if row[name] == "row" else row["n"]
            slot[name] = numbers((length,), out if name == "bias" else torch.float32)
    if row.get("b_format") == "q8":
        slot["b_scale"] = numbers((row["n"],), torch.float32) / 64
    if row.get("b_format") == "q4":
        slot["b_scale"] = numbers((row["n"], (row.get("ldb") or row["k"]) // 32), torch.float16) / 4
    if row.get("a_scale"):
        slot["a_scale"] = numbers((row["k"],), torch.float32)
    return slot


def product(row, a, b):
    if row["type"] == "i8":
        return torch._int_mm(a, b)
    if row["type"] != "f32" and row["out"] == "f32" and row.get("b_format", "plain") != "q8":
        return product_f32(row, a, b)
    # One matrix for all batches: torch.matmul makes one product of it where it can.
    if row["batch"] != 1 and row.get("b_batch") == 0:
        b = b[0]
    elif row["batch"] != 1 and row.get("a_batch") == 0:
        a = a[0]
    return torch.matmul(a, b)


def product_f32(row, a, b, **out):
    """f16 or bf16 with a result in f32: torch 2.8 and later, on a GPU."""
    return (torch.mm if row["batch"] == 1 else torch.bmm)(a, b, out_dtype=torch.float32, **out)


ACTIVATIONS = {
    "relu": torch.relu, "silu": F.silu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}


def unpacked(row, slot):
    """A and B as numbers of the row's type, but for the scales of b=q8, which are multiplied into the product."""
    a, b, dtype = slot["a"], slot["b"], DTYPES[row["type"]]
    if row.get("a_scale"):
        a = (a.float() * slot["a_scale"]).to(dtype)
    if row.get("b_format") == "q4":
        k = row["k"]
        q = torch.stack((b & 15, b >> 4), -1).flatten(-2)[..., :k]
        wide = dtype if row["type"] == "f16" else torch.float32
        scales = slot["b_scale"].to(wide).repeat_interleave(32, -1)[:, :k]
        b = ((q.to(wide) - 8) * scales).to(dtype).transpose(-1, -2)
    return a.to(dtype), b.to(dtype)


def composed(row):
    """A product and what follows it, as one would write it: bias or C in the same call where there is one for it."""
    out, alpha, beta = DTYPES[row["out"]], row.get("alpha", 1), row.get("beta", 0)
    bias, scale = row.get("bias", "none"), row.get("scale", "none")
    q8, batched = row.get("b_format") == "q8", row["batch"] != 1
    fused = row["type"] != "i8" and row["out"] == row["type"] and scale == "none" and not q8
    activation = ACTIVATIONS.get(row.get("activation"))
    along = lambda vector, axis: vector.unsqueeze(-1) if axis == "row" else vector

    def run(slot):
        a, b = unpacked(row, slot)
        call = torch.baddbmm if batched else torch.addmm
        add_c, add_bias = beta != 0, bias != "none"
        if fused and add_c:
            v, add_c = call(slot["c"], a, b, beta=beta, alpha=alpha), False
        elif fused and bias == "column":
            v, add_bias = call(slot["bias"], a, b, alpha=alpha), False
        else:
            v = product(row, a, b)
            if row["type"] == "i8" and row["out"] != "i32":
                v = v.float()
            v = v * slot["b_scale"] if q8 else v
            v = v * alpha if alpha != 1 else v
            v = v * along(slot["scale"], scale) if scale != "none" else v
        v = v + beta * slot["c"] if add_c else v
        v = v + along(slot["bias"], bias) if add_bias else v
        v = activation(v) if activation else v
        v = v + slot["residual"] if row.get("residual") else v
        return slot["d"].copy_(v) if "d" in slot else v.to(out)

    return run


def single_call(row, call):
    alpha, beta, n = row.get("alpha", 1), row.get("beta", 0), row["n"]

    def run(slot):
        a, b = slot["a"], slot["b"]
        out = {"out": slot["d"]} if "d" in slot else {}
        if call == "int_mm":
            return torch._int_mm(a, b, **out)
        if call == "mm_out":
            return product_f32(row, a, b, **out)
        if call == "addmm_activation":
            return torch._addmm_activation(slot["bias"], a, b, use_gelu=row["activation"] == "gelu_tanh", **out)
        if call in ("addmm", "baddbmm"):
            return getattr(torch, call)(slot["c"], a, b, beta=beta, alpha=alpha, **out)
        if call == "alpha":
            added = a.new_empty(()).expand(n)   # with a beta of 0 it is not read
            return (torch.addmm if row["batch"] == 1 else torch.baddbmm)(added, a, b, beta=0, alpha=alpha, **out)
        if call in ("bias", "batched bias"):
            return (torch.addmm if call == "bias" else torch.baddbmm)(slot["bias"], a, b, alpha=alpha, **out)
        return torch.matmul(a, b, **out) if out else product(row, a, b)

    return run


EPSILON = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7, "i32": 0}


def matmul_is_right(row, slot, result):
    """Some elements in f64, loosely: what roundings on the way leave passes, another product does not."""
    chosen = random.Random(1)
    m, n, k, batch = row["m"], row["n"], row["k"], row["batch"]
    triples = [(chosen.randrange(batch), chosen.randrange(m), chosen.randrange(n)) for _ in range(CHECKED_SUMS)]
    bi, mi, ni = (torch.tensor(values, device=DEVICE) for values in zip(*triples))
    matrix = lambda x: x if batch != 1 else x.unsqueeze(0)
    dtype = DTYPES[row["type"]]
    a = matrix(slot["a"])[bi, mi].double()
    if "a_scale" in slot:
        a = a * slot["a_scale"].double()
    if row.get("b_format") == "q4":
        q = matrix(slot["b"])[bi, ni]
        scales = slot["b_scale"][ni].double()
        b = torch.empty(len(triples), 2 * q.shape[1], dtype=torch.float64, device=DEVICE)
        b[:, 0::2], b[:, 1::2] = (q % 16).double() - 8, (q // 16).double() - 8
        b = b[:, :k] * scales[:, torch.arange(k, device=DEVICE) // 32]
    else:
        b = matrix(slot["b"])[bi, :, ni].double()
        b = b * slot["b_scale"][ni].double().unsqueeze(-1) if "b_scale" in slot else b
    terms = a.to(dtype).double() * b.to(dtype).double()
    factor = torch.full((len(triples),), float(row.get("alpha", 1)), dtype=torch.float64, device=DEVICE)
    at = {"row": mi, "column": ni}
    if "scale" in slot:
        factor = factor * slot["scale"].double()[at[row["scale"]]]
    value = factor * terms.sum(1)
    size = value.abs()

    def add(x):
        nonlocal value, size
        value, size = value + x, size + x.abs()

    if "c" in slot:
        add(row["beta"] * matrix(slot["c"])[bi, mi, ni].double())
    if "bias" in slot:
        add(slot["bias"].double()[at[row["bias"]]])
    if row.get("activation") in ACTIVATIONS:
        value = ACTIVATIONS[row["activation"]](value)
    if "residual" in slot:
        add(matrix(slot["residual"])[bi, mi, ni].double())
    sums = 0.25 if row["acc"] == "f16" else 2e-3 if row["type"] == "f32" else 8 * EPSILON.get(row["type"], 0)
    allowed = 8 * EPSILON[row["out"]] * size + sums * factor.abs() * terms.square().sum(1).sqrt()
    got = matrix(result)[bi, mi, ni].double()
    return bool(((got - value).abs() <= allowed).all())


def matmul_rivals(row, arguments, left_out):
    """{rival: (function, slots, how a result is seen to be right)}."""
    calls = rivals_rows.matmul_calls(row)
    if calls.left_out:
        left_out["torch"] = calls.left_out
        return {}
    if calls.call is None:
        left_out["torch"] = calls.why
    set_numerics(row["acc"])
    operands = rivals_rows.matmul_operands(row)
    spans = [view.span * size for view, size in operands.values()]
    count = slot_count(arguments.cycle_mb * 1e6, rivals_rows.row_bytes(row), spans, 256)
    slots = [(matmul_slot(row, operands),) for _ in range(count)]
    rivals = {}
    if calls.call is not None:
        rivals["torch"] = single_call(row, calls.call)
    if calls.composed:
        rivals["eager"] = composed(row)
        rivals |= compiled(arguments, composed(row))

    def right(result):
        good = matmul_is_right(row, slots[0][0], result)
        result.fill_(77)  # or what one rival left in D would pass for the next one's
        return good

    return {name: (one, slots, right) for name, one in rivals.items()}


# All operations

RIVALS = {"permute": permute_rivals, "matmul": matmul_rivals}


def prepare(row, arguments, left_out):
    """{rival: Calls}, captured, of those that give the right result; `left_out` gets why others are not there."""
    torch._dynamo.reset()  # or the recompile limit ends in eager mode after some rows
    make = RIVALS[rivals_rows.operation_of(row)]
    ready = {}
    for name, (function, slots, right) in make(row, arguments, left_out).items():
        try:
            if not right(function(*slots[0])):
                left_out[name] = "its result is wrong"
                continue
            ready[name] = Calls(function, slots).capture(f"{row['name']}: {name}")
        except Exception as error:  # out of memory, or operands that it does not take
            left_out[name] = brief(error)
    return ready


def idle():
    """Frees what a row held; raises where the device is lost."""
    torch.cuda.synchronize()
    gc.collect()
    torch.cuda.empty_cache()
