// Makes NVRTC's source text from a step's kernel name and constants.
#pragma once

#include <sectile/plan.hpp>
#include <sectile/shaders.hpp>

#include <span>
#include <string>
#include <string_view>

namespace sectile::cuda {

// The name of every kernel's function.
inline constexpr const char* kEntry = "sectile_main";

struct KernelText {
  std::string name;  // "STEM.VARIANT.cu", as NVRTC's log calls it
  std::string text;  // the prelude, then the source
};

// The variant's macros and the step's constants, followed by the kernel's source; `extra` is preferred to the embedded
// sources. Errors: missing, which names the kernel, or the variant and those that exist; parse, for a malformed `//!
// variant` line.
Result<KernelText> kernel_text(const Step& step, std::span<const EmbeddedSource> extra);

// A kernel's key in the folder and the Device: 32 hex digits, a hash of all that shapes its code: the text, all
// headers that it could include, the architecture, NVRTC's version.
std::string code_key(const KernelText& kernel, std::string_view architecture, int nvrtc_major, int nvrtc_minor);

}  // namespace sectile::cuda
