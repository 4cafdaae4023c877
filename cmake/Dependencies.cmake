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
  target_compile_definitions(sectile_dep_fmt INTERFACE FMT_HEADER_ONLY=1)
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
  # fmt's library and not its header-only form: that costs every file four seconds of compiling.
  sectile_dep(fmt fmt::fmt)
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

# The functions of volk stand in a namespace of their own, so that an app with a volk of its own can link us.
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

if(NOT SECTILE_PREBUILT_SPIRV)
  find_package(Glslang REQUIRED)
endif()
