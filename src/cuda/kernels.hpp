// From a step's kernel name and constants to the text that NVRTC is given.
#pragma once

#include <sectile/plan.hpp>
#include <sectile/shaders.hpp>

#include <span>
#include <string>
#include <string_view>

namespace sectile::cuda {

// Every kernel's one function.
inline constexpr const char* kEntry = "sectile_main";

struct KernelText {
  std::string name;  // "STEM.VARIANT.cu", as NVRTC's log calls it
  std::string text;  // the prelude, then the source
};

// The variant's macros and the step's constants in front of the source that the name means; `extra` goes before the
// embedded sources. Errors: missing, naming the kernel, or the variant with those that there are; parse, for a
// `//! variant` line that is none.
Result<KernelText> kernel_text(const Step& step, std::span<const EmbeddedSource> extra);

// What the folder and the Device know a kernel by: 32 hex digits over everything that shapes its code: the text, all
// headers that it could include, the architecture, NVRTC's version.
std::string code_key(const KernelText& kernel, std::string_view architecture, int nvrtc_major, int nvrtc_minor);

}  // namespace sectile::cuda
