#!/usr/bin/env python3
"""Compares the planner's counts with a GPU's own counters: one row a plan, for the tables in docs/lab/2026-11.md.

usage: ncu_counts.py SECTILE [DEVICE]      (needs ncu, and the right to read counters)

The planner walks one interior workgroup; the problems here are whole multiples of their tiles, so that the number of
workgroups times that is the kernel's sum, and operands are aligned to cache lines (a promise of 16 bytes puts them
beside a sector's edge, and every request then touches one more). Counted are 32-byte sectors and requests (warp
instructions) of global loads and stores, and the passes over workgroup memory that bank conflicts add.
"""
import csv
import io
import json
import subprocess
import sys

CASES = [
    ("permute f32 4096x4096 axes=0,1 align=128", "permute_copy u1 wg256"),
    ("permute f32 64x512x512 axes=1,0,2 align=128", "permute_rows u1 wg256"),
    ("permute f32 2048x4096 axes=1,0 align=128", "permute_tile 32x32 v4x1 s8 wg128"),
    ("permute f32 2048x4096 axes=1,0 align=128", "permute_tile 32x32 v4x1 s4 wg128 swap"),
    ("permute f32 2048x4096 axes=1,0 align=128", "permute_tile 32x32 v1x1 s4 wg256"),
    ("permute f16 4096x4096 axes=1,0 align=128", "permute_tile 64x64 v4x4 s8 wg256 swap"),
    ("permute f16 4096x4096 axes=1,0 align=128", "permute_tile 64x32 v4x4 s8 wg64 swap"),
    ("permute i8 4096x4096 axes=1,0 align=128", "permute_tile 64x64 v4x4 s4 wg128"),
    ("permute i8 4096x4096 axes=1,0 align=128", "permute_block 128x64 v16x16 s16 wg32 swap"),
    ("permute u8 32x512x512x3 layout=NHWC:NCHW align=128", "permute_interleave p8 wg128"),
    ("permute f16 32x8x512x512 layout=NCHW:NHWC align=128", "permute_interleave p4 wg256"),
    ("permute f32 32x16x24x20x36x18 axes=5,3,1,0,2,4 align=128", "permute_box 288x288 a16 u4 wg128"),
]
METRICS = {
    "load sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "load requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "store requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "bank conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
}


def planned(sectile, device, problem, candidate):
    out = subprocess.run([sectile, "plan", problem, "--device", device, "--force", candidate, "--explain", "--json"],
                         check=True, capture_output=True, text=True).stdout
    plan = json.loads(out)
    chosen = next(c for c in plan["candidates"] if c["chosen"])
    groups = 1
    for side in plan["steps"][0]["grid"]:
        groups *= side
    n = chosen["interior"]
    return {"load sectors": n["load_transactions"] * groups, "store sectors": n["store_transactions"] * groups,
            "load requests": n["load_requests"] * groups, "store requests": n["store_requests"] * groups,
            "bank conflicts": n["bank_conflicts"] * groups}


def measured(sectile, device, problem, candidate):
    out = subprocess.run(["ncu", "--csv", "--metrics", ",".join(METRICS.values()), sectile, "check", "--problem", problem,
                          "--force", candidate, "--device", device, "--in-process"],
                         check=True, capture_output=True, text=True).stdout
    lines = out[out.index('"ID"'):]
    values = {}
    for row in csv.DictReader(io.StringIO(lines)):
        if row["Kernel Name"].startswith("sectile_main"):
            values[row["Metric Name"]] = int(float(row["Metric Value"].replace(",", "")))
    return {name: values[metric] for name, metric in METRICS.items()}


def main():
    sectile = sys.argv[1]
    device = sys.argv[2] if len(sys.argv) > 2 else "cuda:0"
    print("| plan | " + " | ".join(f"{name}: planned / ncu" for name in METRICS) + " |")
    print("|---" * (1 + len(METRICS)) + "|")
    for problem, candidate in CASES:
        plan = planned(sectile, device, problem, candidate)
        ncu = measured(sectile, device, problem, candidate)
        cells = [f"{plan[name]} / {ncu[name]}" + ("" if plan[name] == ncu[name] else " **") for name in METRICS]
        print(f"| {problem}: `{candidate}` | " + " | ".join(cells) + " |", flush=True)


main()
