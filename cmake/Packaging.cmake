# CPack: `cpack --config BUILD/CPackConfig.cmake` makes .deb packages of what is built, and
# `cpack --config BUILD/CPackSourceConfig.cmake` (or the target package_source) an archive of sources, third-party
# headers and compiled SPIR-V that builds with cmake and a compiler alone: tools/dev.d/bundle.sh fills it.
if(NOT PROJECT_IS_TOP_LEVEL OR NOT SECTILE_INSTALL)
  return()
endif()
set(CPACK_PACKAGE_NAME sectile)
set(CPACK_PACKAGE_VENDOR "the Sectile authors")
set(CPACK_PACKAGE_CONTACT "the Sectile authors <sectile@localhost>" CACHE STRING "Who answers for the packages")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "planned permutes, matmuls and convolutions on GPUs")
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

# --- The archive. CPack runs the script first, then copies what it has filled.
set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME sectile-${PROJECT_VERSION})
if(EXISTS ${PROJECT_SOURCE_DIR}/tools/dev.d/bundle.sh)   # this is no such archive itself
  set(CPACK_SOURCE_INSTALLED_DIRECTORIES ${PROJECT_BINARY_DIR}/bundle /)
  set(CPACK_INSTALL_SCRIPTS ${PROJECT_BINARY_DIR}/FillBundle.cmake)
endif()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/FillBundle.cmake @ONLY CONTENT [[
# Run by CPack for every package: the sources' alone has folders that are copied.
if(CPACK_INSTALLED_DIRECTORIES)
  execute_process(COMMAND bash "@PROJECT_SOURCE_DIR@/tools/dev.d/bundle.sh" "@PROJECT_BINARY_DIR@/bundle"
    "@PROJECT_BINARY_DIR@" COMMAND_ERROR_IS_FATAL ANY)
endif()
]])

# --- Debian's packages: libsectile1 (the number is the SONAME's), libsectile-dev and sectile, the command. Each has the
# licences, in its own folder, which an installation without packages has once.
set(deb_lib libsectile${SECTILE_C_API})
foreach(pair lib:${deb_lib} dev:libsectile-dev command:sectile)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 group)
  list(GET pair 1 package)
  foreach(file LICENSE THIRD-PARTY.txt)
    install(FILES ${PROJECT_SOURCE_DIR}/${file} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package}
      COMPONENT sectile_${group}_licence EXCLUDE_FROM_ALL)
  endforeach()
  # Where Debian's tools look for it.
  install(CODE "
    file(READ \"${PROJECT_SOURCE_DIR}/THIRD-PARTY.txt\" notices)
    set(to \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATAROOTDIR}/doc/${package}/copyright\")
    file(WRITE \"\${to}\" \"Sectile is under the Apache License 2.0: the file LICENSE beside this one, and \"
      \"/usr/share/common-licenses/Apache-2.0.\\n\\n\" \"\${notices}\")"
    COMPONENT sectile_${group}_licence EXCLUDE_FROM_ALL)
  string(TOUPPER ${group} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_ALL sectile_dev sectile_command sectile_dev_licence sectile_command_licence)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(version "(= ${PROJECT_VERSION})")
# Loaded when it is asked for: the loader of Vulkan, and drivers.
set(loader "libvulkan1, mesa-vulkan-drivers | vulkan-icd")
if(SECTILE_C_SHARED)
  list(APPEND CPACK_COMPONENTS_ALL sectile_runtime sectile_lib_licence)
  set(CPACK_DEBIAN_LIB_PACKAGE_RECOMMENDS "${loader}")
  set(CPACK_DEBIAN_LIB_PACKAGE_GENERATE_SHLIBS ON)
  set(CPACK_DEBIAN_LIB_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
  set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${deb_lib} ${version}")
endif()
if(SECTILE_COMPRESS)
  string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", libzstd-dev")
  string(REGEX REPLACE "^, " "" CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${CPACK_DEBIAN_DEV_PACKAGE_DEPENDS}")
endif()
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "libvulkan-dev (>= ${SECTILE_VULKAN_MINIMUM}), g++")
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "${loader}")
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION utils)
set(CPACK_COMPONENT_GROUP_LIB_DESCRIPTION "Planned permutes, matmuls and convolutions on GPUs: the C interface")
set(CPACK_COMPONENT_GROUP_DEV_DESCRIPTION "Headers, archives and package files of Sectile")
set(CPACK_COMPONENT_GROUP_COMMAND_DESCRIPTION "The sectile command: plans, runs, checks and times kernels on GPUs")
include(CPack)
foreach(group lib dev command)
  cpack_add_component_group(${group})
endforeach()
foreach(component runtime:lib lib_licence:lib dev:dev dev_licence:dev command:command command_licence:command)
  string(REPLACE ":" ";" component ${component})
  list(GET component 0 name)
  list(GET component 1 group)
  cpack_add_component(sectile_${name} GROUP ${group})
endforeach()
