// Property tests run the same cases every time, unless RC_PARAMS is set in the environment.
#include <cstdlib>

namespace {
[[maybe_unused]] const int kSeeded = setenv("RC_PARAMS", "seed=20261121 max_success=500", 0);
}
