# Builds examples/ against the tree that the test `consumer` has installed, and runs the programs. Each must exit as
# expected, say what it is to say, and write nothing to standard error that is not expected.
# cmake -DSOURCE=... -DTREE=... -DWORK=... -DCC=... -DCXX=... -DFLAGS=... -DGENERATOR=...
# -DLAVAPIPE=... -DSWIFTSHADER=... -DPYTHON=... -P ExamplesTest.cmake
# TREE: the folder of the test `consumer`. PYTHON: empty where NumPy is not there. With SECTILE_THOROUGH in the
# environment also without each feature in turn, on SwiftShader too, and with GPU-assisted validation.
cmake_minimum_required(VERSION 3.25)

# That test moves the tree when it is done with where it was.
set(prefix "")
foreach(folder moved prefix)
  if(NOT prefix AND EXISTS ${TREE}/${folder}/include/sectile/sectile.h)
    set(prefix ${TREE}/${folder})
  endif()
endforeach()
if(NOT prefix)
  message(FATAL_ERROR "no installed tree: ${TREE}")
endif()

function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}\n${output}")
  endif()
endfunction()

# run(COMMAND... [RC N] [SAYS REGEX...] [NOT REGEX...] [ERRORS REGEX]): N is 0 if not given; standard error is empty, or
# matches ERRORS. Leaves standard output in `output`.
function(run)
  cmake_parse_arguments(PARSE_ARGV 0 run "" "RC;ERRORS" "COMMAND;SAYS;NOT")
  if(NOT DEFINED run_RC)
    set(run_RC 0)
  endif()
  execute_process(COMMAND ${run_COMMAND} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  list(JOIN run_COMMAND " " command)
  set(wrong "")
  if(NOT "${result}" STREQUAL "${run_RC}")
    set(wrong "exits with ${result}, not ${run_RC}")
  endif()
  foreach(regex IN LISTS run_SAYS)
    if(NOT output MATCHES "${regex}")
      set(wrong "does not say '${regex}'")
    endif()
  endforeach()
  foreach(regex IN LISTS run_NOT)
    if(output MATCHES "${regex}")
      set(wrong "says '${regex}'")
    endif()
  endforeach()
  if(run_ERRORS AND NOT errors MATCHES "${run_ERRORS}")
    set(wrong "does not write '${run_ERRORS}' to standard error")
  elseif(NOT run_ERRORS AND NOT errors STREQUAL "")
    set(wrong "writes to standard error")
  endif()
  if(wrong)
    message(FATAL_ERROR "${command}: ${wrong}\n${output}\n${errors}")
  endif()
  string(REGEX MATCHALL "[^\n]*(prepare first|submission|calls)[^\n]*" times "${output}")
  list(JOIN times "; " times)
  message(STATUS "${command}: ${times}")
  set(output "${output}" PARENT_SCOPE)
endfunction()

# The second time nothing is compiled.
function(check_times output)
  if(NOT output MATCHES "prepare first ([0-9]+) us, second ([0-9]+) us" OR NOT CMAKE_MATCH_2 LESS CMAKE_MATCH_1)
    message(FATAL_ERROR "times of prepare: ${output}")
  endif()
endfunction()

# --- Built. Not optimized: it is the quickest, and the allocator checks itself.
file(REMOVE_RECURSE ${WORK})
# build_example(FROM TO OPTIONS...): configures a folder of examples/ and builds it.
function(build_example from to)
  step(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/examples/${from} -B ${WORK}/${to} -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Debug
    "-DCMAKE_C_FLAGS=${FLAGS}" "-DCMAKE_CXX_FLAGS=${FLAGS}" ${ARGN})
  step(${CMAKE_COMMAND} --build ${WORK}/${to} --config Debug)
endfunction()
build_example(. shared)
set(builds shared)
file(GLOB_RECURSE static ${prefix}/*/sectileTargets_c_static.cmake)
if(static)
  build_example(c static/c -DSECTILE_STATIC=ON)
  build_example(cpp17 static/cpp17 -DSECTILE_STATIC=ON)
  list(APPEND builds static)
endif()
if(NOT LAVAPIPE)
  message(STATUS "the programs are built and not run")
  return()
endif()

# --- Run.
set(ENV{VK_DRIVER_FILES} ${LAVAPIPE})
set(ENV{GALLIVM_PERF} nopt)
set(times "prepare first [0-9]+ us, second [0-9]+ us, record [0-9.]+ us\n")
set(app ${WORK}/shared/vulkan_app/vulkan_app)

run(COMMAND ${app} --validation SAYS "4 plans, 3 barriers between them" "${times}"
  "permute_block.e2.*conv2d_lanes.f32.narrow" "\nok\n$" NOT "lost:" "f32, not f16")
check_times("${output}")
run(COMMAND ${app} --validation --without storageBuffer16BitAccess
  SAYS "lost: storageBuffer16BitAccess was not enabled: permutes of 1 and 2 bytes move words"
  "f32, not f16: unsupported: .*storageBuffer16BitAccess, which the application has not enabled" "${times}" "\nok\n$")
run(COMMAND ${app} --validation --without cooperativeMatrix
  SAYS "lost: cooperativeMatrix .VK_KHR_cooperative_matrix. was not enabled: f16, bf16 and int8 products" "${times}"
  "\nok\n$" NOT "coopmat")
# What was lost is really lost.
run(COMMAND ${app} --validation --force matmul_coopmat SAYS "classes  matmul_coopmat.f16" "\nok\n$" NOT "lost:")
run(COMMAND ${app} --without cooperativeMatrix --force matmul_coopmat RC 1
  ERRORS "unsupported: .*no cooperative matrix")
run(COMMAND ${app} --without bufferDeviceAddress RC 1 ERRORS "^adopt: unsupported: .*bufferDeviceAddress: false")
run(COMMAND ${app} --without shaderNothing RC 2 ERRORS "no feature that Sectile uses")
# A message of the layer is a failure.
run(COMMAND ${app} --validation --leak RC 1 SAYS "1 messages of the validation layer"
  ERRORS "VUID-vkDestroyDevice-device-05137")

foreach(build IN LISTS builds)
  set(c ${WORK}/${build}/c)
  set(c_times "prepare first [0-9]+ us, second [0-9]+ us, run [0-9]+ us\n")
  run(COMMAND ${c}/c_runtime --validation llvmpipe SAYS "${c_times}" "0 of 4608 results wrong, 0 messages\nok\n$")
  check_times("${output}")
  run(COMMAND ${c}/c_adopted SAYS "1 barrier between them" "${times}" "0 of 4608 results wrong\nok\n$" NOT "lost:")
  check_times("${output}")
  run(COMMAND ${WORK}/${build}/cpp17/cpp17 --validation SAYS "${c_times}" "refused: invalid_problem: axes" "\nok\n$")
  check_times("${output}")
endforeach()
run(COMMAND ${WORK}/shared/c/c_runtime --explain SAYS "  [*] permute_block.*  - matmul_coopmat" "ok\n$")
# The layer writes what it finds to standard output where nobody listens.
set(ENV{VK_INSTANCE_LAYERS} VK_LAYER_KHRONOS_validation)
run(COMMAND ${WORK}/shared/c/c_adopted --without-optional
  SAYS "lost: storageBuffer16BitAccess: permutes" "lost: cooperativeMatrix: f16" "\nok\n$" NOT "VUID|Validation")
run(COMMAND ${WORK}/shared/offline_c/offline_c
  SAYS "matmul f32 nn 64x48x2048 epi=bias.relu: 2 steps" "0 of 134144 results wrong\nok\n$"
  NOT "VUID|Validation")
unset(ENV{VK_INSTANCE_LAYERS})
# Without Sectile means without it.
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${WORK}/shared/offline_c/offline_c RESOLVED_DEPENDENCIES_VAR needed
  UNRESOLVED_DEPENDENCIES_VAR unresolved)
if(NOT needed MATCHES "libc\\.so" OR "${needed};${unresolved}" MATCHES "sectile[^/]*\\.so")
  message(FATAL_ERROR "offline_c needs ${needed} ${unresolved}")
endif()
if(PYTHON)
  set(ENV{PYTHONPATH} ${prefix}/share/sectile/python)
  set(ENV{PYTHONDONTWRITEBYTECODE} 1)
  run(COMMAND ${PYTHON} ${SOURCE}/examples/python/network.py llvmpipe SAYS "second calls [0-9]+ us\nok\n$")
endif()

if("$ENV{SECTILE_THOROUGH}" STREQUAL "")
  return()
endif()

# --- Thorough: what the GPU itself sees, with warnings of the settings that the layer adjusts. lavapipe compiles the
# instrumented kernels for half a minute, if its cache does not have them.
run(COMMAND ${app} --gpu-assisted SAYS "\nok\n$" ERRORS "validation is adjusting settings")
run(COMMAND ${app} --gpu-assisted --short-scratch RC 1 SAYS "messages of the validation layer\nFAILED"
  ERRORS "matmul f16 nt 2x10x7680 .*Out of bounds: trying to write 8 bytes")
foreach(name vulkan_app cuda_stream offline_c)
  build_example(${name} alone/${name})
endforeach()

# Each feature in turn, by the names that the program knows.
file(STRINGS ${SOURCE}/examples/vulkan_app/features.cpp lines REGEX "^    ?{\"|^  {\"")
set(count 0)
foreach(driver IN LISTS LAVAPIPE SWIFTSHADER)
  set(ENV{VK_DRIVER_FILES} ${driver})
  run(COMMAND ${app} --validation SAYS "${times}" "\nok\n$" NOT "lost:")
  set(all "${output}")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^ *{\"([A-Za-z0-9]+)\".*" "\\1" feature "${line}")
    math(EXPR count "${count} + 1")
    if(feature MATCHES "^(bufferDeviceAddress|maintenance4)$")
      run(COMMAND ${app} --without ${feature} RC 1 ERRORS "^adopt: unsupported: .*${feature}: false")
    elseif(all MATCHES "not offered:[^\n]* ${feature}[,\n]")
      run(COMMAND ${app} --validation --without ${feature} SAYS "not offered:[^\n]* ${feature}[,\n]" "\nok\n$")
    else()
      run(COMMAND ${app} --validation --without ${feature} SAYS "lost: ${feature} " "\nok\n$")
    endif()
  endforeach()
endforeach()
if(count LESS 23)
  message(FATAL_ERROR "only ${count} features were found in features.cpp")
endif()
