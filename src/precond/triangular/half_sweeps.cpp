// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/triangular/grouped_sweeps.hpp"

namespace prekond::impl::sweeps {

// With the values' factor omega, b is omega b, and t is omega b less the sum of the half before. After the
// first half, from zero, x = t.
std::vector<HalfSweep> symmetric_sweeps(int sweeps, double omega) {
  std::vector<HalfSweep> result;
  for (int k = 0; k < sweeps; ++k) {
    HalfSweep forward{.forward = true, .lower = true, .upper = false};
    HalfSweep backward{.forward = false, .lower = false, .upper = true};
    if (k == 0) {
      forward.adds_b = true;
      backward.of_x = 2 - omega;
    } else {
      forward.of_x = backward.of_x = 1 - omega;
      forward.adds_t = backward.adds_t = true;
      forward.keeps_t = true;
    }
    backward.keeps_t = k + 1 < sweeps;
    backward.ends = k + 1 == sweeps;
    result.push_back(forward);
    result.push_back(backward);
  }
  return result;
}

std::vector<HalfSweep> one_way_sweeps(bool forward, int sweeps, double omega) {
  std::vector<HalfSweep> result;
  for (int k = 0; k < sweeps; ++k) {
    HalfSweep sweep{.forward = forward, .lower = forward || k > 0, .upper = !forward || k > 0};
    sweep.adds_b = true;
    if (k > 0) sweep.of_x = 1 - omega;
    sweep.ends = k + 1 == sweeps;
    result.push_back(sweep);
  }
  return result;
}

std::vector<HalfSweep> triangular_solves() {
  HalfSweep forward{.forward = true, .lower = true, .upper = false, .adds_b = true};
  HalfSweep backward{
      .forward = false, .lower = false, .upper = true, .of_x = 1, .by_pivot = true, .ends = true};
  return {forward, backward};
}

std::vector<HalfSweep> triangular_solve() {
  return {
      {.forward = true, .lower = true, .upper = false, .adds_b = true, .ends = true, .scales_result = false}};
}

}  // namespace prekond::impl::sweeps
