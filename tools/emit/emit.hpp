// sectile emit: plans and their code as files. Split so that tests reach each part.
#pragma once

#include <sectile/error.hpp>
#include <sectile/pack.hpp>
#include <sectile/plan.hpp>
#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::tools {

inline constexpr int kManifestVersion = 1;
inline constexpr const char* kMadeBy = "sectile emit";  // in every manifest: no other tool's is taken for ours

struct EmittedFile {
  std::string name;
  std::string bytes;
};

// One kernel's code for a target, ready to be written.
struct EmittedModule {
  std::string name;      // "permute_tile.e2-0f3c..."; prefix of its files
  PackedModule packed;   // its key, and its code: SPIR-V, or a cubin padded with zeros to whole words
  nlohmann::json facts;  // its entry in the manifest
  std::vector<EmittedFile> files;
};

struct EmittedPlan {
  Plan plan;
  std::string name;                  // "permute_f16_1x384x512x128_axes_0_3_1_2-9ab0..."
  std::vector<std::size_t> modules;  // of each step, an index into EmittedTarget::modules
};

// A problem or target that was left out, and why.
struct LeftOut {
  std::string what;  // a problem, or a target
  std::string why;
};

nlohmann::json to_json(const std::vector<LeftOut>& left_out);

struct EmittedTarget {
  DeviceProfile profile;
  std::vector<EmittedModule> modules;
  std::vector<EmittedPlan> plans;
  std::vector<LeftOut> left_out;   // problems that this target refuses
  std::vector<EmittedFile> files;  // manifest.json and the plans' headers
};

// Makes code, and caches it by kernel and constants, so that targets with the same choice share it.
class CodeMaker {
 public:
  explicit CodeMaker(bool freeze_shape) : freeze_shape_(freeze_shape) {}
  // Errors: as spirv::freeze(); missing (a kernel that has no template).
  Result<EmittedModule> make(const Step& step, const DeviceProfile& profile);
  // Why it cannot make code for this target in this build and with these options, or empty.
  std::string cannot(const DeviceProfile& profile) const;
  bool freeze_shape() const noexcept { return freeze_shape_; }

 private:
  Result<EmittedModule> make_spirv(const Step& step, std::uint32_t api_version) const;
  Result<EmittedModule> make_cuda(const Step& step, const DeviceProfile& profile) const;
  using Key = std::pair<PackedModule, std::uint32_t>;
  struct Less {
    bool operator()(const Key& a, const Key& b) const;
  };
  struct LessOnCuda {
    bool operator()(const std::pair<std::string, Key>& a, const std::pair<std::string, Key>& b) const;
  };
  bool freeze_shape_;
  std::map<Key, EmittedModule, Less> made_;
  std::map<std::pair<std::string, Key>, EmittedModule, LessOnCuda> made_for_cuda_;  // by architecture as well
};

// What happens to a problem that a target refuses: an error, or left out (with several targets).
enum class Refused : std::uint8_t { error, left_out };

// Plans and code for one target. Errors name the problem and the target.
Result<EmittedTarget> emit_target(const DeviceProfile& profile, const std::vector<Problem>& problems, CodeMaker& code,
                                  const PlanOptions& options, const std::function<void()>& step_done,
                                  Refused refused = Refused::error);

// The C headers and the manifest's text.
std::string c_identifier(std::string_view name);
// Text for the inside of a C comment: one line, without the comment's end.
std::string c_comment(std::string_view text);
std::string module_header(const EmittedModule& module);
std::string plan_header(const EmittedTarget& target, const EmittedPlan& plan);
std::string manifest_text(const EmittedTarget& target, bool freeze_shape);
// The manifest above the targets' folders.
std::string index_text(const std::vector<std::string>& folders, const std::vector<LeftOut>& left_out);
// A target's folder: its name, with '-' for characters that some file systems forbid ("cuda:sm_90a" -> "cuda-sm_90a").
std::string folder_name(std::string_view target);

// XXH3-128, 32 hex digits.
std::string hash_text(std::string_view bytes);

// Problems, one in each line; empty lines and lines that begin with # are skipped. Errors name file and line.
Result<std::vector<Problem>> read_problems(const std::string& path);

// ---- whole folders

// Whether emit can write to `path`: it does not exist, is empty, or was written by emit.
Result<void> check_output_folder(const std::string& path);

// Writes all files (names may hold one folder) under `path`; folders above it are made. Where nothing is there they
// appear in one step. Into a folder that emit wrote before they are put one by one, manifests last; then what its old
// manifests list, and the new ones do not, is removed. Nothing else is touched: a file that emit did not write, or that
// was changed since, is never replaced or removed. Gives the names of the changed ones that stay though they are listed
// no more. Errors: io; where a new file would replace such a one, before anything is written.
Result<std::vector<std::string>> write_folder(const std::string& path, const std::vector<EmittedFile>& files);

// What pack reads from folders that emit wrote.
struct Emitted {
  std::vector<PackedModule> modules;
  std::vector<std::string> manifests;  // of the folders that have modules
  std::vector<LeftOut> left_out;       // folders whose code is no SPIR-V
};

// Adds what is under a folder that emit wrote, for one target or for many.
// Errors, by file name: missing, io, parse (no manifest of emit's; a module whose hash is not the manifest's).
Result<void> read_emitted(const std::string& folder, Emitted& emitted);

}  // namespace sectile::tools
