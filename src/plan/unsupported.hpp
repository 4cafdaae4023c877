// The error for a problem without an admissible candidate.
#pragma once

#include "job.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::detail {

// `plannable` says whether any candidate is admissible on a given profile. The error names, in one sentence, the
// smallest set of missing features that would suffice, or the limit. If a candidate is forced, it names that
// candidate's refusals. `explanations` holds every candidate; with options.explain their refusals become the error's
// detail.
Error unsupported(const Job& job, std::string_view operation, const std::vector<Candidate>& explanations,
                  const std::function<bool(const DeviceProfile&)>& plannable);

}  // namespace sectile::detail
