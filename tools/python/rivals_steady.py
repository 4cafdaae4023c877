"""When tools/python/rivals.py may time a row: once a reference kernel runs at the speed that the GPU is known to reach.

A GPU that idled needs more than 0.25 s of work until its clocks are back, and until then kernels read up to three times
too slow, with a narrow spread. Nothing here imports torch: clocks and measurements are handed in.
"""
import statistics

WINDOW_S = 0.2           # of reference calls, for one figure
SETTLE_S = 1.0           # at least, before a row: a GPU that idled may run above its lasting speed for some windows
AGREEING = 3             # windows in a row ...
AGREE = 0.01             # ... whose slowest is not further than this above their fastest
SLOWER = 0.03            # a rate so much under the best one of the call is a GPU that is not at its speed
COPY_BYTES = 256_000_000   # of the copy that stands for rows that memory bounds; read once and written once
MATMUL_SIZE = 2048         # M, N and K of the product that stands for rows that arithmetic bounds
FEWEST_SAMPLES, MOST_SAMPLES = 5, 200


def slow(seconds, best):
    """Whether a rate is more than SLOWER under the best one."""
    return best < seconds * (1 - SLOWER)


class Reference:
    """The reference kernels of one call. `measure(kind, seconds)` runs kernel `kind` for so long and returns seconds of
    one run; `clock()` tells seconds; `most` is how long to wait for agreement."""

    def __init__(self, measure, clock, most):
        self.measure, self.clock, self.most, self.best = measure, clock, most, {}

    def settle(self, kind, least=0.0):
        """Seconds of one run once windows agree at nearly the best speed, after `least` seconds, and whether they did
        in time. Only what windows agreed on is a best: a single fast one, of a GPU that is not yet at its power limit,
        is no speed that a row can be held to."""
        windows, begun = [], self.clock()
        while True:
            windows.append(self.measure(kind, WINDOW_S))
            last = windows[-AGREEING:]
            middle = statistics.median(last)
            agree = len(last) == AGREEING and max(last) <= min(last) * (1 + AGREE)
            if agree and self.clock() - begun >= least - WINDOW_S / 2:
                self.best[kind] = min(middle, self.best.get(kind, middle))
                if not slow(middle, self.best[kind]):
                    return middle, True
            if self.clock() - begun >= self.most:
                self.best.setdefault(kind, middle)
                return middle, False

    def rates(self, kinds):
        """Bytes or operations a second of each kind, measured where that has not been done yet."""
        for kind in kinds:
            if kind not in self.best:
                self.settle(kind, SETTLE_S)
        return {kind: work_of(kind) / self.best[kind] for kind in kinds}

    def unsteady(self, told):
        """Whether a row's reference, the worse of before and after, was too slow. `told`: what its details say of
        it."""
        return told is not None and slow(max(told["before"], told["after"]), self.best[told["kind"]])


def work_of(kind):
    return 2 * COPY_BYTES if kind == "copy" else 2 * MATMUL_SIZE**3


def matmul_reference(type_name):
    """The kind that stands for a row's arithmetic."""
    return "matmul f16" if type_name in ("i8", "u8", "b8", "f16", "bf16", "i16", "u16", "b16") else "matmul f32"


def choose(moved_bytes, operations, matmul_kind, rates):
    """What takes longer at the references' own rates: moving a row's bytes, or its arithmetic."""
    if operations == 0:
        return "copy"
    return "copy" if moved_bytes / rates["copy"] >= operations / rates[matmul_kind] else matmul_kind


def spread(samples):
    """As `sectile bench` has it."""
    ordered = sorted(samples)
    at = lambda part: ordered[int(part * (len(ordered) - 1) + 0.5)]
    return {"median": at(0.5), "p10": at(0.1), "p90": at(0.9), "samples": len(ordered)}


def sample(timed, min_time, clock):
    """Samples of each of {name: function that returns seconds}, by turns, until each had its time. The first round is
    none."""
    for one in timed.values():
        one()
    samples, begun = {name: [] for name in timed}, clock()
    rounds = 0
    while timed and rounds < MOST_SAMPLES and (rounds < FEWEST_SAMPLES or clock() - begun < min_time * len(timed)):
        for name, one in timed.items():
            samples[name].append(one())
        rounds += 1
    return {name: spread(taken) for name, taken in samples.items()}


def time_row(prepare, reference, kind, min_time, clock):
    """One measurement of a row: (details of each rival, details of the reference or None). `prepare()` does all work of
    the host, data, compilation, verification and capture, and returns {name: function that returns seconds}: between
    the reference's settling and the samples nothing but kernels runs. `reference`: None for none."""
    timed = prepare()
    if not timed:
        return {}, None
    if reference is None:
        return sample(timed, min_time, clock), None
    before, agreed = reference.settle(kind, SETTLE_S)
    taken = sample(timed, min_time, clock)
    # Settled again: a row that draws more power than the reference slows the windows right behind it by 8 % (H200).
    after, _ = reference.settle(kind)
    return taken, {"kind": kind, "before": before, "after": after, "agreed": agreed}


def time_rows(rows, measure_row, reference, tell):
    """Measures every row, then those once more whose reference was too slow beside the best of the whole call.
    `measure_row(row)` returns a row's details; `tell(row, details)` is called whenever a row has new ones. Later
    figures replace earlier ones, but for a second measurement that was no steadier than the first. Returns the names of
    the rows that stay unsteady."""
    told = {}

    def mark(details):
        details["unsteady"] = reference is not None and reference.unsteady(details["reference"])
        return details

    for row in rows:
        told[row["name"]] = mark(measure_row(row)) | {"measured": 1}
        tell(row, told[row["name"]])
    for row in rows:
        first = told[row["name"]]
        if not mark(first)["unsteady"]:
            continue
        again = mark(measure_row(row)) | {"measured": 2}
        worst = lambda details: max(details["reference"]["before"], details["reference"]["after"])
        if again["reference"] is None or (again["unsteady"] and worst(again) > worst(first)):
            again = first | {"measured": 2}
        told[row["name"]] = again
        tell(row, again)
    # The best may have been found by the last row.
    for row in rows:
        was = told[row["name"]]["unsteady"]
        if mark(told[row["name"]])["unsteady"] != was:
            tell(row, told[row["name"]])
    return [row["name"] for row in rows if told[row["name"]]["unsteady"]]
