// rapidcheck, whose use of std::aligned_storage clang would warn of in C++23 at every instantiation.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <rapidcheck.h>
#pragma GCC diagnostic pop
