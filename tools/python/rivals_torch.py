"""The part of tools/python/rivals.py that runs on a GPU: rows as calls of PyTorch, checked, captured and timed."""
import gc
import random
import statistics
import time

import torch
import torch.nn.functional as F

import rivals_rows
import rivals_steady
from rivals_torch_calls import DEVICE, DTYPES, Calls, brief, compiled, set_numerics, slot_count
from rivals_torch_products import conv2d_rivals, matmul_rivals

CHECKED_ELEMENTS = 512     # of a permute's result


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


# All operations

RIVALS = {"permute": permute_rivals, "matmul": matmul_rivals, "conv2d": conv2d_rivals}


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
