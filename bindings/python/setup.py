"""Builds a pure Python wheel, and writes into it where libsectile was when it was built.

pip builds in this folder, which may be an installed tree that the user cannot write to: what is built goes to a
temporary folder.
"""

import atexit
import pathlib
import runpy
import shutil
import tempfile

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent


class BuildPy(build_py):
    """Adds sectile/_installed.py, where the library lies in the tree that this folder is a part of."""

    def run(self):
        super().run()
        near = runpy.run_path(str(HERE / "sectile" / "_library.py"))["near"]
        library = next((path for path in near(HERE / "sectile") if path.is_file()), None)
        if library is not None:
            text = f'"""Written when the wheel was built."""\nLIBRARY = {str(library)!r}\n'
            (pathlib.Path(self.build_lib) / "sectile" / "_installed.py").write_text(text)


work = tempfile.mkdtemp(prefix="sectile-build-")
atexit.register(shutil.rmtree, work, ignore_errors=True)
setup(cmdclass={"build_py": BuildPy}, options={"egg_info": {"egg_base": work}, "build": {"build_base": work}})
