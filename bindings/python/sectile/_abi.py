"""sectile.h as ctypes: the functions and structs that this package uses. tests/test_abi.py compares them with the
header."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p

# Handles are void pointers: ctypes checks no types among opaque structs, but whether they are pointers.
Handle = c_void_p


class PlanOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("force", c_char_p),
        ("explain", c_uint32),
        ("few_pipelines", c_uint32),
        ("limit_scratch", c_uint32),
        ("max_scratch_bytes", c_uint64),
        ("pack", c_void_p),
    ]


class OperandInfo(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("role", c_int), ("align", c_uint32), ("bytes", c_uint64)]


class OperandAddress(ctypes.Structure):
    _fields_ = [("address", c_uint64), ("bytes", c_uint64)]


class Log(ctypes.Structure):
    _fields_ = [("function", c_void_p), ("user", c_void_p)]


class RuntimeOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("selector", c_char_p),
        ("validation", c_uint32),
        ("canary", c_uint32),
        ("pipeline_cache", c_char_p),
        ("log", Log),
        ("lock_queue", c_void_p),
        ("unlock_queue", c_void_p),
        ("queue_user", c_void_p),
    ]


class Recording(ctypes.Structure):
    _fields_ = [
        ("executable", c_void_p),
        ("operands", POINTER(OperandAddress)),
        ("operand_count", c_uint32),
        ("reserved", c_uint32),
    ]


CANARY_LATER = 1  # by sectile_runtime_test()

STRUCTS = {
    "SectilePlanOptions": PlanOptions,
    "SectileOperandInfo": OperandInfo,
    "SectileOperandAddress": OperandAddress,
    "SectileLog": Log,
    "SectileRuntimeOptions": RuntimeOptions,
    "SectileVkRecording": Recording,
}

# SectileStatus, in its order.
STATUSES = (
    "ok",
    "parse",
    "invalid_problem",
    "overflow",
    "overlap",
    "unsupported",
    "limit_exceeded",
    "invalid_plan",
    "misaligned",
    "too_small",
    "missing",
    "io",
    "device",
    "compile",
    "no_memory",
)
SOURCE, DESTINATION, SCRATCH = 0, 1, 2

_text, _status, _u32, _u64 = c_char_p, c_int, c_uint32, c_uint64
_out = POINTER(Handle)

# Name -> (result, arguments).
FUNCTIONS: dict[str, tuple[object, list[object]]] = {
    "sectile_api_version": (_u32, []),
    "sectile_planner_version": (_text, []),
    "sectile_last_error": (_text, []),
    "sectile_profile_target": (_status, [_text, _out]),
    "sectile_profile_from_json": (_status, [_text, _out]),
    "sectile_profile_destroy": (None, [Handle]),
    "sectile_profile_name": (_text, [Handle]),
    "sectile_profile_json": (_text, [Handle]),
    "sectile_plan_create": (_status, [Handle, _text, POINTER(PlanOptions), _out]),
    "sectile_plan_from_json": (_status, [Handle, _text, Handle, _out]),
    "sectile_plan_destroy": (None, [Handle]),
    "sectile_plan_json": (_text, [Handle]),
    "sectile_plan_id": (_text, [Handle]),
    "sectile_plan_text": (_text, [Handle]),
    "sectile_plan_explanation": (_text, [Handle]),
    "sectile_plan_remark": (_text, [Handle]),
    "sectile_plan_operand_count": (_u32, [Handle]),
    "sectile_plan_operand": (_status, [Handle, _u32, POINTER(OperandInfo)]),
    "sectile_plan_scratch_bytes": (_u64, [Handle]),
    "sectile_vk_device_pipelines": (_u64, [Handle]),
    "sectile_vk_device_trim": (_u64, [Handle]),
    "sectile_vk_prepare": (_status, [Handle, _out, _u32, _u32, _u32, _out]),
    "sectile_vk_executable_destroy": (None, [Handle]),
    "sectile_runtime_open": (_status, [POINTER(RuntimeOptions), _out]),
    "sectile_runtime_destroy": (None, [Handle]),
    "sectile_runtime_profile": (Handle, [Handle]),
    "sectile_runtime_test": (_status, [Handle, Handle, POINTER(c_uint32)]),
    "sectile_runtime_device": (Handle, [Handle]),
    "sectile_buffer_create": (_status, [Handle, _u64, _u32, _out]),
    "sectile_buffer_destroy": (None, [Handle]),
    "sectile_buffer_address": (_u64, [Handle]),
    "sectile_buffer_mapped": (c_void_p, [Handle]),
    "sectile_buffer_upload": (_status, [Handle, _u64, c_void_p, c_size_t]),
    "sectile_buffer_download": (_status, [Handle, _u64, c_void_p, c_size_t]),
    "sectile_runtime_run": (_status, [Handle, POINTER(Recording), _u32]),
    "sectile_device_list_create": (_status, [_out]),
    "sectile_device_list_destroy": (None, [Handle]),
    "sectile_device_list_json": (_text, [Handle]),
}

# What the package has no use for, by pattern: a function of the header that is neither above nor here fails a test.
NOT_BOUND = {
    "sectile_status_name": "STATUSES has the names",
    "sectile_plan_find_operand": "the operands are read in their order",
    "sectile_vk_wants_*": "for a device of the caller's own",
    "sectile_vk_device_*": "for a device of the caller's own",
    "sectile_vk_record*": "for a command buffer of the caller's own",
    "sectile_vk_canary_*": "the runtime runs the canary",
    "sectile_runtime_vk": "Python has no use for Vulkan's handles",
    "sectile_profile_class": "`explain` names it",
    "sectile_profile_with_*": "a profile's JSON is made by the command",
    "sectile_pack_*": "the library has all kernels",
    "sectile_cuda_*": "arrays of NumPy are not on a CUDA device",
    "sectile_buffer_size": "the pool knows it",
    "sectile_device_list_count": "the JSON has all",
    "sectile_device_list_device": "the JSON has all",
}


def declare(library: ctypes.CDLL, path: str) -> None:
    """Sets the types of all functions. Raises OSError where the library lacks one."""
    for name, (result, arguments) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise OSError(f"{path} has no {name}: it is older than this package") from None
        function.restype = result
        function.argtypes = arguments
