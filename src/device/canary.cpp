// The canary's outcome: text, JSON, and its effect on a profile.
#include "matrix_json.hpp"

#include <algorithm>
#include <tuple>

namespace sectile {

using detail::JsonObject;
using detail::JsonWriter;

namespace {

bool listed(const std::vector<MatrixShape>& shapes, const MatrixShape& shape) {
  return std::ranges::find(shapes, shape) != shapes.end();
}

struct KindField {
  std::string_view kind;
  std::string_view name;
  std::optional<bool> DeviceProfile::* field;
};
constexpr KindField kKindFields[] = {
    {"f16 conversion", "f16_conversion", &DeviceProfile::f16_conversion},
    {"bf16 conversion", "bf16_conversion", &DeviceProfile::bf16_conversion},
    {"NaN selection", "nan_selection", &DeviceProfile::nan_selection},
    {"dot products", "integer_dot_product", &DeviceProfile::integer_dot_product},
};

// The source of a field that a failed kind made false; without_canary() finds there what the field was.
constexpr std::string_view kByCanary = "record_canary on this device and driver version: ";
const std::string kItWas = "; true by: ";

std::string_view verdict_name(Canary verdict) { return detail::kVerdicts[std::to_underlying(verdict)]; }

}  // namespace

std::string print(const MatrixShape& s) {
  std::string text = std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) + " " + s.a + "*" +
                     s.b + "+" + s.c + "->" + s.result + " " + s.scope;
  if (s.workgroup_invocations != 0) text += " of " + std::to_string(s.workgroup_invocations);
  if (s.flexible) text += " flexible";
  if (s.saturating) text += " saturating";
  return text;
}

std::string print(const CanaryRow& row) {
  std::string text = print(row.shape) + ": " + std::string(detail::kVerdicts[std::to_underlying(row.verdict)]);
  return row.detail.empty() ? text : text + ": " + row.detail;
}

std::string print(const CanaryKind& kind) {
  std::string text = kind.kind + ": " + std::string(verdict_name(kind.verdict));
  return kind.detail.empty() ? text : text + ": " + kind.detail;
}

DeviceProfile with_canary(DeviceProfile profile, const CanaryResult& result) {
  bool passed = false;
  for (const CanaryRow& row : result.rows) {
    passed = passed || row.verdict == Canary::passed;
    if (row.verdict != Canary::failed || !listed(profile.matrix_shapes, row.shape)) continue;
    std::erase(profile.matrix_shapes, row.shape);
    profile.canary_failed.push_back(row.shape);
  }
  for (const CanaryKind& kind : result.kinds)
    for (const KindField& row : kKindFields)
      if (kind.verdict == Canary::failed && row.kind == kind.kind && profile.*row.field != false) {
        std::string& source = profile.sources[std::string(row.name)];
        const std::string before = profile.*row.field ? kItWas + source : "";
        profile.*row.field = false;
        source = std::string(kByCanary) + kind.detail + before;
      }
  if (!profile.canary_failed.empty())
    profile.canary = Canary::failed;
  else if (passed)
    profile.canary = Canary::passed;
  if (profile.canary != Canary::untested) profile.sources["canary"] = "record_canary on this device and driver version";
  return profile;
}

DeviceProfile without_canary(DeviceProfile profile) {
  profile.matrix_shapes.insert(profile.matrix_shapes.end(), profile.canary_failed.begin(), profile.canary_failed.end());
  profile.canary_failed.clear();
  profile.canary = Canary::untested;
  profile.sources.erase("canary");
  for (const KindField& row : kKindFields) {
    const auto source = profile.sources.find(std::string(row.name));
    if (source == profile.sources.end() || !source->second.starts_with(kByCanary)) continue;
    const std::size_t was = source->second.rfind(kItWas);
    if (was == std::string::npos) {
      (profile.*row.field).reset();
      profile.sources.erase(source);
    } else {
      profile.*row.field = true;
      source->second.erase(0, was + kItWas.size());
      if (source->second.empty()) profile.sources.erase(source);
    }
  }
  std::ranges::stable_sort(profile.matrix_shapes, {}, [](const MatrixShape& s) {
    return std::tie(s.m, s.n, s.k, s.a, s.b, s.c, s.result, s.saturating, s.scope, s.workgroup_invocations, s.flexible);
  });
  return profile;
}

std::string matrix_objection(const DeviceProfile& profile, const MatrixShape& shape) {
  if (listed(profile.canary_failed, shape))
    return "the canary failed: the driver's products of " + print(shape) + " are wrong";
  if (listed(profile.matrix_shapes, shape) && profile.cooperative_matrix != false) return {};
  const auto source = profile.sources.find("cooperative_matrix");
  if (source != profile.sources.end() && source->second.starts_with("quirk: ")) return source->second;
  return "the device lists no " + print(shape);
}

std::string to_json(const CanaryResult& result) {
  JsonWriter w;
  w.begin('{');
  if (!result.kinds.empty()) {
    w.key("kinds");
    w.begin('[');
    for (const CanaryKind& kind : result.kinds) {
      w.begin('{');
      if (!kind.detail.empty()) w.field("detail", kind.detail);
      w.field("kind", kind.kind);
      w.field("verdict", verdict_name(kind.verdict));
      w.end('}');
    }
    w.end(']');
  }
  w.key("rows");
  w.begin('[');
  for (const CanaryRow& row : result.rows) {
    w.begin('{');
    if (!row.detail.empty()) w.field("detail", row.detail);
    w.key("shape");
    detail::write(w, row.shape);
    w.field("verdict", detail::kVerdicts[std::to_underlying(row.verdict)]);
    w.end('}');
  }
  w.end(']');
  w.end('}');
  return std::move(w).text();
}

namespace {

void read_verdict(JsonObject& o, const std::string& what, Canary& out) {
  std::string verdict;
  o.required("verdict", verdict);
  const auto found = std::ranges::find(detail::kVerdicts, verdict);
  if (found == std::end(detail::kVerdicts))
    o.fail({ErrorKind::parse, what + ".verdict", JsonObject::cut(verdict), "untested, passed or failed"});
  else
    out = static_cast<Canary>(found - std::begin(detail::kVerdicts));
}

Result<void> read(const nlohmann::json& value, const std::string& what, CanaryKind& kind) {
  JsonObject o(value, what);
  o.optional("detail", kind.detail);
  o.required("kind", kind.kind);
  read_verdict(o, what, kind.verdict);
  return o.finish();
}

Result<void> read(const nlohmann::json& value, const std::string& what, CanaryRow& row) {
  JsonObject o(value, what);
  o.optional("detail", row.detail);
  if (const nlohmann::json* shape = o.find("shape")) {
    if (auto ok = detail::read(*shape, what + ".shape", row.shape); !ok) return ok;
  } else {
    return fail(ErrorKind::parse, what + ".shape", "not there");
  }
  read_verdict(o, what, row.verdict);
  return o.finish();
}

}  // namespace

Result<CanaryResult> canary_from_json(std::string_view text) {
  const auto value = detail::parse_json(text, "canary");
  if (!value) return std::unexpected(value.error());
  JsonObject o(*value, "canary");
  CanaryResult result;
  o.each("rows", detail::kMostShapes, [&](const nlohmann::json& item, const std::string& what) {
    return read(item, what, result.rows.emplace_back());
  });
  o.each("kinds", detail::kMostShapes, [&](const nlohmann::json& item, const std::string& what) {
    return read(item, what, result.kinds.emplace_back());
  });
  if (auto ok = o.finish(); !ok) return std::unexpected(ok.error());
  return result;
}

}  // namespace sectile
