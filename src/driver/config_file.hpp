// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "settings.hpp"

namespace prekond::driver {

/// Reads a config file for a command: a JSON object with the keys of the command line, and the objects
/// "solver_options" (or "s") and "precond_options" (or "p"), in which nested objects are options nested by
/// dots. The places of the values are kept for later checks. "origins" is left out.
///
/// The file has at most 2^20 bytes and 64 levels. It is read more strictly than JSON where a reader could
/// only guess: an object has a key once, a whole number fits in 64 bits with a sign, a real number is neither
/// too large nor too small for double precision, and a text has no NUL.
///
/// \throws OptionError "PATH:LINE:COLUMN: 'KEY': ..." also for an unknown key (naming the nearest), a value
/// that is neither bool, number nor text, and a setting that is set twice
RawSettings read_config(const std::string& path, const std::string& command);

}  // namespace prekond::driver
