// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The polynomials p ~ 1 / t of PolynomialPreconditioner, as recurrences. The host computes them in long
/// double.
#include <prekond/precond/polynomial.hpp>

#include <functional>
#include <string>
#include <vector>

namespace prekond::impl::polynomial {

/// The recurrence y_j = (product_j t + direct_j) y_(j-1) + previous_j y_(j-2) + source_j from y_0 = first and
/// y_-1 = 0, whose first steps are written so that y_0 need not be made.
Polynomial from_recurrence(double first, std::vector<Polynomial::Step> steps);

/// sum_j c_j T_j(x), x = (2 t - l - u) / (u - l), by Clenshaw's recurrence. \pre l < u, c not empty
Polynomial chebyshev_series(double l, double u, const std::vector<long double>& c);

/// The polynomial of degree k through f(t) at the k + 1 Chebyshev points of [l, u], as such a series. It is f
/// where f is a polynomial of that degree.
Polynomial interpolated(double l, double u, int degree, const std::function<long double(long double)>& f);

/// Kind least_squares. \pre 0 < l < u
Polynomial least_squares(double l, double u, int degree);

/// Kind first. \pre 0 < l < u
Polynomial chebyshev_first(double l, double u, int degree);
/// Kind fourth.
Polynomial chebyshev_fourth(double u, int degree);
/// The optimal weights beta_1, ..., beta_n of n steps of the fourth kind; empty where Newton's method does
/// not converge.
std::vector<double> optimal_weights(int steps);
/// Kind fourth_optimized, with the weights of one step more than the degree. \pre beta not empty
Polynomial chebyshev_fourth_optimized(double u, const std::vector<double>& beta);

/// Kind neumann.
Polynomial neumann(double omega, int degree);

/// The polynomial of the options for a spectrum. `weights` are those of kind fourth_optimized, `notes` gets
/// the interval. \pre 0 < spectrum.max < infinity
Polynomial choose_polynomial(const PolynomialOptions& options, const std::vector<double>& weights,
                             const Spectrum& spectrum, std::vector<std::string>& notes);

}  // namespace prekond::impl::polynomial
