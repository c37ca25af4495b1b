// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/factorization/par_ilu/sweeps.hpp"

#include <sstream>

namespace prekond::impl::par_ilu {

std::string note_of_residuals(const std::string& what, double before, double after) {
  std::ostringstream text;
  text << what << ": the residual |(A - L U)_S| / |A_S| was " << before << ", and is " << after;
  return text.str();
}

}  // namespace prekond::impl::par_ilu
