"""Errors of the library as exceptions. str(error) is the library's sentence."""

from __future__ import annotations

import ctypes

from . import _abi


class Error(Exception):
    """What the library refused or could not do.

    status: the number of the SectileStatus; kind: its name, as "invalid_problem".
    """

    status: int = 0

    @property
    def kind(self) -> str:
        return _abi.STATUSES[self.status] if 0 <= self.status < len(_abi.STATUSES) else "unknown"


class ParseError(Error, ValueError):
    """Text or JSON that does not follow its grammar."""

    status = 1


class InvalidProblemError(Error, ValueError):
    """Shapes, axes, layouts or types that do not fit each other."""

    status = 2


class SizeOverflowError(Error, OverflowError):
    """A product of sizes or an address does not fit 64 bits."""

    status = 3


class OverlapError(Error, ValueError):
    """Operands share bytes that are written."""

    status = 4


class UnsupportedError(Error, NotImplementedError):
    """The device lacks something; the sentence names it."""

    status = 5


class LimitExceededError(Error, ValueError):
    """More is asked for than the device allows."""

    status = 6


class InvalidPlanError(Error, ValueError):
    """A plan is broken, or was made for another device."""

    status = 7


class MisalignedError(Error, ValueError):
    """An address is not aligned as the problem promises."""

    status = 8


class TooSmallError(Error, ValueError):
    """A buffer holds fewer bytes than are needed."""

    status = 9


class MissingError(Error, LookupError):
    """A file, device, target, argument or kernel does not exist."""

    status = 10


class IoError(Error, OSError):
    """Reading or writing a file failed."""

    status = 11


class DeviceError(Error, RuntimeError):
    """The driver reported an error."""

    status = 12


class CompileError(Error, RuntimeError):
    """The kernel compiler refused a kernel."""

    status = 13


class NoMemoryError(Error, MemoryError):
    """Host memory ran out."""

    status = 14


class ClosedError(Error, RuntimeError):
    """A device is used that was closed, or that was opened before a fork. Its status is "missing"."""

    status = 10


_CLASSES: dict[int, type[Error]] = {
    one.status: one
    for one in (
        ParseError,
        InvalidProblemError,
        SizeOverflowError,
        OverlapError,
        UnsupportedError,
        LimitExceededError,
        InvalidPlanError,
        MisalignedError,
        TooSmallError,
        MissingError,
        IoError,
        DeviceError,
        CompileError,
        NoMemoryError,
    )
}


def text_of(raw: "bytes | None") -> str:
    return "" if raw is None else raw.decode("utf-8", "replace")


def error_of(library: ctypes.CDLL, status: int) -> Error:
    """The exception for a status that is not 0. Called on the thread whose call failed."""
    sentence = text_of(library.sectile_last_error())
    made = _CLASSES.get(status)
    if made is not None:
        return made(sentence)
    other = Error(sentence)
    other.status = status
    return other


def invalid(what: str, value: object, want: str) -> InvalidProblemError:
    """An error that is found before the library is asked, in the form of the library's sentences."""
    return InvalidProblemError(f"invalid_problem: {what}: {value} (want {want})")
