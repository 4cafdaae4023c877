# Standard, warnings, sanitizers, ccache: for our own targets only (sectile_own).
set(minimum_GNU 12)
set(minimum_Clang 19)
if(DEFINED minimum_${CMAKE_CXX_COMPILER_ID}
    AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS minimum_${CMAKE_CXX_COMPILER_ID})
  message(FATAL_ERROR "Sectile is C++23: it needs g++ ${minimum_GNU} or clang ${minimum_Clang}; "
    "this is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} (${CMAKE_CXX_COMPILER})")
endif()

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

if(SECTILE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(SECTILE_CCACHE_PROGRAM ccache)
  mark_as_advanced(SECTILE_CCACHE_PROGRAM)
  if(SECTILE_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${SECTILE_CCACHE_PROGRAM})
  endif()
endif()

# What every target of ours is compiled with; nothing of it reaches a consumer.
add_library(sectile_own INTERFACE)
target_compile_features(sectile_own INTERFACE cxx_std_23)
target_compile_options(sectile_own INTERFACE -Wall -Wextra -Wconversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 warns of its own std::string and std::vector (gcc bugs 105651, 105329) and of replaced new and delete.
  target_compile_options(sectile_own INTERFACE
    -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-mismatched-new-delete)
endif()
if(SECTILE_WERROR)
  target_compile_options(sectile_own INTERFACE -Werror)
endif()
if(SECTILE_SANITIZE)
  # Everything is instrumented, the libraries' interfaces too: sanitized and plain objects do not mix.
  add_compile_options(-fsanitize=${SECTILE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SECTILE_SANITIZE})
  # A program with sanitizers is large: mold links it in a fifth of the time.
  find_program(SECTILE_MOLD mold)
  mark_as_advanced(SECTILE_MOLD)
  if(SECTILE_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
  if(SECTILE_SANITIZE MATCHES "address" AND SECTILE_SANITIZE MATCHES "undefined")
    # What the address sanitizer sees as well, by the access itself; each is a check at every use of a member.
    add_compile_options(-fno-sanitize=null,object-size,vptr)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # g++ warns of uninitialized values that its own instrumentation made.
    target_compile_options(sectile_own INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(SECTILE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ takes a unity file's sources for headers, in which a type of an anonymous namespace is a mistake.
  target_compile_options(sectile_own INTERFACE -Wno-subobject-linkage)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)

# The sanitizer build is not optimized, which halves its compile time, but for targets where it does its work.
function(sectile_optimized target)
  if(SECTILE_SANITIZE)
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# For a target that casts no pointer to bytes: a check of alignment at every access can never fail there.
function(sectile_typed target)
  if(SECTILE_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=alignment)
  endif()
endfunction()
