#!/usr/bin/env python3
"""Times what PyTorch makes of the rows of `sectile bench`: eager permute().contiguous(), and Inductor; of matmul rows,
torch.matmul and torch._int_mm.

    sectile bench --preset seeds-permute --list --json > rows.json
    python3 tools/rivals.py --rows rows.json > rivals.json
    sectile bench --preset seeds-permute --rivals rivals.json

Prints {row name: {rival: seconds}}. Data is out of cache (each call takes another slot of 512 MB in
all), the GPU is kept busy for 0.25 s right before each timed part, and figures are medians. Calls are
replayed from a CUDA graph where that works, so that Python's launch overhead is not counted against a
rival. `copy_cuda` is the copy of the same bytes, for comparison; it is no rival.
"""
import argparse
import json
import math
import statistics
import sys
import time

import torch

DTYPES = {
    "i8": torch.int8, "u8": torch.uint8, "b8": torch.uint8, "i16": torch.int16, "f16": torch.float16,
    "bf16": torch.bfloat16, "b16": torch.float16, "i32": torch.int32, "f32": torch.float32, "b32": torch.float32,
    "i64": torch.int64, "f64": torch.float64, "b64": torch.float64, "c64": torch.complex64, "c128": torch.complex128,
}


def make_slots(row, cycle_bytes):
    """Inputs, one a slot, all different memory; enough of them that none is in cache when its turn comes."""
    dtype = DTYPES[row["type"]]
    count = math.prod(row["shape"])
    bytes_one = count * torch.empty((), dtype=dtype).element_size()
    slots = max(2, min(4096, math.ceil(cycle_bytes / (2 * bytes_one))))
    # Every slot is as well aligned as an allocation of its own: Inductor copies inputs that are not.
    pitch = (bytes_one + 255) // 256 * 256
    raw = torch.randint(0, 256, (slots, pitch), dtype=torch.uint8, device="cuda")
    # Some bits are NaN, which is unequal to itself; results are compared as bytes, so any bits do.
    return [raw[i, :bytes_one].view(dtype).view(row["shape"]) for i in range(slots)]


class Calls:
    """One pass over all slots; results are kept a whole pass, so that they rotate as well."""

    def __init__(self, function, slots):
        self.function, self.slots, self.results = function, slots, [None] * len(slots)
        self.graph = None

    def plain(self):
        for i, slot in enumerate(self.slots):
            self.results[i] = self.function(slot)

    def capture(self):
        self.plain()
        torch.cuda.synchronize()
        self.results = [None] * len(self.slots)
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.plain()
            self.graph = graph
        except Exception as error:  # a function that may not be captured is timed as it is
            print(f"rivals: no graph: {error}", file=sys.stderr)
            torch.cuda.synchronize()

    def __call__(self):
        self.graph.replay() if self.graph is not None else self.plain()


def median_seconds(calls, min_time, warmup):
    """Of one call, by CUDA events around whole passes."""
    calls.capture()
    end = time.monotonic() + warmup
    while time.monotonic() < end:
        calls()
        torch.cuda.synchronize()
    samples, begun = [], time.monotonic()
    while len(samples) < 5 or (time.monotonic() - begun < min_time and len(samples) < 200):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        calls()
        stop.record()
        stop.synchronize()
        samples.append(start.elapsed_time(stop) / 1e3 / len(calls.slots))
    return statistics.median(samples)


def same_bytes(a, b):
    return torch.equal(a.contiguous().view(torch.uint8).flatten(), b.contiguous().view(torch.uint8).flatten())


def measure_row(row, arguments):
    axes = row["axes"]
    eager = lambda x: x.permute(axes).contiguous()
    functions = {"eager": eager}
    if not arguments.no_inductor:
        torch._dynamo.reset()  # or the recompile limit ends in eager mode after some rows
        functions["inductor"] = torch.compile(eager, dynamic=False, fullgraph=True)
    if arguments.autotune:
        functions["inductor-autotune"] = torch.compile(eager, dynamic=False, fullgraph=True, mode="max-autotune-no-cudagraphs")
    slots = make_slots(row, arguments.cycle_mb * 1e6)
    want = eager(slots[0])
    functions["copy_cuda"] = lambda x: x.clone()
    times = {}
    for name, function in functions.items():
        got = function(slots[0])
        if name != "copy_cuda" and not same_bytes(got, want):
            print(f"rivals: {row['name']}: {name} is wrong", file=sys.stderr)
            continue
        times[name] = median_seconds(Calls(function, slots), arguments.min_time, arguments.warmup)
    return times


def matmul_slots(row, cycle_bytes):
    """Pairs of operands, a pair a slot, laid out as the row says."""
    dtype = DTYPES[row["type"]]
    m, n, k, batch = row["m"], row["n"], row["k"], row["batch"]
    size = torch.empty((), dtype=dtype).element_size()
    bytes_one = batch * ((m * k + k * n) * size + m * n * (4 if row["type"] == "i8" else size))
    slots = max(2, min(256, math.ceil(cycle_bytes / bytes_one)))

    def operand(rows, columns, transposed):
        shape = (columns, rows) if transposed else (rows, columns)
        shape = shape if batch == 1 else (batch, *shape)
        if dtype == torch.int8:
            x = torch.randint(-128, 128, shape, dtype=dtype, device="cuda")
        else:
            x = torch.randn(shape, dtype=torch.float32, device="cuda").to(dtype)
        return x.transpose(-1, -2) if transposed else x

    return [(operand(m, k, row["transpose_a"]), operand(k, n, row["transpose_b"])) for _ in range(slots)]


def measure_matmul(row, arguments):
    """The row's product by cuBLAS: f32 without TF32, f16 sums only where the row allows them."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = row["acc"] == "f16"
    if hasattr(torch.backends.cuda.matmul, "allow_fp16_accumulation"):
        torch.backends.cuda.matmul.allow_fp16_accumulation = row["acc"] == "f16"
    if row["type"] == "i8":
        if row["batch"] != 1:
            return {}
        function = lambda pair: torch._int_mm(pair[0], pair[1])
    else:
        function = lambda pair: torch.matmul(pair[0], pair[1])
    slots = matmul_slots(row, arguments.cycle_mb * 1e6)
    return {"torch": median_seconds(Calls(function, slots), arguments.min_time, arguments.warmup)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", required=True, help="JSON of `sectile bench --list --json`; - for standard input")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--no-inductor", action="store_true")
    parser.add_argument("--autotune", action="store_true", help="Inductor's max-autotune too; takes minutes")
    parser.add_argument("--cycle-mb", type=float, default=512.0, help="bytes that one pass touches")
    parser.add_argument("--min-time", type=float, default=0.3)
    parser.add_argument("--warmup", type=float, default=0.25)
    arguments = parser.parse_args()
    with (sys.stdin if arguments.rows == "-" else open(arguments.rows, encoding="utf-8")) as file:
        rows = json.load(file)["rows"]
    results = {}
    for row in rows:
        if arguments.only not in row["name"]:
            continue
        matmul = row.get("operation") == "matmul"
        if not matmul and row.get("axes") is None or row["type"] not in DTYPES:
            print(f"rivals: {row['name']}: left out, it is no plain permutation", file=sys.stderr)
            continue
        try:
            results[row["name"]] = measure_matmul(row, arguments) if matmul else measure_row(row, arguments)
        except RuntimeError as error:  # out of memory, or a product that it does not take
            print(f"rivals: {row['name']}: {error}", file=sys.stderr)
        torch.cuda.empty_cache()
        figures = ", ".join(f"{name} {seconds * 1e6:.1f} us" for name, seconds in results.get(row["name"], {}).items())
        print(f"rivals: {row['name']}: {figures}", file=sys.stderr, flush=True)
    json.dump(results, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
