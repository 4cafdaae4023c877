#include "cli/command_tree.hpp"

#include <fmt/format.h>

#include <string_view>

namespace sectile::tools {
namespace {

// Text that roff prints as it is: dashes that can be copied, no escapes, and no line that reads as a request.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool line_begins = out.empty() || out.back() == '\n';
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string roff_argument(std::string_view text) {
  std::string out = "\"";
  for (const char c : plain(text)) out += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return out + "\"";
}

void add_option(std::string& page, const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", fmt::format("\\fB{}\\fR", plain(name)));
  if (!option.value.empty() && option.names[0].starts_with('-'))
    names += fmt::format(" \\fI{}\\fR", plain(option.value));
  page += fmt::format(".TP\n{}\n{}\n", names, plain(option.description));
  std::string choices;
  for (const std::string& choice : option.choices) choices += (choices.empty() ? "One of " : ", ") + choice;
  if (!choices.empty()) page += plain(choices) + ".\n";
}

std::string synopsis(const CommandTree& tree, const CommandText& command) {
  std::string out = fmt::format("{} {}", tree.name, command.name);
  for (const OptionText& positional : command.positionals) {
    const std::string name = positional.names[0] + (positional.repeated ? "..." : "");
    out += positional.required ? " " + name : " [" + name + "]";
  }
  return out + " [options]";
}

}  // namespace

std::string manual(const CommandTree& tree) {
  // No date: the same sources make the same page.
  std::string page = fmt::format(".TH SECTILE 1 \"\" {} \"User Commands\"\n", roff_argument(tree.version));
  page += fmt::format(".SH NAME\n{} \\- plans and runs permutes, matmuls and convolutions on GPUs\n", plain(tree.name));
  page += fmt::format(".SH SYNOPSIS\n.B {}\n.I command\n[\\fIoptions\\fR]\n", plain(tree.name));
  page += fmt::format(".SH DESCRIPTION\n{}\n", plain(tree.description));
  page += ".SH OPTIONS\n";
  for (const OptionText& option : tree.options) add_option(page, option);
  page += ".SH COMMANDS\n";
  for (const CommandText& command : tree.commands) {
    page += fmt::format(".SS {}\n{}.\n", roff_argument(synopsis(tree, command)), plain(command.description));
    for (const OptionText& positional : command.positionals) add_option(page, positional);
    for (const OptionText& option : command.options) add_option(page, option);
  }
  page +=
      ".SH EXIT STATUS\n"
      ".TP\n.B 0\nEverything was done, and all output was written.\n"
      ".TP\n.B 1\nThe run failed: a wrong result, an error of the driver, output that could not be written.\n"
      ".TP\n.B 2\nThe input cannot be read or done. Nothing was written.\n"
      ".SH ENVIRONMENT\n"
      ".TP\n.B VK_DRIVER_FILES\nThe Vulkan drivers that the loader is to take.\n"
      ".SH BUGS\nLinux alone has been tried.\n";
  return page;
}

}  // namespace sectile::tools
