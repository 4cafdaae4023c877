#include "compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace sectile::cuda {
namespace {

// An NVRTC program, destroyed with this object.
class OwnedProgram {
 public:
  explicit OwnedProgram(const api::Nvrtc& nvrtc) noexcept : nvrtc_(nvrtc) {}
  ~OwnedProgram() {
    if (program_ != nullptr) nvrtc_.nvrtcDestroyProgram(&program_);
  }
  OwnedProgram(const OwnedProgram&) = delete;
  OwnedProgram& operator=(const OwnedProgram&) = delete;
  api::Program get() const noexcept { return program_; }
  api::Program* place() noexcept { return &program_; }

 private:
  const api::Nvrtc& nvrtc_;
  api::Program program_ = nullptr;
};

// Our own headers for NVRTC: texts and names that end in 0.
struct Headers {
  std::vector<std::string> texts, names;
  std::vector<const char*> text_pointers, name_pointers;
  Headers() {
    for (const EmbeddedSource& header : embedded_cuda_headers()) add(header.stem, header.text);
    for (const std::string& text : texts) text_pointers.push_back(text.c_str());
    for (const std::string& name : names) name_pointers.push_back(name.c_str());
  }
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;
  void add(std::string_view name, std::string_view text) {
    names.emplace_back(name);
    texts.emplace_back(text);
  }
};

// NVRTC's log; empty where it cannot be read, which is no error.
std::string log_of(const api::Nvrtc& nvrtc, api::Program program) {
  std::size_t bytes = 0;
  if (nvrtc.nvrtcGetProgramLogSize(program, &bytes) != api::kNvrtcSuccess || bytes <= 1) return {};
  std::string log(bytes, '\0');
  if (nvrtc.nvrtcGetProgramLog(program, log.data()) != api::kNvrtcSuccess) return {};
  log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
  return log;
}

Result<std::vector<std::uint8_t>> bytes_of(const api::Nvrtc& nvrtc, api::Program program, bool ptx) {
  std::size_t bytes = 0;
  const auto sized = ptx ? nvrtc.nvrtcGetPTXSize(program, &bytes) : nvrtc.nvrtcGetCUBINSize(program, &bytes);
  if (sized != api::kNvrtcSuccess)
    return std::unexpected(nvrtc_error(nvrtc, ptx ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize", sized));
  std::vector<std::uint8_t> out(bytes);
  auto* const to = reinterpret_cast<char*>(out.data());
  const auto got = ptx ? nvrtc.nvrtcGetPTX(program, to) : nvrtc.nvrtcGetCUBIN(program, to);
  if (got != api::kNvrtcSuccess) return std::unexpected(nvrtc_error(nvrtc, ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN", got));
  return out;
}

// "sm_90a", "sm_100": NVRTC's names for cubins; with compute_ for PTX.
Result<std::string_view> architecture_number(std::string_view architecture) {
  constexpr std::string_view kPrefix = "sm_";
  const auto number = architecture.starts_with(kPrefix) ? architecture.substr(kPrefix.size()) : std::string_view();
  const auto digits = std::ranges::count_if(number, [](char c) { return c >= '0' && c <= '9'; });
  const bool suffix = !number.empty() && (number.back() == 'a' || number.back() == 'f');
  if (digits < 2 || static_cast<std::size_t>(digits) + (suffix ? 1 : 0) != number.size())
    return fail(ErrorKind::parse, "architecture", std::string(architecture), "sm_75, sm_90a or the like");
  return number;
}

// The sum of the numbers before each `unit` in ptxas' log ("Used 255 registers, 1024 bytes smem"), so that spills of
// functions that were not inlined count. Empty where there is no such number.
std::optional<std::uint32_t> numbers_before(std::string_view text, std::string_view unit) {
  std::optional<std::uint32_t> out;
  for (auto at = text.find(unit); at != std::string_view::npos; at = text.find(unit, at + 1)) {
    auto begin = at;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    std::uint32_t number = 0;
    const auto read = std::from_chars(text.data() + begin, text.data() + at, number);
    if (read.ec != std::errc() || read.ptr != text.data() + at) return std::nullopt;
    out = out.value_or(0) + number;
  }
  return out;
}

}  // namespace

Result<Code> compile_text(const api::Nvrtc& nvrtc, const KernelText& kernel, std::string_view architecture,
                          const CompileOptions& options) {
  const auto number = architecture_number(architecture);
  if (!number) return std::unexpected(number.error());
  const Headers headers;
  OwnedProgram program(nvrtc);
  auto status = nvrtc.nvrtcCreateProgram(program.place(), kernel.text.c_str(), kernel.name.c_str(),
                                         static_cast<int>(headers.names.size()), headers.text_pointers.data(),
                                         headers.name_pointers.data());
  if (status != api::kNvrtcSuccess) return std::unexpected(nvrtc_error(nvrtc, "nvrtcCreateProgram", status));
  const std::string target = fmt::format("--gpu-architecture={}_{}", options.ptx ? "compute" : "sm", *number);
  // No default include path: a kernel sees our embedded headers alone.
  std::vector<const char*> flags = {target.c_str(), "--std=c++17", "--no-source-include"};
  if (options.verbose && !options.ptx) flags.push_back("--ptxas-options=-v");
  status = nvrtc.nvrtcCompileProgram(program.get(), static_cast<int>(flags.size()), flags.data());
  std::string log = log_of(nvrtc, program.get());
  if (status != api::kNvrtcSuccess)
    return std::unexpected(nvrtc_error(nvrtc, fmt::format("{} for {}", kernel.name, architecture), status, log));
  auto bytes = bytes_of(nvrtc, program.get(), options.ptx);
  if (!bytes) return std::unexpected(bytes.error());
  return Code{kEntry, std::move(*bytes), std::move(log)};
}

Result<Code> compile(const Step& step, std::string_view architecture, const CompileOptions& options) {
  const auto text = kernel_text(step, options.sources);
  if (!text) return std::unexpected(text.error());
  const auto loaded = nvrtc();
  if (!loaded) return std::unexpected(loaded.error());
  return compile_text(**loaded, *text, architecture, options);
}

Result<KernelFigures> figures(const Code& code) {
  // ptxas prints for each function "Compiling entry function 'NAME' for 'sm_90a'", "Function properties for NAME",
  // then "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" and "Used 8 registers, ... 1024 bytes smem".
  const std::string_view log = code.log;
  const auto begin = log.find(fmt::format("Compiling entry function '{}'", code.entry));
  if (begin == std::string_view::npos)
    return fail(ErrorKind::missing, "ptxas' figures", code.entry, "code compiled with CompileOptions::verbose");
  auto end = log.find("Compiling entry function", begin + 1);
  const std::string_view part = log.substr(begin, end == std::string_view::npos ? end : end - begin);
  const auto registers = numbers_before(part, " registers");
  const auto stack = numbers_before(part, " bytes stack frame");
  const auto stores = numbers_before(part, " bytes spill stores");
  const auto loads = numbers_before(part, " bytes spill loads");
  if (!registers || !stack || !stores || !loads)
    return fail(ErrorKind::parse, "ptxas' figures", std::string(part),
                "registers, stack frame, spill stores and loads");
  // Not printed where it is 0.
  return KernelFigures{*registers, *stores, *loads, *stack, numbers_before(part, " bytes smem").value_or(0)};
}

}  // namespace sectile::cuda
