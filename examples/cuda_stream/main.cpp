// An application with a CUDA context and a stream of its own: B = A transposed, D = relu(B C + bias), launched into the
// stream, and once more from a captured graph. Exits with 77 where there is no driver or no NVRTC.
//
//   cuda_stream [CUBIN_FOLDER]      compiled kernels are kept in the folder
#include "driver.hpp"

#include <sectile/cuda.hpp>
#include <sectile/sectile.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

template <class T>
static T check(sectile::Result<T> result, const std::string& what) {
  if (!result) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), result.error().message().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

namespace {

constexpr int kM = 256, kN = 192, kK = 384;
constexpr int kSkipped = 77;

double microseconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

using Values = std::vector<float>;

// Device memory for these values.
struct Memory {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  sectile::OperandAddress operand() const { return {address, bytes}; }
};

struct Inputs {
  Values a = Values(kK * kM), c = Values(kK * kN), bias = Values(kN);
  Inputs() {
    std::mt19937 engine(7);
    std::uniform_real_distribution<float> numbers(-1, 1);
    for (Values* each : {&a, &c, &bias})
      for (float& value : *each) value = numbers(engine);
  }
};

// By plain loops in double precision. Written so that a NaN counts as wrong.
int wrong_results(const Inputs& in, const Values& b, const Values& d) {
  int wrong = 0;
  for (int m = 0; m < kM; ++m)
    for (int k = 0; k < kK; ++k) wrong += b[m * kK + k] != in.a[k * kM + m];
  for (int m = 0; m < kM; ++m)
    for (int n = 0; n < kN; ++n) {
      double sum = in.bias[n], magnitude = std::fabs(in.bias[n]);
      for (int k = 0; k < kK; ++k) {
        const double product = double(in.a[k * kM + m]) * in.c[k * kN + n];
        sum += product;
        magnitude += std::fabs(product);
      }
      // 4 sqrt(K) steps of f32.
      if (!(std::fabs(d[m * kN + n] - std::max(sum, 0.0)) <= 80 * magnitude * 0x1p-24)) ++wrong;
    }
  return wrong;
}

bool run(const Driver& driver, CUcontext context, CUstream stream, const std::string& folder) {
  auto device = check(sectile::cuda::Device::adopt({.context = context, .cubin_folder = folder}), "adopt");
  const Inputs in;
  std::vector<Memory> owned;
  const auto allocate = [&](std::size_t count) {
    Memory memory{0, count * sizeof(float)};
    check(driver.cuMemAlloc(&memory.address, memory.bytes), "cuMemAlloc");
    owned.push_back(memory);
    return memory;
  };
  const auto upload = [&](const Values& values) {
    const Memory memory = allocate(values.size());
    check(driver.cuMemcpyHtoDAsync(memory.address, values.data(), memory.bytes, stream), "cuMemcpyHtoDAsync");
    return memory;
  };
  const Memory a = upload(in.a), c = upload(in.c), bias = upload(in.bias), b = allocate(kM * kK), d = allocate(kM * kN);

  // Plans, and their operands by name, in the plan's order.
  const std::string sizes = std::to_string(kM) + "x" + std::to_string(kN) + "x" + std::to_string(kK);
  const std::string problems[] = {"permute f32 " + std::to_string(kK) + "x" + std::to_string(kM) + " axes=1,0",
                                  "matmul f32 nn " + sizes + " epi=bias+relu"};
  const std::map<std::string, Memory> memory[] = {{{"src", a}, {"dst", b}},
                                                  {{"a", b}, {"b", c}, {"d", d}, {"bias", bias}}};
  std::vector<sectile::Plan> plans;
  std::vector<std::vector<sectile::OperandAddress>> operands(2);
  for (int i = 0; i < 2; ++i) {
    const auto problem = check(sectile::parse_problem(problems[i]), problems[i]);
    plans.push_back(check(sectile::make_plan(problem, device.profile()), problems[i]));
    std::printf("%s\n  %s\n", problems[i].c_str(), sectile::print(plans[i]).c_str());
    for (const auto& operand : plans[i].operands)
      operands[i].push_back(operand.role == sectile::OperandRole::scratch ? allocate(operand.bytes / 4 + 1).operand()
                                                                          : memory[i].at(operand.name).operand());
  }

  std::vector<sectile::cuda::Executable> ready, again;
  const double first = microseconds_of([&] { ready = check(device.prepare(plans), "prepare"); });
  const double second = microseconds_of([&] { again = check(device.prepare(plans), "prepare"); });

  // Poison, work, and copy back: all of it in the stream. CUDA orders what is in one stream.
  Values got_b(kM * kK), got_d(kM * kN);
  const auto launch = [&] {
    for (int i = 0; i < 2; ++i) check(sectile::cuda::launch(stream, ready[i], operands[i]), "launch");
  };
  const auto poison = [&] {
    check(driver.cuMemsetD8Async(b.address, 0xff, b.bytes, stream), "cuMemsetD8Async");
    check(driver.cuMemsetD8Async(d.address, 0xff, d.bytes, stream), "cuMemsetD8Async");
  };
  const auto wrong = [&] {
    check(driver.cuMemcpyDtoHAsync(got_b.data(), b.address, b.bytes, stream), "cuMemcpyDtoHAsync");
    check(driver.cuMemcpyDtoHAsync(got_d.data(), d.address, d.bytes, stream), "cuMemcpyDtoHAsync");
    check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
    return wrong_results(in, got_b, got_d);
  };
  poison();
  const double launched = microseconds_of(launch);
  const int wrong_in_stream = wrong();

  // The same from a graph: launch() may be captured, because it allocates nothing and waits for nothing.
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  check(driver.cuStreamBeginCapture(stream, 0), "cuStreamBeginCapture");
  launch();
  check(driver.cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  check(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiateWithFlags");
  poison();
  const double launched_graph = microseconds_of([&] { check(driver.cuGraphLaunch(exec, stream), "cuGraphLaunch"); });
  const int wrong_in_graph = wrong();

  std::printf("prepare first %.0f us, second %.0f us, launch %.1f us, graph %.1f us\n", first, second, launched,
              launched_graph);
  std::printf("%d results wrong in the stream, %d from the graph, of %d\n", wrong_in_stream, wrong_in_graph,
              kM * (kK + kN));
  check(driver.cuGraphExecDestroy(exec), "cuGraphExecDestroy");
  check(driver.cuGraphDestroy(graph), "cuGraphDestroy");
  for (const Memory& each : owned) check(driver.cuMemFree(each.address), "cuMemFree");
  return wrong_in_stream + wrong_in_graph == 0;  // executables and Device end here, before the context
}

}  // namespace

int main(int count, char** words) {
  if (const auto there = sectile::cuda::load(); !there) {
    std::printf("skipped: %s\n", there.error().message().c_str());
    return kSkipped;
  }
  const Driver driver;
  check(driver.cuInit(0), "cuInit");
  CUdevice ordinal = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  char name[256] = "";
  check(driver.cuDeviceGet(&ordinal, 0), "cuDeviceGet");
  check(driver.cuDeviceGetName(name, sizeof name, ordinal), "cuDeviceGetName");
  check(driver.cuCtxCreate(&context, 0, ordinal), "cuCtxCreate");
  check(driver.cuStreamCreate(&stream, 1), "cuStreamCreate");  // 1: does not wait for the default stream
  std::printf("device: %s\n", name);
  const bool right = run(driver, context, stream, count > 1 ? words[1] : "");
  check(driver.cuStreamDestroy(stream), "cuStreamDestroy");
  check(driver.cuCtxDestroy(context), "cuCtxDestroy");
  std::puts(right ? "ok" : "FAILED");
  return right ? 0 : 1;
}
