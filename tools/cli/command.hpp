// What the subcommands of `sectile` share: how one is added, exit codes, how errors are told.
#pragma once

#include <sectile/error.hpp>

#include <CLI/CLI.hpp>

#include <functional>

namespace sectile::tools {

// docs/reference/exit-codes.md says what each stands for.
inline constexpr int kOk = 0;
inline constexpr int kFailure = 1;   // wrong results, or none; a device that failed; an output that could not be written
inline constexpr int kBadInput = 2;  // what the user gave cannot be done or read; nothing was written

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;  // called where the user chose this subcommand; gives the exit code
};

Command add_devices(CLI::App& parent);
Command add_permute(CLI::App& parent);
Command add_matmul(CLI::App& parent);
Command add_plan(CLI::App& parent);
Command add_check(CLI::App& parent);
Command add_bench(CLI::App& parent);
Command add_tune(CLI::App& parent);
Command add_demo(CLI::App& parent);
Command add_targets(CLI::App& parent);
Command add_emit(CLI::App& parent);
Command add_pack(CLI::App& parent);

// For options that are a number: finite, and from `least` to `most`. CLI::Range takes NaN, with which no comparison holds.
CLI::Validator number_in(double least, double most);
CLI::Validator finite_number();

// Prints an error on standard error, as a line for people or as one JSON object, and gives the exit code.
int report(const Error& error, bool json = false);
int exit_code(const Error& error) noexcept;

}  // namespace sectile::tools
