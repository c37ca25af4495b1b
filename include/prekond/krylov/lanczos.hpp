// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/operator.hpp>
#include <prekond/core/preconditioner.hpp>
#include <prekond/core/reducer.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace prekond {

/// Against which of its basis vectors Lanczos's method makes a new one orthogonal.
enum class Reorthogonalization {
  local,  ///< the last two, by the recurrence: rounding errors repeat extreme Ritz values, and move none
  full,   ///< all of them, twice: as many eigenvalues as steps, each once
};

/// Parameters of Lanczos's method.
struct LanczosOptions {
  static constexpr const char* name = "lanczos";

  int steps = 30;
  double tolerance = 0;
  Reorthogonalization reorthogonalization = Reorthogonalization::local;
  std::int64_t seed = 1;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("steps", steps, 1, 100000, "steps at most, a product with A each");
    visit("tolerance", tolerance, 0.0, 1.0,
          "stop where the residual bounds of the smallest and the largest Ritz value are below this part of "
          "them; 0: never");
    visit("reorthogonalization", reorthogonalization,
          {{"local", Reorthogonalization::local}, {"full", Reorthogonalization::full}},
          "local: by the recurrence alone; full: against all vectors, which are kept");
    visit("seed", seed, std::int64_t(0), std::int64_t(1) << 62, "of the random first vector");
  }
};

/// Why Lanczos's method ended.
enum class LanczosEnd {
  steps,                   ///< as many as were asked for
  tolerance,               ///< both extreme Ritz values are known to the tolerance
  invariant_subspace,      ///< the Krylov space has ended: its Ritz values are eigenvalues
  preconditioner_not_spd,  ///< r^H M^-1 r < 0: M is not positive definite
  nan,                     ///< a value that is not finite appeared
};
std::string to_string(LanczosEnd end);

/// A Ritz value theta. There is an eigenvalue within |theta - lambda| <= bound = |beta_k s_k|, where s_k is
/// the last entry of the normalised eigenvector of T.
struct RitzValue {
  double value = 0;
  double bound = 0;
};

/// What Lanczos's method found.
struct LanczosResult {
  LanczosEnd reason = LanczosEnd::steps;
  int steps = 0;  ///< the order of T; 0 where there is not even a first vector: nothing below is known
  RitzValue smallest;
  RitzValue largest;
  /// largest / smallest: a lower bound of the condition number of M^-1 A, in M's inner product, but for
  /// rounding. Infinite where a Ritz value is not positive; NaN where the method ended as
  /// `preconditioner_not_spd` or `nan`: T is then no projection of an operator that has a condition.
  double condition = 0;
  /// No Ritz value is below rounding of the largest; one that is negative proves that A is not positive
  /// definite. False where the condition is NaN.
  bool positive_definite = false;
  std::vector<double> ritz_values;  ///< all of them, ascending
};

/// The extreme eigenvalues of M^-1 A by k steps of Lanczos's method in M's inner product, for a Hermitian A
/// and a Hermitian positive definite M; of A where `preconditioner` is null.
///
/// The method makes V with V^H M^-1 V = I from A M^-1 v_j = beta_j v_(j+1) + alpha_j v_j + beta_(j-1) v_(j-1)
/// (v of M's residuals), so that T = tridiag(beta, alpha, beta) has the Ritz values, which lie within the
/// spectrum. Largest ones come first; of a spectrum like that of a discrete Laplacian the smallest takes
/// about as many steps as CG takes iterations. The first vector is a function of the seed, the number
/// of all rows and the rows' global numbers.
///
/// A and M of any scale: both are taken times powers of two where inner products would leave the range of
/// their type.
///
/// Cost of a step: one product with A, one application of M^-1, three passes over vectors, two reductions
/// (one message each) and one wait. Memory: 4 vectors (with M 6, and its workspace); `full` keeps one a step,
/// 2 and them (with M two a step, 3 and them), and its step j reads them twice, with two reductions more. The
/// eigenvalues of T are found on the host, by implicit QL steps, in O(k^2).
///
/// Whether A is symmetric is not looked at. `reducer`: on several processes all call this.
///
/// \throws InputError for A that is not square, a preconditioner of another size, or one that is known not to
/// be symmetric \throws OptionError for options out of their ranges
///
/// Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 6.15 and section 6.7.3; the
/// bound Parlett, The Symmetric Eigenvalue Problem, section 13.2; as a safeguard Li and Saad, J. Supercomput.
/// 63 (2013), section 5.4.
template <class Scalar, class Space>
LanczosResult lanczos(const Space& space, const Operator<Scalar, Space>& a,
                      const Preconditioner<Scalar, Space>* preconditioner = nullptr,
                      const LanczosOptions& options = {}, const Reducer<Scalar, Space>& reducer = {});

}  // namespace prekond
