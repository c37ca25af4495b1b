// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Texts that are made of the command line's own description: completion for shells, and the manual page.
#include <CLI/CLI.hpp>

#include <string>

namespace prekond::driver {

/// A script for the shell, bash or zsh, that completes commands, options, their words and names of methods.
/// \throws OptionError for another shell
std::string completion_script(const CLI::App& app, const std::string& shell);

/// The manual page prekond(1), for man.
std::string manual_page(const CLI::App& app);

}  // namespace prekond::driver
