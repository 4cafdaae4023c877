// The command's subcommands and options as data, read from what parses them: for the manual and the completions.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace sectile::tools {

struct OptionText {
  std::vector<std::string> names;  // as they are typed: "-o", "--out"; a positional's one name has no dash
  std::string description;
  std::string value;                 // "TEXT", "FLOAT in [0 - 60]"; empty: a flag
  std::vector<std::string> choices;  // where only these are allowed
  bool required = false;
  bool repeated = false;
};

struct CommandText {
  std::string name;
  std::string description;
  std::vector<OptionText> positionals;
  std::vector<OptionText> options;
};

struct CommandTree {
  std::string name;
  std::string description;
  std::string version;  // what --version prints
  std::vector<OptionText> options;
  std::vector<CommandText> commands;  // without hidden ones
};

CommandTree command_tree(const CLI::App& app);

// A page for man (roff).
std::string manual(const CommandTree& tree);

// Completion scripts. `targets` are the names of built-in targets.
std::string bash_completion(const CommandTree& tree, const std::vector<std::string>& targets);
std::string zsh_completion(const CommandTree& tree, const std::vector<std::string>& targets);
std::string fish_completion(const CommandTree& tree, const std::vector<std::string>& targets);

}  // namespace sectile::tools
