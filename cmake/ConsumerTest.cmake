# Installs the build, builds tests/consumer against what was installed, runs it, and looks at its size where MOST_BYTES
# is not 0. The same with C programs, by CMake and by pkg-config, after the installed tree was moved. Then: what is
# installed of a build in which some libraries are not built.
# cmake -DBUILD=... -DSOURCE=... -DWORK=... -DCXX=... -DGENERATOR=... -DBUILD_TYPE=... -DSTRIP=... -DMOST_BYTES=...
# -DVOLK_SOURCE=... -DVULKAN_HEADERS=... -DPKG_CONFIG=... -DREADELF=... -DCOMPRESS=... -DDRIVER=...
# -P ConsumerTest.cmake; without an ICD file as DRIVER, programs that open a device are built and not run.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}")
  endif()
endfunction()

# Stripped, a file is to have less than MOST_BYTES.
function(check_size file)
  if(NOT MOST_BYTES)
    return()
  endif()
  step(${STRIP} ${file} -o ${WORK}/stripped)
  file(SIZE ${WORK}/stripped bytes)
  message(STATUS "${file}: ${bytes} bytes stripped")
  if(NOT bytes LESS MOST_BYTES)
    message(FATAL_ERROR "${file} has ${bytes} bytes stripped, and is to have less than ${MOST_BYTES}")
  endif()
endfunction()

# What the loader is to bring for a program or a library.
function(check_needed file)
  execute_process(COMMAND ${READELF} -d ${file} OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "NEEDED[^[]*\\[[^]]*" needed "${needed}")
  if(NOT needed MATCHES "libc\\.so" OR needed MATCHES "libfmt|libvulkan|libSPIRV")
    message(FATAL_ERROR "${file} needs ${needed}")
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
  foreach(name volk_namespace volk_plain volk_namespace_c volk_plain_c)
    step(${WORK}/build/${name})
  endforeach()
endif()
check_size(${WORK}/build/consumer)
check_needed(${WORK}/build/consumer)

# --- From C, after the tree was moved.
file(GLOB_RECURSE pc ${WORK}/prefix/*/sectile.pc)
if(NOT pc)
  message(FATAL_ERROR "no sectile.pc was installed")
endif()
file(RENAME ${WORK}/prefix ${WORK}/moved)
string(REPLACE ${WORK}/prefix ${WORK}/moved pc ${pc})
cmake_path(GET pc PARENT_PATH pc_folder)
cmake_path(GET pc_folder PARENT_PATH library_folder)
set(configure_c ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
  -DSECTILE_PROGRAM=${SOURCE}/tests/capi/program.c -S ${SOURCE}/tests/consumer/c)
step(${configure_c} -B ${WORK}/build_c -DCMAKE_PREFIX_PATH=${WORK}/moved -DSECTILE_SHARED=ON)
step(${CMAKE_COMMAND} --build ${WORK}/build_c --config ${BUILD_TYPE})
foreach(program program program_static)
  step(${WORK}/build_c/${program})
  check_needed(${WORK}/build_c/${program})
endforeach()
check_size(${WORK}/build_c/program_static)
check_size(${library_folder}/libsectile.so)
check_needed(${library_folder}/libsectile.so)

# by_pkg_config(PROGRAM FOLDER WORDS...): a C compiler and what pkg-config says build the program, which runs.
function(by_pkg_config program folder)
  set(ENV{PKG_CONFIG_PATH} ${folder}/pkgconfig)
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs ${ARGN} OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  step(cc -std=c99 ${SOURCE}/tests/capi/program.c -o ${WORK}/${program} ${flags})
  step(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${folder} ${WORK}/${program})
  execute_process(COMMAND ${READELF} -d ${WORK}/${program} OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
  set(is_shared OFF)
  if(needed MATCHES "libsectile")
    set(is_shared ON)
  endif()
  set(is_shared ${is_shared} PARENT_SCOPE)
endfunction()
if(PKG_CONFIG)
  by_pkg_config(by_pc ${library_folder} sectile)
  if(NOT is_shared)
    message(FATAL_ERROR "pkg-config --libs sectile links no libsectile.so")
  endif()
  by_pkg_config(by_pc_archive ${library_folder} sectile-static)
  if(is_shared)
    message(FATAL_ERROR "pkg-config --libs sectile-static links libsectile.so")
  endif()
  # --static, where the archive alone is there.
  file(REMOVE_RECURSE ${WORK}/archive_alone)
  file(MAKE_DIRECTORY ${WORK}/archive_alone)
  file(COPY ${library_folder}/libsectile.a ${library_folder}/pkgconfig ${WORK}/moved/include
    DESTINATION ${WORK}/archive_alone/lib)
  file(RENAME ${WORK}/archive_alone/lib/include ${WORK}/archive_alone/include)
  by_pkg_config(by_pc_static ${WORK}/archive_alone/lib --static sectile)
endif()

# --- Vulkan::Headers is there already. Its version is looked at where its folder is seen.
file(WRITE ${WORK}/old/vulkan/vulkan_core.h "#define VK_HEADER_VERSION 250\n"
  "#define VK_HEADER_VERSION_COMPLETE VK_MAKE_API_VERSION(0, 1, 3, VK_HEADER_VERSION)\n")
set(configure_headers ${configure} -S ${SOURCE}/tests/consumer/headers -DCMAKE_PREFIX_PATH=${WORK}/moved)
step(${configure_headers} -B ${WORK}/headers -DKIND=ordinary -DFOLDER=${VULKAN_HEADERS})
step(${configure_headers} -B ${WORK}/headers -DKIND=imported -DFOLDER=${VULKAN_HEADERS})
execute_process(COMMAND ${configure_headers} -B ${WORK}/headers -DKIND=ordinary -DFOLDER=${WORK}/old
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "1\\.3\\.250")
  message(FATAL_ERROR "headers of 1.3.250 were taken: ${output}")
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
  list(FILTER found EXCLUDE REGEX "include/sectile/.*h(pp)?$|sectileTargets(_[a-z_]+)?-")
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
file(GLOB libraries RELATIVE ${WORK}/moved ${WORK}/moved/lib*/libsectile_*.a ${WORK}/moved/lib/*/libsectile_*.a)
list(TRANSFORM libraries REPLACE ".*/" "")
list(REMOVE_ITEM libraries libsectile_spirv.a libsectile_no_shaders.a)
set(licences LICENSE THIRD-PARTY.txt)

# Sectile alone, with nothing built: an error, before anything is copied.
step(${configure} -S ${SOURCE} -B ${WORK}/alone -DSECTILE_BUILD_TESTS=OFF -DSECTILE_BUILD_TOOLS=OFF ${plain})
install_partly(${WORK}/alone TRUE "part 'libraries' is not installed: .*libsectile_plan")

# Sectile in another project has no part in its installation, unless it is asked for.
step(${configure} -S ${SOURCE}/tests/consumer/parent -B ${WORK}/parent -DSECTILE_SOURCE=${SOURCE} ${plain}
  -DVULKAN_HEADERS=${VULKAN_HEADERS})
install_partly(${WORK}/parent FALSE "" CMakeLists.txt)
step(${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer/parent -B ${WORK}/parent -DSECTILE_INSTALL=ON)
install_partly(${WORK}/parent FALSE "part 'libraries' is not installed: .*libsectile_plan" CMakeLists.txt)
foreach(library IN LISTS libraries)
  file(TOUCH ${WORK}/parent/sectile/${library})
endforeach()
install_partly(${WORK}/parent FALSE "part 'packed' is not installed: libsectile_no_shaders.a not built"
  CMakeLists.txt ${libraries} ${package} ${licences})

# With BUILD_SHARED_LIBS=OFF the archive is sectile::c, and sectile.pc names what it needs.
step(${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer/parent -B ${WORK}/parent -DSECTILE_C=ON -DBUILD_SHARED_LIBS=OFF
  -DSECTILE_COMPRESS=${COMPRESS})
file(COPY ${library_folder}/libsectile.a DESTINATION ${WORK}/parent/sectile)
install_partly(${WORK}/parent FALSE "part 'packed' is not installed: libsectile_no_shaders.a not built" CMakeLists.txt
  ${libraries} ${package} ${licences} libsectile.a sectile.pc sectile-static.pc sectileTargets_c_static.cmake)
step(${configure_c} -B ${WORK}/build_archive -DCMAKE_PREFIX_PATH=${WORK}/partly -DSECTILE_SHARED=OFF)
step(${CMAKE_COMMAND} --build ${WORK}/build_archive --config ${BUILD_TYPE} --target program)
step(${WORK}/build_archive/program)
if(PKG_CONFIG)
  file(GLOB_RECURSE pc ${WORK}/partly/*/sectile.pc)
  cmake_path(GET pc PARENT_PATH pc_folder)
  cmake_path(GET pc_folder PARENT_PATH pc_folder)
  by_pkg_config(by_pc_only ${pc_folder} sectile)
endif()
