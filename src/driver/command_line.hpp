// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "settings.hpp"

#include <string>
#include <vector>

namespace prekond::driver {

/// The command line, understood.
struct CommandLine {
  std::string command;  ///< "solve", "compare", "info", "list", "generate" or "kokkos-help"; empty where
                        ///< `text` answers
  std::string text;     ///< what --help or --version print

  Settings settings;  ///< of solve, compare and info

  std::string kind;  ///< list: "preconditioners", "solvers", "generators" or empty, all of them
  std::string name;  ///< list: one of them, or empty

  std::string spec;    ///< generate: NAME:SIZE[,key=value...]
  std::string output;  ///< generate: the file

  std::vector<std::string> kokkos;  ///< the flags that are Kokkos's own
};

/// \throws OptionError for everything that is not a command line of prekond, a bad config file included
CommandLine parse_command_line(const std::vector<std::string>& arguments);

}  // namespace prekond::driver
