# The sectile command, and the library that it shares with the tests: reference and problem generator.
file(GLOB reference_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/reference/*.cpp)
sectile_batched(reference_sources reference ${reference_sources})
add_library(sectile_reference STATIC ${reference_sources})
sectile_optimized(sectile_reference)
sectile_typed(sectile_reference)
target_include_directories(sectile_reference PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_include_directories(sectile_reference PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(sectile_reference PUBLIC sectile_plan PRIVATE sectile_own sectile_dep_fmt)

# The command's file formats: all of it that the fuzzers need.
add_library(sectile_files STATIC ${PROJECT_SOURCE_DIR}/tools/cli/npy.cpp ${PROJECT_SOURCE_DIR}/tools/cli/files.cpp)
target_include_directories(sectile_files PUBLIC ${PROJECT_SOURCE_DIR}/tools PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(sectile_files PUBLIC sectile_plan sectile_dep_fmt PRIVATE sectile_backend sectile_own)

if(NOT SECTILE_BUILD_TOOLS AND NOT SECTILE_BUILD_TESTS)
  return()
endif()

# All of the command but main.cpp, so that tests reach it.
file(GLOB tool_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*/*.cpp)
set(tool_main ${PROJECT_SOURCE_DIR}/tools/cli/main.cpp)
list(REMOVE_ITEM tool_sources ${tool_main} ${PROJECT_SOURCE_DIR}/tools/cli/npy.cpp ${PROJECT_SOURCE_DIR}/tools/cli/files.cpp)
if(TARGET sectile_spirv)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/tools/emit/code.cpp APPEND PROPERTY COMPILE_DEFINITIONS SECTILE_HAS_SPIRV)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/tools/emit/code.cpp PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
endif()
# The same measurements give the same class with any compiler, so none may fuse a product and a sum.
set_source_files_properties(${PROJECT_SOURCE_DIR}/tools/calibrate/regression.cpp PROPERTIES
  COMPILE_OPTIONS -ffp-contract=off SKIP_UNITY_BUILD_INCLUSION ON)
sectile_batched(tool_sources tool ${tool_sources})
add_library(sectile_tool STATIC ${tool_sources})
sectile_typed(sectile_tool)
target_include_directories(sectile_tool PUBLIC
  ${PROJECT_SOURCE_DIR}/tools ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/shaders)
target_compile_definitions(sectile_tool PUBLIC SECTILE_VERSION="${PROJECT_VERSION}")
target_link_libraries(sectile_tool
  PUBLIC sectile sectile_files sectile_reference sectile_dep_volk sectile_dep_cli sectile_dep_fmt sectile_dep_json
    sectile_dep_xxhash sectile_dep_stb
  PRIVATE sectile_own)
if(TARGET sectile_spirv)
  target_link_libraries(sectile_tool PUBLIC sectile_spirv)
endif()
# The command waits for devices and for the library, which are optimized; its own code is most of what a build compiles.
if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT MSVC)
  target_compile_options(sectile_tool PRIVATE -O1)
endif()

if(SECTILE_BUILD_TOOLS)
  add_executable(sectile_command ${tool_main})
  set_target_properties(sectile_command PROPERTIES OUTPUT_NAME sectile)
  target_link_libraries(sectile_command PRIVATE sectile_tool sectile_own)
  # The manual and the shells' completions come from the command itself, whenever it is linked. A command for another
  # machine cannot be asked here.
  set(SECTILE_TEXTS "")
  if(NOT CMAKE_CROSSCOMPILING AND NOT SECTILE_SANITIZE)
    set(SECTILE_TEXTS ${PROJECT_BINARY_DIR}/texts)
    file(MAKE_DIRECTORY ${SECTILE_TEXTS})
    set(texts COMMAND sectile_command manual > ${SECTILE_TEXTS}/sectile.1)
    foreach(shell bash zsh fish)
      list(APPEND texts COMMAND sectile_command completion ${shell} > ${SECTILE_TEXTS}/sectile.${shell})
    endforeach()
    add_custom_command(TARGET sectile_command POST_BUILD ${texts})
  endif()
endif()
