"""_abi.py has what sectile.h declares."""

import ctypes
import fnmatch
import os
import pathlib
import re

import pytest

from sectile import _abi, _library

HEADER = pathlib.Path(
    os.environ.get("SECTILE_HEADER")
    or pathlib.Path(__file__).resolve().parents[3] / "include" / "sectile" / "sectile.h"
)

SCALARS = {
    "size_t": ctypes.c_size_t,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "int": ctypes.c_int,
    "SectileStatus": ctypes.c_int,
    "SectileRole": ctypes.c_int,
    "SectileLog": _abi.Log,
}


@pytest.fixture(scope="module")
def header():
    return re.sub(r"/\*.*?\*/", " ", HEADER.read_text(), flags=re.DOTALL)


def prototypes(header):
    """Name -> (result, arguments), as C writes them."""
    found = {}
    for result, name, arguments in re.findall(r"SECTILE_API\s+([\w\s*]+?)\s*\b(sectile_\w+)\(([^;]*)\);", header):
        arguments = " ".join(arguments.split())
        found[name] = (result.strip(), [] if arguments == "void" else arguments.split(", "))
    return found


def kind_of(text):
    """A C type as what ctypes passes: a scalar, "text", "pointer" or "pointer to pointer"."""
    text = re.sub(r"\bconst\b|\bstruct\b", "", text)
    if "(*" in text or "SectileLogFunction" in text:
        return "pointer"
    stars = text.count("*")
    words = text.replace("*", " ").split()
    if stars == 0:
        return None if words[0] == "void" else SCALARS[words[0]]
    if stars == 1:
        return "text" if words[0] == "char" else "pointer"
    return "pointer to pointer"


def field_of(line):
    """Name and kind of a struct's field, a function's pointer too."""
    function = re.search(r"\(\*(\w+)\)", line)
    if function:
        return function[1], "pointer"
    return re.search(r"(\w+)$", line)[1], kind_of(re.sub(r"\w+$", "", line))


def passed(type_):
    if type_ is None or type_ in SCALARS.values():
        return type_
    if type_ is ctypes.c_char_p:
        return "text"
    if type_ is ctypes.c_void_p:
        return "pointer"
    inner = type_._type_
    return "pointer to pointer" if inner is ctypes.c_void_p or hasattr(inner, "contents") else "pointer"


def test_declared_functions_are_those_of_the_header(header):
    declared = prototypes(header)
    assert len(declared) > 30
    for name, (result, arguments) in _abi.FUNCTIONS.items():
        assert name in declared, f"{name} is not in sectile.h"
        want = declared[name]
        assert passed(result) == kind_of(want[0]), name
        assert [passed(one) for one in arguments] == [kind_of(one) for one in want[1]], name


def test_each_function_of_the_header_is_bound_or_said_not_to_be(header):
    unknown = [
        name
        for name in prototypes(header)
        if name not in _abi.FUNCTIONS and not any(fnmatch.fnmatch(name, pattern) for pattern in _abi.NOT_BOUND)
    ]
    assert not unknown, "new in sectile.h: declare them in _abi.FUNCTIONS, or say in NOT_BOUND why not"


def test_structs_have_the_header_s_fields(header):
    for name, struct in _abi.STRUCTS.items():
        body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name), header, re.DOTALL)
        assert body, name
        fields = [line.strip() for line in body[1].split(";") if line.strip()]
        have = [(field, passed(type_)) for field, type_ in struct._fields_]
        assert have == [field_of(line) for line in fields], name


def test_struct_sizes():
    # As 64-bit C ABIs lay them out.
    assert ctypes.sizeof(_abi.PlanOptions) == 48
    assert ctypes.sizeof(_abi.RuntimeOptions) == 72
    assert ctypes.sizeof(_abi.Recording) == 24
    assert ctypes.sizeof(_abi.OperandInfo) == 32
    assert ctypes.sizeof(_abi.OperandAddress) == 16


def test_statuses_are_those_of_the_header(header):
    found = re.findall(r"SECTILE_(\w+) = (\d+)\b", re.search(r"enum SectileStatus \{(.*?)\}", header, re.DOTALL)[1])
    assert [name.lower() for name, _ in found] == list(_abi.STATUSES)
    assert [int(number) for _, number in found] == list(range(len(_abi.STATUSES)))
    roles = re.findall(r"SECTILE_(SOURCE|DESTINATION|SCRATCH) = (\d)", header)
    assert {name: int(number) for name, number in roles} == {
        "SOURCE": _abi.SOURCE,
        "DESTINATION": _abi.DESTINATION,
        "SCRATCH": _abi.SCRATCH,
    }


def test_versions(header):
    assert int(re.search(r"#define SECTILE_API_VERSION (\d+)", HEADER.read_text())[1]) == _library.API_VERSION
    package = pathlib.Path(__file__).resolve().parents[1]
    project = re.search(r"VERSION (\d+\.\d+\.\d+)", (package.parents[1] / "CMakeLists.txt").read_text())[1]
    import sectile

    assert sectile.__version__ == project
    assert f'version = "{project}"' in (package / "pyproject.toml").read_text()


def test_another_library_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(_library, "_loaded", None)
    monkeypatch.setenv("SECTILE_LIBRARY", str(tmp_path / "libsectile.so.1"))
    with pytest.raises(OSError, match="libsectile.so.1"):
        _library.load()
    monkeypatch.setenv("SECTILE_LIBRARY", "libm.so.6")
    with pytest.raises(OSError, match="not Sectile's C interface"):
        _library.load()


def test_a_library_that_is_nowhere(monkeypatch):
    monkeypatch.delenv("SECTILE_LIBRARY", raising=False)
    monkeypatch.setattr(_library, "candidates", lambda: iter([("where it was", "/nowhere/libsectile.so.1")]))
    monkeypatch.setattr(_library.ctypes.util, "find_library", lambda name: None)
    with pytest.raises(OSError, match="/nowhere.*SECTILE_LIBRARY"):
        _library.find()


def test_the_library_is_found_in_the_tree_of_the_package(tmp_path):
    name = _library.NAMES[0]
    for folder in ("lib", "lib64", "lib/x86_64-linux-gnu"):
        prefix = tmp_path / folder.replace("/", "_")
        (prefix / folder).mkdir(parents=True)
        (prefix / folder / name).touch()
        for package in ("share/sectile/python/sectile", "lib/python3.13/site-packages/sectile"):
            assert prefix / folder / name in list(_library.near(prefix / package))
