"""All tests run on one lavapipe device, or on the one that SECTILE_TEST_DEVICE names. A result's memory holds other
bytes before each launch."""

import os
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# An installed package is tested with SECTILE_TEST_INSTALLED=1, otherwise the one beside this folder.
if not os.environ.get("SECTILE_TEST_INSTALLED"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import sectile  # noqa: E402

SELECTOR = os.environ.get("SECTILE_TEST_DEVICE", "llvmpipe")
POISON = 0xCD


@pytest.fixture(scope="session", autouse=True)
def device():
    with sectile.Device(SELECTOR) as opened:
        opened._poison = POISON
        sectile.set_default_device(opened)
        yield opened
        sectile.set_default_device(None)


@pytest.fixture
def rng(request):
    """The same numbers in each run, others in each test."""
    return np.random.default_rng([ord(letter) for letter in request.node.name])
