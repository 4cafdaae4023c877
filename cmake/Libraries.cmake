# The libraries, one for each folder of src/, and their dependences.

# sectile_library(NAME): sectile_NAME from src/NAME/*.cpp and the folders below.
# PART_OF other: its sources are src/other/name, and its objects are part of that library. That one has HAS_PARTS.
function(sectile_library name)
  cmake_parse_arguments(arg "" "PART_OF" "HAS_PARTS" ${ARGN})
  set(kind STATIC)
  set(folder src/${name})
  if(arg_PART_OF)
    set(kind OBJECT)
    set(folder src/${arg_PART_OF}/${name})
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  foreach(part IN LISTS arg_HAS_PARTS)
    list(FILTER sources EXCLUDE REGEX "/${folder}/${part}/")
  endforeach()
  if(NOT sources)
    message(WARNING "src/${name} has no source yet")
    set(sources ${PROJECT_SOURCE_DIR}/cmake/empty.cpp)
  endif()
  sectile_batched(sources ${name} ${sources})
  add_library(sectile_${name} ${kind} ${sources})
  target_include_directories(sectile_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/shaders)
  target_compile_features(sectile_${name} PUBLIC cxx_std_23)
  target_link_libraries(sectile_${name} PRIVATE $<BUILD_INTERFACE:sectile_own>)
  # For a program's size (docs/design/size.md). Planning takes 12 to 22 % longer and stays well within its goals.
  if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT MSVC)
    target_compile_options(sectile_${name} PRIVATE -Os)
  endif()
endfunction()

# From the ground up: a library links those above it in this list. No two link each other.
sectile_library(base)
target_sources(sectile_base PRIVATE ${PROJECT_SOURCE_DIR}/cmake/fmt.cpp)
set_source_files_properties(${PROJECT_SOURCE_DIR}/cmake/fmt.cpp PROPERTIES SKIP_LINTING ON)
sectile_library(device)
# GEMMs know no operation (tests/rooms.sh); matmul and conv2d stand on them.
sectile_library(gemm PART_OF plan)
sectile_library(plan HAS_PARTS gemm)
include(DeviceClasses)
target_sources(sectile_plan PRIVATE $<TARGET_OBJECTS:sectile_gemm>)
foreach(planner gemm plan)
  sectile_optimized(sectile_${planner})
  sectile_typed(sectile_${planner})
endforeach()
sectile_library(backend)
sectile_library(embedded)
sectile_library(module)
sectile_library(tune)
sectile_library(vulkan)
if(SECTILE_CUDA)
  sectile_library(cuda)
endif()

# Errors, element types, hashes and JSON's text; a plan's id is a hash over the profile's JSON, which src/device writes.
target_link_libraries(sectile_device PUBLIC sectile_base)
target_link_libraries(sectile_gemm PUBLIC sectile_device)
target_link_libraries(sectile_plan PUBLIC sectile_device)
foreach(pure base device gemm plan)
  target_link_libraries(sectile_${pure} PRIVATE
    $<BUILD_INTERFACE:sectile_dep_fmt> $<BUILD_INTERFACE:sectile_dep_json> $<BUILD_INTERFACE:sectile_dep_xxhash>)
  # These are pure: an include of a GPU header finds one of ours instead, which is an error.
  target_include_directories(sectile_${pure} BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pure)
endforeach()

# What both backends need and neither owns: they never see each other.
target_link_libraries(sectile_backend
  PUBLIC sectile_plan PRIVATE $<BUILD_INTERFACE:sectile_dep_fmt> $<BUILD_INTERFACE:sectile_dep_xxhash>)
# SPIR-V modules as data, and packs of them: no GPU's header either.
target_link_libraries(sectile_module PUBLIC sectile_plan
  PRIVATE sectile_backend $<BUILD_INTERFACE:sectile_dep_json> $<BUILD_INTERFACE:sectile_dep_xxhash>)
target_include_directories(sectile_module BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pure)

# Opens the embedded kernels. Apart from what packs need: sectile::packed has no kernel, and needs no libzstd.
target_include_directories(sectile_embedded BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pure)
target_compile_definitions(sectile_embedded PRIVATE SECTILE_COMPRESS=$<BOOL:${SECTILE_COMPRESS}>)
if(SECTILE_COMPRESS)
  target_link_libraries(sectile_embedded PRIVATE Zstd::Zstd)
endif()
target_link_libraries(sectile_shaders PUBLIC sectile_embedded)

# What was measured, in a file: neither a planner nor a backend needs it.
target_link_libraries(sectile_tune PUBLIC sectile_plan
  PRIVATE sectile_backend $<BUILD_INTERFACE:sectile_dep_fmt> $<BUILD_INTERFACE:sectile_dep_json>)
target_include_directories(sectile_tune BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pure)

# Only the offline generator needs SPIRV-Tools.
if(SECTILE_OFFLINE)
  sectile_library(spirv)
  target_link_libraries(sectile_spirv PUBLIC sectile_plan
    PRIVATE sectile_module SPIRV-Tools-opt SPIRV-Tools-static)
  target_include_directories(sectile_spirv BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pure)
  set_target_properties(sectile_spirv PROPERTIES EXPORT_NAME spirv)
  add_library(sectile::spirv ALIAS sectile_spirv)
endif()

# volk is compiled in, as C++, in a namespace of ours.
configure_file(${PROJECT_SOURCE_DIR}/cmake/volk.cpp.in ${PROJECT_BINARY_DIR}/volk.cpp @ONLY)
target_sources(sectile_vulkan PRIVATE ${PROJECT_BINARY_DIR}/volk.cpp)
set_source_files_properties(${PROJECT_BINARY_DIR}/volk.cpp PROPERTIES COMPILE_OPTIONS -w)
# Vulkan::Headers may be a target of this project, which no package of ours can name: sectileConfig.cmake adds what it
# is there.
target_link_libraries(sectile_vulkan
  PUBLIC sectile_plan sectile_device sectile_module $<BUILD_INTERFACE:Vulkan::Headers> Threads::Threads ${CMAKE_DL_LIBS}
  PRIVATE sectile_backend $<BUILD_INTERFACE:sectile_dep_fmt> $<BUILD_INTERFACE:sectile_dep_volk>
    $<BUILD_INTERFACE:sectile_dep_vma>
    $<BUILD_INTERFACE:sectile_dep_json> $<BUILD_INTERFACE:sectile_dep_xxhash>)

# CUDA's driver and NVRTC are loaded on first use: building and linking need nothing of CUDA.
set(SECTILE_LIBRARIES base device plan backend embedded module tune shaders no_shaders vulkan)
if(SECTILE_CUDA)
  list(APPEND SECTILE_LIBRARIES cuda)
  target_link_libraries(sectile_cuda
    PUBLIC sectile_plan sectile_device sectile_shaders Threads::Threads ${CMAKE_DL_LIBS}
    PRIVATE sectile_backend $<BUILD_INTERFACE:sectile_dep_fmt> $<BUILD_INTERFACE:sectile_dep_xxhash>)
  # Lets a program be built with and without CUDA.
  target_compile_definitions(sectile_cuda INTERFACE SECTILE_HAS_CUDA=1)
endif()

# sectile::sectile has the templates; sectile::packed runs from a pack alone, and has none. A program links one of them.
add_library(sectile INTERFACE)
target_link_libraries(sectile INTERFACE
  sectile_plan sectile_module sectile_tune sectile_vulkan sectile_shaders)
if(SECTILE_CUDA)
  target_link_libraries(sectile INTERFACE sectile_cuda)
endif()
add_library(sectile_packed INTERFACE)
target_link_libraries(sectile_packed INTERFACE
  sectile_plan sectile_module sectile_tune sectile_vulkan sectile_no_shaders)
set_target_properties(sectile_packed PROPERTIES EXPORT_NAME packed)
add_library(sectile::packed ALIAS sectile_packed)

foreach(name IN LISTS SECTILE_LIBRARIES)
  add_library(sectile::${name} ALIAS sectile_${name})
  set_target_properties(sectile_${name} PROPERTIES EXPORT_NAME ${name})
endforeach()
add_library(sectile::sectile ALIAS sectile)
