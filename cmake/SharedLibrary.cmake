# The C interface (include/sectile/sectile.h), twice from the same objects: libsectile.so (sectile::c), with no other
# name visible, and libsectile.a (sectile::c_static), one archive with all that it is made of.
#
# BUILD_SHARED_LIBS chooses here alone, and means ON where it is not set: with OFF there is no libsectile.so, and
# sectile::c is the archive. The C++ libraries are static whatever it says: their interface hands std::expected, strings
# and vectors across, and templates and inline functions that have to be of the same build as the library.
option(SECTILE_C "Build the C interface, as a shared and as a static library" ${PROJECT_IS_TOP_LEVEL})
if(NOT SECTILE_C)
  return()
endif()
file(STRINGS ${PROJECT_SOURCE_DIR}/include/sectile/sectile.h line REGEX "^#define SECTILE_API_VERSION ")
string(REGEX REPLACE "[^0-9]" "" SECTILE_C_API "${line}")
set(SECTILE_C_SHARED ON)
if(DEFINED BUILD_SHARED_LIBS AND NOT BUILD_SHARED_LIBS)
  set(SECTILE_C_SHARED OFF)
endif()

# What it stands on: the archive has all of it.
set(parts module vulkan shaders)
if(SECTILE_CUDA)
  list(APPEND parts cuda)
endif()
list(TRANSFORM parts PREPEND sectile_ OUTPUT_VARIABLE libraries)

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/capi/*.cpp)
sectile_batched(sources c ${sources})
add_library(sectile_capi OBJECT ${sources})
target_include_directories(sectile_capi
  PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(sectile_capi PRIVATE sectile_own ${libraries})
target_compile_definitions(sectile_capi PRIVATE SECTILE_EXPORTS)

if(SECTILE_C_SHARED)
  add_library(sectile_c SHARED $<TARGET_OBJECTS:sectile_capi>)
  target_include_directories(sectile_c INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(sectile_c PRIVATE ${libraries})
  set_target_properties(sectile_c PROPERTIES LINKER_LANGUAGE CXX
    OUTPUT_NAME sectile SOVERSION ${SECTILE_C_API} VERSION ${SECTILE_C_API}.${PROJECT_VERSION} EXPORT_NAME c)
  # The standard library's templates are visible whatever the compiler is told: the linker leaves them out.
  if(UNIX AND NOT APPLE)
    set(exports ${PROJECT_SOURCE_DIR}/src/capi/exports.map)
    target_link_options(sectile_c PRIVATE -Wl,--version-script=${exports} -Wl,--gc-sections)
    set_property(TARGET sectile_c APPEND PROPERTY LINK_DEPENDS ${exports})
  endif()
  add_library(sectile::c ALIAS sectile_c)
endif()

set(objects $<TARGET_OBJECTS:sectile_capi>)
foreach(name base device gemm plan backend embedded ${parts})
  list(APPEND objects $<TARGET_OBJECTS:sectile_${name}>)
endforeach()
add_library(sectile_c_static STATIC ${objects})
target_include_directories(sectile_c_static INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# The C++ runtime by name: the linker of a project without C++ does not add it.
set(runtime "")
foreach(library IN LISTS CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
  if(library MATCHES "^(stdc\\+\\+|c\\+\\+|m)$")
    list(APPEND runtime ${library})
  endif()
endforeach()
list(REMOVE_DUPLICATES runtime)
target_link_libraries(sectile_c_static PRIVATE Threads::Threads ${runtime} ${CMAKE_DL_LIBS})
if(SECTILE_COMPRESS)
  target_link_libraries(sectile_c_static PRIVATE Zstd::Zstd)
endif()
set_target_properties(sectile_c_static PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME sectile EXPORT_NAME c_static)
add_library(sectile::c_static ALIAS sectile_c_static)
if(NOT SECTILE_C_SHARED)
  add_library(sectile::c ALIAS sectile_c_static)
endif()

# For pkg-config: what a linker that knows no C++ has to be told beside the archive.
set(SECTILE_C_PRIVATE "")
if(SECTILE_COMPRESS)
  list(APPEND SECTILE_C_PRIVATE -lzstd)
endif()
foreach(library IN LISTS runtime CMAKE_DL_LIBS)
  list(APPEND SECTILE_C_PRIVATE -l${library})
endforeach()
list(APPEND SECTILE_C_PRIVATE ${CMAKE_THREAD_LIBS_INIT})
list(JOIN SECTILE_C_PRIVATE " " SECTILE_C_PRIVATE)
