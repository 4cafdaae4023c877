# examples/: built against what the test `consumer` installs, and run (cmake/ExamplesTest.cmake).
if(NOT SECTILE_BUILD_TESTS OR NOT TEST consumer OR NOT TARGET sectile_c OR NOT EXISTS ${PROJECT_SOURCE_DIR}/examples)
  return()
endif()
find_library(SECTILE_VULKAN_LOADER NAMES vulkan vulkan-1)
find_package(VulkanMemoryAllocator QUIET CONFIG)
find_package(volk QUIET CONFIG)
if(NOT SECTILE_VULKAN_LOADER OR NOT VulkanMemoryAllocator_FOUND OR NOT volk_FOUND)
  message(STATUS "No Vulkan loader, volk or VulkanMemoryAllocator here: the examples are not built")
  return()
endif()
# They run under the validation layer.
find_file(SECTILE_VALIDATION_LAYER NAMES VkLayer_khronos_validation.json
  PATHS /usr/share/vulkan/explicit_layer.d /usr/local/share/vulkan/explicit_layer.d NO_DEFAULT_PATH)
mark_as_advanced(SECTILE_VALIDATION_LAYER)
set(lavapipe "")
if(SECTILE_ICD_lavapipe AND SECTILE_VALIDATION_LAYER)
  set(lavapipe ${SECTILE_ICD_lavapipe})
else()
  message(STATUS "No lavapipe or no validation layer here: the examples are built and not run")
endif()
set(python "")
if(TEST python)
  set(python ${SECTILE_PYTHON})
endif()
set(flags "")
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  # A Vulkan struct with its sType alone is an idiom.
  set(flags "-Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers")
endif()
set_tests_properties(consumer PROPERTIES FIXTURES_SETUP installed_tree)
add_test(NAME examples COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}
  -DTREE=${PROJECT_BINARY_DIR}/consumer -DWORK=${PROJECT_BINARY_DIR}/examples
  -DCC=${CMAKE_C_COMPILER} -DCXX=${CMAKE_CXX_COMPILER} "-DFLAGS=${flags}"
  -DGENERATOR=${CMAKE_GENERATOR} -DLAVAPIPE=${lavapipe}
  -DSWIFTSHADER=$<$<BOOL:${SECTILE_ICD_swiftshader}>:${SECTILE_ICD_swiftshader}>
  -DPYTHON=${python}
  -P ${PROJECT_SOURCE_DIR}/cmake/ExamplesTest.cmake)
set_tests_properties(examples PROPERTIES FIXTURES_REQUIRED installed_tree FIXTURES_SETUP examples_built TIMEOUT 1800)
# A CUDA stream needs a GPU: skipped where there is none, and a failure where SECTILE_REQUIRE has cuda.
add_test(NAME example_cuda_stream COMMAND sh -c
  "\"$1\"; code=$?; case $code,$SECTILE_REQUIRE in 77,*cuda*) exit 1;; esac; exit $code"
  sh ${PROJECT_BINARY_DIR}/examples/shared/cuda_stream/cuda_stream)
set_tests_properties(example_cuda_stream PROPERTIES FIXTURES_REQUIRED examples_built SKIP_RETURN_CODE 77)
