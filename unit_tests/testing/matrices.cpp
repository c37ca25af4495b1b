// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/matrices.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace prekond::testing {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const fs::path& folder, std::uintmax_t max_bytes) {
  std::vector<fs::path> files;
  if (!fs::is_directory(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && entry.file_size() <= max_bytes) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

fs::path own_matrices() {
  const char* named = std::getenv("PREKOND_TEST_MATRICES");
  const fs::path folder = named != nullptr ? named : PREKOND_OWN_MATRICES;
  if (!fs::is_directory(folder))
    throw std::runtime_error("no matrices at " + folder.string() +
                             ": PREKOND_TEST_MATRICES names the folder unit_tests/matrices");
  return folder;
}

bool has_collection() {
  static const bool found = [] {
    const bool is_there = fs::is_directory(PREKOND_COLLECTION);
    if (!is_there)
      std::fprintf(stderr, "Tests on matrices run on %s; the collection %s is not there and is left out.\n",
                   own_matrices().c_str(), PREKOND_COLLECTION);
    return is_there;
  }();
  return found;
}

std::vector<fs::path> matrices_of_kind(const std::string& kind, std::uintmax_t max_bytes) {
  std::vector<fs::path> files = files_of(own_matrices() / kind, UINTMAX_MAX);
  if (has_collection())
    for (const auto& file : files_of(fs::path(PREKOND_COLLECTION) / kind, max_bytes)) files.push_back(file);
  return files;
}

std::vector<fs::path> matrices_named(const std::vector<std::string>& own,
                                     const std::vector<std::string>& in_collection) {
  std::vector<fs::path> files;
  for (const auto& name : own) files.push_back(own_matrices() / name);
  if (!has_collection()) return files;
  for (const auto& name : in_collection)
    if (fs::exists(fs::path(PREKOND_COLLECTION) / name)) files.push_back(fs::path(PREKOND_COLLECTION) / name);
  return files;
}

}  // namespace prekond::testing
