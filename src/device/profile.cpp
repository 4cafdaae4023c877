// DeviceProfile's JSON, and supplements.
#include "fields.hpp"
#include "listing.hpp"
#include "matrix_json.hpp"

#include <bit>
#include <span>

namespace sectile {

using detail::JsonObject;
using detail::JsonWriter;
using nlohmann::json;

namespace {

constexpr std::string_view kKinds[] = {"unknown", "cpu", "integrated", "discrete", "virtual_gpu"};
constexpr std::string_view kApis[] = {"vulkan", "cuda"};
template <class T>
void write_field(JsonWriter& w, std::string_view key, const T& field) {
  w.key(key);
  if constexpr (std::same_as<T, DeviceKind>) {
    w.value(kKinds[std::to_underlying(field)]);
  } else if constexpr (std::same_as<T, Api>) {
    w.value(kApis[std::to_underlying(field)]);
  } else if constexpr (std::same_as<T, Canary>) {
    w.value(detail::kVerdicts[std::to_underlying(field)]);
  } else if constexpr (std::same_as<T, std::vector<MatrixShape>>) {
    w.begin('[');
    for (const MatrixShape& shape : field) detail::write(w, shape);
    w.end(']');
  } else if constexpr (std::same_as<T, std::map<std::string, std::string>>) {
    w.begin('{');
    for (const auto& [name, source] : field) w.field(name, source);
    w.end('}');
  } else if constexpr (requires { field.has_value(); }) {
    w.value(field.value_or(typename T::value_type{}));  // callers write known fields only
  } else {
    w.value(field);
  }
}

// One of `names`, in the order of the enumerators.
template <class E>
void read_name(JsonObject& o, const char* key, E& out, std::span<const std::string_view> names, std::string_view want) {
  std::string text;
  o.optional(key, text);
  if (text.empty()) return;
  const auto found = std::ranges::find(names, text);
  if (found == names.end())
    o.fail({ErrorKind::parse, std::string("profile.") + key, JsonObject::cut(text), std::string(want)});
  else
    out = static_cast<E>(found - names.begin());
}

void read_sources(JsonObject& o, const char* key, std::map<std::string, std::string>& sources) {
  const json* value = o.find(key);
  if (value == nullptr) return;
  if (!value->is_object()) return o.fail({ErrorKind::parse, "profile.sources", JsonObject::shown(*value), "an object"});
  for (const auto& [name, source] : value->items())
    if (auto want = detail::read_json(source, sources[name]))
      return o.fail({ErrorKind::parse, "profile.sources." + JsonObject::cut(name), JsonObject::shown(source), *want});
}

// Any subset of fields.
Result<DeviceProfile> read_fields(std::string_view text) {
  auto value = detail::parse_json(text, "profile");
  if (!value) return std::unexpected(std::move(value.error()));
  JsonObject o(*value, "profile");
  DeviceProfile profile;
  detail::for_each_field(profile, [&]<class T>(const char* key, T& field) {
    if constexpr (std::same_as<T, DeviceKind>) {
      read_name(o, key, field, kKinds, "unknown, cpu, integrated, discrete or virtual_gpu");
    } else if constexpr (std::same_as<T, Api>) {
      read_name(o, key, field, kApis, "vulkan or cuda");
    } else if constexpr (std::same_as<T, Canary>) {
      read_name(o, key, field, detail::kVerdicts, "untested, passed or failed");
    } else if constexpr (std::same_as<T, std::vector<MatrixShape>>) {
      o.each(key, detail::kMostShapes,
             [&](const json& item, const std::string& what) { return detail::read(item, what, field.emplace_back()); });
    } else if constexpr (std::same_as<T, std::map<std::string, std::string>>) {
      read_sources(o, key, field);
    } else {
      o.optional(key, field);
    }
  });
  if (auto ok = o.finish(); !ok) return std::unexpected(std::move(ok.error()));
  if (auto ok = detail::check_profile(profile); !ok) return std::unexpected(std::move(ok.error()));
  return profile;
}

std::string shown(const auto& field) {
  JsonWriter w;
  w.begin('{');
  write_field(w, "", field);
  const std::string text = std::move(w).text();
  return JsonObject::cut(text.substr(4));  // behind {"":
}

}  // namespace

namespace detail {

Result<void> check_profile(const DeviceProfile& p) {
  const auto refuse = [](std::string_view field, std::uint64_t value, std::string_view want) {
    return fail(ErrorKind::parse, "profile." + std::string(field), std::to_string(value), std::string(want));
  };
  const std::pair<std::string_view, std::optional<std::uint32_t>> powers[] = {
      {"bank_bytes", p.bank_bytes},
      {"banks", p.banks},
      {"cache_line_bytes", p.cache_line_bytes},
      {"max_subgroup_size", p.max_subgroup_size},
      {"min_subgroup_size", p.min_subgroup_size},
      {"subgroup_size", p.subgroup_size},
      {"transaction_bytes", p.transaction_bytes},
  };
  for (const auto& [field, value] : powers)
    if (value && (!std::has_single_bit(*value) || *value > 65536))
      return refuse(field, *value, "a power of two up to 65536");
  if (p.min_subgroup_size && p.max_subgroup_size && *p.min_subgroup_size > *p.max_subgroup_size)
    return refuse("min_subgroup_size", *p.min_subgroup_size, "at most max_subgroup_size");
  const std::pair<std::string_view, std::optional<std::uint32_t>> counts[] = {
      {"max_invocations_per_multiprocessor", p.max_invocations_per_multiprocessor},
      {"max_workgroup_invocations", p.max_workgroup_invocations},
      {"multiprocessors", p.multiprocessors},
      {"registers_per_multiprocessor", p.registers_per_multiprocessor},
  };
  for (const auto& [field, value] : counts)
    if (value && *value == 0) return refuse(field, 0, "at least 1");
  if (p.cuda_architecture && (*p.cuda_architecture < 10 || *p.cuda_architecture > 999))
    return refuse("cuda_architecture", *p.cuda_architecture, "10 * major + minor of a compute capability, as 90");
  if (p.max_dynamic_workgroup_memory_bytes &&
      *p.max_dynamic_workgroup_memory_bytes < p.workgroup_memory_bytes.value_or(0))
    return refuse("max_dynamic_workgroup_memory_bytes", *p.max_dynamic_workgroup_memory_bytes,
                  "at least workgroup_memory_bytes");
  if (p.max_grid && std::ranges::count(*p.max_grid, 0u) != 0) return refuse("max_grid", 0, "at least 1 in x, y and z");
  if (p.max_workgroup_size && std::ranges::count(*p.max_workgroup_size, 0u) != 0)
    return refuse("max_workgroup_size", 0, "at least 1 in x, y and z");
  std::vector<std::uint8_t> bytes;
  if (!p.uuid.empty() && (p.uuid.size() != 32 || !bytes_of_hex(p.uuid, bytes)))
    return fail(ErrorKind::parse, "profile.uuid", JsonObject::cut(p.uuid), "32 lower-case hex digits");
  if (p.matrix_shapes.size() > kMostShapes)  // what its JSON may hold
    return refuse("matrix_shapes", p.matrix_shapes.size(), "at most " + std::to_string(kMostShapes));
  for (const MatrixShape& shape : p.matrix_shapes)
    if (shape.m == 0 || shape.n == 0 || shape.k == 0) return refuse("matrix_shapes", 0, "sizes of at least 1");
  if ((p.canary == Canary::failed) == p.canary_failed.empty())
    return fail(ErrorKind::parse, "profile.canary", std::string(kVerdicts[std::to_underlying(p.canary)]),
                "failed where, and only where, canary_failed lists a shape");
  return {};
}

}  // namespace detail

std::string cuda_architecture_name(const DeviceProfile& p) {
  if (!p.cuda_architecture) return {};
  return "sm_" + std::to_string(*p.cuda_architecture) + (p.cuda_architecture_features.value_or(false) ? "a" : "");
}

std::string print(const DeviceProfile& p) {
  std::string text = p.name;
  const auto add = [&](std::string_view word, const auto& value) {
    if (detail::is_known(value)) text.append(" ").append(word).append("=").append(shown(value));
  };
  if (!p.vendor.empty() || !p.driver.empty()) {
    text += " (" + p.vendor;
    if (!p.vendor.empty() && !p.driver.empty()) text += ", ";
    text += p.driver + ")";
  }
  if (p.kind != DeviceKind::unknown) text.append(" ").append(kKinds[std::to_underlying(p.kind)]);
  if (p.api_version != 0)
    text.append(" ").append(kApis[std::to_underlying(p.api)]).append("=") +=
        std::to_string(p.api_version / 1000) + "." + std::to_string(p.api_version % 1000);
  if (const std::string architecture = cuda_architecture_name(p); !architecture.empty()) text += " " + architecture;
  add("subgroup", p.subgroup_size);
  add("invocations", p.max_workgroup_invocations);
  add("shared", p.workgroup_memory_bytes);
  add("dynamic", p.max_dynamic_workgroup_memory_bytes);
  add("push", p.max_push_bytes);
  add("transaction", p.transaction_bytes);
  add("banks", p.banks);
  if (!p.matrix_shapes.empty()) text += " shapes=" + std::to_string(p.matrix_shapes.size());
  if (p.canary != Canary::untested) text.append(" canary=").append(detail::kVerdicts[std::to_underlying(p.canary)]);
  return text;
}

std::string to_json(const DeviceProfile& profile) {
  JsonWriter w;
  w.begin('{');
  detail::for_each_field(profile, [&](const char* key, const auto& field) {
    if (detail::is_known(field)) write_field(w, key, field);
  });
  w.end('}');
  return std::move(w).text();
}

Result<DeviceProfile> profile_from_json(std::string_view text) {
  auto profile = read_fields(text);
  if (profile && profile->name.empty()) return fail(ErrorKind::parse, "profile.name", "not there");
  return profile;
}

Result<DeviceProfile> supplement(DeviceProfile profile, std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && text[first] == '{';
  auto facts = is_json ? read_fields(text) : detail::read_matrix_listing(text);
  if (!facts) return facts;
  std::optional<Error> contradiction;
  // Both have the same fields in the same order; the second loop uses them one by one.
  detail::for_each_field(profile, [&]<class T>(std::string_view key, T& field) {
    detail::for_each_field(*facts, [&]<class U>(std::string_view other, U& fact) {
      if constexpr (std::same_as<T, U>) {
        if (key != other || !detail::is_known(fact)) return;
        if constexpr (std::same_as<T, std::map<std::string, std::string>>)
          field.insert(fact.begin(), fact.end());
        else if (!detail::is_known(field) && !std::same_as<T, Api>)  // a profile's API never changes
          field = fact;
        else if (field != fact && !contradiction)
          contradiction = Error{ErrorKind::parse, "profile." + std::string(key), shown(fact),
                                shown(field) + ", as is known already"};
      }
    });
  });
  if (contradiction) return std::unexpected(std::move(*contradiction));
  if (auto ok = detail::check_profile(profile); !ok) return std::unexpected(std::move(ok.error()));
  return profile;
}

}  // namespace sectile
