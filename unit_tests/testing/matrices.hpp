// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The files of matrices that tests read: our own in unit_tests/matrices, and those of the collection in
/// ../shared/matrices where that is. A program says once, at the first of these calls, that it runs without
/// the collection.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace prekond::testing {

/// unit_tests/matrices, or what the environment's PREKOND_TEST_MATRICES names. \throws std::runtime_error
/// without it
std::filesystem::path own_matrices();

bool has_collection();

/// All files of a kind ("spd", "symmetric" or "general") by their names: our own, then those of the
/// collection that have at most max_bytes.
std::vector<std::filesystem::path> matrices_of_kind(const std::string& kind, std::uintmax_t max_bytes);

/// Our own files with these names, then those of the collection that are there.
std::vector<std::filesystem::path> matrices_named(const std::vector<std::string>& own,
                                                  const std::vector<std::string>& in_collection);

}  // namespace prekond::testing
