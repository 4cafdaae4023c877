// A problem that no candidate takes: what the device would have to have.
#pragma once

#include "job.hpp"

#include <functional>
#include <string>
#include <vector>

namespace sectile::detail {

// `plannable` says whether some candidate would do on a device with this profile. The error names in one sentence the
// features that are missing, the fewest that would do, or the limit; where a candidate is forced, what that one refuses.
// `explanations` holds every candidate: all their refusals become the error's detail where explain was asked for.
Error unsupported(const Job& job, const char* operation, const std::vector<Candidate>& explanations,
                  const std::function<bool(const DeviceProfile&)>& plannable);

}  // namespace sectile::detail
