# xxHash as a header (whoever includes it defines XXH_INLINE_ALL): xxHash::headers.
include(FindPackageHandleStandardArgs)

if(SECTILE_THIRD_PARTY)
  set(xxHash_INCLUDE_DIR ${SECTILE_THIRD_PARTY}/include CACHE PATH "" FORCE)
endif()
find_path(xxHash_INCLUDE_DIR xxhash.h)
mark_as_advanced(xxHash_INCLUDE_DIR)
find_package_handle_standard_args(xxHash REQUIRED_VARS xxHash_INCLUDE_DIR)

if(xxHash_FOUND AND NOT TARGET xxHash::headers)
  add_library(xxHash::headers INTERFACE IMPORTED)
  set_target_properties(xxHash::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${xxHash_INCLUDE_DIR})
endif()
