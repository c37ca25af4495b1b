// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace prekond {

/// The side of A on which its approximate inverse is. In a Krylov method, `right`: A M^-1 u = b, x = M^-1 u;
/// what is minimised and tested is the residual b - A x itself; `left`: M^-1 A x = M^-1 b; what is minimised
/// is M^-1 (b - A x). For a sparse approximate inverse M, `right`: A M is near the identity; `left`: M A.
enum class Side { right, left };

inline std::vector<std::pair<std::string, Side>> side_choices() {
  return {{"right", Side::right}, {"left", Side::left}};
}

}  // namespace prekond
