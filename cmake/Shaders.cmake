# Compiles, validates and embeds the kernels: sectile_shaders (include/sectile/shaders.hpp).
#
# shaders/OPERATION/STEM.comp is a template; lines `//! variant NAME [-O] -DX=1 ...` at its top name its modules; with
# -O a module is optimized by spirv-opt -O, for compilers that keep only values in registers. Each (stem, variant)
# becomes STEM.VARIANT.spv. Embedded is STEM.VARIANT.spv.zst, with SECTILE_COMPRESS (docs/design/size.md has why a frame
# each, relative to the stem's first, and the level); src/embedded opens it. shaders/OPERATION/STEM.cu and the headers
# are embedded as one text without comments, compressed likewise.
file(GLOB shader_templates CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/shaders/*/*.comp)
set(spirv_folder ${PROJECT_BINARY_DIR}/spirv)
file(MAKE_DIRECTORY ${spirv_folder})
set(spirv_modules "")
set(spirv_names "")
set(stored_modules "")
set(first_modules "")          # by module: which one is its stem's first

# One compiled and validated module; where SPIR-V is given, a copy of it.
function(sectile_module source stem variant options output)
  if(SECTILE_PREBUILT_SPIRV)
    cmake_path(GET output FILENAME name)
    set(prebuilt ${SECTILE_PREBUILT_SPIRV}/${name})
    if(NOT EXISTS ${prebuilt})
      message(FATAL_ERROR "SECTILE_PREBUILT_SPIRV has no ${name}: it was made from other shaders")
    endif()
    add_custom_command(OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -E copy ${prebuilt} ${output}
      DEPENDS ${prebuilt} VERBATIM)
    return()
  endif()
  # Has another name until it is valid, so that a failed command leaves no module.
  set(raw ${output}.raw)
  set(optimize "")
  if("-O" IN_LIST options)
    list(REMOVE_ITEM options -O)
    set(optimize COMMAND ${SpirvOpt_EXECUTABLE} -O ${raw} -o ${raw})
  endif()
  add_custom_command(OUTPUT ${output}
    COMMAND ${Glslang_EXECUTABLE} -V --quiet --target-env vulkan1.3 -I${PROJECT_SOURCE_DIR}/shaders
      ${options} --depfile ${output}.d -o ${raw} ${source}
    ${optimize}
    COMMAND ${SpirvVal_EXECUTABLE} --target-env vulkan1.3 ${raw}
    COMMAND ${CMAKE_COMMAND} -E rename ${raw} ${output}
    DEPENDS ${source}
    DEPFILE ${output}.d
    COMMENT "Shader ${stem} ${variant}"
    VERBATIM)
endfunction()

# The file that is embedded for a module. The zstd command states the size and a checksum in the frame. `base`: the
# first module of its kind, which the frame of each other one refers to. A stem's .wide modules are one kind, its .long
# ones another, and the rest a third: .wide ones resemble one another more than what they widen.
function(sectile_stored module base result)
  if(NOT SECTILE_COMPRESS)
    set(${result} ${module} PARENT_SCOPE)
    return()
  endif()
  set(patch "")
  if(NOT module STREQUAL base)
    set(patch --patch-from=${base})
  endif()
  add_custom_command(OUTPUT ${module}.zst
    COMMAND ${SECTILE_ZSTD} -qq -f -19 --check --single-thread ${patch} ${module} -o ${module}.zst
    DEPENDS ${module} ${base} VERBATIM)
  set(${result} ${module}.zst PARENT_SCOPE)
endfunction()

foreach(source IN LISTS shader_templates)
  # A template's variants are read now: editing it configures again.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  cmake_path(GET source STEM LAST_ONLY stem)
  file(STRINGS ${source} lines REGEX "^//! variant ")
  if(NOT lines)
    message(FATAL_ERROR "${source} states no variant (//! variant NAME [-O] [-DX=1 ...])")
  endif()
  foreach(kind IN ITEMS "" .wide .long)
    unset(base${kind})
  endforeach()
  foreach(line IN LISTS lines)
    separate_arguments(words UNIX_COMMAND "${line}")
    list(POP_FRONT words mark keyword variant)
    set(module ${spirv_folder}/${stem}.${variant}.spv)
    if(module IN_LIST spirv_modules)
      message(FATAL_ERROR "${source} states variant ${variant} twice")
    endif()
    sectile_module(${source} ${stem} ${variant} "${words}" ${module})
    set(kind "")
    if(variant MATCHES "(\\.wide|\\.long)$")
      set(kind ${CMAKE_MATCH_1})
    endif()
    if(NOT DEFINED base${kind})
      list(LENGTH spirv_modules first${kind})
      set(base${kind} ${module})
    endif()
    sectile_stored(${module} ${base${kind}} stored)
    list(APPEND spirv_modules ${module})
    list(APPEND stored_modules ${stored})
    list(APPEND spirv_names "${stem}|${variant}")
    list(APPEND first_modules ${first${kind}})
  endforeach()
endforeach()

# The table: the assembler takes the files in, so that no compiler reads their bytes as text.
set(SHADER_SYMBOLS "")
set(SHADER_ROWS "")
set(index 0)
foreach(name file first IN ZIP_LISTS spirv_names stored_modules first_modules)
  string(REPLACE "|" "\", \"" quoted ${name})
  string(APPEND SHADER_SYMBOLS "SECTILE_EMBED(${index}, \"${file}\")\n")
  set(base "nullptr, nullptr")
  if(SECTILE_COMPRESS AND NOT first EQUAL index)
    set(base "sectile_module_${first}, sectile_module_${first}_end")
  endif()
  string(APPEND SHADER_ROWS
    "    row(\"${quoted}\", sectile_module_${index}, sectile_module_${index}_end, ${base}),\n")
  math(EXPR index "${index} + 1")
endforeach()
set(SHADER_COUNT ${index})

# CUDA sources and the headers that they include are embedded as one text: NVRTC compiles them at run time. Their names
# are relative to shaders/, a source's is its stem.
set(cuda_texts ${PROJECT_BINARY_DIR}/cuda_texts)
set(text_files "")
set(text_lines "")
foreach(kind IN ITEMS source header)
  if(kind STREQUAL source)
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/shaders/*/*.cu)
  else()
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/shaders/*/*abi.h ${PROJECT_SOURCE_DIR}/shaders/*/*.cuh)
  endif()
  foreach(file IN LISTS files)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/shaders OUTPUT_VARIABLE name)
    if(kind STREQUAL source)
      cmake_path(GET file STEM LAST_ONLY name)
    endif()
    string(APPEND text_lines "${kind} ${name} ${file}\n")
    list(APPEND text_files ${file})
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${cuda_texts}.list CONTENT "${text_lines}" @ONLY)
add_custom_command(OUTPUT ${cuda_texts}
  COMMAND ${CMAKE_COMMAND} -DLIST=${cuda_texts}.list -DOUTPUT=${cuda_texts}
    -P ${PROJECT_SOURCE_DIR}/cmake/CudaTexts.cmake
  DEPENDS ${text_files} ${cuda_texts}.list ${PROJECT_SOURCE_DIR}/cmake/CudaTexts.cmake VERBATIM)
sectile_stored(${cuda_texts} ${cuda_texts} stored_texts)
string(APPEND SHADER_SYMBOLS "SECTILE_EMBED(texts, \"${stored_texts}\")\n")
configure_file(${PROJECT_SOURCE_DIR}/cmake/embedded_modules.cpp.in ${PROJECT_BINARY_DIR}/embedded_modules.cpp @ONLY)
set_property(SOURCE ${PROJECT_BINARY_DIR}/embedded_modules.cpp PROPERTY OBJECT_DEPENDS
  "${stored_modules};${stored_texts}")

# What belongs to this build: the folder may hold modules of variants that are no more.
list(TRANSFORM spirv_modules REPLACE ".*/" "" OUTPUT_VARIABLE names)
list(JOIN names "\n" names)
file(CONFIGURE OUTPUT ${spirv_folder}/modules.txt CONTENT "${names}\n" @ONLY)

add_custom_target(sectile_spirv_modules DEPENDS ${spirv_modules})
add_library(sectile_shaders STATIC ${PROJECT_BINARY_DIR}/embedded_modules.cpp)
target_link_libraries(sectile_shaders PRIVATE $<BUILD_INTERFACE:sectile_own>)
target_include_directories(sectile_shaders PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_features(sectile_shaders PUBLIC cxx_std_23)
# What an .incbin names, a compiler cache does not see.
set_target_properties(sectile_shaders PROPERTIES CXX_COMPILER_LAUNCHER "" CXX_CLANG_TIDY "")
add_dependencies(sectile_shaders sectile_spirv_modules)

# The same functions without modules, for programs that use a pack alone (sectile::packed).
add_library(sectile_no_shaders STATIC ${PROJECT_SOURCE_DIR}/cmake/no_modules.cpp)
target_link_libraries(sectile_no_shaders PRIVATE $<BUILD_INTERFACE:sectile_own>)
target_include_directories(sectile_no_shaders PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_compile_features(sectile_no_shaders PUBLIC cxx_std_23)
