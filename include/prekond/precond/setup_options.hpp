// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Options that several preconditioners have.
#include <string>
#include <utility>
#include <vector>

namespace prekond {

enum class Precision { single_precision, double_precision };
enum class Reuse { none, pattern };

inline std::vector<std::pair<std::string, Precision>> precision_choices() {
  return {{"single", Precision::single_precision}, {"double", Precision::double_precision}};
}
inline std::vector<std::pair<std::string, Reuse>> reuse_choices() {
  return {{"pattern", Reuse::pattern}, {"none", Reuse::none}};
}

}  // namespace prekond
