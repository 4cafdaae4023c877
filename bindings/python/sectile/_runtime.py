"""A device with its compiled problems and buffers, and the default device."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import os
import threading
import weakref
from typing import Any, Iterator, Mapping, Optional

import numpy as np

from . import _abi, _arrays, _library
from ._buffers import Buffer, Pool
from ._errors import ClosedError, Error, TooSmallError, error_of, text_of
from ._plan import Operand, Profile, _bytes_of, operands_of, options_of

Sources = Mapping[str, "np.ndarray[Any, Any]"]


class Program:
    """A problem that is planned and compiled, with what a launch of it passes."""

    __slots__ = ("plan", "executable", "operands", "destination", "addresses", "recording")

    def __init__(self, library: ctypes.CDLL, plan: int, device: int) -> None:
        self.plan = plan
        self.operands: list[Operand] = operands_of(library, plan)
        self.destination = next(one for one in self.operands if one.role == "destination")
        self.executable: Optional[int] = None
        count = len(self.operands)
        self.addresses = (_abi.OperandAddress * count)()
        self.recording = _abi.Recording(operands=self.addresses, operand_count=count)
        if self.destination.bytes == 0:  # there is nothing to do, and nothing to compile
            return
        plans, executables = (ctypes.c_void_p * 1)(plan), (ctypes.c_void_p * 1)()
        status = library.sectile_vk_prepare(device, plans, 1, 1, 0, executables)
        if status:
            raise error_of(library, status)
        self.executable = self.recording.executable = executables[0]


class State:
    """All handles of a device. They are freed here, whoever lets go of them last, and at exit."""

    def __init__(self, library: ctypes.CDLL, runtime: int, buffer_bytes: int, cache_size: int) -> None:
        self.library = library
        self.runtime = runtime
        self.device: int = library.sectile_runtime_device(runtime)
        self.profile: int = library.sectile_runtime_profile(runtime)
        self.pid = os.getpid()
        self.lock = threading.RLock()
        self.closed = False
        self.cache_size = cache_size
        self.programs: "collections.OrderedDict[str, Program]" = collections.OrderedDict()
        self.pool: Optional[Pool] = None
        self.buffer_bytes = buffer_bytes

    def destroy(self, program: Program) -> None:
        self.library.sectile_vk_executable_destroy(program.executable)
        self.library.sectile_plan_destroy(program.plan)

    def close(self) -> None:
        # A child has copies of the parent's handles, and none of the driver's threads.
        if os.getpid() != self.pid:
            return
        with self.lock:
            if self.closed:
                return
            self.closed = True
            for program in self.programs.values():
                self.destroy(program)
            self.programs.clear()
            if self.pool is not None:
                self.pool.clear()
            self.library.sectile_runtime_destroy(self.runtime)


class Device:
    """A device, with the problems that were compiled for it and memory that is used again.

    selector: "vulkan:0", a UUID, or part of a device's or driver's name; None: a GPU before a CPU driver.
    validation: load Vulkan's validation layer. few_pipelines, max_scratch_bytes: as for `plan`.
    cache_size: problems that stay compiled; the ones used longest ago go first. buffer_bytes: idle device memory that
    is kept.
    Errors: MissingError (no Vulkan loader, no such device, no layer), UnsupportedError, ParseError, DeviceError.

    A context manager; without one it is closed when it is collected, and at exit. Several threads may use one device:
    their calls run one after the other. After a fork the child cannot use it (ClosedError).
    """

    def __init__(
        self,
        selector: Optional[str] = None,
        validation: bool = False,
        *,
        few_pipelines: bool = False,
        max_scratch_bytes: Optional[int] = None,
        cache_size: int = 512,
        buffer_bytes: int = 256 << 20,
    ) -> None:
        library = _library.load()
        self._options = options_of(None, False, few_pipelines, max_scratch_bytes)
        how = _abi.RuntimeOptions(size=ctypes.sizeof(_abi.RuntimeOptions), validation=int(validation))
        how.selector = None if selector is None else _bytes_of("selector", selector)
        how.canary = _abi.CANARY_LATER
        handle = ctypes.c_void_p()
        status = library.sectile_runtime_open(ctypes.byref(how), ctypes.byref(handle))
        if status:
            raise error_of(library, status)
        assert handle.value is not None
        self._state = State(library, handle.value, int(buffer_bytes), max(1, int(cache_size)))
        self._finalizer = weakref.finalize(self, self._state.close)
        self._poison: Optional[int] = None  # for tests: what a result's memory holds before each launch
        made = self.profile
        self.name: str = made.name
        self.kind: str = str(made.as_dict().get("kind", "other"))
        self._state.pool = Pool(
            library, self._state.runtime, self._state.buffer_bytes, self.kind in ("cpu", "integrated")
        )

    def close(self) -> None:
        """Frees everything. Waits for a call of another thread. A second call does nothing."""
        self._finalizer()

    @property
    def closed(self) -> bool:
        return self._state.closed

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<sectile.Device {self.name!r}{', closed' if self.closed else ''}>"

    def _usable(self) -> State:
        state = self._state
        if state.closed:
            raise ClosedError(f"missing: device: {self.name} was closed (want one that is open)")
        if os.getpid() != state.pid:
            raise ClosedError(
                f"missing: device: {self.name} was opened before a fork (want a Device that this process "
                'has opened, or multiprocessing\'s start method "spawn")'
            )
        return state

    @contextlib.contextmanager
    def _held(self) -> Iterator[State]:
        """The handles, while no other thread calls or closes."""
        state = self._usable()  # before the lock, which a fork may have left locked
        with state.lock:
            self._usable()
            yield state

    @property
    def profile(self) -> Profile:
        """What plans for this device are made for, with what the canary found."""
        with self._held() as state:
            return Profile.from_json(text_of(state.library.sectile_profile_json(state.profile)))

    @property
    def problems(self) -> list[str]:
        """The problems that are compiled, those used last at the end."""
        with self._held() as state:
            return list(state.programs)

    @property
    def pipelines(self) -> int:
        """Pipelines that the driver holds for them: problems share them."""
        with self._held() as state:
            return int(state.library.sectile_vk_device_pipelines(state.device))

    def trim(self) -> None:
        """Frees compiled problems and idle memory."""
        with self._held() as state:
            self._evict(state, len(state.programs))
            assert state.pool is not None
            state.pool.clear()

    def _evict(self, state: State, count: int) -> None:
        for _ in range(count):
            state.destroy(state.programs.popitem(last=False)[1])
        state.library.sectile_vk_device_trim(state.device)

    def prepare(self, problem: str) -> None:
        """Plans and compiles a problem, so that its first call does not. Errors: as `plan`; DeviceError."""
        with self._held() as state:
            self._program(state, problem)

    def _program(self, state: State, problem: str) -> Program:
        found = state.programs.get(problem)
        if found is not None:
            state.programs.move_to_end(problem)
            return found
        plan = self._planned(state, problem)
        try:
            made = Program(state.library, plan, state.device)
        except BaseException:
            state.library.sectile_plan_destroy(plan)
            raise
        # Some at once: pipelines that nothing uses any more are looked for each time.
        if len(state.programs) >= state.cache_size:
            self._evict(state, max(1, state.cache_size // 4))
        state.programs[problem] = made
        return made

    def _planned(self, state: State, problem: str) -> int:
        """A plan's handle. What the plan rests on is tested before the first that does; where the driver fails, the
        plan is made again, for what is left."""
        library = state.library
        changed = ctypes.c_uint32(1)
        while True:
            plan = ctypes.c_void_p()
            status = library.sectile_plan_create(
                state.profile, _bytes_of("problem", problem), ctypes.byref(self._options), ctypes.byref(plan)
            )
            if status:
                raise error_of(library, status)
            assert plan.value is not None
            status = library.sectile_runtime_test(state.runtime, plan, ctypes.byref(changed))
            if status == 0 and not changed.value:
                return plan.value
            library.sectile_plan_destroy(plan)
            if status:
                raise error_of(library, status)
            state.profile = library.sectile_runtime_profile(state.runtime)

    def _check(self, problem: str) -> int:
        """Compiles a problem; the bytes of its result. Errors: as `prepare`."""
        with self._held() as state:
            return self._program(state, problem).destination.bytes

    def _run(
        self,
        problem: str,
        sources: Sources,
        shape: tuple[int, ...],
        dtype: "np.dtype[Any]",
        out: Optional["np.ndarray[Any, Any]"],
    ) -> "np.ndarray[Any, Any]":
        """Computes a problem. `sources`: by operand, arrays whose memory from their first element on is the operand's.
        The result is packed, of that shape."""
        packed = out is not None and out.flags.c_contiguous
        result = out if packed and out is not None else np.empty(shape, dtype)
        state = self._usable()
        with state.lock:  # as _held(), which takes a microsecond more
            if state.closed:
                self._usable()
            program = self._program(state, problem)
            if program.destination.bytes != result.nbytes:
                raise TooSmallError(
                    f"too_small: {program.destination.name}: {result.nbytes} bytes (want "
                    f"{program.destination.bytes} bytes of {problem})"
                )
            if result.nbytes > 0:
                self._launch(state, program, sources, result)
        if out is None or packed:
            return result
        np.copyto(out, result.view(out.dtype))
        return out

    @staticmethod
    def _memory_of(sources: Sources, operand: Operand) -> int:
        array = sources[operand.name]
        if _arrays.reach(array) < operand.bytes:
            raise TooSmallError(f"too_small: {operand.name}: {_arrays.reach(array)} bytes (want {operand.bytes})")
        return _arrays.address(array)

    def _launch(self, state: State, program: Program, sources: Sources, result: "np.ndarray[Any, Any]") -> None:
        pool, library = state.pool, state.library
        assert pool is not None
        taken: list[Buffer] = []
        try:
            target = pool.take(result.nbytes)
            taken.append(target)
            if self._poison is not None:
                poison = ctypes.create_string_buffer(bytes([self._poison]) * result.nbytes, result.nbytes)
                pool.send(target, ctypes.addressof(poison), result.nbytes)
            for one, place in zip(program.operands, program.addresses):
                buffer = target
                if one.bytes > 0 and one.role != "destination":
                    buffer = pool.take(one.bytes, one.role == "scratch")
                    taken.append(buffer)
                    if one.role == "source":
                        pool.send(buffer, self._memory_of(sources, one), one.bytes)
                # An operand that is not accessed still needs an address: the destination's serves.
                place.address, place.bytes = buffer.address, one.bytes
            status = library.sectile_runtime_run(state.runtime, ctypes.byref(program.recording), 1)
            if status:
                raise error_of(library, status)
            pool.fetch(target, _arrays.address(result), result.nbytes)
        finally:
            for buffer in taken:
                pool.give(buffer)


_default: Optional[Device] = None
_default_lock = threading.Lock()


def default_device() -> Device:
    """The device of calls that name none: opened by the first one, a GPU before a CPU driver. From any thread.
    Errors: those of `Device`."""
    global _default
    if _default is not None and not _default.closed:
        return _default
    with _default_lock:
        if _default is None or _default.closed:
            _default = Device()
        return _default


def set_default_device(device: Optional[Device]) -> None:
    """Takes a device for calls that name none; None: the next such call opens one."""
    global _default
    with _default_lock:
        _default = device


def _after_fork() -> None:
    # The parent's device is not the child's, and a lock that another thread held stays locked.
    global _default, _default_lock
    _default, _default_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

__all__ = ["Device", "Error", "default_device", "set_default_device"]
