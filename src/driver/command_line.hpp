// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "settings.hpp"

#include <string>
#include <vector>

namespace prekond::driver {

struct CommandLine {
  std::string command;  ///< "solve", "config" (with the settings of solve), ..., or "kokkos-help"; empty
                        ///< where `text` answers
  std::string text;     ///< the text of --help or --version

  Settings settings;  ///< of solve, compare, info and batch; `generate` and `quiet` also of generate

  std::string kind;  ///< list: "preconditioners", "solvers", "generators" or empty, all of them
  std::string name;  ///< list: one of them, or empty

  std::string output;              ///< generate and plot: the file
  std::vector<std::string> files;  ///< plot: histories, reports and tables

  std::vector<std::string> kokkos;  ///< Kokkos's own flags, unchecked
};

/// \throws OptionError for everything that is not a command line of prekond, a bad config file included
CommandLine parse_command_line(const std::vector<std::string>& arguments);

}  // namespace prekond::driver
