# Installs the build, installs the Python package from the installed tree by pip into a fresh environment, and uses it:
# from there, from the tree itself, and after the tree was moved.
# cmake -DBUILD=... -DBUILD_TYPE=... -DSOURCE=... -DWORK=... -DPYTHON=... -P PythonInstallTest.cmake
cmake_minimum_required(VERSION 3.25)
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

unset(ENV{SECTILE_LIBRARY})
unset(ENV{PYTHONPATH})
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
set(environment ${WORK}/environment)
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --config ${BUILD_TYPE})
set(package ${prefix}/share/sectile/python)
file(GLOB_RECURSE before RELATIVE ${package} ${package}/*)
foreach(file pyproject.toml setup.py sectile/__init__.py sectile/py.typed)
  if(NOT file IN_LIST before)
    message(FATAL_ERROR "${file} was not installed: ${before}")
  endif()
endforeach()
if(before MATCHES "tests|__pycache__")
  message(FATAL_ERROR "more was installed than the package: ${before}")
endif()

# The environment has no pip of its own, which the system's serves, and NumPy is the system's.
step(${PYTHON} -m venv --without-pip --system-site-packages ${environment})
step(${environment}/bin/python -m pip install --no-index --no-build-isolation --no-cache-dir --disable-pip-version-check
  ${package})
file(GLOB_RECURSE after RELATIVE ${package} ${package}/*)
if(NOT before STREQUAL after)
  message(FATAL_ERROR "pip left something in the installed tree: ${after}")
endif()

file(WRITE ${WORK}/use.py "import sys
import numpy as np
import sectile
a = np.arange(12, dtype='f4').reshape(3, 4)
with sectile.Device('llvmpipe') as device:
    assert (sectile.permute(a, device=device) == a.T).all()
print(sectile.__file__, sectile.library_path())
assert sectile.__file__.startswith(sys.argv[1]), sectile.__file__
assert sectile.library_path().startswith(sys.argv[2]), sectile.library_path()
")
step(${environment}/bin/python ${WORK}/use.py ${environment} ${prefix})
message(STATUS "${output}")

# The package has its stubs, and its version is the library's.
step(${environment}/bin/python -m pip show -f --disable-pip-version-check sectile)
if(NOT output MATCHES "sectile/py.typed" OR NOT output MATCHES "Version: [0-9.]+\n")
  message(FATAL_ERROR "pip shows ${output}")
endif()

# A moved tree: the package in it finds its library; the installed one says where it looked, and SECTILE_LIBRARY helps.
file(RENAME ${prefix} ${WORK}/moved)
set(ENV{PYTHONPATH} ${WORK}/moved/share/sectile/python)
step(${PYTHON} ${WORK}/use.py ${WORK}/moved ${WORK}/moved)
unset(ENV{PYTHONPATH})
execute_process(COMMAND ${environment}/bin/python ${WORK}/use.py ${environment} ${WORK}/moved
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "OSError: .*${prefix}.*SECTILE_LIBRARY")
  message(FATAL_ERROR "without its library the package says: ${output}")
endif()
file(GLOB_RECURSE library ${WORK}/moved/libsectile.so.1)
set(ENV{SECTILE_LIBRARY} ${library})
step(${environment}/bin/python ${WORK}/use.py ${environment} ${WORK}/moved)
file(REMOVE_RECURSE ${WORK})
