// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>

#include <sys/wait.h>

#include <cstdio>

#include "atomic_file.hpp"
#include "commands.hpp"
#include "failure.hpp"
#include "text.hpp"

namespace prekond::driver {

extern const char* const plot_script;  ///< the text of plot.py, which CMake puts into a source

void plot_command(const CommandLine& line) {
  check_writable(line.output);
  std::string command = "python3 -c " + quoted(plot_script) + " " + quoted(line.output);
  for (const std::string& file : line.files) command += " " + quoted(file);
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("plot: no shell can be started");
  std::string text;
  char part[4096];
  for (std::size_t n; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, n);
  const int status = pclose(pipe), code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  constexpr int not_found = 127;  // of the shell
  if (code == not_found)
    throw OptionError("plot needs python3 with matplotlib, and there is no python3 in PATH");
  while (text.ends_with('\n')) text.pop_back();
  if (code != 0)
    throw Failure(code == bad_command_line || code == bad_input ? static_cast<ExitCode>(code) : other_error,
                  text.substr(text.rfind('\n') + 1));
}

}  // namespace prekond::driver
