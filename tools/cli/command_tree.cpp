#include "cli/command_tree.hpp"

#include <string_view>

namespace sectile::tools {
namespace {

// CLI11 writes what a validator allows behind the type: "TEXT:{permute,matmul}", "INT:INT in [1 - 9]".
void read_type(const std::string& type, OptionText& out) {
  const std::size_t colon = type.find(':');
  if (colon == std::string::npos) {
    out.value = type;
    return;
  }
  std::string_view allowed = std::string_view(type).substr(colon + 1);
  if (!allowed.starts_with('{') || !allowed.ends_with('}')) {
    out.value = allowed.find(" in [") != std::string_view::npos ? std::string(allowed) : type.substr(0, colon);
    return;
  }
  out.value = type.substr(0, colon);
  allowed = allowed.substr(1, allowed.size() - 2);
  while (!allowed.empty()) {
    const std::size_t comma = allowed.find(',');
    out.choices.emplace_back(allowed.substr(0, comma));
    allowed = comma == std::string_view::npos ? std::string_view() : allowed.substr(comma + 1);
  }
}

OptionText option_text(const CLI::Option& option) {
  OptionText out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  out.description = option.get_description();
  out.required = option.get_required();
  out.repeated = option.get_expected_max() > 1;
  if (option.get_expected_max() > 0) read_type(option.get_type_name(), out);
  return out;
}

bool hidden(const std::string& group) { return group.empty(); }

}  // namespace

CommandTree command_tree(const CLI::App& app) {
  CommandTree out;
  out.name = app.get_name();
  out.description = app.get_description();
  out.version = app.version();
  for (const CLI::Option* option : app.get_options())
    if (!hidden(option->get_group())) out.options.push_back(option_text(*option));
  for (const CLI::App* sub : app.get_subcommands({})) {
    if (hidden(sub->get_group())) continue;
    CommandText command;
    command.name = sub->get_name();
    command.description = sub->get_description();
    for (const CLI::Option* option : sub->get_options()) {
      if (hidden(option->get_group())) continue;
      OptionText text = option_text(*option);
      if (!text.names.empty()) command.options.push_back(text);
      // Some may be given either way.
      if (option->get_positional()) {
        text.names = {option->get_name(true)};
        command.positionals.push_back(std::move(text));
      }
    }
    out.commands.push_back(std::move(command));
  }
  return out;
}

}  // namespace sectile::tools
