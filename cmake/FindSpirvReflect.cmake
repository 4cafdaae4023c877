# SPIRV-Reflect, a header and a static library: SpirvReflect::SpirvReflect.
include(FindPackageHandleStandardArgs)

find_path(SpirvReflect_INCLUDE_DIR spirv_reflect.h PATH_SUFFIXES spirv_reflect spirv-reflect)
find_library(SpirvReflect_LIBRARY NAMES spirv-reflect-static spirv-reflect)
mark_as_advanced(SpirvReflect_INCLUDE_DIR SpirvReflect_LIBRARY)
find_package_handle_standard_args(SpirvReflect REQUIRED_VARS SpirvReflect_LIBRARY SpirvReflect_INCLUDE_DIR)

if(SpirvReflect_FOUND AND NOT TARGET SpirvReflect::SpirvReflect)
  add_library(SpirvReflect::SpirvReflect UNKNOWN IMPORTED)
  set_target_properties(SpirvReflect::SpirvReflect PROPERTIES
    IMPORTED_LOCATION ${SpirvReflect_LIBRARY}
    # A packaged header has no spirv.h of its own beside it.
    INTERFACE_COMPILE_DEFINITIONS SPIRV_REFLECT_USE_SYSTEM_SPIRV_H
    INTERFACE_INCLUDE_DIRECTORIES ${SpirvReflect_INCLUDE_DIR})
endif()
