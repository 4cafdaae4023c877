// A program that ships a pack and nothing else: no template is linked into it (sectile::packed), no compiler either.
// pack_only PACK OUT DEVICE PROBLEM...: runs each problem on bytes that commands_test.cpp makes too, and writes the
// results one after another into OUT.
#include <sectile/pack.hpp>
#include <sectile/planner.hpp>
#include <sectile/shaders.hpp>
#include <sectile/vulkan_runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

using namespace sectile;

namespace {

int failed(const Error& error) {
  std::fprintf(stderr, "pack_only: %s\n", error.message().c_str());
  return 1;
}

std::vector<std::byte> source_bytes(std::uint64_t count) {
  std::vector<std::byte> out(count);
  std::uint32_t state = 7;
  for (std::byte& byte : out) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return out;
}

Result<std::vector<std::byte>> run(vulkan::Runtime& runtime, const Plan& plan) {
  const auto ready = runtime.device().prepare(plan);
  if (!ready) return std::unexpected(ready.error());
  const auto src = source_bytes(plan.operands[0].bytes);
  std::vector<std::byte> out(plan.operands[1].bytes);
  const auto a = runtime.make_buffer(src.size()), b = runtime.make_buffer(out.size());
  if (!a || !b) return std::unexpected(a ? b.error() : a.error());
  if (auto up = runtime.upload(*a, 0, src); !up) return std::unexpected(up.error());
  if (auto poison = runtime.fill(*b, 0, out.size(), 0xCDCDCDCD); !poison) return std::unexpected(poison.error());
  const vulkan::OperandAddress operands[] = {{a->address(), src.size()}, {b->address(), out.size()}};
  auto done =
      runtime.submit_and_wait([&](VkCommandBuffer commands) { return vulkan::record(commands, *ready, operands); });
  if (done) done = runtime.download(*b, 0, out);
  if (!done) return std::unexpected(done.error());
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return std::fprintf(stderr, "pack_only PACK OUT DEVICE PROBLEM...\n"), 2;
  if (!embedded_modules().empty()) return std::fprintf(stderr, "pack_only: templates are linked in\n"), 1;
  const auto pack = Pack::read(argv[1]);
  if (!pack) return failed(pack.error());
  vulkan::RuntimeOptions options;
  options.pack = &*pack;
  auto runtime = vulkan::Runtime::open(argv[3], options);
  if (!runtime) return failed(runtime.error());
  std::ofstream out(argv[2], std::ios::binary);
  for (int i = 4; i < argc; ++i) {
    const auto problem = parse_problem(argv[i]);
    if (!problem) return failed(problem.error());
    const auto plan = make_plan(*problem, runtime->profile(), {.explain = false, .force = {}, .kernels = &*pack});
    if (!plan) return failed(plan.error());
    const auto bytes = run(*runtime, *plan);
    if (!bytes) return failed(bytes.error());
    out.write(reinterpret_cast<const char*>(bytes->data()), static_cast<std::streamsize>(bytes->size()));
  }
  out.close();
  std::printf("%zu modules, %llu pipelines\n", pack->modules().size(),
              static_cast<unsigned long long>(runtime->device().pipeline_counts().created));
  return out ? 0 : 1;
}
