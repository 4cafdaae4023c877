#include <sectile/spirv.hpp>

#include "push.hpp"

#include "module/facts.hpp"
#include "module/spirv_words.hpp"

#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace sectile::spirv {
namespace {

using namespace sectile::module;
using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t kSpirv13 = 0x10300, kSpirv14 = 0x10400, kSpirv15 = 0x10500;

spv_target_env environment(std::uint32_t api_version) noexcept {
  switch (api_version) {
    case 1001:
      return SPV_ENV_VULKAN_1_1;
    case 1002:
      return SPV_ENV_VULKAN_1_2;
    case 1004:
      return SPV_ENV_VULKAN_1_4;
    default:
      return api_version > 1004 ? SPV_ENV_VULKAN_1_4 : SPV_ENV_VULKAN_1_3;
  }
}

std::string environment_name(std::uint32_t api_version) {
  const spv_target_env env = environment(api_version);
  return env == SPV_ENV_VULKAN_1_1   ? "Vulkan 1.1"
         : env == SPV_ENV_VULKAN_1_2 ? "Vulkan 1.2"
         : env == SPV_ENV_VULKAN_1_3 ? "Vulkan 1.3"
                                     : "Vulkan 1.4";
}

// Keeps the first few messages of SPIRV-Tools.
spvtools::MessageConsumer into(std::string& text) {
  return [&text](spv_message_level_t level, const char*, const spv_position_t&, const char* message) {
    if (level > SPV_MSG_ERROR || text.size() > 400) return;
    text += (text.empty() ? "" : "; ") + std::string(message);
  };
}

Result<Words> optimize(const Words& words, std::string_view doing,
                       const std::function<void(spvtools::Optimizer&)>& add_passes) {
  // The templates are SPIR-V 1.6; lower targets are handled after folding.
  spvtools::Optimizer optimizer(SPV_ENV_VULKAN_1_3);
  std::string said;
  optimizer.SetMessageConsumer(into(said));
  add_passes(optimizer);
  spvtools::OptimizerOptions options;
  options.set_run_validator(false);  // the result is validated for its own target
  Words out;
  if (!optimizer.Run(words.data(), words.size(), &out, options))
    return fail(ErrorKind::unsupported, "SPIRV-Tools, " + std::string(doing), said);
  return out;
}

Result<Words> specialize(const Words& words, std::span<const Constant> constants) {
  std::unordered_map<std::uint32_t, Words> values;
  for (const Constant& constant : constants) values[constant.id] = {constant.value};
  return optimize(words, "specializing", [&](spvtools::Optimizer& optimizer) {
    optimizer.RegisterPass(spvtools::CreateSetSpecConstantDefaultValuePass(values))
        .RegisterPass(spvtools::CreateFreezeSpecConstantValuePass())
        .RegisterPass(spvtools::CreateFoldSpecConstantOpAndCompositePass());
  });
}

// Which word of the push block is read is an argument of the template's functions, and in some the counter of a loop:
// only once the functions are inlined, and where that is not enough the loops unrolled, is it a constant, and can
// addresses and numbers that stand in one array be told apart.
Result<Words> without_push(const Words& words, const PushFreeze& push) {
  const auto inlined =
      optimize(words, "inlining", [](spvtools::Optimizer& optimizer) { optimizer.RegisterPerformancePasses(); });
  if (!inlined) return inlined;
  auto made = freeze_push(*inlined, push);
  if (made || made.error().kind != ErrorKind::unsupported) return made;
  const auto unrolled = optimize(*inlined, "unrolling", [](spvtools::Optimizer& optimizer) {
    optimizer.RegisterPass(spvtools::CreateLoopUnrollPass(true)).RegisterPerformancePasses();
  });
  return unrolled ? freeze_push(*unrolled, push) : unrolled;
}

// Puts the workgroup's size into the execution mode as literals: LocalSizeId is of SPIR-V 1.2's and needs
// Vulkan 1.3's maintenance4; LocalSize is taken everywhere.
Result<Words> with_literal_workgroup(const Words& words) {
  const auto instructions = read_instructions(words);
  if (!instructions) return std::unexpected(instructions.error());
  std::unordered_map<std::uint32_t, std::uint32_t> constants;
  for (const Instruction& i : *instructions)
    if (i.op == OpConstant && i.size() == 4) constants[i[2]] = i[3];
  Words out(words.begin(), words.begin() + kHeaderWords);
  for (const Instruction& i : *instructions) {
    const std::size_t at = out.size();
    out.insert(out.end(), i.words.begin(), i.words.end());
    if (i.op != OpExecutionModeId || i.size() != 6 || i[2] != ModeLocalSizeId) continue;
    out[at] = 6u << 16 | OpExecutionMode;
    out[at + 2] = ModeLocalSize;
    for (std::size_t axis = 3; axis < 6; ++axis) {
      const auto found = constants.find(i[axis]);
      if (found == constants.end())
        return fail(ErrorKind::unsupported, "workgroup size", "not a constant", "known when specialized");
      out[at + axis] = found->second;
    }
  }
  return out;
}

void put_string(Words& out, std::uint32_t op, std::string_view text) {
  const std::size_t at = out.size();
  out.resize(at + 1 + text.size() / 4 + 1, 0);
  out[at] = static_cast<std::uint32_t>(out.size() - at) << 16 | op;
  for (std::size_t c = 0; c < text.size(); ++c)
    out[at + 1 + c / 4] |= std::uint32_t{static_cast<unsigned char>(text[c])} << (8 * (c % 4));
}

// Core features of newer SPIR-V, by capability, that older targets have as extensions.
std::set<std::string_view> extensions_in_spirv13(const std::vector<std::string>& capabilities) {
  std::set<std::string_view> out;
  for (const std::string& name : capabilities) {
    if (name == "PhysicalStorageBufferAddresses") out.insert("SPV_KHR_physical_storage_buffer");
    if (name == "StorageBuffer8BitAccess") out.insert("SPV_KHR_8bit_storage");
    if (name.starts_with("VulkanMemoryModel")) out.insert("SPV_KHR_vulkan_memory_model");
    if (name.starts_with("DotProduct")) out.insert("SPV_KHR_integer_dot_product");
  }
  return out;
}

// Sets the version that the target accepts. The folded module needs nothing newer, which the validator checks.
Result<Words> for_target(const Words& words, std::uint32_t api_version) {
  const spv_target_env env = environment(api_version);
  if (env != SPV_ENV_VULKAN_1_1 && env != SPV_ENV_VULKAN_1_2) return words;
  const auto instructions = read_instructions(words);
  if (!instructions) return std::unexpected(instructions.error());
  const auto facts = read_facts(words);
  if (!facts) return std::unexpected(facts.error());
  Words out(words.begin(), words.begin() + kHeaderWords);
  out[kVersionWord] = std::min(out[kVersionWord], env == SPV_ENV_VULKAN_1_1 ? kSpirv13 : kSpirv15);
  if (out[kVersionWord] >= kSpirv14) {
    out.insert(out.end(), words.begin() + kHeaderWords, words.end());
    return out;
  }
  std::unordered_map<std::uint32_t, std::uint32_t> storage;  // of each variable
  for (const Instruction& i : *instructions)
    if (i.op == OpVariable) storage[i[2]] = i[3];
  auto extensions = extensions_in_spirv13(facts->capabilities);
  for (const std::string& name : facts->spirv_extensions) extensions.erase(name);
  for (const Instruction& i : *instructions) {
    if (i.op != OpCapability)
      for (const auto name : std::exchange(extensions, {})) put_string(out, OpExtension, name);
    const std::size_t at = out.size();
    out.insert(out.end(), i.words.begin(), i.words.end());
    if (i.op != OpEntryPoint) continue;
    // Before SPIR-V 1.4 an entry point lists inputs and outputs alone.
    const std::size_t name_end = at + 3 + literal_string(i, 3).size() / 4 + 1;
    const auto from = out.begin() + static_cast<std::ptrdiff_t>(name_end);
    out.erase(std::remove_if(from, out.end(),
                             [&](std::uint32_t id) {
                               const auto found = storage.find(id);
                               return found != storage.end() && found->second != StorageInput &&
                                      found->second != StorageOutput;
                             }),
              out.end());
    out[at] = static_cast<std::uint32_t>(out.size() - at) << 16 | OpEntryPoint;
  }
  return out;
}

// Checks on the result what freeze() promises.
Result<void> check_frozen(const Words& words, const FreezeOptions& options) {
  const auto facts = read_facts(words);
  if (!facts) return std::unexpected(facts.error());
  if (facts->specialized != 0 || !facts->specialization_ids.empty())
    return fail(ErrorKind::unsupported, "specialization constants left",
                std::to_string(std::max<std::size_t>(facts->specialized, facts->specialization_ids.size())), "0");
  if (std::ranges::find(facts->workgroup, 0u) != facts->workgroup.end())
    return fail(ErrorKind::unsupported, "workgroup size", "not a literal", "known when specialized");
  if (options.push != nullptr)
    if (auto fine = check_frozen_push(words, *options.push); !fine) return fine;
  return validate(words, options.api_version);
}

}  // namespace

Result<std::vector<std::uint32_t>> freeze(std::span<const std::uint32_t> words, std::span<const Constant> constants,
                                          const FreezeOptions& options) {
  // Validated first: the optimizer accepts some broken modules (a function without an end).
  if (const auto readable = read_instructions(words); !readable) return std::unexpected(readable.error());
  if (const auto valid = validate(words, 1004); !valid)
    return fail(ErrorKind::parse, "SPIR-V", valid.error().value, "a valid module");
  auto made = specialize(Words(words.begin(), words.end()), constants);
  if (made) made = with_literal_workgroup(*made);
  if (made && options.push != nullptr) made = without_push(*made, *options.push);
  if (made)
    made = optimize(*made, "optimizing", [](spvtools::Optimizer& optimizer) {
      optimizer.RegisterPerformancePasses().RegisterPass(spvtools::CreateCompactIdsPass());
    });
  if (made) made = for_target(*made, options.api_version);
  if (!made) return made;
  if (auto fine = check_frozen(*made, options); !fine) return std::unexpected(fine.error());
  return made;
}

Result<void> validate(std::span<const std::uint32_t> words, std::uint32_t api_version) {
  spvtools::SpirvTools tools(environment(api_version));
  std::string said;
  tools.SetMessageConsumer(into(said));
  spvtools::ValidatorOptions options;
  if (tools.Validate(words.data(), words.size(), options)) return {};
  return fail(ErrorKind::unsupported, "SPIR-V for " + environment_name(api_version), said);
}

Result<std::string> disassemble(std::span<const std::uint32_t> words) {
  const spvtools::SpirvTools tools(SPV_ENV_UNIVERSAL_1_6);
  std::string text;
  if (!tools.Disassemble(words.data(), words.size(), &text,
                         SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES))
    return fail(ErrorKind::parse, "SPIR-V", std::to_string(words.size()) + " words");
  return text;
}

}  // namespace sectile::spirv
