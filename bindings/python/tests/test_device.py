"""Devices: errors, caches, buffers, threads, forks, and the end of a process."""

import gc
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import conftest
import sectile
from sectile import _buffers, _errors, _library, _runtime

A = np.arange(12, dtype="f4").reshape(3, 4)


def test_devices_has_the_device_that_is_open(device):
    found = [one for one in sectile.devices() if one.name == device.name]
    assert len(found) == 1
    one = found[0]
    assert one.usable and one.unusable == "" and one.kind == device.kind == "cpu"
    assert len(one.uuid) == 32 and one.api.count(".") == 2 and one.selector.startswith("vulkan:")
    with sectile.Device(one.selector) as same, sectile.Device(one.uuid) as by_uuid:
        assert same.name == by_uuid.name == device.name
        assert device.profile.as_dict()["name"] == device.name


def test_errors_are_of_their_kind():
    with pytest.raises(sectile.MissingError, match="no such device") as caught:
        sectile.Device("no such device")
    assert caught.value.status == 10 and caught.value.kind == "missing" and isinstance(caught.value, LookupError)
    with pytest.raises(sectile.ParseError):
        sectile.Device("vulkan:x")
    with pytest.raises(ValueError, match="axes: 0,0 .want a permutation of 0..1"):
        sectile.permute(A, (0, 0))
    with pytest.raises(sectile.InvalidProblemError, match="NUL"):
        sectile.Device("llvm\0pipe")
    with pytest.raises(sectile.InvalidProblemError, match="int .want a str"):
        sectile.plan(3)


def test_each_status_has_a_class():
    class Library:
        @staticmethod
        def sectile_last_error():
            return b"the sentence"

    seen = set()
    for status in range(1, 15):
        error = _errors.error_of(Library, status)
        assert error.status == status and str(error) == "the sentence" and isinstance(error, sectile.Error)
        seen.add(type(error))
    assert len(seen) == 14
    bases = {
        sectile.ParseError: ValueError,
        sectile.NoMemoryError: MemoryError,
        sectile.IoError: OSError,
        sectile.SizeOverflowError: OverflowError,
        sectile.DeviceError: RuntimeError,
    }
    assert all(issubclass(one, base) for one, base in bases.items())
    assert _errors.error_of(Library, 99).kind == "unknown"


def test_a_closed_device():
    opened = sectile.Device(conftest.SELECTOR)
    assert sectile.permute(A, device=opened).tolist() == A.T.tolist()
    opened.close()
    opened.close()
    assert opened.closed and "closed" in repr(opened)
    for call in (
        lambda: sectile.permute(A, device=opened),
        lambda: opened.profile,
        lambda: opened.pipelines,
        lambda: opened.prepare("permute f32 2x2 axes=1,0"),
        lambda: sectile.plan("permute f32 2x2 axes=1,0", opened),
    ):
        with pytest.raises(sectile.ClosedError, match="was closed"):
            call()


def test_problems_stay_compiled_up_to_a_number():
    with sectile.Device(conftest.SELECTOR, cache_size=4) as opened:
        for size in range(1, 12):
            sectile.permute(np.zeros((size, 3), "f4"), device=opened)
            assert len(opened.problems) <= 4
        assert opened.problems[-1] == "permute f32 11x3 axes=1,0"
        sectile.permute(np.zeros((10, 3), "f4"), device=opened)
        assert opened.problems[-1] == "permute f32 10x3 axes=1,0" and opened.pipelines > 0
        opened.prepare("matmul f32 nn 3x4x5")
        assert opened.problems[-1] == "matmul f32 nn 3x4x5"
        opened.trim()
        assert opened.problems == [] and opened.pipelines == 0
        assert sectile.permute(A, device=opened).tolist() == A.T.tolist()


def test_closing_frees_all_that_was_made(monkeypatch):
    freed = []
    real = _runtime.State.destroy
    monkeypatch.setattr(_runtime.State, "destroy", lambda self, program: (freed.append(program), real(self, program)))
    opened = sectile.Device(conftest.SELECTOR)
    for size in (2, 3, 4):
        sectile.permute(np.zeros((size, 3), "f4"), device=opened)
    made = list(opened._state.programs.values())
    opened.close()
    assert len(made) == 3 and freed == made
    assert not opened._state.pool._idle and opened._state.pool.idle_bytes == 0


def test_a_problem_that_is_refused_is_not_kept(device):
    before = device.problems
    with pytest.raises(sectile.ParseError):
        device.prepare("permute f32 2x2 axis=1,0")
    assert device.problems == before


def test_buffers_are_used_again_and_bounded():
    made = []
    real = _buffers.Pool._make

    def counted(self, size, host):
        made.append(size)
        return real(self, size, host)

    patch = pytest.MonkeyPatch()
    patch.setattr(_buffers.Pool, "_make", counted)
    try:
        with sectile.Device(conftest.SELECTOR, buffer_bytes=1 << 20) as opened:
            for _ in range(5):
                sectile.permute(A, device=opened)
            assert len(made) == 2
            big = np.zeros((700, 700), "f4")
            sectile.permute(big, device=opened)
            pool = opened._state.pool
            assert pool.idle_bytes <= 1 << 20 and pool.idle_bytes == sum(one.size for one in pool._idle)
            opened.trim()
            assert pool.idle_bytes == 0 and not pool._idle
    finally:
        patch.undo()


def test_size_classes_are_few_and_close():
    sizes = {_buffers.size_class(count) for count in range(1, 100000)}
    assert len(sizes) < 60
    for count in list(range(1, 5000)) + [2**33 + 1]:
        assert count <= _buffers.size_class(count) <= max(2048, count * 9 // 8)


def test_memory_that_the_host_does_not_map():
    """The way of a GPU with memory of its own, forced here: uploads and downloads."""
    with sectile.Device(conftest.SELECTOR) as opened:
        opened._state.pool._all_host = False
        opened._poison = conftest.POISON
        a = np.random.default_rng(1).uniform(size=(300, 200)).astype("f4")
        assert _buffers.MAPPED_BYTES < a.nbytes
        assert (sectile.permute(a[:, 1:], device=opened) == a[:, 1:].T).all()
        assert not opened._state.pool._idle[-1].mapped


def test_a_full_device_gives_up_what_lies_idle(device):
    pool = device._state.pool
    sectile.permute(A)
    assert pool._idle
    real, calls = pool._make, []

    def once(size, host):
        calls.append(size)
        if len(calls) == 1:
            raise sectile.DeviceError("device: out of memory")
        return real(size, host)

    pool._make = once
    try:
        big = pool.take(12345678)
    finally:
        del pool._make
    assert len(calls) == 2 and not pool._idle
    pool.give(big)
    device.trim()


def test_a_large_problem_is_refused_with_the_library_s_sentence(device):
    with pytest.raises(sectile.SizeOverflowError):
        device.prepare("permute f32 4611686018427387904x4 axes=1,0")
    with pytest.raises(sectile.Error):
        device._state.pool.take(1 << 60)


def test_threads_share_a_device(device):
    failures = []

    def work(seed):
        try:
            rng = np.random.default_rng(seed)
            for _ in range(40):
                a = rng.uniform(-1, 1, rng.integers(1, 9, 2)).astype("f4")
                assert (sectile.permute(a) == a.T).all()
                with pytest.raises(sectile.InvalidProblemError, match=f"{a.shape[1]} in a, {a.shape[1] + seed} in b"):
                    sectile.matmul(a, np.zeros((a.shape[1] + seed, 2), "f4"))
                with pytest.raises(sectile.ParseError, match=f"column {10 + seed}|no{seed}"):
                    device.prepare(f"no{seed}")
        except BaseException as error:  # noqa: B036  a thread's failure is the test's
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_device_that_is_closed_while_threads_use_it():
    opened = sectile.Device(conftest.SELECTOR)
    begun = threading.Barrier(5)
    ends = []

    def work(call):
        begun.wait()
        try:
            while True:
                call()
        except BaseException as error:  # noqa: B036  a thread's failure is the test's
            ends.append(type(error))

    calls = [
        lambda: sectile.permute(A, device=opened),
        lambda: sectile.plan("permute f32 2x3 axes=1,0", opened),
        lambda: opened.prepare("permute f32 3x4 axes=1,0"),
        lambda: (opened.profile, opened.trim(), opened.problems),
    ]
    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    begun.wait()
    threading.Event().wait(0.1)
    opened.close()
    for thread in threads:
        thread.join()
    assert ends == [sectile.ClosedError] * 4


def test_the_validation_layer():
    try:
        opened = sectile.Device(conftest.SELECTOR, validation=True)
    except sectile.MissingError as error:
        pytest.skip(f"no validation layer: {error}")
    with opened:
        assert sectile.permute(A, device=opened).tolist() == A.T.tolist()


def test_devices_that_nobody_keeps_are_closed():
    closed = []
    for _ in range(3):
        opened = sectile.Device(conftest.SELECTOR)
        sectile.permute(A, device=opened)
        state = opened._state
        del opened
        gc.collect()
        closed.append(state.closed)
    assert closed == [True] * 3


def run_python(text):
    """Another interpreter, which has to end with 0 and without a word on standard error."""
    package = str(pathlib.Path(sectile.__file__).resolve().parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", text],
        text=True,
        capture_output=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": package, "SECTILE_LIBRARY": _library.find()},
    )
    assert done.returncode == 0 and done.stderr == "", f"{done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


BEGIN = f"import numpy as np, sectile\na = np.ones((2, 3), 'f4')\nselector = {conftest.SELECTOR!r}\n"
BEGIN += "run = lambda device: sectile.permute(a, device=device)\n"


@pytest.mark.parametrize(
    "end",
    [
        "device = sectile.Device(selector); run(device)",
        "device = sectile.Device(selector); sectile.set_default_device(device); run(None); del device",
        "device = sectile.Device(selector); run(device); sectile.keep = device; device.me = device",
        "device = sectile.Device(selector)\n"
        "plan = sectile.plan('permute f32 2x3 axes=1,0', device); device.close(); print(plan)",
        "import atexit\ndevice = sectile.Device(selector); atexit.register(lambda: run(device))",
        "import atexit\nd = []\natexit.register(lambda: d[0].close())\nd.append(sectile.Device(selector)); run(d[0])",
        "import threading\ndevice = sectile.Device(selector)\n"
        "threading.Thread(target=lambda: [run(device) for _ in range(300)]).start()",
    ],
)
def test_the_end_of_a_process(end):
    run_python(BEGIN + end)


def test_the_default_device_is_opened_by_the_first_call(device):
    text = BEGIN + "d = []\nprint(sectile.permute(a).shape, sectile.default_device() is sectile.default_device())"
    assert run_python(text).strip() == "(3, 2) True"


def test_a_system_without_a_driver():
    text = """
import os
os.environ.update(VK_DRIVER_FILES="/nowhere.json", VK_LOADER_DEBUG="none")
import sectile
for call in (sectile.devices, sectile.Device, lambda: sectile.plan("permute f32 2x3 axes=1,0")):
    try:
        call()
    except sectile.MissingError as error:
        print(error)
print(sectile.plan("permute f32 2x3 axes=1,0", "nvidia-hopper").id)
"""
    lines = run_python(text).splitlines()
    assert len(lines) == 4 and all("Vulkan" in line for line in lines[:3]), lines


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork():
    text = (
        BEGIN
        + """
import os, warnings
warnings.simplefilter("ignore")   # Python 3.12 warns of forks beside threads, which drivers have
device = sectile.Device(selector)
sectile.set_default_device(device)
sectile.permute(a)
child = os.fork()
if child == 0:
    try:
        sectile.permute(a, device=device)
    except sectile.ClosedError as error:
        good = "fork" in str(error)
    device.close()
    del device
    from sectile import _runtime
    os._exit(0 if good and _runtime._default is None else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), sectile.permute(a).shape)
"""
    )
    assert run_python(text).strip() == "0 (3, 2)"
