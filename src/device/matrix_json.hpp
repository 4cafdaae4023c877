// Matrix shapes in JSON, for profiles and the canary's outcome.
#pragma once

#include "base/json_text.hpp"

#include <sectile/profile.hpp>

namespace sectile::detail {

inline constexpr std::string_view kVerdicts[] = {"untested", "passed", "failed"};
inline constexpr std::size_t kMostShapes = 1024;

inline void write(JsonWriter& w, const MatrixShape& s) {
  w.begin('{');
  w.field("a", s.a);
  w.field("b", s.b);
  w.field("c", s.c);
  w.field("flexible", s.flexible);
  w.field("k", s.k);
  w.field("m", s.m);
  w.field("n", s.n);
  w.field("result", s.result);
  w.field("saturating", s.saturating);
  w.field("scope", s.scope);
  w.field("workgroup_invocations", s.workgroup_invocations);
  w.end('}');
}

inline Result<void> read(const nlohmann::json& value, const std::string& what, MatrixShape& s) {
  JsonObject o(value, what);
  o.required("m", s.m);
  o.required("n", s.n);
  o.required("k", s.k);
  o.required("a", s.a);
  o.required("b", s.b);
  o.required("c", s.c);
  o.required("result", s.result);
  o.optional("saturating", s.saturating);
  o.optional("scope", s.scope);
  o.optional("workgroup_invocations", s.workgroup_invocations);
  o.optional("flexible", s.flexible);
  return o.finish();
}

}  // namespace sectile::detail
