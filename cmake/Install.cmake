# cmake --install, and find_package(sectile) over what it leaves.
#
# It is installed in parts (cmake/part): the libraries, sectile::packed, sectile::spirv, the C interface (shared and
# static) and the command. A part that is not built, because only some targets were, is left out whole: a package never
# names a library that is not there.
#
# Parts belong to three components, which are the packages of cmake/Packaging.cmake: sectile_runtime (the shared
# library), sectile_dev (headers, archives, package files) and sectile_command.

# This build folder is no package, but find_package may look here: in `tools/dev shell` it is on PATH. Its version file
# refuses, so that find_package goes on and, where it finds nothing else, says why.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/sectileConfigVersion.cmake @ONLY CONTENT [[
set(PACKAGE_VERSION "@PROJECT_VERSION@ (a build folder: cmake --install @PROJECT_BINARY_DIR@ makes the package)")
set(PACKAGE_VERSION_COMPATIBLE FALSE)
set(PACKAGE_VERSION_UNSUITABLE TRUE)
]])
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/sectileConfig.cmake @ONLY CONTENT [[
set(sectile_FOUND FALSE)
set(sectile_NOT_FOUND_MESSAGE "@PROJECT_BINARY_DIR@ is a build folder: cmake --install makes the package")
]])
if(NOT SECTILE_INSTALL)
  return()
endif()

include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/sectile)
set(package_built ${PROJECT_BINARY_DIR}/package)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/sectileConfig.cmake.in
  ${package_built}/sectileConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${package_built}/sectileConfigVersion.cmake COMPATIBILITY SameMinorVersion)

list(TRANSFORM SECTILE_LIBRARIES PREPEND sectile_ OUTPUT_VARIABLE libraries)
list(REMOVE_ITEM libraries sectile_no_shaders)
set(part_targets_libraries sectile ${libraries})
set(part_targets_packed sectile_packed sectile_no_shaders)
set(part_targets_spirv sectile_spirv)
set(part_targets_c sectile_c)
set(part_targets_c_static sectile_c_static)
set(part_targets_command sectile_command)
foreach(part libraries packed spirv c c_static command)
  list(GET part_targets_${part} 0 first)
  if(TARGET ${first})
    add_subdirectory(${PROJECT_SOURCE_DIR}/cmake/part ${package_built}/${part})
  endif()
endforeach()
