# libzstd, which opens the compressed kernels: Zstd::Zstd, Zstd_VERSION. Not by its own package config, which only some
# distributions ship.
include(FindPackageHandleStandardArgs)

find_path(Zstd_INCLUDE_DIR zstd.h)
find_library(Zstd_LIBRARY NAMES zstd zstd_static)
mark_as_advanced(Zstd_INCLUDE_DIR Zstd_LIBRARY)

set(Zstd_VERSION "")
if(Zstd_INCLUDE_DIR AND EXISTS ${Zstd_INCLUDE_DIR}/zstd.h)
  file(STRINGS ${Zstd_INCLUDE_DIR}/zstd.h lines REGEX "^#define ZSTD_VERSION_(MAJOR|MINOR|RELEASE) +[0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" Zstd_VERSION "${lines}")
  string(REPLACE ";" "." Zstd_VERSION "${Zstd_VERSION}")
endif()

find_package_handle_standard_args(Zstd
  REQUIRED_VARS Zstd_LIBRARY Zstd_INCLUDE_DIR
  VERSION_VAR Zstd_VERSION
  REASON_FAILURE_MESSAGE "install libzstd's headers, or build Sectile with SECTILE_COMPRESS=OFF")

if(Zstd_FOUND AND NOT TARGET Zstd::Zstd)
  add_library(Zstd::Zstd UNKNOWN IMPORTED)
  set_target_properties(Zstd::Zstd PROPERTIES
    IMPORTED_LOCATION ${Zstd_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${Zstd_INCLUDE_DIR})
endif()
