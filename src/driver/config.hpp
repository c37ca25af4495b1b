// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "settings.hpp"

namespace prekond::driver {

/// Reads a config file for a command: a JSON object with the keys of the command line, and the objects
/// "solver_options" (or "s") and "precond_options" (or "p"). Nested objects there are options nested by dots.
/// Where each value was written is kept for the checks to come.
/// \throws OptionError "PATH:LINE:COLUMN: ..." for a file that cannot be read or is not JSON as JsonText
/// takes it, an unknown key (naming the nearest), a value that is neither bool, number nor text, a setting
/// that is set twice
RawSettings read_config(const std::string& path, const std::string& command);

}  // namespace prekond::driver
