# Vulkan's headers alone, without a loader to link: Vulkan::Headers, VulkanHeaders_VERSION. A target of that name that
# is there already (another package's, or Vulkan-Headers as a part of the same project) is taken as it is. Its version
# is read from its header where its folder can be seen now.
include(FindPackageHandleStandardArgs)

if(SECTILE_THIRD_PARTY)
  set(VulkanHeaders_INCLUDE_DIR ${SECTILE_THIRD_PARTY}/include CACHE PATH "" FORCE)
endif()
if(TARGET Vulkan::Headers)
  get_target_property(folders Vulkan::Headers INTERFACE_INCLUDE_DIRECTORIES)
  string(REGEX REPLACE "\\$<BUILD_INTERFACE:([^>]*)>" "\\1" folders "${folders}")
  # A variable of this scope, which hides what an earlier search left in the cache.
  set(VulkanHeaders_INCLUDE_DIR "")
  foreach(folder IN LISTS folders)
    if(NOT VulkanHeaders_INCLUDE_DIR AND EXISTS ${folder}/vulkan/vulkan_core.h)
      set(VulkanHeaders_INCLUDE_DIR ${folder})
    endif()
  endforeach()
else()
  find_path(VulkanHeaders_INCLUDE_DIR vulkan/vulkan_core.h HINTS $ENV{VULKAN_SDK}/include)
  mark_as_advanced(VulkanHeaders_INCLUDE_DIR)
endif()

set(VulkanHeaders_VERSION "")
if(VulkanHeaders_INCLUDE_DIR AND EXISTS ${VulkanHeaders_INCLUDE_DIR}/vulkan/vulkan_core.h)
  file(STRINGS ${VulkanHeaders_INCLUDE_DIR}/vulkan/vulkan_core.h lines
    REGEX "^#define VK_HEADER_VERSION(_COMPLETE)? ")
  if(lines MATCHES "VK_MAKE_API_VERSION\\([0-9]+, *([0-9]+), *([0-9]+)")
    set(VulkanHeaders_VERSION ${CMAKE_MATCH_1}.${CMAKE_MATCH_2})
  endif()
  if(lines MATCHES "VK_HEADER_VERSION ([0-9]+)")
    string(APPEND VulkanHeaders_VERSION .${CMAKE_MATCH_1})
  endif()
endif()

if(TARGET Vulkan::Headers AND NOT VulkanHeaders_VERSION)
  # Which version it is shows when it is compiled with.
  set(VulkanHeaders_FOUND TRUE)
else()
  find_package_handle_standard_args(VulkanHeaders
    REQUIRED_VARS VulkanHeaders_INCLUDE_DIR
    VERSION_VAR VulkanHeaders_VERSION)
endif()

if(VulkanHeaders_FOUND AND NOT TARGET Vulkan::Headers)
  add_library(Vulkan::Headers INTERFACE IMPORTED)
  set_target_properties(Vulkan::Headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${VulkanHeaders_INCLUDE_DIR})
endif()
