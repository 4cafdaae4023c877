// What the subcommands of `sectile` share: registration, texts of common options, exit codes, errors.
#pragma once

#include <sectile/error.hpp>

#include <CLI/CLI.hpp>

#include <functional>

namespace sectile::tools {

// docs/reference/exit-codes.md says what each stands for.
inline constexpr int kOk = 0;
inline constexpr int kFailure = 1;   // wrong results or none, a device's failure, output that could not be written
inline constexpr int kBadInput = 2;  // input that cannot be read or done; nothing was written

inline constexpr const char* kDeviceHelp = "Device: vulkan:N, cuda:N, a UUID or part of a name";
inline constexpr const char* kTargetHelp = "Built-in target, or a file: a profile's or vulkaninfo's JSON";
inline constexpr const char* kDeviceClassHelp =
    "File with what work costs on such devices, as `sectile calibrate` writes it";
inline constexpr const char* kSupplementHelp = "File with facts that the profile lacks";
inline constexpr const char* kForceHelp = "Use this candidate: its whole name, or its stem";
inline constexpr const char* kFewPipelinesHelp =
    "Matmuls and convolutions: choose among few kernels, so that many problems share pipelines";
inline constexpr const char* kJsonHelp = "Print JSON";

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;  // runs the chosen subcommand; returns the exit code
};

Command add_devices(CLI::App& parent);
Command add_permute(CLI::App& parent);
Command add_matmul(CLI::App& parent);
Command add_conv2d(CLI::App& parent);
Command add_plan(CLI::App& parent);
Command add_check(CLI::App& parent);
Command add_bench(CLI::App& parent);
Command add_tune(CLI::App& parent);
Command add_calibrate(CLI::App& parent);
Command add_demo(CLI::App& parent);
Command add_targets(CLI::App& parent);
Command add_emit(CLI::App& parent);
Command add_pack(CLI::App& parent);
Command add_completion(CLI::App& parent);  // these two are hidden from --help
Command add_manual(CLI::App& parent);

// Checks of numbers: finite, and from `least` to `most`. CLI::Range accepts NaN.
CLI::Validator number_in(double least, double most);
CLI::Validator finite_number();

// Prints an error on standard error, as a line of text or as a JSON object, and returns the exit code.
int report(const Error& error, bool json = false);
int exit_code(const Error& error) noexcept;

}  // namespace sectile::tools
