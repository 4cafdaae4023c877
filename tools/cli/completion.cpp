#include "cli/command_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace sectile::tools {
namespace {

using Names = std::vector<std::string>;

std::string joined(const Names& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : " ") + name;
  return out;
}

bool takes_targets(const OptionText& option) {
  return std::ranges::any_of(option.names,
                             [](const std::string& name) { return name == "--target" || name == "targets"; });
}

// What completes an option's value beside files.
Names words_for(const OptionText& option, const Names& targets) {
  return takes_targets(option) ? targets : option.choices;
}

// Whether a value may be a file. Numbers and names of devices are none.
bool takes_file(const OptionText& option) {
  if (!option.choices.empty() || !option.value.starts_with("TEXT")) return false;
  return !std::ranges::any_of(option.names, [](const std::string& name) {
    return name == "--device" || name == "--force" || name == "--problem" || name == "problem" || name == "problems";
  });
}

// As CLI11 reads a word that is no option: the command's positional, of which the first says what it may be.
Names positional_words(const CommandText& command, const Names& targets) {
  return command.positionals.empty() ? Names() : words_for(command.positionals[0], targets);
}

bool positional_files(const CommandText& command) { return std::ranges::any_of(command.positionals, takes_file); }

std::string replaced(std::string_view text, std::initializer_list<std::pair<char, std::string_view>> by) {
  std::string out;
  for (const char c : text) {
    const auto* found = std::ranges::find(by, c, &std::pair<char, std::string_view>::first);
    out += found != by.end() ? std::string(found->second) : std::string(1, c);
  }
  return out;
}

// ---------------------------------------------------------------------------------------------------------------- bash

// Commands whose values may be files leave COMPREPLY empty: readline then completes files (-o default).
std::string bash_case(const CommandText& command, const Names& targets) {
  std::string values;
  Names options;
  for (const OptionText& option : command.options) {
    options.insert(options.end(), option.names.begin(), option.names.end());
    if (option.value.empty()) continue;
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : "|") + name;
    values += fmt::format("        {}) words='{}' files={} ;;\n", names, joined(words_for(option, targets)),
                          takes_file(option) ? 1 : 0);
  }
  return fmt::format(
      "    {})\n        options='{}' words='{}' files={}\n        case $previous in\n{}"
      "        *) value= ;;\n        esac ;;\n",
      command.name, joined(options), joined(positional_words(command, targets)), positional_files(command) ? 1 : 0,
      values);
}

}  // namespace

std::string bash_completion(const CommandTree& tree, const Names& targets) {
  std::string cases;
  Names first;
  for (const CommandText& command : tree.commands) {
    first.push_back(command.name);
    cases += bash_case(command, targets);
  }
  for (const OptionText& option : tree.options) first.insert(first.end(), option.names.begin(), option.names.end());
  return fmt::format(R"(# bash completion of {0}: `{0} completion bash` prints it.
_{0}() {{
    local at=$COMP_CWORD current=${{COMP_WORDS[COMP_CWORD]}} before= previous
    local command= options= words= files=0 value=1 i
    # --option=value comes as three words, and so does name:value.
    if [[ $current == : ]]; then
        current= before=${{COMP_WORDS[at - 1]}}: at=$((at - 1))
    elif ((at > 2)) && [[ ${{COMP_WORDS[at - 1]}} == : ]]; then
        before=${{COMP_WORDS[at - 2]}}: at=$((at - 2))
    fi
    previous=${{COMP_WORDS[at - 1]}}
    if [[ $current == = ]]; then current=; elif [[ $previous == = ]]; then previous=${{COMP_WORDS[at - 2]}}; fi
    for ((i = 1; i < COMP_CWORD; ++i)); do
        case ${{COMP_WORDS[i]}} in -*) ;; *) command=${{COMP_WORDS[i]}}; break ;; esac
    done
    COMPREPLY=()
    compopt -o default 2>/dev/null
    case $command in
    '') words='{1}' value=1 ;;
{2}    *) return ;;
    esac
    [[ -n $value || $current != -* ]] || words=$options
    while IFS= read -r i; do
        [[ -z $i ]] || COMPREPLY+=("${{i#"$before"}}")
    done < <(compgen -W "$words" -- "$before$current")
    if [[ $files == 0 ]]; then
        compopt +o default 2>/dev/null
    elif [[ $words && $words != "$options" ]]; then
        while IFS= read -r i; do COMPREPLY+=("$i"); done < <(compgen -f -- "$current")
    fi
}}
complete -o default -F _{0} {0}
)",
                     tree.name, joined(first), cases);
}

// ----------------------------------------------------------------------------------------------------------------- zsh

namespace {

std::string zsh_text(std::string_view text) {
  return replaced(text, {{'[', "\\["}, {']', "\\]"}, {':', "\\:"}, {'\\', "\\\\"}, {'\'', "'\\''"}});
}

// ":what it is:how it is completed", or nothing for a flag.
std::string zsh_value(const OptionText& option, const Names& targets) {
  if (option.value.empty()) return {};
  // A colon ends the action.
  const std::string words = replaced(joined(words_for(option, targets)), {{':', "\\:"}});
  std::string action = " ";
  if (!words.empty() && takes_file(option))
    action = fmt::format("{{compadd -- {}; _files}}", words);
  else if (!words.empty())
    action = fmt::format("({})", words);
  else if (takes_file(option))
    action = "_files";
  return fmt::format(":{}:{}", zsh_text(option.value), action);
}

std::string zsh_case(const CommandText& command, const Names& targets) {
  std::string out = fmt::format("    {})\n      _arguments -s", command.name);
  for (const OptionText& option : command.options) {
    std::string others = option.names.size() > 1 ? fmt::format("({})", joined(option.names)) : "";
    for (const std::string& name : option.names)
      out += fmt::format(" \\\n        '{}{}[{}]{}'", option.repeated ? "*" : others, name,
                         zsh_text(option.description), zsh_value(option, targets));
  }
  for (const OptionText& positional : command.positionals)
    out += fmt::format(" \\\n        '{}{}'", positional.repeated ? "*" : "", zsh_value(positional, targets));
  return out + " ;;\n";
}

}  // namespace

std::string zsh_completion(const CommandTree& tree, const Names& targets) {
  std::string commands, cases, options;
  for (const CommandText& command : tree.commands) {
    commands += fmt::format("      '{}:{}'\n", command.name, zsh_text(command.description));
    cases += zsh_case(command, targets);
  }
  for (const OptionText& option : tree.options)
    for (const std::string& name : option.names)
      options += fmt::format(" \\\n    '(- *){}[{}]'", name, zsh_text(option.description));
  return fmt::format(R"(#compdef {0}
# zsh completion of {0}: `{0} completion zsh` prints it.
_{0}() {{
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C{1} \
    '1:command:->command' '*::argument:->argument'
  case $state in
  command)
    local -a commands
    commands=(
{2}    )
    _describe command commands ;;
  argument)
    case $line[1] in
{3}    esac ;;
  esac
}}
_{0} "$@"
)",
                     tree.name, options, commands, cases);
}

// ---------------------------------------------------------------------------------------------------------------- fish

namespace {

std::string fish_text(std::string_view text) { return "'" + replaced(text, {{'\\', "\\\\"}, {'\'', "\\'"}}) + "'"; }

std::string fish_option(const std::string& start, const OptionText& option, const Names& targets) {
  std::string out = start;
  for (const std::string& name : option.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.value.empty()) {
    const Names words = words_for(option, targets);
    out += takes_file(option) ? " -r -F" : " -x";
    if (!words.empty()) out += " -a " + fish_text(joined(words));
  }
  return out + " -d " + fish_text(option.description) + "\n";
}

}  // namespace

std::string fish_completion(const CommandTree& tree, const Names& targets) {
  std::string out =
      fmt::format("# fish completion of {0}: `{0} completion fish` prints it.\ncomplete -c {0} -f\n", tree.name);
  for (const OptionText& option : tree.options)
    out += fish_option(fmt::format("complete -c {} -n __fish_use_subcommand", tree.name), option, targets);
  for (const CommandText& command : tree.commands) {
    out += fmt::format("complete -c {} -n __fish_use_subcommand -a {} -d {}\n", tree.name, command.name,
                       fish_text(command.description));
    const std::string start =
        fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}'", tree.name, command.name);
    if (const Names words = positional_words(command, targets); !words.empty())
      out += fmt::format("{} -a {}\n", start, fish_text(joined(words)));
    if (positional_files(command)) out += start + " -F\n";
    for (const OptionText& option : command.options) out += fish_option(start, option, targets);
  }
  return out;
}

}  // namespace sectile::tools
