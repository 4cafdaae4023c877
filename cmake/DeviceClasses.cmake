# The measured classes of devices, src/device/classes/*.json, as text in the library.
file(GLOB class_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/device/classes/*.json)
set(class_texts "")
foreach(file IN LISTS class_files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(REGEX REPLACE "\n *" "" text "${text}")  # the library has no use for lines
  string(APPEND class_texts "      R\"json(${text})json\",\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/device_classes.cpp @ONLY CONTENT [[
// Made by cmake/DeviceClasses.cmake.
#include "plan/cost/device_class.hpp"

const std::vector<std::string_view>& sectile::detail::builtin_class_texts() {
  static const std::vector<std::string_view> texts = {
@class_texts@  };
  return texts;
}
]])
target_sources(sectile_plan PRIVATE ${PROJECT_BINARY_DIR}/device_classes.cpp)
