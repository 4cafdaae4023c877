// The template that an operation's folder specializes for its problem; see operation.hpp.
#pragma once

#include "base/text_tokens.hpp"
#include "job.hpp"
#include "named_constant.hpp"

#include <sectile/problem.hpp>

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::detail {

class JsonWriter;

// A specialization has
//   kName                         the first word of the problem string, and "operation" in JSON
//   parse(words), print(p)        parses the words after the name; prints the whole problem string
//   write(w, p), read(json, what) JSON in both directions
//   hash(p)                       never allocates
//   operands(p), validate(p)      implement operands_of() and validate()
//   named_constants(stem)         a kernel's constants that a plan's text names; empty for other operations' kernels
//   plan(job, p)                  fills the plan's operands and steps
//   unit_refusal(p, plan, device) why the matrix unit multiplies nothing in the problem's plan; empty: it does, or
//   could
//                                 not be of use
template <class P>
struct Operation;

}  // namespace sectile::detail
