// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <string_view>

namespace prekond::impl {

/// The kind of a file that is no Matrix Market file, by its first bytes and its name, and the line that makes
/// one of it; empty where the file may be one, or nothing is known. `head`: the beginning of the text, as it
/// is after gzip.
std::string foreign_file(const std::string& path, std::string_view head, bool compressed);

}  // namespace prekond::impl
