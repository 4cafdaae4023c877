# cmake --install, and find_package(sectile) over what it leaves.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/sectile)

set(installed sectile sectile_packed sectile_plan sectile_device sectile_module sectile_shaders sectile_no_shaders
  sectile_vulkan)
if(TARGET sectile_spirv)
  list(APPEND installed sectile_spirv)
endif()
install(TARGETS ${installed} EXPORT sectileTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sectile DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(EXPORT sectileTargets NAMESPACE sectile:: DESTINATION ${package_folder})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/sectileConfig.cmake.in
  ${PROJECT_BINARY_DIR}/sectileConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sectileConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/sectileConfig.cmake
  ${PROJECT_BINARY_DIR}/sectileConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindVulkanHeaders.cmake
  DESTINATION ${package_folder})
if(TARGET sectile_command)
  install(TARGETS sectile_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
