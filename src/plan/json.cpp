// Plans as JSON.
#include "base/json_text.hpp"
#include "operation.hpp"

#include <sectile/plan.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace sectile {

using detail::JsonObject;
using detail::JsonWriter;
using nlohmann::json;

namespace {

// Above what any plan has. These bound the memory and time that an untrusted file takes.
constexpr std::size_t kMostStepsRead = 64, kMostOperands = 64, kMostItems = 1024, kMostCandidates = 4096;

// Declared first because the list templates below call them.
void write(JsonWriter& w, const Step& step);
void write(JsonWriter& w, const Candidate& candidate);
Result<void> read(const json& value, const std::string& what, KernelName& out);
Result<void> read(const json& value, const std::string& what, PlanChoice& out);
Result<void> read(const json& value, const std::string& what, Step& out);
Result<void> read(const json& value, const std::string& what, Candidate& out);

// Sets `out` to the enumerator whose name `text` is. `want`: the names, for the error.
template <class E>
Result<void> read_name(std::span<const std::string_view> names, const std::string& what, const std::string& text,
                       const char* want, E& out) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) return fail(ErrorKind::parse, what, JsonObject::cut(text), want);
  out = static_cast<E>(found - names.begin());
  return {};
}

constexpr std::string_view kEligibility[] = {"candidate", "last_resort", "measured_only"};
constexpr std::string_view kChosenBy[] = {"cost", "force", "tuned"};

void write(JsonWriter& w, const PlanChoice& choice) {
  w.begin('{');
  if (!choice.asked.empty()) w.field("asked", choice.asked);
  w.field("by", kChosenBy[std::to_underlying(choice.by)]);
  if (!choice.candidate.empty()) w.field("candidate", choice.candidate);
  if (choice.few_pipelines) w.field("few_pipelines", true);
  if (!choice.kernels.empty()) w.field("kernels", choice.kernels);
  if (choice.max_scratch_bytes) w.field("max_scratch_bytes", *choice.max_scratch_bytes);
  w.end('}');
}

constexpr std::string_view kRoles[] = {"source", "destination", "scratch"};

void write(JsonWriter& w, const PlanOperand& operand) {
  w.begin('{');
  w.field("align", operand.align);
  w.field("bytes", operand.bytes);
  w.field("name", operand.name);
  w.field("role", kRoles[std::to_underlying(operand.role)]);
  w.end('}');
}

void write(JsonWriter& w, const AccessRange& access) {
  w.begin('{');
  w.field("begin", access.begin);
  w.field("end", access.end);
  w.field("operand", access.operand);
  w.field("write", access.write);
  w.end('}');
}

void write(JsonWriter& w, const AddressSlot& slot) {
  w.begin('{');
  w.field("byte_offset", slot.byte_offset);
  w.field("operand", slot.operand);
  w.field("push_offset", slot.push_offset);
  w.end('}');
}

void write(JsonWriter& w, const Constant& constant) {
  w.begin('{');
  w.field("id", constant.id);
  w.field("value", constant.value);
  w.end('}');
}

constexpr std::string_view kFills[] = {"zeros", "nan_f16", "nan_bf16", "nan_f32"};

void write(JsonWriter& w, const Im2col& im2col) {
  w.begin('{');
  w.field("channels_per_pixel", im2col.channels_per_pixel);
  w.field("lower", im2col.lower);
  w.field("pixels_per_column", im2col.pixels_per_column);
  w.field("upper", im2col.upper);
  w.end('}');
}

// What a map need not have is written only where it has it: ids and records of plans without it stay as they are.
void write(JsonWriter& w, const TensorMap& map) {
  w.begin('{');
  w.field("box", map.box);
  w.field("byte_offset", map.byte_offset);
  w.field("dims", map.dims);
  w.field("element_bytes", map.element_bytes);
  if (!map.element_strides.empty()) w.field("element_strides", map.element_strides);
  if (map.fill != TensorFill::zeros) w.field("fill", name(map.fill));
  if (map.im2col) {
    w.key("im2col");
    write(w, *map.im2col);
  }
  w.field("operand", map.operand);
  w.field("strides", map.strides);
  w.field("swizzle_bytes", map.swizzle_bytes);
  w.end('}');
}

template <class T>
void write_list(JsonWriter& w, std::string_view key, const std::vector<T>& items) {
  w.key(key);
  w.begin('[');
  for (const T& item : items) write(w, item);
  w.end(']');
}

void write(JsonWriter& w, const Step& step) {
  w.begin('{');
  write_list(w, "accesses", step.accesses);
  write_list(w, "addresses", step.addresses);
  w.field("barrier_before", step.barrier_before);
  if (step.cluster != kNoCluster) w.field("cluster", step.cluster);
  write_list(w, "constants", step.constants);
  w.field("grid", step.grid);
  w.key("kernel");
  w.begin('{');
  w.field("stem", step.kernel.stem);
  w.field("variant", step.kernel.variant);
  w.end('}');
  w.field("push", detail::hex_text(step.push));
  w.field("required_subgroup_size", step.required_subgroup_size);
  if (!step.tensor_maps.empty()) write_list(w, "tensor_maps", step.tensor_maps);
  w.field("workgroup", step.workgroup);
  w.field("workgroup_memory_bytes", step.workgroup_memory_bytes);
  w.end('}');
}

// One list for writing and reading, sorted by key.
void each_count(auto& count, auto&& visit) {
  visit("bank_conflicts", count.bank_conflicts);
  visit("ideal_load_transactions", count.ideal_load_transactions);
  visit("ideal_store_transactions", count.ideal_store_transactions);
  visit("load_requests", count.load_requests);
  visit("load_transactions", count.load_transactions);
  visit("store_requests", count.store_requests);
  visit("store_transactions", count.store_transactions);
}

void write(JsonWriter& w, const AccessCount& count) {
  w.begin('{');
  each_count(count, [&](const char* key, std::uint64_t value) { w.field(key, value); });
  w.end('}');
}

void write(JsonWriter& w, const Candidate& candidate) {
  w.begin('{');
  w.field("chosen", candidate.chosen);
  w.field("cost", candidate.cost);
  w.field("detail", candidate.detail);
  w.key("edge");
  write(w, candidate.edge);
  w.field("eligibility", name(candidate.eligibility));
  w.key("interior");
  write(w, candidate.interior);
  w.field("name", candidate.name);
  w.field("refusal", candidate.refusal);
  w.end('}');
}

Result<void> read(const json& value, const std::string& what, PlanOperand& out) {
  JsonObject o(value, what);
  std::string role;
  o.required("align", out.align);
  o.required("bytes", out.bytes);
  o.required("name", out.name);
  o.required("role", role);
  if (auto ok = o.finish(); !ok) return ok;
  return read_name(kRoles, what + ".role", role, "source, destination or scratch", out.role);
}

Result<void> read(const json& value, const std::string& what, AccessRange& out) {
  JsonObject o(value, what);
  o.required("begin", out.begin);
  o.required("end", out.end);
  o.required("operand", out.operand);
  o.required("write", out.write);
  return o.finish();
}

Result<void> read(const json& value, const std::string& what, AddressSlot& out) {
  JsonObject o(value, what);
  o.required("byte_offset", out.byte_offset);
  o.required("operand", out.operand);
  o.required("push_offset", out.push_offset);
  return o.finish();
}

Result<void> read(const json& value, const std::string& what, Constant& out) {
  JsonObject o(value, what);
  o.required("id", out.id);
  o.required("value", out.value);
  return o.finish();
}

Result<void> read(const json& value, const std::string& what, Im2col& out) {
  JsonObject o(value, what);
  o.required("channels_per_pixel", out.channels_per_pixel);
  o.required("lower", out.lower);
  o.required("pixels_per_column", out.pixels_per_column);
  o.required("upper", out.upper);
  return o.finish();
}

Result<void> read(const json& value, const std::string& what, TensorMap& out) {
  JsonObject o(value, what);
  std::string fill(kFills[0]);
  o.required("box", out.box);
  o.required("byte_offset", out.byte_offset);
  o.required("dims", out.dims);
  o.required("element_bytes", out.element_bytes);
  o.optional("element_strides", out.element_strides);
  o.optional("fill", fill);
  if (const json* im2col = o.find("im2col"))
    if (auto ok = read(*im2col, what + ".im2col", out.im2col.emplace()); !ok) o.fail(std::move(ok.error()));
  o.required("operand", out.operand);
  o.required("strides", out.strides);
  o.required("swizzle_bytes", out.swizzle_bytes);
  if (auto ok = o.finish(); !ok) return ok;
  return read_name(kFills, what + ".fill", fill, "zeros, nan_f16, nan_bf16 or nan_f32", out.fill);
}

Result<void> read(const json& value, const std::string& what, AccessCount& out) {
  JsonObject o(value, what);
  each_count(out, [&](const char* key, std::uint64_t& number) { o.required(key, number); });
  return o.finish();
}

template <class T>
void read_list(JsonObject& o, const char* key, std::size_t most, std::vector<T>& out) {
  o.each(key, most, [&](const json& item, const std::string& what) { return read(item, what, out.emplace_back()); });
}

template <class T>
void read_member(JsonObject& o, const std::string& what, const char* key, T& out) {
  const json* found = o.find(key);
  if (found == nullptr) return o.fail({ErrorKind::parse, what + "." + key, "not there", ""});
  if (auto ok = read(*found, what + "." + key, out); !ok) o.fail(std::move(ok.error()));
}

Result<void> read(const json& value, const std::string& what, KernelName& out) {
  JsonObject o(value, what);
  o.required("stem", out.stem);
  o.required("variant", out.variant);
  return o.finish();
}

Result<void> read(const json& value, const std::string& what, PlanChoice& out) {
  JsonObject o(value, what);
  std::string by;
  o.optional("asked", out.asked);
  o.required("by", by);
  o.optional("candidate", out.candidate);
  o.optional("kernels", out.kernels);
  o.optional("max_scratch_bytes", out.max_scratch_bytes);
  o.optional("few_pipelines", out.few_pipelines);
  if (auto ok = o.finish(); !ok) return ok;
  if (auto ok = read_name(kChosenBy, what + ".by", by, "cost, force or tuned", out.by); !ok) return ok;
  if (out.asked.empty() != (out.by == ChosenBy::cost))
    return fail(ErrorKind::parse, what + ".asked", JsonObject::cut(out.asked),
                "a candidate where \"by\" is force or tuned, nothing where it is cost");
  return {};
}

Result<void> read(const json& value, const std::string& what, Step& out) {
  JsonObject o(value, what);
  std::string push;
  read_list(o, "accesses", kMostItems, out.accesses);
  read_list(o, "addresses", kMostItems, out.addresses);
  o.required("barrier_before", out.barrier_before);
  o.optional("cluster", out.cluster);
  read_list(o, "constants", kMostItems, out.constants);
  o.required("grid", out.grid);
  read_member(o, what, "kernel", out.kernel);
  o.required("push", push);
  o.required("required_subgroup_size", out.required_subgroup_size);
  if (o.find("tensor_maps") != nullptr) read_list(o, "tensor_maps", kMostItems, out.tensor_maps);
  o.required("workgroup", out.workgroup);
  o.required("workgroup_memory_bytes", out.workgroup_memory_bytes);
  if (auto ok = o.finish(); !ok) return ok;
  if (!detail::bytes_of_hex(push, out.push))
    return fail(ErrorKind::parse, what + ".push", JsonObject::cut(push), "pairs of lower-case hex digits");
  return {};
}

Result<void> read(const json& value, const std::string& what, Candidate& out) {
  JsonObject o(value, what);
  o.required("chosen", out.chosen);
  o.required("cost", out.cost);
  o.required("detail", out.detail);
  read_member(o, what, "edge", out.edge);
  std::string eligibility;
  o.required("eligibility", eligibility);
  read_member(o, what, "interior", out.interior);
  o.required("name", out.name);
  o.required("refusal", out.refusal);
  if (auto ok = o.finish(); !ok) return ok;
  return read_name(kEligibility, what + ".eligibility", eligibility, "candidate, last_resort or measured_only",
                   out.eligibility);
}

}  // namespace

std::string_view name(Eligibility eligibility) noexcept { return kEligibility[std::to_underlying(eligibility)]; }
std::string_view name(TensorFill fill) noexcept { return kFills[std::to_underlying(fill)]; }

std::string to_json(const Plan& plan) {
  JsonWriter w;
  w.begin('{');
  if (!plan.candidates.empty()) write_list(w, "candidates", plan.candidates);
  w.key("choice");
  write(w, plan.choice);
  if (!plan.cost_model.empty()) w.field("cost_model", plan.cost_model);
  if (!plan.device_class.empty()) w.field("device_class", plan.device_class);
  w.field("id", plan.id);
  write_list(w, "operands", plan.operands);
  w.field("planner_version", plan.planner_version);
  w.key("problem");
  w.raw(to_json(plan.problem));
  w.field("profile_hash", plan.profile_hash);
  w.field("profile_name", plan.profile_name);
  write_list(w, "steps", plan.steps);
  w.end('}');
  return std::move(w).text();
}

namespace detail {

Result<Plan> parse_plan(std::string_view text) {
  auto value = detail::parse_json(text, "plan");
  if (!value) return std::unexpected(std::move(value.error()));
  JsonObject o(*value, "plan");
  Plan plan;
  read_list(o, "candidates", kMostCandidates, plan.candidates);
  o.optional("cost_model", plan.cost_model);
  o.optional("device_class", plan.device_class);
  read_member(o, "plan", "choice", plan.choice);
  o.required("id", plan.id);
  read_list(o, "operands", kMostOperands, plan.operands);
  o.required("planner_version", plan.planner_version);
  if (const json* problem = o.find("problem")) {
    auto read = read_problem(*problem, "plan.problem");
    if (read)
      plan.problem = std::move(*read);
    else
      o.fail(std::move(read.error()));
  } else {
    o.fail({ErrorKind::parse, "plan.problem", "not there", ""});
  }
  o.required("profile_hash", plan.profile_hash);
  o.required("profile_name", plan.profile_name);
  read_list(o, "steps", kMostStepsRead, plan.steps);
  if (auto ok = o.finish(); !ok) return std::unexpected(std::move(ok.error()));
  if (auto ok = validate(plan.problem); !ok) return std::unexpected(std::move(ok.error()));
  if (auto ok = check_plan(plan); !ok) return std::unexpected(std::move(ok.error()));
  return plan;
}

}  // namespace detail

}  // namespace sectile
