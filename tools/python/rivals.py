#!/usr/bin/env python3
"""Times what PyTorch makes of the rows of `sectile bench` on an NVIDIA GPU: of permutes, eager mode and Inductor; of
matmuls and convolutions, the one call of cuBLAS or cuDNN that says the row (torch.matmul, addmm, baddbmm,
_addmm_activation, _int_mm; conv2d, cudnn_convolution_relu and _add_relu, in the row's own layouts, in benchmark mode),
and with an epilogue or a prologue eager mode and Inductor as well.

    sectile bench --preset seeds-permute --list --json > rows.json
    python3 tools/python/rivals.py --rows rows.json --output rivals.json --details details.json > /dev/null
    sectile bench --preset seeds-permute --rivals rivals.json

Prints {row name: {rival: seconds}}; with --output the same stands in a file that grows row by row. Figures are medians.
Data is out of cache (each call takes another slot of 512 MB in all). Calls are replayed from a CUDA graph where that
works, so that Python's launch overhead is not counted against a rival. All rivals of a row are compiled, checked and
captured first. Then a reference kernel, a copy or a product, runs until its speed is the best one again, rivals take
turns, and the reference runs once more. Rows whose reference was too slow are measured again at the end, and are named
and marked in the details as unsteady if that repeats. `copy_cuda` is the copy of the same bytes, for comparison; it is
no rival.
"""
import argparse
import json
import os
import sys
import time

import rivals_rows
import rivals_steady


def say(text):
    print(f"rivals: {text}", file=sys.stderr, flush=True)


def write_atomically(path, value):
    """Who reads the file finds what it held before, or all of the new."""
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.remove(part)
        raise


def read_object(path):
    with open(path, encoding="utf-8") as file:
        value = json.load(file)
    if not isinstance(value, dict) or not all(isinstance(inner, dict) for inner in value.values()):
        raise ValueError(f"{path}: want {{row name: {{…}}}}")
    return value


class Results:
    """What was found so far; in files as soon as it is found, where files are asked for."""

    def __init__(self, output, details, resume):
        self.files = [(output, {}), (details, {})]
        if resume:
            self.files = [(path, read_object(path) if path and os.path.exists(path) else {}) for path, _ in self.files]
        (_, self.seconds), (_, self.details) = self.files

    def put(self, name, details):
        self.details[name] = details
        self.seconds[name] = {rival: taken["median"] for rival, taken in details.items() if is_spread(taken)}
        for path, value in self.files:
            if path:
                write_atomically(path, value)


def is_spread(value):
    return isinstance(value, dict) and "median" in value


def chosen_rows(rows, only, shard, have):
    """Those to be measured: of those named, a shard, without what there is already. Figures are known by their row's
    name: a name that two problems share would give one the other's, so both are left out."""
    problems = {}
    for row in rows:
        problems.setdefault(row["name"], set()).add(row.get("problem"))
    for name, sharing in problems.items():
        if len(sharing) > 1:
            say(f"{name}: left out: {len(sharing)} problems have this name")
    once = {row["name"]: row for row in rows}.values()
    rows = [row for row in once if only in row["name"] and len(problems[row["name"]]) == 1]
    rows = rivals_rows.shard_of(rows, shard) if shard else rows
    return [row for row in rows if row["name"] not in have]


def told(name, details):
    figures = [f"{rival} {taken['median'] * 1e6:.1f} us" for rival, taken in details.items() if is_spread(taken)]
    figures += [f"{rival} left out: {why}" for rival, why in details["left_out"].items()]
    return f"{name}: {', '.join(figures)}" + ("; UNSTEADY" if details["unsteady"] else "")


def measure(row, backend, reference, arguments):
    """A row's details, but for what the whole call decides."""
    left_out = {}
    if why := rivals_rows.left_out(row):
        return {"reference": None, "left_out": {"all": why}}
    try:
        kind, work = None, rivals_rows.row_operations(row)
        if reference is not None:
            matmul_kind = rivals_steady.matmul_reference(row["type"])
            rates = reference.rates(["copy", matmul_kind] if work else ["copy"])
            kind = rivals_steady.choose(rivals_rows.row_bytes(row), work, matmul_kind, rates)

        def prepare():
            return {name: calls.seconds for name, calls in backend.prepare(row, arguments, left_out).items()}

        taken, before_and_after = rivals_steady.time_row(prepare, reference, kind, arguments.min_time, time.monotonic)
    except Exception as error:  # out of memory; a lost device shows below
        taken, before_and_after = {}, None
        left_out["all"] = f"{type(error).__name__}: {error}".strip()
    backend.idle()
    return taken | {"reference": before_and_after, "left_out": left_out}


def run(arguments):
    with (sys.stdin if arguments.rows == "-" else open(arguments.rows, encoding="utf-8")) as file:
        rows = json.load(file)["rows"]
    results = Results(arguments.output, arguments.details, arguments.resume)
    rows = chosen_rows(rows, arguments.only, arguments.shard, results.seconds)
    if rows:
        import rivals_torch as backend   # here, so that all else works without it

        reference = None
        if arguments.warmup > 0:
            reference = rivals_steady.Reference(backend.ReferenceKernels().measure, time.monotonic, arguments.warmup)

        def tell(row, details):
            results.put(row["name"], details)
            say(told(row["name"], details))

        measure_row = lambda row: measure(row, backend, reference, arguments)
        unsteady = rivals_steady.time_rows(rows, measure_row, reference, tell)
        for name in unsteady:
            say(f"{name}: UNSTEADY: its reference was more than {rivals_steady.SLOWER:.0%} under the best one twice")
    json.dump(results.seconds, sys.stdout, indent=1)
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--rows", help="JSON of `sectile bench --list --json`; - for standard input")
    what.add_argument("--merge", nargs="+", metavar="FILE", help="print the union of such outputs; the later file wins")
    parser.add_argument("--output", help="write what is printed to this file as well, whenever a row is done")
    parser.add_argument("--resume", action="store_true", help="keep the rows that --output's file has, and skip them")
    parser.add_argument("--details", help="write spreads, references and what was left out to this file")
    parser.add_argument("--shard", default="", metavar="I/N", help="every N-th row, beginning with the I-th")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--no-inductor", action="store_true")
    parser.add_argument("--autotune", action="store_true", help="Inductor's max-autotune too; takes minutes")
    parser.add_argument("--cycle-mb", type=float, default=512.0, help="bytes that one pass touches")
    parser.add_argument("--min-time", type=float, default=0.3, help="seconds of samples for each rival")
    parser.add_argument("--warmup", type=float, default=4.0,
                        help="seconds at most until the reference's speed is steady; 0: no reference")
    arguments = parser.parse_args()
    if arguments.resume and not arguments.output:
        parser.error("--resume: there is no --output that it could go on with")
    try:
        if arguments.merge is not None:
            union = rivals_rows.merged([(path, read_object(path)) for path in arguments.merge], say)
            if arguments.output:
                write_atomically(arguments.output, union)
            json.dump(union, sys.stdout, indent=1)
            print()
        else:
            run(arguments)
    except (OSError, ValueError, KeyError) as error:
        say(f"error: {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
