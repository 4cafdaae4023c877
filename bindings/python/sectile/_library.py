"""Finds libsectile and loads it, once."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
import sys
import threading
from typing import Iterator, Optional

API_VERSION = 1  # SECTILE_API_VERSION that the declarations in _abi.py are of

if sys.platform == "win32":
    NAMES = ["sectile.dll"]
elif sys.platform == "darwin":
    NAMES = [f"libsectile.{API_VERSION}.dylib"]
else:
    NAMES = [f"libsectile.so.{API_VERSION}"]


def near(package: pathlib.Path) -> Iterator[pathlib.Path]:
    """Where the library may be, seen from the package: beside it, or in the tree that both were installed in, where
    the package is PREFIX/share/sectile/python/sectile or PREFIX/lib/python3.X/site-packages/sectile."""
    yield from (package / name for name in NAMES)
    for prefix in list(package.parents)[:5]:
        for folder in ("lib", "lib64", "bin"):
            for name in NAMES:
                yield prefix / folder / name
                # Debian's libraries lie in a folder for each architecture.
                if folder == "lib":
                    yield from sorted((prefix / folder).glob(f"*-linux-*/{name}"))


def candidates() -> Iterator[tuple[str, str]]:
    """Pairs of why a file is looked for and its path, in the order in which they are tried."""
    package = pathlib.Path(__file__).resolve().parent
    for path in near(package):
        yield "near the package", str(path)
    try:
        from . import _installed  # type: ignore[attr-defined, unused-ignore]

        yield "where it was when the package was installed", str(_installed.LIBRARY)
    except ImportError:
        pass


def find() -> str:
    """The library's path. SECTILE_LIBRARY comes first, and nothing else is tried then. Raises OSError."""
    named = os.environ.get("SECTILE_LIBRARY")
    if named:
        return named
    tried = []
    for why, path in candidates():
        if os.path.isfile(path):
            return path
        if why != "near the package":
            tried.append(f"{path} ({why})")
    found = ctypes.util.find_library("sectile")
    if found:
        return found
    looked = "beside the package, in the tree that it is a part of, by the system's loader" + "".join(
        f", {one}" for one in tried
    )
    raise OSError(
        f"{NAMES[0]} was not found: {looked}. Set SECTILE_LIBRARY to its path, or install the package again "
        "from the tree that has it (pip install PREFIX/share/sectile/python)"
    )


_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None


def load() -> ctypes.CDLL:
    """The library with all functions of _abi.py declared. Raises OSError: not found, or of another API version."""
    global _loaded
    if _loaded is not None:
        return _loaded
    with _lock:
        if _loaded is None:
            from . import _abi

            path = find()
            library = ctypes.CDLL(path)
            try:
                version = int(library.sectile_api_version())
            except AttributeError:
                raise OSError(f"{path} is not Sectile's C interface") from None
            if version != API_VERSION:
                raise OSError(f"{path} has API version {version}; this package is for {API_VERSION}")
            _abi.declare(library, path)
            _loaded = library
    return _loaded
