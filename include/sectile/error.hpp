// Errors as values. Every function of Sectile that can fail returns Result<T>; nothing throws across
// the public interface except std::bad_alloc.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace sectile {

// What kind of thing went wrong. The names are stable: they stand in --json output and in tests.
enum class ErrorKind {
  parse,            // text or JSON that does not follow its grammar
  invalid_problem,  // axes repeated, missing or out of range; rank; layout that does not fit the shape
  overflow,         // a product of sizes or an address does not fit 64 bits
  overlap,          // source and destination share bytes, or destination elements are not distinct
  unsupported,      // no candidate can carry out the problem on this profile
  limit_exceeded,   // a plan asks for more than the profile allows
  invalid_plan,     // a plan that its checker refuses
  misaligned,       // an address is not aligned as the plan was promised
  too_small,        // a buffer holds fewer bytes than the plan touches
  missing,          // an address, file, device or kernel that is not there
  io,               // reading or writing a file failed
  device,           // the driver reported an error
  compile,          // the kernel compiler refused a kernel: its log
};

// The stable lower-case name of a kind, as in the enumeration.
std::string_view name(ErrorKind kind) noexcept;

struct Error {
  ErrorKind kind = ErrorKind::parse;
  std::string what;   // the thing that is wrong, in the user's words: "axes", "dst_align", "workgroup memory"
  std::string value;  // the offending value, printed
  std::string limit;  // what would have been right, printed; empty where there is no such bound
  std::string detail = {};  // more lines, where they were asked for: why each candidate was refused; not in message()

  // "invalid_problem: axes: 0,0,1 (want a permutation of 0..2)"
  std::string message() const;
  bool operator==(const Error&) const = default;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorKind kind, std::string what, std::string value = {},
                                   std::string limit = {}) {
  return std::unexpected(Error{kind, std::move(what), std::move(value), std::move(limit), {}});
}

}  // namespace sectile
