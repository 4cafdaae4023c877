# stb's single-file headers: Stb::Stb; included as <stb/stb_image.h>.
include(FindPackageHandleStandardArgs)

find_path(Stb_INCLUDE_DIR stb/stb_image.h)
mark_as_advanced(Stb_INCLUDE_DIR)
find_package_handle_standard_args(Stb REQUIRED_VARS Stb_INCLUDE_DIR)

if(Stb_FOUND AND NOT TARGET Stb::Stb)
  add_library(Stb::Stb INTERFACE IMPORTED)
  set_target_properties(Stb::Stb PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${Stb_INCLUDE_DIR})
endif()
