# Every dependency as one interface target, sectile_dep_NAME: from packages, or from one folder of headers.
set(SECTILE_VULKAN_MINIMUM 1.4.311)  # the first whose headers know VK_KHR_shader_bfloat16

# sectile_dep(NAME TARGETS...): an interface that brings the given targets, as system headers.
function(sectile_dep name)
  add_library(sectile_dep_${name} INTERFACE)
  target_link_libraries(sectile_dep_${name} INTERFACE ${ARGN})
endfunction()

find_package(Threads REQUIRED)

if(SECTILE_THIRD_PARTY)
  set(CMAKE_FIND_PACKAGE_PREFER_CONFIG OFF)
  # A folder of headers has no package configs: the Find modules look there, the rest is plain include paths.
  set(folder ${SECTILE_THIRD_PARTY}/include)
  find_package(VulkanHeaders ${SECTILE_VULKAN_MINIMUM} REQUIRED)
  find_package(xxHash REQUIRED)
  sectile_dep(vulkan Vulkan::Headers)
  sectile_dep(xxhash xxHash::headers)
  set(SECTILE_VOLK_SOURCE ${folder}/volk.c)
  foreach(pair json:nlohmann/json.hpp fmt:fmt/format.h volk:volk.h vma:vk_mem_alloc.h cli:CLI/CLI.hpp
      stb:stb/stb_image.h)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 name)
    list(GET pair 1 header)
    if(NOT EXISTS ${folder}/${header})
      message(FATAL_ERROR "SECTILE_THIRD_PARTY has no ${header} in ${folder}")
    endif()
    sectile_dep(${name})
    target_include_directories(sectile_dep_${name} SYSTEM INTERFACE ${folder})
  endforeach()
else()
  find_package(VulkanHeaders ${SECTILE_VULKAN_MINIMUM} REQUIRED)
  find_package(xxHash REQUIRED)
  find_package(nlohmann_json 3.11 REQUIRED)
  find_package(fmt 9 REQUIRED)
  find_package(volk REQUIRED CONFIG)
  find_package(VulkanMemoryAllocator REQUIRED CONFIG)
  sectile_dep(vulkan Vulkan::Headers)
  sectile_dep(xxhash xxHash::headers)
  sectile_dep(json nlohmann_json::nlohmann_json)
  # fmt's headers and not its library: see below.
  sectile_dep(fmt)
  target_include_directories(sectile_dep_fmt SYSTEM INTERFACE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
  # volk is compiled into sectile_vulkan (see Libraries.cmake): its header and its source, not its library.
  sectile_dep(volk volk::volk_headers)
  find_file(SECTILE_VOLK_SOURCE volk.c HINTS ${VulkanHeaders_INCLUDE_DIR} REQUIRED)
  mark_as_advanced(SECTILE_VOLK_SOURCE)
  sectile_dep(vma GPUOpen::VulkanMemoryAllocator)
  if(SECTILE_BUILD_TOOLS OR SECTILE_BUILD_TESTS OR SECTILE_BUILD_FUZZERS)
    find_package(CLI11 2.3 REQUIRED)
    find_package(Stb REQUIRED)
    sectile_dep(cli CLI11::CLI11)
    sectile_dep(stb Stb::Stb)
  endif()
endif()

# CLI11's own code is compiled once where its package has it apart: in every file that includes it, it costs seconds.
if(TARGET sectile_dep_cli)
  set(cli_folders ${SECTILE_THIRD_PARTY}/include)
  if(TARGET CLI11::CLI11)
    get_target_property(cli_folders CLI11::CLI11 INTERFACE_INCLUDE_DIRECTORIES)
  endif()
  set(cli_code "")
  foreach(folder IN LISTS cli_folders)
    file(GLOB found RELATIVE ${folder} ${folder}/CLI/impl/*_inl.hpp)
    if(found AND NOT cli_code)
      list(TRANSFORM found REPLACE "(.+)" "#include <\\1>\n" OUTPUT_VARIABLE cli_code)
      list(JOIN cli_code "" cli_code)
    endif()
  endforeach()
  if(cli_code)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/cli.cpp CONTENT "#include <CLI/CLI.hpp>\n@cli_code@" @ONLY)
    add_library(sectile_cli STATIC EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/cli.cpp)
    target_compile_features(sectile_cli PRIVATE cxx_std_23)
    target_compile_definitions(sectile_dep_cli INTERFACE CLI11_COMPILE)
    target_link_libraries(sectile_cli PRIVATE sectile_dep_cli)
    target_link_libraries(sectile_dep_cli INTERFACE $<LINK_ONLY:sectile_cli>)
  endif()
endif()

# fmt is compiled into sectile_base (cmake/fmt.cpp), in a namespace of ours: whoever links Sectile needs no fmt, and may
# have one of any version. Not in its header-only form, which costs every file four seconds of compiling.
target_compile_definitions(sectile_dep_fmt INTERFACE
  "FMT_BEGIN_NAMESPACE=namespace fmt { inline namespace sectile_fmt {" "FMT_END_NAMESPACE=}}")

# The functions of volk stand in a namespace of ours (src/vulkan/volk.hpp): an app with a volk of its own can link us.
target_compile_definitions(sectile_dep_volk INTERFACE VK_NO_PROTOTYPES VOLK_NAMESPACE)

# A folder of headers has doctest alone: the tests that need the others are left out.
if(SECTILE_THIRD_PARTY)
  sectile_dep(doctest)
  target_include_directories(sectile_dep_doctest SYSTEM INTERFACE ${SECTILE_THIRD_PARTY}/include)
elseif(SECTILE_BUILD_TESTS OR SECTILE_BUILD_FUZZERS)
  find_package(doctest 2.4.9 REQUIRED)
  find_package(rapidcheck REQUIRED CONFIG)
  find_package(SpirvReflect REQUIRED)
  sectile_dep(doctest doctest::doctest)
  sectile_dep(rapidcheck rapidcheck)
  sectile_dep(spirv_reflect SpirvReflect::SpirvReflect)
endif()

if(SECTILE_OFFLINE)
  find_package(SPIRV-Tools REQUIRED CONFIG)
  find_package(SPIRV-Tools-opt REQUIRED CONFIG)
endif()

# The command compresses at build time, the library opens at run time.
if(SECTILE_COMPRESS)
  find_package(Zstd 1.4.5 REQUIRED)   # the first with --patch-from
  find_program(SECTILE_ZSTD zstd REQUIRED)
  mark_as_advanced(SECTILE_ZSTD)
endif()

if(NOT SECTILE_PREBUILT_SPIRV)
  find_package(Glslang REQUIRED)
endif()
