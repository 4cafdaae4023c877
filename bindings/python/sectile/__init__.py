"""Permutes, matmuls and convolutions of NumPy arrays on GPUs, by libsectile.

    import numpy as np, sectile
    d = sectile.matmul(a, b, bias=bias, activation="gelu")
    y = sectile.conv2d(x, w, padding=1, activation="relu")
    p = sectile.permute(x, layout="NHWC:NCHW4c", dtype="f16")
    print(sectile.explain("matmul f16 nt 960x2304x770", "nvidia-hopper"))

Calls run on the default device (`default_device`), or on the `Device` that `device=` names. Errors are `Error`s, whose
text is the library's sentence.
"""

from ._conv2d import conv2d
from ._errors import (
    ClosedError,
    CompileError,
    DeviceError,
    Error,
    InvalidPlanError,
    InvalidProblemError,
    IoError,
    LimitExceededError,
    MisalignedError,
    MissingError,
    NoMemoryError,
    OverlapError,
    ParseError,
    SizeOverflowError,
    TooSmallError,
    UnsupportedError,
)
from ._matmul import matmul
from ._permute import permute
from ._plan import (
    DeviceInfo,
    Operand,
    Plan,
    Profile,
    devices,
    explain,
    library_path,
    plan,
    plan_from_json,
    planner_version,
)
from ._runtime import Device, default_device, set_default_device
from ._types import from_bf16, to_bf16

__version__ = "0.1.0"

__all__ = [
    "ClosedError",
    "CompileError",
    "Device",
    "DeviceError",
    "DeviceInfo",
    "Error",
    "InvalidPlanError",
    "InvalidProblemError",
    "IoError",
    "LimitExceededError",
    "MisalignedError",
    "MissingError",
    "NoMemoryError",
    "Operand",
    "OverlapError",
    "ParseError",
    "Plan",
    "Profile",
    "SizeOverflowError",
    "TooSmallError",
    "UnsupportedError",
    "conv2d",
    "default_device",
    "devices",
    "explain",
    "from_bf16",
    "library_path",
    "matmul",
    "permute",
    "plan",
    "plan_from_json",
    "planner_version",
    "set_default_device",
    "to_bf16",
]
