"""Profiles and plans: what a device can do, and how a problem is computed on it. Built-in targets need no device."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import os
import weakref
from typing import TYPE_CHECKING, Any, Iterator, Optional, Union

from . import _abi, _library
from ._errors import Error, InvalidProblemError, error_of, text_of

if TYPE_CHECKING:
    from ._runtime import Device

_ROLES = {_abi.SOURCE: "source", _abi.DESTINATION: "destination", _abi.SCRATCH: "scratch"}


def _bytes_of(what: str, text: Any) -> bytes:
    """A text for the library. Errors: invalid_problem (no text; a 0 in it, which would end it)."""
    if not isinstance(text, str):
        raise InvalidProblemError(f"invalid_problem: {what}: {type(text).__name__} (want a str)")
    if "\0" in text:
        raise InvalidProblemError(f"invalid_problem: {what}: a NUL character (want text without one)")
    return text.encode()


def _destroy(library: ctypes.CDLL, function: str, handle: int) -> None:
    getattr(library, function)(handle)


class Profile:
    """What a device can do. Made by `from_target` or `from_json`, or taken from a `Device`."""

    def __init__(self, handle: int) -> None:
        library = _library.load()
        self._handle = handle
        self._finalizer = weakref.finalize(self, _destroy, library, "sectile_profile_destroy", handle)

    @classmethod
    def from_target(cls, name: str) -> "Profile":
        """A device that need not be there: "nvidia-hopper", "cuda:sm_90a". Errors: MissingError, which lists the
        names."""
        return cls(_create("sectile_profile_target", _bytes_of("target", name)))

    @classmethod
    def from_json(cls, text: str) -> "Profile":
        """What `Profile.json` or `sectile profile --json` wrote. Errors: ParseError."""
        return cls(_create("sectile_profile_from_json", _bytes_of("profile", text)))

    @property
    def name(self) -> str:
        return text_of(_library.load().sectile_profile_name(self._handle))

    @property
    def json(self) -> str:
        return text_of(_library.load().sectile_profile_json(self._handle))

    def as_dict(self) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(self.json)
        return made

    def __repr__(self) -> str:
        return f"<sectile.Profile {self.name!r}>"


def _create(function: str, *arguments: Any) -> int:
    library = _library.load()
    handle = ctypes.c_void_p()
    status = getattr(library, function)(*arguments, ctypes.byref(handle))
    if status:
        raise error_of(library, status)
    assert handle.value is not None
    return handle.value


@dataclasses.dataclass(frozen=True)
class Operand:
    """What a plan reads or writes: from its address on, `bytes` bytes are accessed."""

    name: str
    role: str  # "source", "destination", "scratch"
    align: int
    bytes: int


def operands_of(library: ctypes.CDLL, plan: int) -> list[Operand]:
    out = []
    for index in range(library.sectile_plan_operand_count(plan)):
        info = _abi.OperandInfo(size=ctypes.sizeof(_abi.OperandInfo))
        status = library.sectile_plan_operand(plan, index, ctypes.byref(info))
        if status:
            raise error_of(library, status)
        out.append(Operand(text_of(info.name), _ROLES.get(info.role, "other"), info.align, info.bytes))
    return out


class Plan:
    """How a problem is computed on a device: kernels, constants, grids. Made by `plan` and `plan_from_json`."""

    def __init__(self, handle: int) -> None:
        library = _library.load()
        self._handle = handle
        self._finalizer = weakref.finalize(self, _destroy, library, "sectile_plan_destroy", handle)

    def _text(self, function: str) -> str:
        return text_of(getattr(_library.load(), function)(self._handle))

    @property
    def id(self) -> str:
        """32 hex digits, the same on every machine."""
        return self._text("sectile_plan_id")

    @property
    def text(self) -> str:
        """One line for people."""
        return self._text("sectile_plan_text")

    @property
    def json(self) -> str:
        """The plan as canonical JSON, for `plan_from_json`."""
        return self._text("sectile_plan_json")

    @property
    def explanation(self) -> str:
        """Why this candidate, and none of the others: all of them, where the plan was made with explain=True."""
        return self._text("sectile_plan_explanation")

    @property
    def remark(self) -> str:
        """What the plan leaves unused on its device, and why; "" where that is nothing."""
        return self._text("sectile_plan_remark")

    @property
    def scratch_bytes(self) -> int:
        return int(_library.load().sectile_plan_scratch_bytes(self._handle))

    @property
    def operands(self) -> list[Operand]:
        return operands_of(_library.load(), self._handle)

    def as_dict(self) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(self.json)
        return made

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<sectile.Plan {self.id}: {self.text}>"


Target = Union[None, str, Profile, "Device"]


@contextlib.contextmanager
def _profile_of(target: Target) -> Iterator[int]:
    """A profile's handle, as long as it is used."""
    from ._runtime import Device, default_device

    if target is None:
        target = default_device()
    if isinstance(target, Device):
        with target._held() as state:
            yield state.profile
        return
    profile = Profile.from_target(target) if isinstance(target, str) else target
    if not isinstance(profile, Profile):
        raise InvalidProblemError(
            f"invalid_problem: target: {type(target).__name__} " "(want a target's name, a Profile or a Device)"
        )
    yield profile._handle


def options_of(
    force: Optional[str] = None,
    explain: bool = False,
    few_pipelines: bool = False,
    max_scratch_bytes: Optional[int] = None,
) -> _abi.PlanOptions:
    options = _abi.PlanOptions(size=ctypes.sizeof(_abi.PlanOptions))
    options.force = None if force is None else _bytes_of("force", force)
    options.explain = int(explain)
    options.few_pipelines = int(few_pipelines)
    if max_scratch_bytes is not None:
        options.limit_scratch = 1
        options.max_scratch_bytes = max(0, min(int(max_scratch_bytes), 2**64 - 1))
    return options


def plan(
    problem: str,
    target: Target = None,
    *,
    force: Optional[str] = None,
    explain: bool = False,
    few_pipelines: bool = False,
    max_scratch_bytes: Optional[int] = None,
) -> Plan:
    """Plans a problem for a device, and compiles nothing.

    problem: as docs/reference/problem-string.md has it: "matmul f16 nt 960x2304x770 epi=bias+gelu".
    target: a built-in target's name ("nvidia-hopper"), a `Profile` or a `Device`; None: the default device.
    force: the candidate to use. explain: list all candidates in `Plan.explanation`. few_pipelines: few kernels that
    serve all sizes. max_scratch_bytes: a limit on `Plan.scratch_bytes`.
    Errors: ParseError, InvalidProblemError, SizeOverflowError, UnsupportedError, LimitExceededError; MissingError (no
    such target or candidate).
    """
    options = options_of(force, explain, few_pipelines, max_scratch_bytes)
    text = _bytes_of("problem", problem)
    with _profile_of(target) as handle:
        return Plan(_create("sectile_plan_create", handle, text, ctypes.byref(options)))


def plan_from_json(text: str, target: Target = None) -> Plan:
    """Reads what `Plan.json` wrote, for the same device and planner version. Errors: ParseError; InvalidPlanError,
    which names what differs."""
    raw = _bytes_of("plan", text)
    with _profile_of(target) as handle:
        return Plan(_create("sectile_plan_from_json", handle, raw, None))


def explain(problem: str, target: Target = None, *, force: Optional[str] = None) -> str:
    """All candidates of a problem on a device: their counts and cost, or why each was refused. Arguments and errors as
    those of `plan`."""
    return plan(problem, target, force=force, explain=True).explanation


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    """A device that is here. `selector` opens it: `Device(info.selector)`."""

    selector: str  # "vulkan:0"
    name: str
    uuid: str  # 32 hex digits
    kind: str  # "cpu", "integrated", "discrete", "virtual", "other"
    api: str  # "1.4.303"
    driver: str
    usable: bool
    unusable: str  # why Sectile cannot use it
    quirks: tuple[str, ...]  # known faults of its driver, and which features are not used for them


def devices() -> list[DeviceInfo]:
    """The devices that are here, including those that Sectile cannot use. Errors: MissingError (no Vulkan loader, no
    driver), DeviceError."""
    library = _library.load()
    handle = _create("sectile_device_list_create")
    try:
        listed = json.loads(text_of(library.sectile_device_list_json(handle)))["devices"]
    finally:
        library.sectile_device_list_destroy(handle)
    return [
        DeviceInfo(
            one["selector"],
            one["name"],
            one["uuid"],
            one["kind"],
            one["api"],
            one["driver"],
            one["usable"],
            one["unusable"],
            tuple(one.get("quirks", ())),
        )
        for one in listed
    ]


def planner_version() -> str:
    """Plans of another version are not read back."""
    return text_of(_library.load().sectile_planner_version())


def library_path() -> str:
    """The library that was loaded, or would be. Errors: OSError, where there is none."""
    return os.fspath(_library.find())


__all__ = [
    "DeviceInfo",
    "Error",
    "Operand",
    "Plan",
    "Profile",
    "devices",
    "explain",
    "plan",
    "plan_from_json",
    "planner_version",
]
