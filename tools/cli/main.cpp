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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

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

// Whether errors are to be JSON. What was asked for is looked for in the words alone: the options may be what is wrong.
bool asks_for_json(int argc, char** argv) noexcept {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--json" || word.starts_with("--json=")) return true;
  }
  return false;
}

// An option whose value is empty would be taken for one that was left out.
std::optional<sectile::Error> empty_value(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_expected_min() == 0) continue;  // flags, and bench's --json
    for (const std::string& value : option->results())
      if (value.empty())
        return sectile::Error{sectile::ErrorKind::parse, option->get_name(), "\"\"",
                              "a file's name, or what else it takes; without the option where there is none"};
  }
  return std::nullopt;
}

std::string names_of(std::span<const sectile::tools::Command> commands) {
  std::string names;
  for (const auto& command : commands)
    if (!command.app->get_group().empty()) names += (names.empty() ? "" : ", ") + command.app->get_name();
  return names;
}

int run(int argc, char** argv) {
  CLI::App app{"Plans and runs tensor layout transforms, matrix multiplications and convolutions on GPUs.", "sectile"};
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("sectile {} (planner {})", SECTILE_VERSION, sectile::planner_version()));
  using namespace sectile::tools;
  const std::array commands = {add_devices(app), add_targets(app),    add_permute(app), add_matmul(app),
                               add_conv2d(app),  add_plan(app),       add_check(app),   add_bench(app),
                               add_tune(app),    add_calibrate(app),  add_demo(app),    add_emit(app),
                               add_pack(app),    add_completion(app), add_manual(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error) == 0 ? kOk : kBadInput;  // --help, --version
    const bool json = asks_for_json(argc, argv);
    if (const std::string word = unknown_subcommand(commands, argc, argv); !word.empty())
      return report(sectile::Error{sectile::ErrorKind::missing, "subcommand", word, names_of(commands)}, json);
    std::string name = "sectile";
    for (const Command& command : commands)
      if (command.app->parsed()) name += " " + command.app->get_name();
    return report(sectile::Error{sectile::ErrorKind::parse, name, error.what(), "what " + name + " --help lists"},
                  json);
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    if (const auto error = empty_value(*command.app)) return report(*error, asks_for_json(argc, argv));
    return command.run();
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

// As report() does, without memory: `kind` and `why` need no escape in JSON. Not with fmt, which throws where standard
// error cannot be written to.
void tell(const char* kind, const char* why, bool json) noexcept {
  const std::array<const char*, 5> parts =
      json ? std::array{"{\"error\":{\"detail\":\"\",\"kind\":\"", kind,
                        "\",\"limit\":\"\",\"value\":\"\",\"what\":\"sectile\",\"message\":\"", why, "\"}}\n"}
           : std::array{"sectile: error: ", "", "", why, "\n"};
  for (const char* part : parts) std::fputs(part, stderr);
}

bool exception_told = false;  // as JSON: standard error has its one object

// The only place that checks whether all output has been written.
int finish(int code, bool json) {
  const bool before = std::ferror(stdout) != 0;
  const bool flushed = std::fflush(stdout) == 0;
  const int error = errno;
  const bool closed = std::fclose(stdout) == 0;
  if (!before && flushed && closed) return code;
  if (exception_told) return code;
  std::string why = "io: writing standard output";
  if (!flushed || !closed) why += std::string(": ") + std::strerror(flushed ? errno : error);
  tell("io", why.c_str(), json);
  return code == sectile::tools::kOk ? sectile::tools::kFailure : code;
}

// Output that cannot be written ends in std::system_error, from fmt.
bool told_as_json(const std::exception& error) noexcept {
  try {
    const bool output = dynamic_cast<const std::system_error*>(&error) != nullptr;
    using sectile::ErrorKind;
    sectile::tools::report(
        {output ? ErrorKind::io : ErrorKind::device, output ? "writing standard output" : "sectile", error.what(), ""},
        true);
    exception_told = true;
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

int run_guarded(int argc, char** argv) noexcept {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    tell("limit_exceeded", "out of memory", asks_for_json(argc, argv));
  } catch (const std::exception& error) {
    if (!asks_for_json(argc, argv) || !told_as_json(error)) tell("device", error.what(), false);
  }
  return sectile::tools::kFailure;
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_descriptors();
  return finish(run_guarded(argc, argv), asks_for_json(argc, argv));
}
