"""Device memory that is used again from call to call, up to a bound."""

from __future__ import annotations

import ctypes

from ._errors import DeviceError, LimitExceededError, NoMemoryError, error_of

# Up to so many bytes an operand lies in memory that the host has mapped, on a GPU with memory of its own too: the
# transfer is a copy by the CPU, and saves a submission.
MAPPED_BYTES = 64 << 10
MOST_IDLE = 64  # buffers


class Buffer:
    """Handle, address and size; `mapped` is the host's address, or 0."""

    __slots__ = ("handle", "address", "size", "mapped", "host")

    def __init__(self, library: ctypes.CDLL, handle: int, size: int, host: bool) -> None:
        self.handle = handle
        self.size = size
        self.host = host
        self.address: int = library.sectile_buffer_address(handle)
        self.mapped: int = library.sectile_buffer_mapped(handle) or 0


def size_class(count: int) -> int:
    """At least `count`, and at most an eighth more above 2 KiB: few sizes, so that buffers fit again."""
    if count <= 2048:
        return 2048
    step = 1 << (count.bit_length() - 4)
    return (count + step - 1) // step * step


class Pool:
    """Buffers that are not in use. Not for several threads at once."""

    def __init__(self, library: ctypes.CDLL, runtime: int, limit: int, all_host: bool) -> None:
        self._library = library
        self._runtime = runtime
        self._limit = limit
        self._all_host = all_host
        self._idle: list[Buffer] = []  # the oldest first
        self.idle_bytes = 0

    def take(self, count: int, scratch: bool = False) -> Buffer:
        host = not scratch and (self._all_host or count <= MAPPED_BYTES)
        size = size_class(count)
        for at in range(len(self._idle) - 1, -1, -1):
            buffer = self._idle[at]
            if buffer.size == size and buffer.host == host:
                del self._idle[at]
                self.idle_bytes -= size
                return buffer
        try:
            return self._make(size, host)
        except (DeviceError, NoMemoryError, LimitExceededError):
            if not self._idle:
                raise
        self.clear()  # what lies idle may be what is missing
        return self._make(size, host)

    def _make(self, size: int, host: bool) -> Buffer:
        handle = ctypes.c_void_p()
        status = self._library.sectile_buffer_create(self._runtime, size, int(host), ctypes.byref(handle))
        if status:
            raise error_of(self._library, status)
        assert handle.value is not None
        return Buffer(self._library, handle.value, size, host)

    def give(self, buffer: Buffer) -> None:
        self._idle.append(buffer)
        self.idle_bytes += buffer.size
        while self._idle and (self.idle_bytes > self._limit or len(self._idle) > MOST_IDLE):
            self._destroy(self._idle.pop(0))

    def _destroy(self, buffer: Buffer) -> None:
        self.idle_bytes -= buffer.size
        self._library.sectile_buffer_destroy(buffer.handle)

    def clear(self) -> None:
        while self._idle:
            self._destroy(self._idle.pop())

    def send(self, buffer: Buffer, source: int, count: int) -> None:
        """Copies from the host's memory."""
        if buffer.mapped:
            ctypes.memmove(buffer.mapped, source, count)
            return
        self._check(self._library.sectile_buffer_upload(buffer.handle, 0, source, count))

    def fetch(self, buffer: Buffer, target: int, count: int) -> None:
        """Copies to the host's memory."""
        if buffer.mapped:
            ctypes.memmove(target, buffer.mapped, count)
            return
        self._check(self._library.sectile_buffer_download(buffer.handle, 0, target, count))

    def _check(self, status: int) -> None:
        if status:
            raise error_of(self._library, status)
