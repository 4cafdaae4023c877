// Errors as values. Every function of Sectile that can fail returns Result<T>. Only std::bad_alloc is thrown across
// the public interface.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace sectile {

// The kind of an error. The names are stable: --json output and tests use them.
enum class ErrorKind {
  parse,            // text or JSON that does not follow its grammar
  invalid_problem,  // axes repeated, missing or out of range; rank; layout that does not fit the shape
  overflow,         // a product of sizes or an address does not fit 64 bits
  overlap,          // operands share bytes that are written, or two destination elements share an address
  unsupported,      // no candidate can run the problem on this profile, or the device lacks a required feature
  limit_exceeded,   // a plan asks for more than the profile allows
  invalid_plan,     // the plan checker refuses the plan
  misaligned,       // an address is not aligned as the problem promises
  too_small,        // a buffer holds fewer bytes than the plan touches
  missing,          // an address, file, device or kernel does not exist
  io,               // reading or writing a file failed
  device,           // the driver reported an error
  compile,          // the kernel compiler refused a kernel; its log
};

// The stable lower-case name of a kind, as in the enumeration.
std::string_view name(ErrorKind kind) noexcept;

struct Error {
  ErrorKind kind = ErrorKind::parse;
  std::string what;         // what is wrong, by the name that users see: "axes", "dst_align", "workgroup memory"
  std::string value;        // the offending value, printed
  std::string limit;        // what would be accepted, printed; empty where there is nothing to name
  std::string detail = {};  // further lines (PlanOptions::explain: why each candidate was refused); not in message()

  // "invalid_problem: axes: 0,0,1 (want a permutation of 0..2)"
  std::string message() const;
  bool operator==(const Error&) const = default;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorKind kind, std::string what, std::string value = {}, std::string limit = {}) {
  return std::unexpected(Error{kind, std::move(what), std::move(value), std::move(limit), {}});
}

}  // namespace sectile
