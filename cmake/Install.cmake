# cmake --install, and find_package(sectile) over what it leaves.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/sectile)

list(TRANSFORM SECTILE_LIBRARIES PREPEND sectile_ OUTPUT_VARIABLE libraries)
if(TARGET sectile_spirv)
  list(APPEND libraries sectile_spirv)
endif()
install(TARGETS sectile sectile_packed ${libraries} EXPORT sectileTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(left_out "")
if(NOT SECTILE_CUDA)
  set(left_out PATTERN "cuda*.hpp" EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sectile DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" ${left_out})
install(EXPORT sectileTargets NAMESPACE sectile:: DESTINATION ${package_folder})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/sectileConfig.cmake.in
  ${PROJECT_BINARY_DIR}/sectileConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sectileConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/sectileConfig.cmake
  ${PROJECT_BINARY_DIR}/sectileConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindVulkanHeaders.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindZstd.cmake
  DESTINATION ${package_folder})
if(TARGET sectile_command)
  install(TARGETS sectile_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
