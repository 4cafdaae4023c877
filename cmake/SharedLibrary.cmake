# libsectile.so: the C interface (include/sectile/sectile.h) over the same libraries, with no other name visible.
option(SECTILE_C "Build the C interface as a shared library" ${PROJECT_IS_TOP_LEVEL})
if(NOT SECTILE_C)
  return()
endif()
file(STRINGS ${PROJECT_SOURCE_DIR}/include/sectile/sectile.h line REGEX "^#define SECTILE_API_VERSION ")
string(REGEX REPLACE "[^0-9]" "" SECTILE_C_API "${line}")

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/capi/*.cpp)
sectile_batched(sources c ${sources})
add_library(sectile_c SHARED ${sources})
target_include_directories(sectile_c
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(sectile_c PRIVATE
  $<BUILD_INTERFACE:sectile_own> sectile_plan sectile_module sectile_vulkan sectile_shaders)
target_compile_definitions(sectile_c PRIVATE SECTILE_EXPORTS)
set_target_properties(sectile_c PROPERTIES
  OUTPUT_NAME sectile SOVERSION ${SECTILE_C_API} VERSION ${SECTILE_C_API}.${PROJECT_VERSION} EXPORT_NAME c)
# The standard library's templates are visible whatever the compiler is told: the linker leaves them out.
if(UNIX AND NOT APPLE)
  set(exports ${PROJECT_SOURCE_DIR}/src/capi/exports.map)
  target_link_options(sectile_c PRIVATE -Wl,--version-script=${exports} -Wl,--gc-sections)
  set_property(TARGET sectile_c APPEND PROPERTY LINK_DEPENDS ${exports})
endif()
# sectile-1.dll, and libsectile.dll.a to link it.
if(WIN32)
  set_target_properties(sectile_c PROPERTIES RUNTIME_OUTPUT_NAME sectile-${SECTILE_C_API})
  if(MINGW)
    set_target_properties(sectile_c PROPERTIES PREFIX "")
    target_link_options(sectile_c PRIVATE -Wl,--exclude-all-symbols -Wl,--gc-sections)
  endif()
endif()
add_library(sectile::c ALIAS sectile_c)
