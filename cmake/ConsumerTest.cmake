# Installs the build, builds tests/consumer against what was installed, runs it, and looks at its size where MOST_BYTES
# is not 0. cmake -DBUILD=... -DSOURCE=... -DWORK=... -DCXX=... -DGENERATOR=... -DBUILD_TYPE=... -DSTRIP=...
# -DMOST_BYTES=... -P ConsumerTest.cmake
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --config ${BUILD_TYPE})
step(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
  -DCMAKE_BUILD_TYPE=${BUILD_TYPE} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
step(${CMAKE_COMMAND} --build ${WORK}/build --config ${BUILD_TYPE})
step(${WORK}/build/consumer)

if(MOST_BYTES)
  step(${STRIP} ${WORK}/build/consumer -o ${WORK}/consumer.stripped)
  file(SIZE ${WORK}/consumer.stripped bytes)
  message(STATUS "${bytes} bytes stripped")
  if(NOT bytes LESS MOST_BYTES)
    message(FATAL_ERROR "a minimal program has ${bytes} bytes stripped, and is to have less than ${MOST_BYTES}")
  endif()
endif()
