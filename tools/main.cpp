// The `sectile` command: one file a subcommand.
#include "command.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

namespace {

int run(int argc, char** argv) {
  CLI::App app{"GPU layout transforms and matrix products, planned and run.", "sectile"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "planner " + std::string(sectile::planner_version()));
  using namespace sectile::tools;
  const std::array commands = {add_devices(app), add_targets(app), add_permute(app), add_matmul(app), add_plan(app), add_check(app),
                               add_bench(app),   add_tune(app),    add_demo(app),    add_emit(app),   add_pack(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 has exit codes of its own, over 100; ours say the same thing in all subcommands.
    return app.exit(error) == 0 ? kOk : kBadInput;
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return kBadInput;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "sectile: error: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "sectile: error: {}\n", error.what());
  }
  return sectile::tools::kFailure;
}
