// The C interface: versions, statuses and the calling thread's last error.
#include "handles.hpp"

#include <sectile/planner.hpp>

#include <array>

namespace sectile::capi {
namespace {

struct LastError {
  std::string text;
  const char* shown = "";
};
thread_local LastError last_error;

// In the order of ErrorKind; a status is one more.
constexpr std::array kKinds = {
    ErrorKind::parse,       ErrorKind::invalid_problem, ErrorKind::overflow,     ErrorKind::overlap,
    ErrorKind::unsupported, ErrorKind::limit_exceeded,  ErrorKind::invalid_plan, ErrorKind::misaligned,
    ErrorKind::too_small,   ErrorKind::missing,         ErrorKind::io,           ErrorKind::device,
    ErrorKind::compile};
constexpr bool in_order() {
  for (std::size_t i = 0; i < kKinds.size(); ++i)
    if (static_cast<std::size_t>(kKinds[i]) != i) return false;
  return true;
}
static_assert(in_order() && kKinds.size() + 1 == SECTILE_NO_MEMORY);

}  // namespace

SectileStatus failed(const Error& error) noexcept {
  try {
    last_error.text = error.message();
    if (!error.detail.empty()) last_error.text += '\n' + error.detail;
    last_error.shown = last_error.text.c_str();
  } catch (const std::bad_alloc&) {
    last_error.shown = "the error's own text does not fit the host's memory";
  }
  return static_cast<SectileStatus>(static_cast<int>(error.kind) + 1);
}

SectileStatus out_of_memory() noexcept {
  last_error.shown = "host memory ran out";
  return SECTILE_NO_MEMORY;
}

}  // namespace sectile::capi

using namespace sectile;

uint32_t sectile_api_version(void) { return SECTILE_API_VERSION; }
const char* sectile_planner_version(void) { return planner_version().data(); }

const char* sectile_status_name(SectileStatus status) {
  if (status == SECTILE_OK) return "ok";
  if (status == SECTILE_NO_MEMORY) return "no_memory";
  if (status < SECTILE_OK || status > SECTILE_COMPILE) return "unknown";
  return name(static_cast<ErrorKind>(status - 1)).data();
}

const char* sectile_last_error(void) { return capi::last_error.shown; }
