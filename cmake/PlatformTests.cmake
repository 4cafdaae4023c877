# Tests of what differs between systems and compilers, and the builds for other systems (tools/dev foreign).

# sectile_portable_tests(LIST): leaves out those sources that cannot be built for this system. A folder of headers has no
# rapidcheck, so properties are left out with the files that they stand in.
function(sectile_portable_tests list)
  set(kept "")
  foreach(source IN LISTS ${list})
    if(SECTILE_THIRD_PARTY)
      file(STRINGS ${source} properties REGEX "properties\\.hpp|made_up\\.hpp|reading_back\\.hpp|RC_PARAMS")
      if(properties)
        continue()
      endif()
    endif()
    # Links, pipes and modes of POSIX.
    if(WIN32 AND source MATCHES "/tests/tune/files_test\\.cpp$")
      continue()
    endif()
    list(APPEND kept ${source})
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()

function(sectile_platform_tests)
  add_executable(test_platform ${PROJECT_SOURCE_DIR}/tests/platform/platform_test.cpp)
  target_link_libraries(test_platform PRIVATE sectile_test_main sectile_dep_doctest sectile_backend sectile_own)
  add_executable(platform_counter ${PROJECT_SOURCE_DIR}/tests/platform/counter.cpp)
  target_link_libraries(platform_counter PRIVATE sectile_backend sectile_own)
  add_executable(platform_plans ${PROJECT_SOURCE_DIR}/tests/platform/plans.cpp)
  target_link_libraries(platform_plans PRIVATE sectile_plan sectile_own)
  foreach(target test_platform platform_counter platform_plans)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  endforeach()
  add_test(NAME platform COMMAND test_platform)
  set_tests_properties(platform PROPERTIES TIMEOUT 120)
  if(SECTILE_SANITIZE OR SECTILE_THIRD_PARTY OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  # They compare with the release build, and are known by its sources.
  if(TARGET sectile_command AND PROJECT_BINARY_DIR STREQUAL "${PROJECT_SOURCE_DIR}/build/release")
    foreach(system windows arm)
      add_test(NAME foreign_${system}
        COMMAND bash ${PROJECT_SOURCE_DIR}/tools/dev.d/foreign.sh --known ${system})
      set_tests_properties(foreign_${system} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 3600
        RESOURCE_LOCK foreign)
    endforeach()
  endif()
endfunction()
