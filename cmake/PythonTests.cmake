# The Python binding: its tests on lavapipe, and its installation by pip from an installed tree.
if(NOT SECTILE_BUILD_TESTS OR NOT TARGET sectile_c OR SECTILE_SANITIZE OR CMAKE_CROSSCOMPILING
   OR NOT EXISTS ${PROJECT_SOURCE_DIR}/bindings/python/tests)
  return()
endif()
find_program(SECTILE_PYTHON python3)
mark_as_advanced(SECTILE_PYTHON)
set(missing "")
if(NOT SECTILE_PYTHON)
  set(missing python3)
else()
  foreach(module numpy pytest pip setuptools)
    execute_process(COMMAND ${SECTILE_PYTHON} -c "import ${module}" RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    if(NOT result EQUAL 0)
      list(APPEND missing ${module})
    endif()
  endforeach()
endif()
if(missing)
  list(JOIN missing " " missing)
  message(STATUS "Not here: ${missing}: the Python binding is not tested")
  return()
endif()
if(NOT SECTILE_ICD_lavapipe)
  message(STATUS "lavapipe is not here: the Python binding is not tested")
  return()
endif()

# What Python compiles stays out of the source folder.
set(environment "VK_DRIVER_FILES=${SECTILE_ICD_lavapipe};GALLIVM_PERF=nopt;PYTHONDONTWRITEBYTECODE=1")
add_test(NAME python COMMAND ${SECTILE_PYTHON} -m pytest -q -p no:cacheprovider
  ${PROJECT_SOURCE_DIR}/bindings/python/tests)
set_tests_properties(python PROPERTIES TIMEOUT 600
  ENVIRONMENT "${environment};SECTILE_LIBRARY=$<TARGET_SONAME_FILE:sectile_c>")
add_test(NAME python_install COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DBUILD_TYPE=${CMAKE_BUILD_TYPE}
  -DWORK=${PROJECT_BINARY_DIR}/python_install -DSOURCE=${PROJECT_SOURCE_DIR} -DPYTHON=${SECTILE_PYTHON}
  -P ${PROJECT_SOURCE_DIR}/cmake/PythonInstallTest.cmake)
set_tests_properties(python_install PROPERTIES TIMEOUT 600 ENVIRONMENT "${environment}")
