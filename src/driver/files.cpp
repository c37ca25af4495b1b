// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files.hpp"

#include <prekond/core/error.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace prekond::driver {
namespace fs = std::filesystem;

void check_writable(const std::string& path) {
  if (path.empty()) return;
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    throw InputError(path + ": is a folder; give the name of a file to write");
  const fs::path parent = fs::path(path).parent_path();
  const fs::path folder = parent.empty() ? fs::path(".") : parent;
  if (!fs::is_directory(folder, ignored))
    throw InputError(path + ": cannot be written: there is no folder '" + folder.string() +
                     "'; make it first");
  const bool exists = fs::exists(path, ignored);
  if (access(exists ? path.c_str() : folder.c_str(), exists ? W_OK : W_OK | X_OK) != 0)
    throw InputError(path + ": cannot be written: " + std::strerror(errno));
}

void write_text(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw InputError(path + ": cannot be written: " + (errno != 0 ? std::strerror(errno) : "unknown error"));
}

}  // namespace prekond::driver
