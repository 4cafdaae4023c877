// From a step to code for an architecture, and what ptxas says of it. Needs NVRTC and no GPU.
#include "helpers.hpp"

#include "cuda/kernels.hpp"
#include "support/scope.hpp"

#include <algorithm>
#include <set>

using namespace sectile;
using namespace sectile::test;

namespace {

constexpr const char* kArchitectures[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_103", "sm_120"};

bool is_elf(const std::vector<std::uint8_t>& bytes) {
  return bytes.size() > 4 && bytes[0] == 0x7F && bytes[1] == 'E' && bytes[2] == 'L' && bytes[3] == 'F';
}

cuda::CompileOptions with_tests() {
  cuda::CompileOptions out;
  out.verbose = true;
  out.sources = test_sources();
  return out;
}

}  // namespace

TEST_CASE("headers are embedded by name") {
  std::set<std::string_view> names;
  for (const EmbeddedSource& header : embedded_cuda_headers()) {
    CHECK_FALSE(header.text.empty());
    names.insert(header.stem);
  }
  CHECK(names.contains("lib/cuda.cuh"));
  CHECK(names.contains("lib/abi.h"));
  CHECK(names.contains("permute/permute.abi.h"));
  CHECK(names.contains("permute/permute_copy.abi.h"));
  CHECK(names.size() == embedded_cuda_headers().size());
}

TEST_CASE("the prelude holds the variant's macros and the step's constants") {
  Step step = kernel_step("add_words", "e4.seven");
  step.constants = {{0, 128}, {8, 5}};
  const auto text = must(cuda::kernel_text(step, test_sources()));
  CHECK(text.name == "add_words.e4.seven.cu");
  CHECK(
      text.text.starts_with("#define ADD 7\nstruct SectileConstant { unsigned id, value; };\n"
                            "constexpr SectileConstant sectile_constants[] = {{0u, 128u}, {8u, 5u}};\n#line 1 "));
  CHECK(must(cuda::kernel_text(kernel_step("add_words", "e4.plain"), test_sources()))
            .text.starts_with("#define PLAIN 1\n"));
  step.constants.clear();
  CHECK(must(cuda::kernel_text(step, test_sources())).text.find("{{0xffffffffu, 0u}}") != std::string::npos);
}

TEST_CASE("a kernel that is not there is missing by name") {
  const auto kernel = cuda::kernel_text(kernel_step("no_such"), test_sources());
  REQUIRE_FALSE(kernel.has_value());
  CHECK(kernel.error().kind == ErrorKind::missing);
  CHECK(kernel.error().value == "no_such.e4");
  CHECK(kernel.error().limit.find("add_words") != std::string::npos);
  const auto variant = cuda::kernel_text(kernel_step("add_words", "e3"), test_sources());
  REQUIRE_FALSE(variant.has_value());
  CHECK(variant.error().kind == ErrorKind::missing);
  CHECK(variant.error().value == "add_words.e3");
  CHECK(variant.error().limit == "variant e4, e4.seven, e4.plain");
  CHECK(cuda::compile(kernel_step("no_such"), "sm_90a").error().kind == ErrorKind::missing);
}

TEST_CASE("a variant line that is no -D is refused") {
  constexpr EmbeddedSource kOdd[] = {{"odd", "//! variant e4 --fast\n"}};
  const auto text = cuda::kernel_text(kernel_step("odd"), kOdd);
  REQUIRE_FALSE(text.has_value());
  CHECK(text.error().kind == ErrorKind::parse);
  CHECK(text.error().value == "--fast");
}

TEST_CASE("a variant line may end the text") {
  constexpr EmbeddedSource kOne[] = {{"one", "//! variant e4"}};
  CHECK(cuda::kernel_text(kernel_step("one", "e4"), kOne).has_value());
}

TEST_CASE("a code's key changes with everything that shapes it") {
  const auto text = must(cuda::kernel_text(kernel_step("add_words"), test_sources()));
  std::set<std::string> keys = {cuda::code_key(text, "sm_90a", 13, 0), cuda::code_key(text, "sm_90", 13, 0),
                                cuda::code_key(text, "sm_90a", 13, 1), cuda::code_key(text, "sm_90a", 12, 0)};
  Step other = kernel_step("add_words");
  other.constants.push_back({8, 2});
  keys.insert(cuda::code_key(must(cuda::kernel_text(other, test_sources())), "sm_90a", 13, 0));
  keys.insert(
      cuda::code_key(must(cuda::kernel_text(kernel_step("add_words", "e4.seven"), test_sources())), "sm_90a", 13, 0));
  CHECK(keys.size() == 6);
  for (const std::string& key : keys) CHECK(key.size() == 32);
  CHECK(cuda::code_key(text, "sm_90a", 13, 0) == cuda::code_key(text, "sm_90a", 13, 0));
}

TEST_CASE("a kernel compiles for every architecture") {
  if (nvrtc_or_skip("a kernel compiles for every architecture") == nullptr) return;
  for (const char* architecture : kArchitectures) {
    for (const char* variant : {"e4", "e4.seven", "e4.plain"}) {
      CAPTURE(architecture);
      CAPTURE(variant);
      const auto code = must(cuda::compile(kernel_step("add_words", variant), architecture, with_tests()));
      CHECK(code.entry == "sectile_main");
      CHECK(is_elf(code.bytes));
      const auto figures = must(cuda::figures(code));
      CHECK(figures.registers > 0);
      CHECK(figures.registers < 64);
      CHECK(figures.spill_store_bytes == 0);
      CHECK(figures.spill_load_bytes == 0);
      CHECK(figures.shared_bytes == 0);
    }
  }
}

TEST_CASE("every embedded kernel compiles in each of its variants") {
  if (nvrtc_or_skip("every embedded kernel compiles in each of its variants") == nullptr) return;
  // NVRTC is not sanitized: a few are enough for what calls it.
  const std::size_t every = test::scope<std::size_t>(1, 1, 12);
  std::size_t turn = 0;
  for (const EmbeddedSource& source : embedded_cuda_sources()) {
    // A variant that is not there: the error lists those that are.
    const auto error = cuda::kernel_text(kernel_step(std::string(source.stem), "no such"), {}).error();
    REQUIRE(error.limit.starts_with("variant "));
    std::string names = error.limit.substr(8) + ", ";
    for (std::size_t end = 0; (end = names.find(", ")) != std::string::npos; names.erase(0, end + 2)) {
      const std::string variant = names.substr(0, end);
      if (turn++ % every != 0) continue;
      CAPTURE(source.stem);
      CAPTURE(variant);
      cuda::CompileOptions options;
      options.ptx =
          true;  // the front end alone, and each constant's fallback: the planner's choices have their own test
      Step step = kernel_step(std::string(source.stem), variant);
      step.constants.clear();
      const auto code = cuda::compile(step, "sm_90a", options);
      CHECK_MESSAGE(code.has_value(), code.error().message());
    }
  }
}

TEST_CASE("PTX is text that ends") {
  if (nvrtc_or_skip("PTX is text that ends") == nullptr) return;
  auto options = with_tests();
  options.ptx = true;
  const auto code = must(cuda::compile(kernel_step("add_words"), "sm_80", options));
  REQUIRE_FALSE(code.bytes.empty());
  CHECK(code.bytes.back() == 0);
  const std::string text(reinterpret_cast<const char*>(code.bytes.data()));
  CHECK(text.find(".target sm_80") != std::string::npos);
  CHECK(text.find("sectile_main") != std::string::npos);
  CHECK_FALSE(cuda::figures(code).has_value());  // ptxas has not seen it
}

TEST_CASE("the same input compiles to the same bytes") {
  if (nvrtc_or_skip("the same input compiles to the same bytes") == nullptr) return;
  const auto a = must(cuda::compile(kernel_step("add_words"), "sm_90a", with_tests()));
  const auto b = must(cuda::compile(kernel_step("add_words"), "sm_90a", with_tests()));
  CHECK(a.bytes == b.bytes);
}

TEST_CASE("constants reach the code") {
  if (nvrtc_or_skip("constants reach the code") == nullptr) return;
  auto options = with_tests();
  options.ptx = true;
  Step step = kernel_step("add_words");
  step.constants.push_back({8, 0x5EC71E});
  const auto code = must(cuda::compile(step, "sm_80", options));
  const std::string text(reinterpret_cast<const char*>(code.bytes.data()));
  CHECK(text.find(std::to_string(0x5EC71E)) != std::string::npos);
  CHECK(text.find(".maxntid 128") != std::string::npos);
}

TEST_CASE("figures tell of spills") {
  if (nvrtc_or_skip("figures tell of spills") == nullptr) return;
  for (const char* architecture : kArchitectures) {
    CAPTURE(architecture);
    const auto code = must(cuda::compile(kernel_step("spill_words"), architecture, with_tests()));
    const auto figures = must(cuda::figures(code));
    INFO(code.log);
    CHECK(figures.registers == 64);  // all that 1024 threads leave of 65536
    CHECK(figures.spill_store_bytes > 0);
    CHECK(figures.spill_load_bytes > 0);
    CHECK(figures.stack_bytes > 0);
    CHECK(figures.shared_bytes >= 1024);
    CHECK(figures.shared_bytes <= 2048);  // the driver keeps up to 1 KiB of its own
  }
}

TEST_CASE("figures are of the words that ptxas says, and of nothing else") {
  cuda::Code code;
  code.entry = "sectile_main";
  CHECK(cuda::figures(code).error().kind == ErrorKind::missing);
  code.log =
      "ptxas info    : Compiling entry function 'sectile_main' for 'sm_90a'\n"
      "ptxas info    : Function properties for sectile_main\n"
      "    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
      "ptxas info    : Function properties for helper\n"
      "    0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 8448 bytes smem, 400 bytes cmem[0]\n";
  const auto figures = must(cuda::figures(code));
  CHECK(figures.registers == 255);
  CHECK(figures.stack_bytes == 16);
  CHECK(figures.spill_store_bytes == 16);
  CHECK(figures.spill_load_bytes == 28);
  CHECK(figures.shared_bytes == 8448);
  code.log = code.log.substr(0, code.log.find("Used"));
  CHECK(cuda::figures(code).error().kind == ErrorKind::parse);
}

TEST_CASE("what does not compile is refused with the compiler's words") {
  if (nvrtc_or_skip("what does not compile is refused with the compiler's words") == nullptr) return;
  const auto code = cuda::compile(kernel_step("broken_words"), "sm_90a", with_tests());
  REQUIRE_FALSE(code.has_value());
  CHECK(code.error().kind == ErrorKind::compile);
  CHECK(code.error().what == "broken_words.e4.cu for sm_90a");
  CHECK(code.error().value.find("this_is_no_statement") != std::string::npos);
  CHECK(code.error().value.find("broken_words.cu(2)") != std::string::npos);  // the file's own line
}

TEST_CASE("an architecture that is none is refused") {
  if (nvrtc_or_skip("an architecture that is none is refused") == nullptr) return;
  for (const char* architecture : {"", "sm_", "90", "sm_9", "sm_9x", "sm_90ab", "compute_90", "sm_90 -O0"}) {
    CAPTURE(architecture);
    const auto code = cuda::compile(kernel_step("add_words"), architecture, with_tests());
    REQUIRE_FALSE(code.has_value());
    CHECK(code.error().kind == ErrorKind::parse);
  }
  const auto unknown = cuda::compile(kernel_step("add_words"), "sm_77", with_tests());
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error().kind == ErrorKind::compile);
  CHECK(unknown.error().value.find("architecture") != std::string::npos);
}
