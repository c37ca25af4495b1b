// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The polynomials p ~ 1 / t of the polynomial preconditioners, as recurrences. All work is the host's, in
/// long double.
#include <prekond/precond/impl/polynomial.hpp>

#include <functional>
#include <vector>

namespace prekond::impl::polynomial {

/// The recurrence y_j = (product_j t + direct_j) y_(j-1) + previous_j y_(j-2) + source_j from y_0 = first and
/// y_-1 = 0, whose first steps are written so that y_0 need not be made.
Polynomial from_recurrence(double first, std::vector<Polynomial::Step> steps);

/// sum_j c_j T_j(x), x = (2 t - l - u) / (u - l), by Clenshaw's recurrence. \pre l < u, c not empty
Polynomial chebyshev_series(double l, double u, const std::vector<long double>& c);

/// The polynomial of degree k through f at the k + 1 Chebyshev points of [l, u], as such a series. f is given
/// t, and is one of that degree where nothing is to be lost.
Polynomial interpolated(double l, double u, int degree, const std::function<long double(long double)>& f);

/// See LsPolynomial. \pre 0 < l < u
Polynomial least_squares(double l, double u, int degree);

/// See Chebyshev, kind first. \pre 0 < l < u
Polynomial chebyshev_first(double l, double u, int degree);
/// Kind fourth.
Polynomial chebyshev_fourth(double u, int degree);
/// The weights beta_1, ..., beta_n of n steps of the fourth kind that are optimal; empty where Newton's
/// method has not found them.
std::vector<double> optimal_weights(int steps);
/// Kind fourth_optimized, with the weights of one step more than the degree. \pre beta not empty
Polynomial chebyshev_fourth_optimized(double u, const std::vector<double>& beta);

/// See Neumann.
Polynomial neumann(double omega, int degree);

}  // namespace prekond::impl::polynomial
