// An application with a Vulkan device of its own that runs four plans of Sectile's in one command buffer.
//
//   vulkan_app [--validation] [--gpu-assisted] [--device TEXT] [--without FEATURE]... [--force CANDIDATE]
//              [--leak] [--short-scratch]      two mistakes, for the validation layer to find
//
// Read main() for the order of things, and Gpu::adopt() for what Sectile is given.
#include "reference.hpp"
#include "tensor.hpp"

#include <sectile/sectile.hpp>

#include <algorithm>
#include <chrono>
#include <map>

namespace {

struct Options {
  GpuOptions gpu;
  std::string force;           // the candidate that the linear layers are to use
  bool short_scratch = false;  // a scratch that is too small, and Sectile is not told its size
};

Options read_options(int count, char** words) {
  Options out;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const bool has_value = i + 1 < count;
    if (word == "--validation") {
      out.gpu.validation = true;
    } else if (word == "--gpu-assisted") {
      out.gpu.validation = out.gpu.gpu_assisted = true;
    } else if (word == "--leak") {
      out.gpu.leak = true;
    } else if (word == "--short-scratch") {
      out.short_scratch = true;
    } else if (word == "--device" && has_value) {
      out.gpu.device = words[++i];
    } else if (word == "--without" && has_value) {
      out.gpu.without.push_back(words[++i]);
    } else if (word == "--force" && has_value) {
      out.force = words[++i];
    } else {
      std::fprintf(stderr,
                   "usage: vulkan_app [--validation] [--gpu-assisted] [--device TEXT] [--without FEATURE]... "
                   "[--force CANDIDATE] [--leak] [--short-scratch]\n");
      std::exit(2);
    }
  }
  return out;
}

double microseconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

// What the device was made without. An application would log it once.
void tell_missing(const sectile::vulkan::Device& device) {
  std::string not_offered;
  for (const auto& missing : device.missing()) {
    if (missing.offered) {
      std::printf("lost: %s\n", sectile::vulkan::print(missing).c_str());
    } else {
      not_offered += (not_offered.empty() ? "" : ", ") + missing.name;
    }
  }
  if (!not_offered.empty()) std::printf("not offered: %s\n", not_offered.c_str());
}

std::string text(const char* format, auto... values) {
  char line[128];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

// A problem is one line of text (docs/reference/problem-string.md).
std::string convolution(const Sizes& s, const char* type) {
  return text("conv2d %s nhwc %dx%dx%dx%d k=%d r=3x3 p=1 epi=bias+relu", type, s.n, s.c, s.h, s.w, s.k);
}

// f16 where the device can convolve it, otherwise f32: this convolution reads single elements of 2 bytes (its bias, and
// filters of 9 elements in a row), and without 16-bit storage the planner refuses that.
bool use_half(const Sizes& s, const sectile::DeviceProfile& profile) {
  const auto plan = sectile::make_plan(check(sectile::parse_problem(convolution(s, "f16")), "conv"), profile);
  if (!plan) std::printf("f32, not f16: %s\n", plan.error().message().c_str());
  return plan.has_value();
}

// A plan, and the tensors of its operands by the names that the operation gives them.
struct Layer {
  std::string name, problem;
  std::map<std::string, const Tensor*> tensors;
  std::vector<sectile::vulkan::OperandAddress> operands = {};  // in the plan's order
};

sectile::Plan plan_layer(const Layer& layer, const sectile::DeviceProfile& profile, const std::string& force) {
  const auto problem = check(sectile::parse_problem(layer.problem), layer.name);
  sectile::PlanOptions options;
  if (sectile::operation_of(problem) == "matmul") options.force = force;
  auto plan = check(sectile::make_plan(problem, profile, options), layer.name);
  std::printf("%-8s %s\n", layer.name.c_str(), sectile::print(plan).c_str());
  return plan;
}

// The host reads the results: the application orders that, as after any compute work of its own.
void make_visible_to_host(VkCommandBuffer commands) {
  VkMemoryBarrier2 barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER_2};
  barrier.srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
  barrier.srcAccessMask = VK_ACCESS_2_SHADER_WRITE_BIT;
  barrier.dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT;
  barrier.dstAccessMask = VK_ACCESS_2_HOST_READ_BIT;
  VkDependencyInfo dependency{VK_STRUCTURE_TYPE_DEPENDENCY_INFO};
  dependency.memoryBarrierCount = 1;
  dependency.pMemoryBarriers = &barrier;
  vkCmdPipelineBarrier2(commands, &dependency);
}

bool report(const char* name, double error) {
  std::printf("%-8s largest error %.3f of what is allowed%s\n", name, error, error <= 1 ? "" : ": WRONG");
  return error <= 1;
}

bool run(Gpu& gpu, const Options& options) {
  auto device = gpu.adopt();
  tell_missing(device);
  const Sizes s;
  const bool half = use_half(s, device.profile());
  const char* type = half ? "f16" : "f32";

  // The application's tensors. All are mapped here, so that each layer can be checked by itself.
  Tensor image(gpu, s.n * s.c * s.h * s.w, half), pixels(gpu, s.n * s.c * s.h * s.w, half);
  Tensor filters(gpu, s.k * s.c * 9, half), filter_bias(gpu, s.k, half), features(gpu, s.n * s.row(), half);
  Tensor class_weights(gpu, s.classes * s.row(), half), box_weights(gpu, s.boxes * s.row(), half);
  Tensor class_bias(gpu, s.classes, false), box_bias(gpu, s.boxes, false);
  Tensor classes(gpu, s.n * s.classes, false), boxes(gpu, s.n * s.boxes, false);
  std::mt19937 engine(7);
  for (Tensor* each : {&image, &filters, &filter_bias, &class_bias, &box_bias}) each->fill(engine, 1);
  for (Tensor* each : {&class_weights, &box_weights}) each->fill(engine, 0.02f);

  // Plan: some ten microseconds each, nothing is compiled.
  const auto linear_layer = [&](int outputs) {
    return text("matmul %s nt %dx%dx%d out=f32 epi=bias", type, s.n, outputs, s.row());
  };
  Layer layers[] = {
      {"to_nhwc",
       text("permute %s %dx%dx%dx%d layout=NCHW:NHWC", type, s.n, s.c, s.h, s.w),
       {{"src", &image}, {"dst", &pixels}}},
      {"conv", convolution(s, type), {{"x", &pixels}, {"w", &filters}, {"y", &features}, {"bias", &filter_bias}}},
      {"classes",
       linear_layer(s.classes),
       {{"a", &features}, {"b", &class_weights}, {"d", &classes}, {"bias", &class_bias}}},
      {"boxes", linear_layer(s.boxes), {{"a", &features}, {"b", &box_weights}, {"d", &boxes}, {"bias", &box_bias}}},
  };
  std::vector<sectile::Plan> plans;
  std::uint64_t scratch_bytes = 4;
  for (const Layer& layer : layers) {
    plans.push_back(plan_layer(layer, device.profile(), options.force));
    for (const auto& operand : plans.back().operands)
      if (operand.role == sectile::OperandRole::scratch) scratch_bytes = std::max(scratch_bytes, operand.bytes);
  }

  // One scratch for all plans, as large as the largest: record_all orders those that share it.
  const Buffer scratch = gpu.make_buffer(options.short_scratch ? 4 : scratch_bytes, false);
  // Bytes of 0 say that the size is unknown. Sectile then checks nothing: only GPU-assisted validation can.
  const sectile::vulkan::OperandAddress scratch_operand{scratch.address, options.short_scratch ? 0 : scratch.bytes};
  for (std::size_t i = 0; i < plans.size(); ++i)
    for (const auto& operand : plans[i].operands)
      layers[i].operands.push_back(operand.role == sectile::OperandRole::scratch
                                       ? scratch_operand
                                       : layers[i].tensors.at(operand.name)->operand());

  // Prepare: compiles, once. The second time every pipeline is there.
  std::vector<sectile::vulkan::Executable> ready, again;
  const double first = microseconds_of([&] { ready = check(device.prepare(plans), "prepare"); });
  const double second = microseconds_of([&] { again = check(device.prepare(plans), "prepare"); });

  // Record: as often as you like, between commands of your own.
  std::vector<sectile::vulkan::Recording> recordings;
  for (std::size_t i = 0; i < ready.size(); ++i) recordings.push_back({&ready[i], layers[i].operands});
  std::size_t barriers = 0;
  double record = 0;
  const VkCommandBuffer commands = gpu.record([&](VkCommandBuffer cmd) {
    record = microseconds_of([&] { barriers = check(sectile::vulkan::record_all(cmd, recordings), "record"); });
    make_visible_to_host(cmd);
  });
  std::printf("%zu plans, %zu barriers between them, %zu pipelines\n", plans.size(), barriers, device.pipeline_count());
  std::printf("prepare first %.0f us, second %.0f us, record %.1f us\n", first, second, record);

  // Submit: twice, each time with poisoned outputs. The first time lavapipe compiles once more.
  for (const char* which : {"first", "second"}) {
    for (Tensor* each : {&pixels, &features, &classes, &boxes}) each->poison();
    std::printf("%s submission %.2f ms\n", which, microseconds_of([&] { gpu.run(commands); }) / 1000);
  }

  bool right = report("to_nhwc", to_nhwc(s, image.values()) == pixels.values() ? 0 : INFINITY);
  right &= report("conv", worst_error(convolve(s, pixels.values(), filters.values(), filter_bias.values()),
                                      features.values(), 9 * s.c, half ? 0x1p-11 : 0x1p-24));
  right &= report("classes",
                  worst_error(linear(s, s.classes, features.values(), class_weights.values(), class_bias.values()),
                              classes.values(), s.row(), 0x1p-24));
  right &= report("boxes", worst_error(linear(s, s.boxes, features.values(), box_weights.values(), box_bias.values()),
                                       boxes.values(), s.row(), 0x1p-24));
  gpu.destroy(scratch);
  return right;  // executables and Device end here, before the VkDevice
}

}  // namespace

int main(int count, char** words) {
  std::setvbuf(stdout, nullptr, _IONBF, 0);  // in order with what the layer writes to stderr
  const Options options = read_options(count, words);
  Messages messages;
  bool right = false;
  {
    Gpu gpu(options.gpu, messages);
    std::printf("device: %s\n", gpu.name());
    right = run(gpu, options);
  }  // the layer looks for what was forgotten here
  if (messages.count > 0) std::printf("%d messages of the validation layer\n", messages.count);
  right &= messages.count == 0;
  std::puts(right ? "ok" : "FAILED");
  return right ? 0 : 1;
}
