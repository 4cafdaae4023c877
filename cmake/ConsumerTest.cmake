# Installs the build, builds tests/consumer against what was installed, runs it, and looks at its size where MOST_BYTES
# is not 0. Then: what is installed of a build in which some libraries are not built.
# cmake -DBUILD=... -DSOURCE=... -DWORK=... -DCXX=... -DGENERATOR=... -DBUILD_TYPE=... -DSTRIP=... -DMOST_BYTES=...
# -DVOLK_SOURCE=... -DDRIVER=... -P ConsumerTest.cmake; without an ICD file as DRIVER, programs that open a device are
# built and not run.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=${BUILD_TYPE})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --config ${BUILD_TYPE})
step(${configure} -S ${SOURCE}/tests/consumer -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DSECTILE_BUILD=${BUILD} -DSECTILE_VOLK_SOURCE=${VOLK_SOURCE})
step(${CMAKE_COMMAND} --build ${WORK}/build --config ${BUILD_TYPE})
step(${WORK}/build/consumer)
if(DRIVER AND VOLK_SOURCE)
  set(ENV{VK_DRIVER_FILES} ${DRIVER})
  step(${WORK}/build/volk_namespace)
  step(${WORK}/build/volk_plain)
endif()

if(MOST_BYTES)
  step(${STRIP} ${WORK}/build/consumer -o ${WORK}/consumer.stripped)
  file(SIZE ${WORK}/consumer.stripped bytes)
  message(STATUS "${bytes} bytes stripped")
  if(NOT bytes LESS MOST_BYTES)
    message(FATAL_ERROR "a minimal program has ${bytes} bytes stripped, and is to have less than ${MOST_BYTES}")
  endif()
endif()

# --- Partly built. Nothing is compiled here: an installation copies files, and empty ones do.
set(plain -DSECTILE_PREBUILT_SPIRV=${BUILD}/spirv -DSECTILE_COMPRESS=OFF -DSECTILE_OFFLINE=OFF)

# install_partly(FOLDER FAILS SAID [FILES...]): `cmake --install` of FOLDER fails or not, says SAID, and leaves these
# files and no other library or package file.
function(install_partly folder fails said)
  file(REMOVE_RECURSE ${WORK}/partly)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${folder} --prefix ${WORK}/partly --config ${BUILD_TYPE}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  file(GLOB_RECURSE found RELATIVE ${WORK}/partly ${WORK}/partly/*)
  list(FILTER found EXCLUDE REGEX "include/sectile/.*h(pp)?$|sectileTargets-")
  list(TRANSFORM found REPLACE ".*/" "")
  list(SORT found)
  set(files "${ARGN}")
  list(SORT files)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  set(failed TRUE)
  if("${result}" STREQUAL 0)
    set(failed FALSE)
  endif()
  if(NOT "${found}" STREQUAL "${files}" OR NOT "${output}" MATCHES "${said}" OR NOT ${failed} STREQUAL ${fails})
    message(FATAL_ERROR "installing ${folder}: failed ${failed} (wanted ${fails}), left '${found}' and not '${files}', "
      "said: ${output}")
  endif()
endfunction()

set(package FindVulkanHeaders.cmake FindZstd.cmake sectileConfig.cmake sectileConfigVersion.cmake sectileTargets.cmake)
file(GLOB libraries RELATIVE ${WORK}/prefix ${WORK}/prefix/lib*/libsectile_*.a ${WORK}/prefix/lib/*/libsectile_*.a)
list(TRANSFORM libraries REPLACE ".*/" "")
list(REMOVE_ITEM libraries libsectile_spirv.a libsectile_no_shaders.a)

# Sectile alone, with nothing built: an error, before anything is copied.
step(${configure} -S ${SOURCE} -B ${WORK}/alone -DSECTILE_BUILD_TESTS=OFF -DSECTILE_BUILD_TOOLS=OFF ${plain})
install_partly(${WORK}/alone TRUE "part 'libraries' is not installed: .*libsectile_plan")

# Sectile in another project has no part in its installation, unless it is asked for.
step(${configure} -S ${SOURCE}/tests/consumer/parent -B ${WORK}/parent -DSECTILE_SOURCE=${SOURCE} ${plain})
install_partly(${WORK}/parent FALSE "" CMakeLists.txt)
step(${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer/parent -B ${WORK}/parent -DSECTILE_INSTALL=ON)
install_partly(${WORK}/parent FALSE "part 'libraries' is not installed: .*libsectile_plan" CMakeLists.txt)
foreach(library IN LISTS libraries)
  file(TOUCH ${WORK}/parent/sectile/${library})
endforeach()
install_partly(${WORK}/parent FALSE "part 'packed' is not installed: libsectile_no_shaders.a not built"
  CMakeLists.txt ${libraries} ${package})
