// C headers and the manifest that emit writes (docs/reference/manifest.md).
#include "emit.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace sectile::tools {
namespace {

constexpr std::string_view kTypes = R"(#include <stdint.h>

#ifndef SECTILE_EMITTED_TYPES
#define SECTILE_EMITTED_TYPES 1
/* The 64-bit address of operand `operand`, plus byte_offset, goes to push byte push_offset. */
struct sectile_emitted_address { uint32_t push_offset, operand; uint64_t byte_offset; };
struct sectile_emitted_module {
  const uint32_t *words;            /* SPIR-V, or a cubin with zeros behind it */
  uint32_t word_count;
  const char *entry_point;
  uint32_t workgroup[3];
  uint32_t workgroup_memory_bytes;
};
struct sectile_emitted_step {
  const struct sectile_emitted_module *module;
  uint32_t grid[3];                 /* vkCmdDispatch */
  uint32_t required_subgroup_size;  /* 0: any */
  uint32_t barrier_before;          /* earlier steps' writes must be visible first */
  uint32_t push_bytes, address_count;
  const uint8_t *push;              /* addresses are zeros in it */
  const struct sectile_emitted_address *addresses;
};
struct sectile_emitted_operand { const char *name, *role; uint64_t bytes; uint32_t align; };
struct sectile_emitted_plan {
  const char *problem, *id;
  uint32_t operand_count, step_count;
  const struct sectile_emitted_operand *operands;
  const struct sectile_emitted_step *steps;
};
#endif
)";

std::string_view role_name(OperandRole role) {
  constexpr std::string_view kRoles[] = {"source", "destination", "scratch"};
  return kRoles[std::to_underlying(role)];
}

std::string guard(std::string_view name) {
  std::string out = "SECTILE_EMITTED_" + c_identifier(name) + "_H";
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

std::string triple(const std::array<std::uint32_t, 3>& numbers) {
  return fmt::format("{{{}, {}, {}}}", numbers[0], numbers[1], numbers[2]);
}

std::string hex_bytes(const std::vector<std::uint8_t>& bytes) {
  std::string out;
  for (const std::uint8_t byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

// A step's arrays, and its line of the table. C has no empty arrays.
std::string step_arrays(const std::string& prefix, std::size_t index, const Step& step, const std::string& module,
                        std::string& row) {
  std::string out, push = "0", addresses = "0";
  if (!step.push.empty()) {
    push = fmt::format("{}_push_{}", prefix, index);
    out += fmt::format("static const uint8_t {}[{}] = {{", push, step.push.size());
    for (std::size_t i = 0; i < step.push.size(); ++i)
      out += fmt::format("{}{}", i % 24 == 0 ? "\n  " : " ", step.push[i]) + ",";
    out += "\n};\n";
  }
  if (!step.addresses.empty()) {
    addresses = fmt::format("{}_addresses_{}", prefix, index);
    out += fmt::format("static const struct sectile_emitted_address {}[{}] = {{", addresses, step.addresses.size());
    for (const AddressSlot& a : step.addresses)
      out += fmt::format("{{{}, {}, UINT64_C({})}}, ", a.push_offset, a.operand, a.byte_offset);
    out += "};\n";
  }
  row = fmt::format("  {{&{}, {}, {}, {}, {}, {}, {}, {}}},\n", module, triple(step.grid), step.required_subgroup_size,
                    step.barrier_before ? 1 : 0, step.push.size(), step.addresses.size(), push, addresses);
  return out;
}

nlohmann::json json_of(const TensorMap& m) {
  nlohmann::json out = {{"operand", m.operand},
                        {"byte_offset", m.byte_offset},
                        {"element_bytes", m.element_bytes},
                        {"dims", m.dims},
                        {"strides", m.strides},
                        {"box", m.box},
                        {"swizzle_bytes", m.swizzle_bytes}};
  if (!m.element_strides.empty()) out["element_strides"] = m.element_strides;
  if (m.fill != TensorFill::zeros) out["fill"] = name(m.fill);
  if (m.im2col)
    out["im2col"] = {{"lower", m.im2col->lower},
                     {"upper", m.im2col->upper},
                     {"channels_per_pixel", m.im2col->channels_per_pixel},
                     {"pixels_per_column", m.im2col->pixels_per_column}};
  return out;
}

nlohmann::json json_of(const Step& step, const std::string& module) {
  nlohmann::json addresses = nlohmann::json::array(), accesses = nlohmann::json::array();
  for (const AddressSlot& a : step.addresses)
    addresses.push_back({{"push_offset", a.push_offset}, {"operand", a.operand}, {"byte_offset", a.byte_offset}});
  for (const AccessRange& a : step.accesses)
    accesses.push_back({{"operand", a.operand}, {"begin", a.begin}, {"end", a.end}, {"write", a.write}});
  nlohmann::json maps = nlohmann::json::array();
  for (const TensorMap& m : step.tensor_maps) maps.push_back(json_of(m));
  nlohmann::json features = nlohmann::json::array();
  if (step.required_subgroup_size != 0) features = {"computeFullSubgroups", "subgroupSizeControl"};
  nlohmann::json out = {{"module", module},
                        {"grid", step.grid},
                        {"workgroup", step.workgroup},
                        {"required_subgroup_size", step.required_subgroup_size},
                        {"workgroup_memory_bytes", step.workgroup_memory_bytes},
                        {"push_bytes", step.push.size()},
                        {"push", hex_bytes(step.push)},
                        {"addresses", addresses},
                        {"accesses", accesses},
                        {"tensor_maps", maps},
                        {"barrier_before", step.barrier_before},
                        {"vulkan_features", features}};
  if (step.cluster != kNoCluster) out["cluster"] = step.cluster;
  return out;
}

nlohmann::json json_of(const EmittedTarget& target, const EmittedPlan& emitted) {
  nlohmann::json operands = nlohmann::json::array(), steps = nlohmann::json::array();
  std::uint64_t scratch = 0;
  for (const PlanOperand& o : emitted.plan.operands) {
    operands.push_back({{"name", o.name}, {"role", role_name(o.role)}, {"bytes", o.bytes}, {"align", o.align}});
    if (o.role == OperandRole::scratch) scratch += o.bytes;
  }
  for (std::size_t s = 0; s < emitted.plan.steps.size(); ++s)
    steps.push_back(json_of(emitted.plan.steps[s], target.modules[emitted.modules[s]].name));
  return {{"name", emitted.name},          {"matrix_unit_unused", matrix_unit_remark(emitted.plan, target.profile)},
          {"header", emitted.name + ".h"}, {"problem", print(emitted.plan.problem)},
          {"plan_id", emitted.plan.id},    {"operands", operands},
          {"scratch_bytes", scratch},      {"steps", steps}};
}

}  // namespace

nlohmann::json to_json(const std::vector<LeftOut>& left_out) {
  nlohmann::json out = nlohmann::json::array();
  for (const LeftOut& one : left_out) out.push_back({{"what", one.what}, {"why", one.why}});
  return out;
}

std::string folder_name(std::string_view target) {
  std::string out(target);
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
  std::ranges::replace_if(out, [&](char c) { return !plain(static_cast<unsigned char>(c)); }, '-');
  return out;
}

std::string index_text(const std::vector<std::string>& folders, const std::vector<LeftOut>& left_out) {
  const nlohmann::json out = {{"schema_version", kManifestVersion},
                              {"made_by", kMadeBy},
                              {"files", nlohmann::json::object()},
                              {"left_out", to_json(left_out)},
                              {"targets", folders}};
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string c_identifier(std::string_view name) {
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out;
}

std::string c_comment(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // No end of the comment, no start of another one (compilers warn of it), no line break.
    if ((c == '/' && out.ends_with('*')) || (c == '*' && out.ends_with('/'))) out += ' ';
    out += byte < 0x20 || byte == 0x7f ? ' ' : c;
  }
  return out;
}

std::string module_header(const EmittedModule& m) {
  const std::string id = "sectile_" + c_identifier(m.name);
  std::string out = fmt::format("/* Made by `sectile emit`: {}.{}, every constant frozen. */\n", m.packed.kernel.stem,
                                m.packed.kernel.variant);
  out += fmt::format("#ifndef {0}\n#define {0} 1\n\n{1}\n", guard(m.name), kTypes);
  out += fmt::format("static const uint32_t {}_words[{}] = {{", id, m.packed.words.size());
  for (std::size_t i = 0; i < m.packed.words.size(); ++i)
    out += fmt::format("{}0x{:08x},", i % 8 == 0 ? "\n  " : " ", m.packed.words[i]);
  out += "\n};\n\n";
  out += fmt::format(
      "static const struct sectile_emitted_module {0} = {{\n  {0}_words, {1}, \"{2}\", {3}, {4}\n}};\n\n#endif\n", id,
      m.packed.words.size(), m.facts.at("entry_point").get<std::string>(),
      triple(m.facts.at("workgroup").get<std::array<std::uint32_t, 3>>()),
      m.facts.at("workgroup_memory_bytes").get<std::uint32_t>());
  return out;
}

std::string plan_header(const EmittedTarget& target, const EmittedPlan& emitted) {
  const Plan& plan = emitted.plan;
  const std::string id = "sectile_" + c_identifier(emitted.name), problem = print(plan.problem);
  std::string out =
      fmt::format("/* Made by `sectile emit` for {}: {} */\n#ifndef {}\n#define {} 1\n\n{}\n",
                  c_comment(target.profile.name), c_comment(problem), guard(emitted.name), guard(emitted.name), kTypes);
  std::vector<std::string> included;
  for (const std::size_t m : emitted.modules) {
    const std::string line = fmt::format("#include \"{}.h\"\n", target.modules[m].name);
    if (std::ranges::find(included, line) == included.end()) included.push_back(line);
  }
  for (const std::string& line : included) out += line;
  std::string rows;
  out += "\n";
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    std::string row;
    out += step_arrays(id, s, plan.steps[s], "sectile_" + c_identifier(target.modules[emitted.modules[s]].name), row);
    rows += row;
  }
  if (!rows.empty())
    out +=
        fmt::format("static const struct sectile_emitted_step {}_steps[{}] = {{\n{}}};\n", id, plan.steps.size(), rows);
  out += fmt::format("static const struct sectile_emitted_operand {}_operands[{}] = {{\n", id, plan.operands.size());
  for (const PlanOperand& o : plan.operands)
    out += fmt::format("  {{\"{}\", \"{}\", UINT64_C({}), {}}},\n", o.name, role_name(o.role), o.bytes, o.align);
  out += fmt::format(
      "}};\nstatic const struct sectile_emitted_plan {0} = {{\n"
      "  \"{1}\", \"{2}\", {3}, {4}, {0}_operands, {5}\n}};\n\n#endif\n",
      id, problem, plan.id, plan.operands.size(), plan.steps.size(), rows.empty() ? "0" : id + "_steps");
  return out;
}

std::string manifest_text(const EmittedTarget& target, bool freeze_shape) {
  nlohmann::json modules = nlohmann::json::array(), plans = nlohmann::json::array();
  for (const EmittedModule& m : target.modules) modules.push_back(m.facts);
  for (const EmittedPlan& p : target.plans) plans.push_back(json_of(target, p));
  nlohmann::json files = nlohmann::json::object();
  for (const EmittedModule& m : target.modules)
    for (const EmittedFile& file : m.files) files[file.name] = hash_text(file.bytes);
  for (const EmittedFile& file : target.files) files[file.name] = hash_text(file.bytes);
  const std::uint32_t api = target.profile.api_version;
  const nlohmann::json out = {
      {"schema_version", kManifestVersion},
      {"made_by", kMadeBy},
      {"planner_version", planner_version()},
      {"freeze_shape", freeze_shape},
      {"target",
       {{"name", target.profile.name},
        {"device_class", target.plans.empty() ? std::string() : target.plans.front().plan.device_class},
        {"profile_hash", profile_hash_of(target.profile)},
        {"vulkan_version", api == 0 ? "unknown" : fmt::format("{}.{}", api / 1000, api % 1000)}}},
      {"files", files},
      {"left_out", to_json(target.left_out)},
      {"modules", modules},
      {"plans", plans}};
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace sectile::tools
