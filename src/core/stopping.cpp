// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/stopping.hpp>

namespace prekond {

std::string to_string(StopReason reason) {
  switch (reason) {
    case StopReason::rtol:
      return "rtol";
    case StopReason::atol:
      return "atol";
    case StopReason::zero_rhs:
      return "zero_rhs";
    case StopReason::max_iters:
      return "max_iters";
    case StopReason::breakdown_not_spd:
      return "breakdown_not_spd";
    case StopReason::breakdown_preconditioner_not_spd:
      return "breakdown_preconditioner_not_spd";
    case StopReason::breakdown_rho:
      return "breakdown_rho";
    case StopReason::breakdown_pivot:
      return "breakdown_pivot";
    case StopReason::breakdown_omega:
      return "breakdown_omega";
    case StopReason::breakdown_arnoldi:
      return "breakdown_arnoldi";
    case StopReason::breakdown_singular:
      return "breakdown_singular";
    case StopReason::out_of_range:
      return "out_of_range";
    case StopReason::divergence:
      return "divergence";
    case StopReason::stagnation:
      return "stagnation";
    case StopReason::nan:
      return "nan";
  }
  return "";
}

}  // namespace prekond
