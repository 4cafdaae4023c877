// Where the sources and the built programs are. CMake writes the definitions into one file (cmake/Tests.cmake): a path
// on every compiler's command line would keep the clones from sharing a compiler cache.
#pragma once

#include <string>

namespace sectile::test {

std::string source_folder();      // the repository
std::string data_folder();        // tests/data
std::string sectile_command();    // the built command; empty where it is not built
std::string pack_only_program();  // tests/pack_only; empty where it is not built

}  // namespace sectile::test
