// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/krylov/lanczos.hpp>

namespace prekond {

std::string to_string(LanczosEnd end) {
  switch (end) {
    case LanczosEnd::steps:
      return "steps";
    case LanczosEnd::tolerance:
      return "tolerance";
    case LanczosEnd::invariant_subspace:
      return "invariant_subspace";
    case LanczosEnd::preconditioner_not_spd:
      return "preconditioner_not_spd";
    case LanczosEnd::nan:
      return "nan";
  }
  return "";
}

}  // namespace prekond
