// sectile completion and sectile manual: what a package installs beside the command. Hidden from --help.
#include "cli/command.hpp"
#include "cli/command_tree.hpp"

#include <sectile/profile.hpp>

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace sectile::tools {

Command add_completion(CLI::App& parent) {
  auto* app = parent.add_subcommand("completion", "Print the completion script of a shell")->group("");
  const auto shell = std::make_shared<std::string>();
  app->add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return {app, [shell, &parent] {
            std::vector<std::string> targets;
            for (const std::string_view name : builtin_target_names()) targets.emplace_back(name);
            const auto script = *shell == "bash" ? bash_completion : *shell == "zsh" ? zsh_completion : fish_completion;
            fmt::print("{}", script(command_tree(parent), targets));
            return kOk;
          }};
}

Command add_manual(CLI::App& parent) {
  auto* app = parent.add_subcommand("manual", "Print the manual page, for man")->group("");
  return {app, [&parent] {
            fmt::print("{}", manual(command_tree(parent)));
            return kOk;
          }};
}

}  // namespace sectile::tools
