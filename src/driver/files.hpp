// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

namespace prekond::driver {

/// Refuses a path that cannot be written, before the work whose result is to go there. An empty path is none.
/// \throws InputError
void check_writable(const std::string& path);

/// \throws InputError when the text does not get onto the disk
void write_text(const std::string& path, const std::string& text);

}  // namespace prekond::driver
