# README.md and docs/guide are run as they are: tests/docs/documentation.py extracts their blocks. C++ blocks are
# compiled; `docs_FILE` then runs all blocks of a file in order, on the CPU drivers.
set(documentation ${PROJECT_SOURCE_DIR}/tests/docs/documentation.py)
find_program(SECTILE_PYTHON python3)
find_library(SECTILE_VULKAN_LOADER NAMES vulkan vulkan-1)
mark_as_advanced(SECTILE_PYTHON SECTILE_VULKAN_LOADER)
# A bundle has no documentation but README.md.
if(NOT SECTILE_BUILD_TESTS OR NOT TARGET sectile_command OR NOT EXISTS ${PROJECT_SOURCE_DIR}/docs/guide)
  return()
endif()
if(NOT SECTILE_PYTHON OR NOT SECTILE_VULKAN_LOADER)
  message(STATUS "No python3 or no Vulkan loader here: the documentation's blocks are not run")
  return()
endif()

if(NOT SECTILE_SANITIZE)
  add_test(NAME docs_reader COMMAND ${SECTILE_PYTHON} -B ${PROJECT_SOURCE_DIR}/tests/docs/documentation_test.py)
  add_test(NAME docs_links COMMAND ${SECTILE_PYTHON} -B ${documentation} links)
  add_test(NAME docs_options
    COMMAND ${SECTILE_PYTHON} -B ${documentation} options --sectile $<TARGET_FILE:sectile_command>)
endif()

file(GLOB guide CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/guide/*.md)
list(PREPEND guide ${PROJECT_SOURCE_DIR}/README.md)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${guide} ${documentation})

# A target NAME for each block with a main, and one object library for the others.
set(programs ${PROJECT_BINARY_DIR}/docs/programs)
execute_process(COMMAND ${SECTILE_PYTHON} -B ${documentation} programs ${programs} OUTPUT_VARIABLE lines
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" lines "${lines}")
foreach(line IN LISTS lines)
  string(REPLACE "|" ";" line "${line}")
  list(GET line 0 name)
  list(GET line 1 library)
  list(GET line 2 kind)
  # Sanitizers see the programs of README and embedding alone.
  if(SECTILE_SANITIZE AND NOT name MATCHES "README|embedding")
    continue()
  endif()
  if(kind STREQUAL "main")
    add_executable(${name} ${programs}/${name}.cpp)
    target_link_libraries(${name} PRIVATE ${SECTILE_VULKAN_LOADER})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${programs})
  else()
    add_library(${name} OBJECT ${programs}/${name}.cpp)
  endif()
  target_link_libraries(${name} PRIVATE ${library})
endforeach()

find_file(SECTILE_ICD_lavapipe NAMES lvp_icd.json lvp_icd.x86_64.json lvp_icd.aarch64.json
  PATHS /usr/share/vulkan/icd.d /usr/local/share/vulkan/icd.d NO_DEFAULT_PATH)
find_file(SECTILE_ICD_swiftshader NAMES vk_swiftshader_icd.json PATHS /opt/swiftshader NO_DEFAULT_PATH)
mark_as_advanced(SECTILE_ICD_lavapipe SECTILE_ICD_swiftshader)
if(NOT SECTILE_ICD_lavapipe OR NOT SECTILE_ICD_swiftshader)
  message(STATUS "lavapipe or SwiftShader is not here: the documentation's blocks are not run")
  return()
endif()
foreach(file IN LISTS guide)
  cmake_path(GET file STEM name)
  # Sanitizers see the C++ blocks alone; offline.md's read what its commands have written.
  set(only "")
  # The Python binding's guide is of use with the shared library and NumPy alone.
  if(name STREQUAL "python" AND NOT TEST python)
    continue()
  endif()
  if(TARGET sectile_c)
    set(only --library $<TARGET_SONAME_FILE:sectile_c>)
  endif()
  if(SECTILE_SANITIZE)
    if(NOT name MATCHES "README|embedding")
      continue()
    endif()
    set(only --only-programs)
  endif()
  add_test(NAME docs_${name} COMMAND ${SECTILE_PYTHON} -B ${documentation} run ${file} ${only}
    --sectile $<TARGET_FILE:sectile_command> --programs ${programs} --work ${PROJECT_BINARY_DIR}/docs)
  set_tests_properties(docs_${name} PROPERTIES TIMEOUT 300
    ENVIRONMENT "VK_DRIVER_FILES=${SECTILE_ICD_lavapipe}:${SECTILE_ICD_swiftshader};ASAN_OPTIONS=detect_leaks=0;SECTILE_JOBS=1")
endforeach()
