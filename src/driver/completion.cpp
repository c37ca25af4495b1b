// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "completion.hpp"

#include <prekond/core/error.hpp>
#include <prekond/core/version.hpp>

#include <vector>

#include "settings.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

/// "--rtol", "-q", ... of an option.
std::vector<std::string> flags_of(const CLI::Option& option) {
  std::vector<std::string> flags;
  for (const auto& name : option.get_snames()) flags.push_back("-" + name);
  for (const auto& name : option.get_lnames()) flags.push_back("--" + name);
  return flags;
}

std::string joined(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

/// The lines `COMMAND:FLAG) found="...";;` of the options whose values are words.
std::string values_of(const CLI::App& sub) {
  const std::string& command = sub.get_name();
  std::string lines;
  for (const SettingKey& key : setting_keys(settings_of(command))) {
    const std::string words = joined(known_words(settings_of(command), key), " ");
    if (!words.empty())
      lines += "    " + command + ":" + option_name(key.name) + ") found=\"" + words + "\";;\n";
  }
  return lines;
}

/// Text as troff prints it.
std::string troff(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  if (shell != "bash" && shell != "zsh")
    throw OptionError("there is completion for bash and zsh, not for '" + shell + "'");
  std::vector<std::string> commands = {"help"};
  std::string values, options;
  for (const CLI::App* sub : app.get_subcommands({})) {
    std::vector<std::string> flags;
    for (const CLI::Option* option : sub->get_options()) {
      const auto own = flags_of(*option);
      flags.insert(flags.end(), own.begin(), own.end());
    }
    commands.push_back(sub->get_name());
    options += "    " + sub->get_name() + ") found=\"" + joined(flags, " ") + "\";;\n";
    values += values_of(*sub);
  }
  // Bash divides words at '=' too: --match, =, auto.
  return (shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "") + std::string(R"(_prekond() {
  local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} found=
  [[ $COMP_CWORD -gt 1 ]] || command=
  [[ $before != = ]] || before=${COMP_WORDS[COMP_CWORD-2]}
  [[ $cur != = ]] || cur=
  case $command:$before in
    :* | help:help) found=")") +
         joined(commands, " ") + "\";;\n" + values +
         R"(    list:list) found="preconditioners solvers generators";;
    completion:completion) found="bash zsh";;
    *) [[ $cur != -* ]] || case $command in
)" + options +
         R"(    esac;;
  esac
  COMPREPLY=($(compgen -W "$found" -- "$cur"))
}
complete -o default -F _prekond prekond
)";
}

std::string manual_page(const CLI::App& app) {
  std::string page =
      text_of(".TH PREKOND 1 \"\" \"prekond ", version, "\"\n.SH NAME\nprekond \\- ",
              troff(app.get_description()), "\n.SH SYNOPSIS\n.B prekond\n.I COMMAND\n[\\fIOPTIONS\\fR]\n");
  for (const CLI::App* sub : app.get_subcommands({})) {
    page += ".SH prekond " + sub->get_name() + "\n" + troff(sub->get_description()) + "\n";
    for (const CLI::Option* option : sub->get_options()) {
      const auto flags = flags_of(*option);
      page += ".TP\n\\fB" + troff(flags.empty() ? option->get_name() : joined(flags, ", ")) + "\\fR " +
              troff(option->get_option_text()) + "\n" + troff(option->get_description()) + "\n";
    }
  }
  page += ".SH NOTES\n";
  for (const std::string& line : split(app.get_footer(), '\n')) page += troff(line) + "\n.PP\n";
  return page;
}

}  // namespace prekond::driver
