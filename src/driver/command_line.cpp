// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <map>

#include "completion.hpp"
#include "config_file.hpp"
#include "kokkos_flags.hpp"
#include "kokkos_session.hpp"

namespace prekond::driver {
namespace {

/// Does the argument read `key=value`, the key a name with dots, and no flag?
bool is_pair(const std::string& argument) {
  const auto end = std::find_if_not(argument.begin(), argument.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
  });
  return end != argument.begin() && !argument.starts_with('-') && end != argument.end() && *end == '=';
}

/// Repeats the flag before each of several pairs (`-p a=1 b=2` becomes `-p a=1 -p b=2`), so that a flag takes
/// exactly one argument and never swallows the matrix after it.
std::vector<std::string> spread_pairs(const std::vector<std::string>& arguments) {
  const std::vector<std::string> flags = {"-s", "-p", "--solver-options", "--precond-options"};
  std::vector<std::string> spread;
  std::string flag;
  bool first = false;
  for (const auto& argument : arguments) {
    if (std::find(flags.begin(), flags.end(), argument) != flags.end()) {
      flag = argument;
      first = true;
    } else if (first) {
      first = false;
    } else if (!flag.empty() && is_pair(argument)) {
      spread.push_back(flag);
    } else {
      flag.clear();
    }
    spread.push_back(argument);
  }
  return spread;
}

const char* const exit_codes =
    "Exit code: 0 converged or done, 2 command line or configuration, 3 input data or a file that cannot be "
    "written, 4 not converged in --max-iters, 5 ended otherwise without convergence, 1 anything else, 128 + "
    "the signal's number where one ended it (130 after Ctrl-C). compare: the largest of its rows' codes.";

/// One parse: the CLI11 application and the results of its callbacks.
class Parser {
 public:
  Parser() : m_app("Sparse preconditioners and Krylov solvers on Kokkos.", "prekond") {
    m_app.require_subcommand(1);
    m_app.set_version_flag("--version", [] { return version_text(); });
    m_app.footer(std::string("'prekond help COMMAND' has the options of a command.\nFlags of Kokkos, such as "
                             "--kokkos-num-threads=2, may stand anywhere.\n") +
                 exit_codes);
    add_settings("solve", "Solve A x = b.",
                 "prekond solve matrix.mtx.gz --precond adaptive_fsai -p max_steps=20");
    add_settings("config",
                 "Print all settings of a solve that are in force, and the origin of each, for --config.",
                 "prekond config matrix.mtx.gz --precond amg > amg.json");
    add_settings("compare", "Solve with several preconditioners, one row of a table each.",
                 "prekond compare --generate poisson3d:40 --precond none,jacobi,adaptive_fsai");
    add_settings("info",
                 "Sizes, row lengths, symmetry, diagonal and bandwidth of a matrix; its condition number.",
                 "prekond info matrix.mtx.gz");
    add_settings("batch", "Solve many small systems of one pattern in one kernel.",
                 "prekond batch --generate stencil3:64,batch=20000 --solver cg");
    add_list();
    add_generate();
    add_plot();
    m_app
        .add_subcommand("completion",
                        "Print a script that completes commands, options and methods in a shell.")
        ->add_option("SHELL", m_shell, "bash or zsh, as in: source <(prekond completion bash)")
        ->option_text("bash|zsh")
        ->required();
    m_app.add_subcommand("man", "Print the manual page, as in: prekond man > prekond.1; man ./prekond.1");
  }

  CommandLine parse(const std::vector<std::string>& arguments) {
    std::vector<std::string> reversed;
    for (const auto& argument : spread_pairs(arguments)) {
      if (is_kokkos_flag(argument))
        m_result.kokkos.push_back(argument);
      else
        reversed.push_back(argument);
    }
    if (std::find(m_result.kokkos.begin(), m_result.kokkos.end(), "--kokkos-help") != m_result.kokkos.end()) {
      m_result.command = "kokkos-help";
      return m_result;
    }
    const bool asks_for_help = !reversed.empty() && reversed.front() == "help";
    if (asks_for_help) reversed.erase(reversed.begin());
    if (!reversed.empty()) m_first = reversed.front();
    if (asks_for_help && !reversed.empty() &&
        m_app.get_subcommands([this](CLI::App* one) { return one->check_name(m_first); }).empty())
      throw OptionError(explain_no_command() + "see 'prekond --help'");
    if (asks_for_help) reversed.emplace_back("--help");
    std::reverse(reversed.begin(), reversed.end());
    try {
      m_app.parse(reversed);
    } catch (const CLI::Success& asked) {
      std::ostringstream text;
      m_app.exit(asked, text, text);
      m_result.text = text.str();
    } catch (const CLI::ParseError& error) {
      throw OptionError(explain(error));
    }
    if (m_result.text.empty()) finish();
    return m_result;
  }

 private:
  void add_settings(const std::string& name, const std::string& summary, const std::string& example) {
    CLI::App* sub = m_app.add_subcommand(name, summary);
    const std::string command = settings_of(name);
    for (const auto& key : setting_keys(command)) add_setting(sub, key)->group(key.group);
    if (takes_solver_options(command)) {
      add_pairs(sub, "-s", "solver", "options of the solver");
      sub->add_option("--config", m_config, "a JSON file of the same keys; the command line wins")
          ->option_text("FILE.json")
          ->group("Other");
    }
    if (takes_precond_options(command)) add_pairs(sub, "-p", "precond", "options of the preconditioner");
    sub->set_help_flag("-h,--help", "this text")->group("Other");  // the last of the groups
    sub->footer("Example: " + example + "\n" + exit_codes);
  }

  CLI::Option* add_setting(CLI::App* sub, const SettingKey& key) {
    const auto keep = [this, name = key.name](const std::string& value) { m_written[name] = {value}; };
    if (key.placeholder.empty()) {
      const bool is_short = key.name == "quiet" || key.name == "verbose";
      return sub->add_flag_callback(
          (is_short ? "-" + key.name.substr(0, 1) + "," : "") + option_name(key.name),
          [this, name = key.name] { m_written[name] = {true}; }, key.doc);
    }
    const std::string name = key.name == "matrix" ? "MATRIX" : option_name(key.name);
    CLI::Option* const option =
        key.bare.empty() ? sub->add_option_function<std::string>(name, keep, key.doc)
                         : sub->add_flag(name + "{" + key.bare + "}", m_flag_value, key.doc)->each(keep);
    return option->option_text(key.placeholder);
  }

  void add_pairs(CLI::App* sub, const std::string& flag, const std::string& method, const std::string& doc) {
    const auto keep = [this, flag, method](const std::vector<std::string>& pairs) {
      OptionMap options;
      for (const auto& pair : pairs) add_pair(options, pair, flag);
      for (const auto& [name, value] : options) m_written[method + "_options." + name] = {value};
    };
    sub->add_option_function<std::vector<std::string>>(flag + ",--" + method + "-options", keep, doc)
        ->allow_extra_args(false)
        ->option_text("key=value ...")
        ->group("Methods");
  }

  void add_list() {
    CLI::App* sub = m_app.add_subcommand("list", "The algorithms there are, or the options of one of them.");
    sub->add_option("KIND", m_result.kind, "preconditioners, solvers or generators")
        ->option_text("[preconditioners|solvers|generators]");
    sub->add_option("NAME", m_result.name, "one of them, with its options and the paper")
        ->option_text("[NAME]");
    sub->footer("Example: prekond list preconditioners adaptive_fsai");
  }

  void add_generate() {
    CLI::App* sub = m_app.add_subcommand("generate", "Write the matrix of a model problem.");
    sub->add_option("SPEC", m_result.settings.generate, "the model problem ('prekond list generators')")
        ->option_text("NAME:SIZE[,key=value...]")
        ->required();
    sub->add_option("-o,--output", m_result.output,
                    "the file; the lower triangle only if the matrix is symmetric")
        ->option_text("FILE.mtx[.gz]")
        ->required();
    sub->add_flag_callback(
        "-q,--quiet", [this] { m_result.settings.quiet = true; }, "print nothing but errors");
    sub->footer("Example: prekond generate elasticity3d:20,contrast=100 -o elasticity.mtx.gz");
  }

  void add_plot() {
    CLI::App* sub = m_app.add_subcommand(
        "plot",
        "Draw residuals of histories, seconds and levels of reports, and patterns of matrices, with Python's "
        "matplotlib.");
    sub->add_option("FILES", m_result.files,
                    "histories and tables in CSV, reports of solve and of compare, matrices")
        ->option_text("HISTORY.csv|TABLE.csv|REPORT.json|MATRIX.mtx[.gz] ...")
        ->required();
    sub->add_option("-o,--output", m_result.output, "the picture, in the format that its name ends with")
        ->option_text("FILE.{svg,pdf,png}")
        ->required();
    sub->footer("Example: prekond plot jacobi.csv amg.csv compare.json -o picture.svg");
  }

  std::string command() const {
    const auto chosen = m_app.get_subcommands();
    return chosen.empty() ? std::string() : chosen.front()->get_name();
  }

  void finish() {
    m_result.command = command();
    if (m_result.command == "completion") m_result.text = completion_script(m_app, m_shell);
    if (m_result.command == "man") m_result.text = manual_page(m_app);
    if (!m_result.text.empty()) m_result.command.clear();
    if (m_result.command.empty() || m_result.command == "list" || m_result.command == "generate" ||
        m_result.command == "plot")
      return;
    const std::string kind = settings_of(m_result.command);
    if (!m_config.empty()) m_written = laid_over(m_written, read_config(m_config, kind), kind);
    m_result.settings = to_settings(m_written, kind);
    m_result.settings.config = m_config;
  }

  std::string explain_no_command() const {
    std::vector<std::string> commands;
    std::string all;
    for (const CLI::App* sub : m_app.get_subcommands({})) {
      commands.push_back(sub->get_name());
      all += (all.empty() ? "" : ", ") + commands.back();
    }
    if (m_first.empty() || m_first.starts_with("-")) return "a command comes first, one of " + all + "; ";
    return "there is no command '" + m_first + "'" + did_you_mean(m_first, commands) + " ";
  }

  /// CLI11's message, and what to do: the nearest option, or where the help is.
  std::string explain(const CLI::ParseError& error) const {
    const auto chosen = m_app.get_subcommands();
    const CLI::App& app = chosen.empty() ? m_app : *chosen.front();
    const std::string help =
        "see '" + std::string("prekond ") + (chosen.empty() ? "" : command() + " ") + "--help'";
    const std::string what = error.what();
    if (chosen.empty()) return explain_no_command() + help;
    if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return what + "; " + help;
    const auto extras = m_app.remaining(true);
    const std::string extra = extras.empty() ? "" : extras.front();
    if (command() == "compare" && (extra == "-p" || extra.starts_with("--precond-options")))
      return "compare takes options after each name: --precond NAME:key=value; " + help;
    if (!extra.starts_with("-")) return "'" + extra + "' is not expected here; " + help;
    std::vector<std::string> names;
    for (const auto* option : app.get_options()) {
      for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    }
    return "there is no option '" + extra + "'" + did_you_mean(extra.substr(0, extra.find('=')), names) +
           " (" + help + ")";
  }

  CLI::App m_app;
  CommandLine m_result;
  RawSettings m_written;
  std::string m_config;
  std::string m_shell;       ///< of completion
  std::string m_flag_value;  ///< where the value of a flag goes that may have one
  std::string m_first;       ///< the argument that should be a command
};

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments) {
  return Parser().parse(arguments);
}

}  // namespace prekond::driver
