"""Calls of PyTorch that are captured and timed: what all operations of tools/python/rivals_torch.py share."""
import math
import sys

import torch

DEVICE = "cuda"
# Bits are moved as integers where torch has no such number, or Inductor none.
DTYPES = {
    "i8": torch.int8, "u8": torch.uint8, "b8": torch.uint8, "i16": torch.int16, "u16": torch.int16, "b16": torch.int16,
    "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "u32": torch.int32, "b32": torch.int32,
    "f32": torch.float32, "i64": torch.int64, "u64": torch.int64, "b64": torch.int64, "c64": torch.int64,
    "f64": torch.float64,
}
MOST_BYTES = 32e9          # of one operand's slots


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


def set_numerics(acc):
    """f32 without TF32; f16 sums only where the row allows them."""
    matmul = torch.backends.cuda.matmul
    matmul.allow_tf32 = False
    matmul.allow_fp16_reduced_precision_reduction = acc == "f16"
    matmul.allow_bf16_reduced_precision_reduction = False
    if hasattr(matmul, "allow_fp16_accumulation"):
        matmul.allow_fp16_accumulation = acc == "f16"
    # cuDNN sums f16 in f32. It times its algorithms at a shape's first call, which is never captured.
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True


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
