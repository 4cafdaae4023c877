#include "command.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>

namespace sectile::tools {

int exit_code(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::device:
    case ErrorKind::invalid_plan:  // a plan of ours that our checker refuses is no fault of the user's
    case ErrorKind::misaligned:    // and neither are addresses that this program chose
    case ErrorKind::too_small:
      return kFailure;
    default:
      return kBadInput;
  }
}

int report(const Error& error, bool json) {
  if (json) {
    const nlohmann::json object = {{"error",
                                    {{"kind", std::string(name(error.kind))},
                                     {"what", error.what},
                                     {"value", error.value},
                                     {"limit", error.limit},
                                     {"detail", error.detail},
                                     {"message", error.message()}}}};
    // Bytes of a broken file may stand in an error's value; dump() would throw on them.
    fmt::print(stderr, "{}\n", object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print(stderr, "sectile: error: {}\n{}", error.message(), error.detail);
  }
  return exit_code(error.kind);
}

}  // namespace sectile::tools
