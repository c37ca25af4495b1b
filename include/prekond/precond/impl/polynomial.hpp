// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cmath>
#include <string>
#include <vector>

namespace prekond {

/// A polynomial p of degree k as k steps of a three-term recurrence:
///   y_1 = product_1 t + direct_1,  y_j = (product_j t + direct_j) y_(j-1) + previous_j y_(j-2) + source_j,
/// with y_0 not read and p = y_k; p = constant for k = 0.
struct Polynomial {
  struct Step {
    double product = 0, direct = 0, previous = 0, source = 0;
  };
  double constant = 0;
  std::vector<Step> steps;

  int degree() const { return static_cast<int>(steps.size()); }
  double operator()(double t) const;
};

/// Bounds of the spectrum of B = D^-1 A, or of B = 2^exponent A where nothing is scaled by the diagonal.
struct Spectrum {
  double min = 0;          ///< an eigenvalue, a Ritz value or a bound near the smallest one
  double min_bound = 0;    ///< an eigenvalue is within this of `min`
  double max = 0;          ///< likewise of the largest one
  double max_bound = 0;    ///< none is above max + max_bound
  bool min_given = false;  ///< by the user, and taken as it is
  bool max_given = false;
  int exponent = 0;    ///< 0 for D^-1 A
  std::string source;  ///< of the bounds, in a few words

  /// One of B's numbers in the units that a user gives them in: those of D^-1 A, or of A.
  double as_given(double value) const { return std::ldexp(value, -exponent); }
};

}  // namespace prekond
