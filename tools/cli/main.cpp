// The `sectile` command: one file for each subcommand.
#include "command.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace {

// The word in the subcommand's place if it is not a subcommand; otherwise empty.
std::string unknown_subcommand(std::span<const sectile::tools::Command> commands, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with('-')) continue;
    const bool known =
        std::ranges::any_of(commands, [&](const auto& command) { return command.app->get_name() == word; });
    return known ? std::string() : word;
  }
  return {};
}

std::string names_of(std::span<const sectile::tools::Command> commands) {
  std::string names;
  for (const auto& command : commands) names += (names.empty() ? "" : ", ") + command.app->get_name();
  return names;
}

int run(int argc, char** argv) {
  CLI::App app{"Plans and runs tensor layout transforms, matrix multiplications and convolutions on GPUs.", "sectile"};
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("sectile {} (planner {})", SECTILE_VERSION, sectile::planner_version()));
  using namespace sectile::tools;
  const std::array commands = {add_devices(app), add_targets(app), add_permute(app), add_matmul(app),
                               add_conv2d(app),  add_plan(app),    add_check(app),   add_bench(app),
                               add_tune(app),    add_demo(app),    add_emit(app),    add_pack(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (const std::string word = unknown_subcommand(commands, argc, argv); error.get_exit_code() != 0 && !word.empty())
      return report(sectile::Error{sectile::ErrorKind::missing, "subcommand", word, names_of(commands)});
    // CLI11's own exit codes are over 100. Ours mean the same in all subcommands.
    return app.exit(error) == 0 ? kOk : kBadInput;
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return kBadInput;
}

// The next file that is opened would get a closed standard descriptor's number, and printed text would go into it.
// Standard input and output are opened in the wrong direction, so that using them is an error. Standard error may be
// lost.
void fill_closed_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() takes the lowest free number: this one.
    if (::open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_WRONLY) < 0) return;
  }
}

void tell(const char* why) noexcept {
  // Not with fmt, which throws where standard error cannot be written to.
  std::fputs("sectile: error: ", stderr);
  std::fputs(why, stderr);
  std::fputs("\n", stderr);
}

// The only place that checks whether all output has been written.
int finish(int code) {
  const bool before = std::ferror(stdout) != 0;
  const bool flushed = std::fflush(stdout) == 0;
  const int error = errno;
  const bool closed = std::fclose(stdout) == 0;
  if (!before && flushed && closed) return code;
  std::string why = "io: writing standard output";
  if (!flushed || !closed) why += std::string(": ") + std::strerror(flushed ? errno : error);
  tell(why.c_str());
  return code == sectile::tools::kOk ? sectile::tools::kFailure : code;
}

int run_guarded(int argc, char** argv) noexcept {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    tell("out of memory");
  } catch (const std::exception& error) {
    tell(error.what());
  }
  return sectile::tools::kFailure;
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_descriptors();
  return finish(run_guarded(argc, argv));
}
