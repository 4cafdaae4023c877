# The compiler, the validator and the optimizer of shaders: Glslang_EXECUTABLE, SpirvVal_EXECUTABLE,
# SpirvOpt_EXECUTABLE.
include(FindPackageHandleStandardArgs)

find_program(Glslang_EXECUTABLE NAMES glslang glslangValidator HINTS $ENV{VULKAN_SDK}/bin)
find_program(SpirvVal_EXECUTABLE NAMES spirv-val HINTS $ENV{VULKAN_SDK}/bin)
find_program(SpirvOpt_EXECUTABLE NAMES spirv-opt HINTS $ENV{VULKAN_SDK}/bin)
mark_as_advanced(Glslang_EXECUTABLE SpirvVal_EXECUTABLE SpirvOpt_EXECUTABLE)

# The version number says little: what counts is whether it compiles what the kernels use.
set(Glslang_VERSION "")
if(Glslang_EXECUTABLE)
  execute_process(COMMAND ${Glslang_EXECUTABLE} --version OUTPUT_VARIABLE output ERROR_QUIET)
  if(output MATCHES "Glslang Version: [0-9]+:([0-9.]+)")
    set(Glslang_VERSION ${CMAKE_MATCH_1})
  endif()
  if(NOT Glslang_CHECKED STREQUAL Glslang_EXECUTABLE)
    set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/bfloat16.comp)
    file(WRITE ${probe} "#version 460\n#extension GL_EXT_bfloat16 : require\n"
      "layout(local_size_x = 1) in;\nvoid main() { bfloat16_t x = bfloat16_t(1.0); }\n")
    execute_process(COMMAND ${Glslang_EXECUTABLE} -V --target-env vulkan1.3 ${probe} -o ${probe}.spv
      RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "glslang ${Glslang_VERSION} (${Glslang_EXECUTABLE}) is too old: it knows no "
        "GL_EXT_bfloat16. Install a newer one, or build in tools/dev's root, or give SECTILE_PREBUILT_SPIRV.")
    endif()
    set(Glslang_CHECKED ${Glslang_EXECUTABLE} CACHE INTERNAL "")
  endif()
endif()

find_package_handle_standard_args(Glslang
  REQUIRED_VARS Glslang_EXECUTABLE SpirvVal_EXECUTABLE SpirvOpt_EXECUTABLE
  VERSION_VAR Glslang_VERSION)
