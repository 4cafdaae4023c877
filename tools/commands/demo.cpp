// sectile demo: transforms a photograph, checks the results, and times the kernels.
#include "bench/bench.hpp"
#include "cli/command.hpp"
#include "cli/npy.hpp"
#include "cli/picture.hpp"
#include "cli/run_problem.hpp"
#include "cli/target.hpp"
#include "cli/text.hpp"
#include "demo_products.hpp"

#include "backend/platform.hpp"
#include "backend/whole_file.hpp"
#include "reference/permute.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace sectile::tools {
namespace {

constexpr std::int64_t kTimedBytes = std::int64_t{64} << 20;

struct DemoOptions {
  std::string photo = "/opt/photos/china.jpg";
  std::string out = "out/demo";
  std::string device, device_class;
  double min_time = 0.3;
  bool json = false;
};

// One change of layout: of the picture, and of many copies of it for the timing.
struct Job {
  std::string name, what;
  PermuteProblem one, many;
};

std::vector<Job> make_jobs(const Picture& photo) {
  const std::int64_t h = photo.height, w = photo.width, c = photo.channels;
  const std::int64_t n = (kTimedBytes + h * w * c - 1) / (h * w * c);
  const auto layout = [&](std::int64_t batch, const char* to) {
    PermuteProblem problem;
    problem.type = DType::u8;
    problem.shape = {batch, h, w, c};
    problem.src_layout = "NHWC";
    problem.dst_layout = to;
    return problem;
  };
  const auto turn = [&](std::int64_t batch) {
    PermuteProblem problem;
    problem.type = DType::u8;
    problem.shape = {batch, h, w, c};
    problem.axes = {0, 2, 1, 3};
    return problem;
  };
  return {
      {"nchw", "the colour planes, one below the other", layout(1, "NCHW"), layout(n, "NCHW")},
      {"nchw4c", "a fourth channel of zeros, which the picture leaves out", layout(1, "NCHW4c"), layout(n, "NCHW4c")},
      {"transposed", "rows and columns exchanged", turn(1), turn(n)}};
}

// Runs one job on the picture and compares every byte; the error says what was wrong.
Result<Ran> run_checked(Machine& machine, const Job& job, const Picture& photo) {
  const std::span<const std::byte> inputs[] = {photo.bytes};
  auto result = run_problem(machine, job.one, inputs);
  if (!result) return result;
  const reference::PermuteDefinition definition(job.one);
  std::vector<std::byte> want(result->bytes.size(), std::byte{0x5a});
  reference::permute(definition, photo.bytes, want);
  auto wrong = reference::compare(definition, want, result->bytes);
  if (!wrong) wrong = reference::check_samples(definition, {photo.bytes, 0}, result->bytes, 1, 1000);
  if (wrong) return fail(ErrorKind::device, "wrong result: " + print(Problem(job.one)), wrong->message());
  return result;
}

// A job's result as a picture that a viewer can show.
Result<void> write_picture(const std::string& path, const Job& job, const Picture& photo,
                           std::span<const std::byte> bytes) {
  if (job.name == "nchw") return write_png(path, photo.width, photo.height * 3, 1, bytes);
  if (job.name == "transposed") return write_png(path, photo.height, photo.width, 3, bytes);
  std::vector<std::byte> rgb;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 4 != 3) rgb.push_back(bytes[i]);
  }
  return write_png(path, photo.width, photo.height, 3, rgb);
}

// A quarter turn to the right is the transpose with each row reversed. The host reverses the rows.
std::vector<std::byte> reverse_rows(std::span<const std::byte> bytes, std::size_t pixels_in_row) {
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  for (std::size_t pixel = 0; pixel < bytes.size() / 3; ++pixel) {
    const std::size_t row = pixel / pixels_in_row, column = pixel % pixels_in_row;
    const std::size_t to = row * pixels_in_row + (pixels_in_row - 1 - column);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(pixel * 3), 3,
                out.begin() + static_cast<std::ptrdiff_t>(to * 3));
  }
  return out;
}

Result<void> write_results(const DemoOptions& options, const Job& job, const Picture& photo, const Ran& result,
                           std::vector<std::string>& files) {
  const std::string base = options.out + "/" + job.name;
  if (auto written = write_picture(base + ".png", job, photo, result.bytes); !written) return written;
  const auto shape = dst_shape(job.one);
  if (!shape) return std::unexpected(shape.error());
  if (auto written = write_npy(base + ".npy", "|u1", *shape, result.bytes); !written) return written;
  files.push_back(fmt::format("{0}.png, {0}.npy: {1}", base, job.what));
  if (job.name != "transposed") return {};
  const auto turned = reverse_rows(result.bytes, static_cast<std::size_t>(photo.height));
  files.push_back(options.out +
                  "/rotated.png: the same with each row reversed (by the host): a quarter turn to the right");
  return write_png(options.out + "/rotated.png", photo.height, photo.width, 3, turned);
}

// Seconds of warm-up before a row, at most. Short, because a demo's figures are not recorded.
constexpr double kDemoWarmup = 0.6;

struct DemoResult {
  std::vector<RowResult> rows;
  std::vector<std::string> files;
  std::vector<MadePicture> pictures;
};

Result<DemoResult> run_jobs(const DemoOptions& options, const Picture& photo, Machine& machine) {
  DemoResult result;
  BenchOptions bench_options;
  bench_options.min_time = options.min_time;
  bench_options.warmup = kDemoWarmup;
  Steady steady(machine, bench_options.warmup);
  RowBench bench(machine, bench_options, steady);
  const auto jobs = make_jobs(photo);
  Progress bar("demo", jobs.size());
  for (const Job& job : jobs) {
    bar.show(result.rows.size(), job.name);
    const auto done = run_checked(machine, job, photo);
    if (!done) return std::unexpected(done.error());
    if (auto written = write_results(options, job, photo, *done, result.files); !written)
      return std::unexpected(written.error());
    RowResult row = bench.run({.name = job.name, .problem = job.many});
    if (!row.error.empty()) return fail(ErrorKind::device, job.name, row.error);
    result.rows.push_back(std::move(row));
  }
  for (const auto& make : {colour_photograph, filter_photograph}) {
    auto made = make(machine, photo, options.out);
    if (!made) return std::unexpected(made.error());
    for (MadePicture& picture : *made) result.pictures.push_back(std::move(picture));
  }
  for (const MadePicture& one : result.pictures)
    result.files.push_back(fmt::format("{}/{}.png: {}", options.out, one.name, one.what));
  return result;
}

void tell(const DemoOptions& options, const Picture& photo, const Machine& machine, const DemoResult& result) {
  const std::string device = machine.name();
  if (options.json) {
    BenchReport report;
    report.device = device;
    report.driver = machine.driver();
    report.rows = result.rows;
    report.date = utc_now();
    report.command = command_line();
    nlohmann::json json = to_json(report);
    json["files"] = result.files;
    for (const MadePicture& one : result.pictures)
      json["pictures"].push_back(
          {{"name", one.name}, {"problem", one.problem}, {"plan", one.plan}, {"of_tolerance", one.worst}});
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{}: {}x{} pixels; every layout equals the reference, byte by byte.\n\n", options.photo, photo.width,
             photo.height);
  Table table({"problem (the photograph repeated to 64 MB)", "kernel", "device", "time", "rate", "of a plain copy"});
  for (const RowResult& row : result.rows) {
    const ContenderTime& own = row.own();
    table.add({own.problem, own.candidate, device, format_seconds(own.time.median),
               format_rate(own.time.median > 0 ? own.work.bytes() / own.time.median : 0),
               fmt::format("{:.2f} ({})", row.fraction(), row.copy_name())});
  }
  fmt::print("{}\n", table.print());
  for (const MadePicture& one : result.pictures)
    fmt::print("{}: {}\n  {}; the largest error is {:.2f} of the tolerance against double precision\n", one.name,
               one.problem, one.plan, one.worst);
  fmt::print("\n");
  for (const std::string& file : result.files) fmt::print("{}\n", file);
}

int run(const DemoOptions& options) {
  const auto photo = read_picture(options.photo);
  if (!photo) return report(photo.error(), options.json);
  const auto machine = Machine::open(options.device, {.device_class = options.device_class});
  if (!machine) return report(machine.error(), options.json);
  std::error_code code;
  std::filesystem::create_directories(backend::native_path(options.out), code);
  if (code) return report(backend::write_failed(options.out, code).error(), options.json);
  const auto result = run_jobs(options, *photo, **machine);
  if (!result) {
    report(result.error(), options.json);
    return kFailure;
  }
  tell(options, *photo, **machine, *result);
  return kOk;
}

}  // namespace

Command add_demo(CLI::App& parent) {
  auto options = std::make_shared<DemoOptions>();
  CLI::App* app = parent.add_subcommand(
      "demo",
      "Change layout and colours of a photograph, filter it, check the results, write pictures and print times");
  app->add_option("--photo,photo", options->photo, "A photograph: JPEG, PNG, ...")->capture_default_str();
  app->add_option("-o,--out,--output", options->out, "Folder for pictures and tensors")->capture_default_str();
  app->add_option("--device", options->device, kDeviceHelp);
  app->add_option("--device-class", options->device_class, kDeviceClassHelp);
  app->add_option("--min-time", options->min_time, "Seconds of samples for each timed row")
      ->capture_default_str()
      ->check(number_in(0.001, 60));
  app->add_flag("--json", options->json, kJsonHelp);
  return {app, [options] { return run(*options); }};
}

}  // namespace sectile::tools
