#include "command.hpp"

#include "convert.hpp"

#include "backend/whole_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <string>

namespace sectile::tools {

CLI::Validator number_in(double least, double most) {
  const std::string want = fmt::format("a number from {} to {}", least, most);
  return CLI::Validator(
      [least, most, want](std::string& text) {
        double value = 0;
        const bool number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
        return number && value >= least && value <= most ? std::string() : fmt::format("{} (want {})", text, want);
      },
      fmt::format("{} - {}", least, most));
}

CLI::Validator finite_number() {
  return CLI::Validator(
      [](std::string& text) {
        const auto number = number_of("", text, "");
        return number && *number ? std::string() : text + " (want a finite number that f32 holds)";
      },
      "");
}

int exit_code(const Error& error) noexcept {
  switch (error.kind) {
    case ErrorKind::device:
    case ErrorKind::invalid_plan:  // our own plan, so this is not the user's error
    case ErrorKind::misaligned:    // the program chose these addresses
    case ErrorKind::too_small:
      return kFailure;
    case ErrorKind::io:  // an output that could not be written, or an input that could not be read
      return error.what.starts_with(backend::kWriting) ? kFailure : kBadInput;
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
    // An error's value may have bytes of a broken file; dump() would throw on them.
    fmt::print(stderr, "{}\n", object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print(stderr, "sectile: error: {}\n{}", error.message(), error.detail);
  }
  return exit_code(error);
}

}  // namespace sectile::tools
