# The tests: one doctest executable for each folder, the fuzzers, and tests of installed and built programs.
if(SECTILE_BUILD_TESTS)
  add_library(sectile_test_main OBJECT ${PROJECT_SOURCE_DIR}/cmake/test_main.cpp)
  target_link_libraries(sectile_test_main PUBLIC sectile_dep_doctest PRIVATE sectile_own)
endif()

# Paths stand in one file and not in every command line: see tests/support/paths.hpp.
if(SECTILE_BUILD_TESTS)
  set(command "")
  set(pack_only "")
  if(SECTILE_BUILD_TOOLS)
    set(command "$<TARGET_FILE:sectile_command>")
    if(SECTILE_OFFLINE)
      set(pack_only "$<TARGET_FILE:pack_only>")
    endif()
  endif()
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/paths.cpp CONTENT "#include \"support/paths.hpp\"
namespace sectile::test {
std::string source_folder() { return R\"path(${PROJECT_SOURCE_DIR})path\"; }
std::string data_folder() { return R\"path(${PROJECT_SOURCE_DIR}/tests/data)path\"; }
std::string sectile_command() { return R\"path(${command})path\"; }
std::string pack_only_program() { return R\"path(${pack_only})path\"; }
}  // namespace sectile::test
")
  add_library(sectile_test_paths STATIC ${PROJECT_BINARY_DIR}/paths.cpp)
  target_include_directories(sectile_test_paths PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(sectile_test_paths PRIVATE sectile_own)
endif()

# Its operator new and pthread_mutex_lock take the place of the libraries': only where both are counted.
if(SECTILE_BUILD_TESTS)
  add_library(sectile_test_counted OBJECT ${PROJECT_SOURCE_DIR}/tests/support/counted.cpp)
  target_include_directories(sectile_test_counted PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(sectile_test_counted PUBLIC ${CMAKE_DL_LIBS} PRIVATE sectile_own)
endif()

include(PlatformTests)

# sectile_test(FOLDER LIBRARIES...): test_FOLDER from tests/FOLDER/*.cpp; its own main.cpp goes before ours.
function(sectile_test folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp)
  sectile_portable_tests(sources)
  if(NOT sources)
    return()
  endif()
  sectile_batched(sources test_${folder} ${sources})
  set(main sectile_test_main)
  if(EXISTS ${PROJECT_SOURCE_DIR}/tests/${folder}/main.cpp)
    set(main "")
  endif()
  add_executable(test_${folder} ${sources})
  target_include_directories(test_${folder} PRIVATE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/shaders)
  target_link_libraries(test_${folder} PRIVATE ${main} sectile_test_paths sectile_own sectile_reference sectile_dep_doctest
    sectile_dep_json sectile_dep_fmt sectile_dep_xxhash ${ARGN})
  # For a test's own code compile time dominates, even of the emulated kernels, which do the work of a GPU.
  if(folder STREQUAL "emulated")
    target_compile_options(test_${folder} PRIVATE -O1)
  elseif(NOT MSVC)
    target_compile_options(test_${folder} PRIVATE -O0)
  endif()
  # The files that it reads are for the libraries to open.
  if(folder MATCHES "plan|tools")
    sectile_typed(test_${folder})
  endif()
  add_test(NAME ${folder} COMMAND test_${folder} WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  # Drivers leak memory when they are unloaded, so leaks are checked only in tests without a driver.
  set(leaks 1)
  if(folder MATCHES "vulkan|cuda|tools|spirv|pack|drivers")
    set(leaks 0)
  endif()
  # The longest tests start first, even before ctest has timed them: in a fresh clone it has not.
  if(folder MATCHES "tools|spirv|emulated|plan|vulkan")
    set_tests_properties(${folder} PROPERTIES COST 100)
  endif()
  # A worker that a protected page kills has to die of the signal, which the sanitizer would catch.
  set(segv 1)
  if(folder STREQUAL "tools")
    set(segv 0)
  endif()
  # lavapipe's optimizer takes longer than it saves a kernel that runs for a millisecond.
  set_tests_properties(${folder} PROPERTIES TIMEOUT 600
    ENVIRONMENT "ASAN_OPTIONS=detect_leaks=${leaks}:handle_segv=${segv}:malloc_context_size=6;UBSAN_OPTIONS=print_stacktrace=1;GALLIVM_PERF=nopt")
  # Rapidcheck's 100 cases a property; what a sanitizer sees, it sees in the first ones.
  if(SECTILE_SANITIZE)
    set_property(TEST ${folder} APPEND PROPERTY ENVIRONMENT "RC_PARAMS=max_success=30")
  endif()
endfunction()

# The CUDA kernels as C++ for the host: one source for each stem, with a class for every `//! variant` line.
function(sectile_emulated_kernels target)
  file(GLOB kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/shaders/*/*.cu)
  # The copy engine, its barriers and matrix loads are no C++: permute_tma runs on a GPU alone.
  list(FILTER kernels EXCLUDE REGEX "permute_tma")
  foreach(kernel IN LISTS kernels)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kernel})
    cmake_path(GET kernel STEM stem)
    cmake_path(RELATIVE_PATH kernel BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/shaders OUTPUT_VARIABLE relative)
    set(text "// ${stem}.cu, compiled for the host: see tests/emulated/kernel.hpp.\n#include \"emulated/kernel.hpp\"\n")
    file(STRINGS ${kernel} matrices REGEX "lib/mma.cuh")
    if(matrices)
      string(APPEND text "#include \"emulated/matrix_unit.hpp\"\n")
    endif()
    file(STRINGS ${kernel} warpgroups REGEX "lib/wgmma.cuh")
    if(warpgroups)
      string(APPEND text "#include \"emulated/warpgroup_unit.hpp\"\n")
    endif()
    file(STRINGS ${kernel} lines REGEX "^//! variant ")
    foreach(line IN LISTS lines)
      separate_arguments(words UNIX_COMMAND "${line}")
      list(POP_FRONT words mark keyword variant)
      string(MAKE_C_IDENTIFIER ${stem}_${variant} class)
      string(APPEND text "\n")
      set(undo "")
      foreach(word IN LISTS words)
        string(REGEX REPLACE "^-D([^=]+)=?(.*)$" "#define \\1 \\2\n" define "${word}")
        string(REGEX REPLACE "^-D([^=]+).*$" "#undef \\1\n" undefine "${word}")
        string(APPEND text "${define}")
        string(APPEND undo "${undefine}")
      endforeach()
      string(APPEND text "#define constexpr const\n#define for(...) SECTILE_FOR(__VA_ARGS__)\n"
        "#define static_assert(...) require(__VA_ARGS__)\n"
        "namespace sectile::emulated { namespace {\n"
        "struct ${class} : Emulated {\n  using Emulated::Emulated;\n#include \"${relative}\"\n};\n"
        "#undef constexpr\n#undef for\n#undef static_assert\n"
        "const bool ${class}_known = register_kernel<${class}>(\"${stem}\", \"${variant}\");\n} }\n${undo}")
    endforeach()
    set(source ${PROJECT_BINARY_DIR}/emulated/${stem}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "${text}" @ONLY)
    target_sources(${target} PRIVATE ${source})
    # Arrays whose size a constant gives have a variable size here, whether a loop fills them is not known, memory is
    # read as words and as vectors, some parameters serve one variant, `for` is a macro with an `else` of its own, and
    # what a `constexpr` function returns is const.
    set(options -Wno-unknown-pragmas -Wno-dangling-else -Wno-ignored-qualifiers -Wno-maybe-uninitialized
      -Wno-unused-parameter -fno-strict-aliasing)
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      set(options -Wno-unknown-pragmas -Wno-dangling-else -Wno-ignored-qualifiers -Wno-vla-cxx-extension -Wno-pass-failed
        -Wno-unused-parameter -fno-strict-aliasing)
    endif()
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${options}" SKIP_LINTING ON)
  endforeach()
endfunction()

if(SECTILE_BUILD_TESTS)
  sectile_test(plan sectile_plan sectile_device)
  sectile_test(device sectile_device)
  sectile_platform_tests()
  if(NOT SECTILE_THIRD_PARTY)
    target_link_libraries(test_plan PRIVATE sectile_dep_rapidcheck)
    target_link_libraries(test_device PRIVATE sectile_dep_rapidcheck)
    # Two languages' accessors, which have the same names.
    set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/abi/words_cuda.cpp ${PROJECT_SOURCE_DIR}/tests/abi/words_glsl.cpp
      ${PROJECT_SOURCE_DIR}/tests/abi/kernel_words_cuda.cpp ${PROJECT_SOURCE_DIR}/tests/abi/kernel_words_glsl.cpp
      PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    sectile_test(abi sectile_plan sectile_device sectile_shaders sectile_module sectile_dep_spirv_reflect ${CMAKE_DL_LIBS})
    target_compile_definitions(test_abi PRIVATE
      SECTILE_SPIRV_FOLDER="${spirv_folder}" SECTILE_COMPRESS=$<BOOL:${SECTILE_COMPRESS}>)
  endif()
  if(Glslang_EXECUTABLE)
    add_test(NAME words_glsl COMMAND ${Glslang_EXECUTABLE} -V --quiet --target-env vulkan1.3
      -I${PROJECT_SOURCE_DIR}/shaders -I${PROJECT_SOURCE_DIR}/tests -o ${PROJECT_BINARY_DIR}/words_trial.spv
      ${PROJECT_SOURCE_DIR}/tests/abi/words_trial.comp)
  endif()
  sectile_test(tune sectile_tune sectile_device sectile_backend)
  # The emulated kernels are watched by the undefined-behaviour sanitizer in every build (indices of arrays, shifts,
  # overflow), and their memory by the emulation: a second build of them by another compiler would cost a minute and a
  # half, and see no more.
  if(NOT SECTILE_SANITIZE)
    # It multiplies for all warpgroups.
    set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/emulated/warpgroup_unit.cpp
      PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS -O3)
    sectile_test(emulated sectile_plan sectile_device)
    sectile_emulated_kernels(test_emulated)
    if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
      target_compile_options(test_emulated PRIVATE -fsanitize=undefined -fno-sanitize-recover=all)
      target_link_options(test_emulated PRIVATE -fsanitize=undefined)
    endif()
  endif()
  sectile_test(vulkan sectile sectile_dep_volk sectile_test_counted)
  if(SECTILE_CUDA)
    # Its names are the driver's, which clash with ours.
    set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/cuda/fake_driver.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    sectile_test(cuda sectile_cuda sectile_backend sectile_test_counted ${CMAKE_DL_LIBS})
    # What src/cuda declares by itself is compared with CUDA's headers where there are some.
    find_path(SECTILE_CUDA_HEADERS NAMES nvrtc.h PATHS /usr/local/cuda/include ENV CUDA_HOME PATH_SUFFIXES include)
    mark_as_advanced(SECTILE_CUDA_HEADERS)
    if(SECTILE_CUDA_HEADERS AND TARGET test_cuda)
      target_include_directories(test_cuda SYSTEM PRIVATE ${SECTILE_CUDA_HEADERS})
      target_compile_definitions(test_cuda PRIVATE SECTILE_CUDA_HEADERS=1)
    else()
      message(STATUS "No cuda.h and nvrtc.h here: what src/cuda declares is not compared with them")
    endif()
  endif()
  # Half a minute of NVRTC and ptxas, which sanitizers do not instrument.
  if(NOT SECTILE_SANITIZE)
    sectile_test(cuda_kernels sectile_tool ${CMAKE_DL_LIBS})
    # Two threads; on a machine that does much else it takes many times as long. What takes two processors starts before
    # all else: later both are free only when one of them has waited.
    set_tests_properties(cuda_kernels PROPERTIES PROCESSORS 2 TIMEOUT 1800 COST 1000)
  endif()
  # Which folder of src/ includes which.
  if(NOT SECTILE_SANITIZE)
    add_test(NAME rooms COMMAND bash ${PROJECT_SOURCE_DIR}/tests/rooms.sh)
  endif()
  # Another version formats otherwise: checked with the root's alone.
  find_program(SECTILE_CLANG_FORMAT NAMES clang-format-19 clang-format)
  mark_as_advanced(SECTILE_CLANG_FORMAT)
  set(version "")
  if(SECTILE_CLANG_FORMAT)
    execute_process(COMMAND ${SECTILE_CLANG_FORMAT} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  if(version MATCHES "version 19\\." AND NOT SECTILE_SANITIZE)
    add_test(NAME format COMMAND sh ${PROJECT_SOURCE_DIR}/tests/format.sh ${SECTILE_CLANG_FORMAT} ${PROJECT_SOURCE_DIR})
  elseif(NOT SECTILE_SANITIZE)
    message(STATUS "clang-format 19 is not here (${version}): the format is not checked")
  endif()
  sectile_test(tools sectile_tool)
  # What the checks ran on drivers, and operands of gigabytes there. The address sanitizer has pages of its own for
  # them.
  if(NOT SECTILE_SANITIZE AND NOT SECTILE_THIRD_PARTY)
    sectile_test(far sectile_tool)
    sectile_test(modules sectile_shaders)
  endif()
  # Its PyTorch part runs on a GPU alone; all that it decides is in modules that need no PyTorch. tools/dev brings
  # python3.
  find_program(SECTILE_PYTHON python3)
  mark_as_advanced(SECTILE_PYTHON)
  if(SECTILE_PYTHON AND NOT SECTILE_SANITIZE)
    add_test(NAME rivals COMMAND ${SECTILE_PYTHON} -B ${PROJECT_SOURCE_DIR}/tests/tools/python/rivals_test.py)
    set_tests_properties(rivals PROPERTIES TIMEOUT 120)
    add_test(NAME figures_reader COMMAND ${SECTILE_PYTHON} -B ${PROJECT_SOURCE_DIR}/tests/tools/python/figures_test.py)
    # docs/performance.md is what its result files give. Rows that are planned otherwise now are named, and no failure.
    file(GLOB figures CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/figures/*.json)
    if(figures AND TARGET sectile_command)
      add_test(NAME figures COMMAND ${SECTILE_PYTHON} -B ${PROJECT_SOURCE_DIR}/tools/python/figures.py --check
        --sectile $<TARGET_FILE:sectile_command>)
    elseif(TARGET sectile_command)
      message(STATUS "docs/figures has no result file: docs/performance.md is not compared")
    endif()
    # Planted faults (tools/dev mutants): each still applies, and the edits are made as they say. Building them takes an
    # hour.
    add_test(NAME mutants_apply COMMAND ${SECTILE_PYTHON} -B ${PROJECT_SOURCE_DIR}/tests/mutants/mutants.py --check)
    add_test(NAME mutants_engine COMMAND ${SECTILE_PYTHON} -B ${PROJECT_SOURCE_DIR}/tests/mutants/mutants_test.py)
    set_tests_properties(mutants_apply mutants_engine PROPERTIES TIMEOUT 120)
  elseif(NOT SECTILE_PYTHON)
    message(STATUS "No python3 here: the tests of tools/python/rivals.py and of tests/mutants are left out")
  endif()
  # Offline SPIR-V on both CPU drivers, packs, and a program with a pack alone.
  if(TARGET sectile_spirv AND TARGET sectile_command)
    add_executable(pack_only ${PROJECT_SOURCE_DIR}/tests/pack_only/main.cpp)
    target_link_libraries(pack_only PRIVATE sectile::packed sectile_own)
    foreach(folder spirv pack)
      sectile_test(${folder} sectile_tool)
      target_sources(test_${folder} PRIVATE ${PROJECT_SOURCE_DIR}/tests/vulkan/helpers.cpp
        ${PROJECT_SOURCE_DIR}/tests/tools/run_command.cpp)
      add_dependencies(test_${folder} pack_only)
    endforeach()
  endif()
  # Drivers of missing GPUs on no-op devices: one process each, into which no sanitizer can be loaded.
  if(NOT SECTILE_SANITIZE AND NOT SECTILE_THIRD_PARTY)
    sectile_test(drivers sectile sectile_dep_volk)
    target_sources(test_drivers PRIVATE ${PROJECT_SOURCE_DIR}/tests/vulkan/helpers.cpp
      ${PROJECT_SOURCE_DIR}/tests/tools/run_command.cpp)
    # Some thousand kernels, by drivers on two threads.
    set_tests_properties(drivers PROPERTIES PROCESSORS 2 TIMEOUT 1800 COST 1000)
  endif()
  # The command itself, for tests that start it.
  foreach(folder tools spirv pack)
    if(TARGET sectile_command AND TARGET test_${folder})
      add_dependencies(test_${folder} sectile_command)
    endif()
  endforeach()
endif()

# From outside: the command's own check on each driver that runs without a GPU, an installed tree, the documentation.
# sectile_check(NAME DEVICE FEWER FEWER_MATMULS FEWER_CONV2DS OPTION ICD...): `sectile check` on the driver that an ICD
# file names, where there is one. So many cases; with SECTILE_THOROUGH in the environment SECTILE_CHECK_CASES,
# SECTILE_CHECK_MATMUL_CASES and SECTILE_CHECK_CONV2D_CASES.
function(sectile_check name device fewer fewer_matmuls fewer_conv2ds option)
  find_file(SECTILE_ICD_${name} NAMES ${ARGN}
    PATHS /usr/share/vulkan/icd.d /usr/local/share/vulkan/icd.d /opt/swiftshader NO_DEFAULT_PATH)
  mark_as_advanced(SECTILE_ICD_${name})
  if(NOT SECTILE_ICD_${name})
    message(STATUS "No ${name} driver here: its check is left out")
    return()
  endif()
  set(seen ${PROJECT_BINARY_DIR}/modules_run)
  file(MAKE_DIRECTORY ${seen})
  set(environment "VK_DRIVER_FILES=${SECTILE_ICD_${name}};GALLIVM_PERF=nopt")
  # Compiling is what costs: each kernel is given further problems, hard ones (tests/reference/siblings.hpp).
  set(siblings --siblings 10)
  add_test(NAME check_${name} COMMAND ${check} ${SECTILE_CHECK_CASES} ${fewer} $<TARGET_FILE:sectile_command>
    --device ${device} ${siblings} --junit ${PROJECT_BINARY_DIR}/check_${name}.xml --modules ${seen}/${name}.txt)
  # Fewer: a CPU driver compiles a tile of a matmul for a second.
  set(operations matmul)
  if(fewer_conv2ds)
    list(APPEND operations conv2d)
  endif()
  foreach(operation IN LISTS operations)
    string(TOUPPER ${operation} upper)
    # lavapipe has matrices at 256 bits alone, and compiles the other kernels in half the time at 128.
    set(parts all)
    if(name STREQUAL lavapipe)
      set(parts matrices others)
    endif()
    foreach(part IN LISTS parts)
      set(test check_${operation}_${name})
      set(only ${option})
      set(bits "")
      if(part STREQUAL matrices)
        string(APPEND test _matrices)
        list(APPEND only --filter coopmat)
      elseif(part STREQUAL others)
        list(APPEND only --filter !coopmat)
        set(bits ";LP_NATIVE_VECTOR_WIDTH=128")
      endif()
      add_test(NAME ${test} COMMAND ${check} ${SECTILE_CHECK_${upper}_CASES} ${fewer_${operation}s}
        $<TARGET_FILE:sectile_command> --op ${operation} --batch 8 --device ${device} ${siblings}
        --junit ${PROJECT_BINARY_DIR}/${test}.xml --modules ${seen}/${test}.txt ${only})
      set_tests_properties(${test} PROPERTIES TIMEOUT 1200 COST 200 ENVIRONMENT "${environment}${bits}"
        FIXTURES_SETUP modules_run)
    endforeach()
  endforeach()
  set_tests_properties(check_${name} PROPERTIES TIMEOUT 1200 COST 150 ENVIRONMENT "${environment}"
    FIXTURES_SETUP modules_run)
endfunction()

if(SECTILE_BUILD_TESTS AND TARGET sectile_command AND NOT SECTILE_SANITIZE)
  set(SECTILE_CHECK_CASES 1000 CACHE STRING "Generated problems of a thorough check as a test")
  set(SECTILE_CHECK_MATMUL_CASES 300 CACHE STRING "Generated matmuls of a thorough check as a test")
  set(SECTILE_CHECK_CONV2D_CASES 300 CACHE STRING "Generated convolutions of a thorough check as a test")
  set(check sh ${PROJECT_SOURCE_DIR}/tests/check.sh)
  # SwiftShader compiles several times as long as lavapipe.
  # 154 matmuls meet every pair of levels (tests/reference/cover_matmul.hpp), and 112 convolutions, after which those
  # stand that are chosen by hand (cover_conv2d.cpp). tests/tools/check/hard_test.cpp reads these numbers.
  sectile_check(lavapipe llvmpipe 560 164 131 "" lvp_icd.json lvp_icd.x86_64.json lvp_icd.aarch64.json)
  sectile_check(swiftshader SwiftShader 110 16 6 --words vk_swiftshader_icd.json)
  # Sweeps of 24 problems: errors alone fail, times do not.
  if(SECTILE_ICD_lavapipe)
    set(sweep $<TARGET_FILE:sectile_command> bench --device llvmpipe --seed 24 --warmup 0 --min-time 0.001 --cycle-mb 1)
    add_test(NAME sweep_permute COMMAND ${sweep} --sweep permute --cases 16 --min-mb 0.05)
    add_test(NAME sweep_matmul COMMAND ${sweep} --sweep matmul --cases 5 --max-gflop 1.2)
    # One case of each class; the least of one of a diffusion model has 0.84 GFLOP.
    add_test(NAME sweep_conv2d COMMAND ${sweep} --sweep conv2d --type f32-nchw --cases 8 --max-gflop 1)
    set_tests_properties(sweep_permute sweep_matmul sweep_conv2d PROPERTIES TIMEOUT 600 ENVIRONMENT "VK_DRIVER_FILES=${SECTILE_ICD_lavapipe}")
  endif()
  # lavapipe with subgroups of 4 and of 16: a device is made with all that is wanted, and a few cases of each operation
  # run. It compiles and runs slowly at 512 bits.
  if(SECTILE_ICD_lavapipe)
    set(width sh ${PROJECT_SOURCE_DIR}/tests/width.sh)
    foreach(bits 128 512)
      add_test(NAME vulkan_${bits} COMMAND ${width} ${bits} $<TARGET_FILE:test_vulkan>
        --no-skipped-summary "--test-case=a device can be made*,features go into*,a live profile survives*")
      add_test(NAME check_${bits} COMMAND ${width} ${bits} $<TARGET_FILE:sectile_command> check --jobs 1 --cases 40 --seed 5512 --device llvmpipe)
      add_test(NAME check_matmul_${bits} COMMAND ${width} ${bits}
        $<TARGET_FILE:sectile_command> check --jobs 1 --op matmul --cases 9 --seed 5512 --batch 8 --device llvmpipe)
      # K = 0 goes by the reduction alone, a long K by a split and the reduction.
      add_test(NAME check_reduce_${bits} COMMAND ${width} ${bits} $<TARGET_FILE:sectile_command> check --cases 1 --device llvmpipe
        --problem "matmul f32 nt 77x1x0 b=f16 beta=0.3 c=d epi=scale.m+bias+gelu_tanh+residual")
      set_tests_properties(vulkan_${bits} check_${bits} check_matmul_${bits} check_reduce_${bits} PROPERTIES TIMEOUT 600
        SKIP_RETURN_CODE 77 ENVIRONMENT "VK_DRIVER_FILES=${SECTILE_ICD_lavapipe}")
    endforeach()
  endif()
  if(SECTILE_ICD_lavapipe AND TARGET test_far)
    set_tests_properties(far PROPERTIES FIXTURES_SETUP modules_run
      ENVIRONMENT "GALLIVM_PERF=nopt;VK_DRIVER_FILES=${SECTILE_ICD_lavapipe};SECTILE_MODULES_FILE=${PROJECT_BINARY_DIR}/modules_run/far.txt")
  endif()
  if(SECTILE_ICD_lavapipe AND SECTILE_ICD_swiftshader AND TARGET test_modules)
    set_tests_properties(modules PROPERTIES FIXTURES_REQUIRED modules_run
      ENVIRONMENT "SECTILE_MODULES_FOLDER=${PROJECT_BINARY_DIR}/modules_run")
  endif()
  # As the checks above: not optimized, and at 128 bits what needs no matrices.
  set(quick "VK_DRIVER_FILES=${SECTILE_ICD_lavapipe};GALLIVM_PERF=nopt")
  # With few pipelines one kernel serves problems with and without bias and relu.
  if(SECTILE_ICD_lavapipe)
    foreach(epilogue alpha=1 epi=bias epi=relu)
      string(REPLACE = _ test check_few_pipelines_${epilogue})
      add_test(NAME ${test} COMMAND sectile_command check --few-pipelines --device llvmpipe --force conv2d_simt
        --problem "conv2d f16 nhwc 1x16x9x9 k=16 r=3x3 p=1 ${epilogue}")
      set_tests_properties(${test} PROPERTIES ENVIRONMENT "${quick};LP_NATIVE_VECTOR_WIDTH=128")
    endforeach()
  endif()
  if(SECTILE_ICD_lavapipe)
    # Measures for two seconds an operation, fits, and plans with the class that it wrote.
    add_test(NAME calibrate_smoke COMMAND ${CMAKE_COMMAND} -E env sh -c
      "rm -f calibrated.raw.jsonl; \"$1\" calibrate --device llvmpipe --minutes 0.02 --candidates 4 -o calibrated.json && \"$1\" calibrate --from calibrated.raw.jsonl --device-class calibrated.json -o again.json && \"$1\" plan 'permute f32 512x256 axes=1,0' --device llvmpipe --device-class again.json --explain | grep 'measured on llvmpipe'"
      sh $<TARGET_FILE:sectile_command>)
    set_tests_properties(calibrate_smoke PROPERTIES ENVIRONMENT "${quick}"
      WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/modules_run)
    # Three tiles of rows are a wave of two multiprocessors and a tail, which begins inside the second image.
    add_test(NAME check_conv2d_tail COMMAND sectile_command check --device llvmpipe --multiprocessors 2
      --problem "conv2d f32 nhwc 2x128x5x9 k=24 r=3x3 p=1 weights=krsc epi=bias+relu+residual"
      --force "conv2d_simt 32x32x16 4x4")
    # Images that fill tiles of 128 columns: tiles do not run across them, as they do in all problems of the covering.
    add_test(NAME check_conv2d_images COMMAND sectile_command check --device llvmpipe
      --problem "conv2d f32 nchw 3x8x8x16 k=20 r=3x3 p=1 epi=bias+residual" --force "conv2d_simt 32x32x16 4x4")
    add_test(NAME check_conv2d_images_matrices COMMAND sectile_command check --device llvmpipe
      --problem "conv2d f16 nchw 3x16x8x16 k=24 r=3x3 p=1 epi=bias+residual" --force "conv2d_coopmat 16x32x16 8x16 serial")
    # A step has more K than there are channels, and so than x.bias has elements.
    add_test(NAME check_conv2d_surplus COMMAND sectile_command check --device llvmpipe
      --problem "conv2d f16 nhwc 1x8x9x17 k=4 r=1x1 weights=rsck out=bf16 y.pitch=8 pro=bias+relu x.align=256 w.align=64"
      --force "conv2d_coopmat 16x32x16 8x16 serial")
    # The loops of GPUs with an image that is read along pixels, two chunks a row: tiles of columns that images share,
    # and chunks that the filter moves by two pixels to either side.
    foreach(loop "" " pipelined")
      string(REPLACE " " _ test check_conv2d_pixels${loop})
      set(pads "1,2,1,0")
      if(loop)
        set(pads "1,0,1,2")
      endif()
      add_test(NAME ${test} COMMAND sectile_command check --device llvmpipe --modules ${PROJECT_BINARY_DIR}/modules_run/${test}.txt
        --problem "conv2d f16 nchw 3x19x3x16 k=35 r=3x3 p=${pads} epi=bias+residual"
        --force "conv2d_coopmat 32x32x48 8x16${loop}")
      set_tests_properties(${test} PROPERTIES FIXTURES_SETUP modules_run ENVIRONMENT "${quick}")
    endforeach()
    set_tests_properties(check_conv2d_images_matrices check_conv2d_surplus PROPERTIES ENVIRONMENT "${quick}")
    set_tests_properties(check_conv2d_tail check_conv2d_images PROPERTIES
      ENVIRONMENT "${quick};LP_NATIVE_VECTOR_WIDTH=128")
  endif()
  # The same problems on both, compared with each other as well.
  if(SECTILE_ICD_lavapipe AND SECTILE_ICD_swiftshader)
    add_test(NAME check_both COMMAND ${check} 200 60 $<TARGET_FILE:sectile_command> --seed 7 --device llvmpipe,SwiftShader)
    add_test(NAME check_both_matmul
      COMMAND ${check} 32 6 $<TARGET_FILE:sectile_command> --op matmul --words --batch 8 --seed 7 --device llvmpipe,SwiftShader)
    set_tests_properties(check_both check_both_matmul PROPERTIES TIMEOUT 1200 COST 100
      ENVIRONMENT "VK_DRIVER_FILES=${SECTILE_ICD_lavapipe}:${SECTILE_ICD_swiftshader}")
  endif()
  include(InterfaceTests)
  # A program with all kernels, optimized and stripped, takes less (docs/design/size.md).
  set(most_bytes 0)
  if(SECTILE_COMPRESS AND CMAKE_BUILD_TYPE MATCHES "^(Rel|MinSize)")
    set(most_bytes 5000000)
  endif()
  include(PackagingTests)
  find_program(SECTILE_PKG_CONFIG NAMES pkg-config pkgconf)
  mark_as_advanced(SECTILE_PKG_CONFIG)
  add_test(NAME consumer COMMAND ${CMAKE_COMMAND} -DSTRIP=${CMAKE_STRIP} -DMOST_BYTES=${most_bytes} -DBUILD=${PROJECT_BINARY_DIR}
    -DSOURCE=${PROJECT_SOURCE_DIR} -DWORK=${PROJECT_BINARY_DIR}/consumer -DCXX=${CMAKE_CXX_COMPILER}
    -DGENERATOR=${CMAKE_GENERATOR} -DBUILD_TYPE=${CMAKE_BUILD_TYPE} -DVOLK_SOURCE=${SECTILE_VOLK_SOURCE}
    -DVULKAN_HEADERS=${VulkanHeaders_INCLUDE_DIR} -DPKG_CONFIG=${SECTILE_PKG_CONFIG} -DREADELF=${CMAKE_READELF} -DCOMPRESS=$<BOOL:${SECTILE_COMPRESS}>
    -DDRIVER=$<$<BOOL:${SECTILE_ICD_lavapipe}>:${SECTILE_ICD_lavapipe}> -P ${PROJECT_SOURCE_DIR}/cmake/ConsumerTest.cmake)
endif()
include(PythonTests)
include(ExampleTests)
include(Documentation)

if(SECTILE_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "SECTILE_BUILD_FUZZERS needs clang (libFuzzer); this is ${CMAKE_CXX_COMPILER_ID}")
  endif()
  foreach(target sectile_plan sectile_device sectile_module sectile_files sectile_capi)
    if(TARGET ${target})
      target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
  endforeach()
  add_custom_target(fuzzers)
  file(GLOB fuzzers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*.cpp)
  foreach(source IN LISTS fuzzers)
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${name} PRIVATE sectile_own sectile_files sectile_module sectile_device sectile_plan
      sectile_dep_json sectile_dep_xxhash)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    if(name STREQUAL fuzz_capi)
      if(NOT TARGET sectile_capi)
        set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
        continue()
      endif()
      target_link_libraries(${name} PRIVATE sectile_capi sectile)
    endif()
    add_dependencies(fuzzers ${name})
    # Finds go to the build folder; seeds, where there are some, are tests/data/fuzz/NAME, or the files themselves.
    set(seeds ${PROJECT_SOURCE_DIR}/tests/data/fuzz/${name})
    if(name STREQUAL fuzz_device_class)
      set(seeds ${PROJECT_SOURCE_DIR}/src/device/classes)
    endif()
    add_test(NAME ${name} COMMAND sh ${PROJECT_SOURCE_DIR}/tests/fuzz/run.sh $<TARGET_FILE:${name}>
      ${PROJECT_BINARY_DIR}/fuzzing ${seeds})
    set_tests_properties(${name} PROPERTIES LABELS fuzz)
  endforeach()
endif()
