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

/// The basis vectors that Lanczos's method makes a new one orthogonal to.
enum class Reorthogonalization {
  local,  ///< the last two, by the recurrence: rounding errors repeat extreme Ritz values, but move none
  full,   ///< all of them, twice: each eigenvalue appears once
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
    visit("steps", steps, 1, 100000,
          "Limit of the steps, with one product with A each. Raise it for the smallest eigenvalue. Default: "
          "30");
    visit(
        "tolerance", tolerance, 0.0, 1.0,
        "Relative residual bound of the smallest and the largest Ritz value at which the method stops, after "
        "the steps that find an eigenvalue a hundredth of the spectrum away from the others; 0 makes all "
        "steps. Default: 0");
    visit("reorthogonalization", reorthogonalization,
          {{"local", Reorthogonalization::local}, {"full", Reorthogonalization::full}},
          "Vectors that a new one is made orthogonal to: the last two, or all, which are then kept. Choose "
          "full "
          "for eigenvalues without repetition. Default: local");
    visit("seed", seed, std::int64_t(0), std::int64_t(1) << 62,
          "Seed of the random first vector. Default: 1");
  }
};

/// The reason of the end of Lanczos's method.
enum class LanczosEnd {
  steps,                   ///< all steps have been made
  tolerance,               ///< both extreme Ritz values are known to the tolerance, and have been for a while
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

/// The result of Lanczos's method.
struct LanczosResult {
  LanczosEnd reason = LanczosEnd::steps;
  int steps = 0;  ///< the order of T; 0 where there is no first vector, and nothing below is known
  RitzValue smallest;
  RitzValue largest;
  /// For a positive semidefinite A the largest eigenvalue is above it for one first vector of 1000 at most:
  /// theta / (1 - e), where theta is the largest Ritz value and e = (ln(1648 sqrt(n)) / (2 k - 1))^2 with k
  /// steps and n rows. Infinite where e >= 1, because too few steps tell nothing; theta where the Krylov
  /// space has ended; NaN where the condition is. 20 steps give 1.1 theta for 10^4 rows, 1.19 for 10^7.
  double upper_bound = 0;
  /// largest / smallest, which is a lower bound of the condition number of M^-1 A in M's inner product, but
  /// for rounding. Infinite where not all Ritz values are above rounding; NaN where the method ended as
  /// `preconditioner_not_spd` or `nan`, because T is then no projection of an operator with a condition.
  double condition = 0;
  /// Whether all Ritz values are above `rounding`; one below -rounding proves that A is not positive
  /// definite. False where the condition is NaN.
  bool positive_definite = false;
  double rounding = 0;  ///< 64 eps times the largest |Ritz value|: what is smaller is zero to the precision
  std::vector<double> ritz_values;  ///< ascending
};

/// The extreme eigenvalues of M^-1 A by k steps of Lanczos's method in M's inner product, for a Hermitian A
/// and a Hermitian positive definite M; of A where `preconditioner` is null.
///
/// Formula: V with V^H M^-1 V = I from A M^-1 v_j = beta_j v_(j+1) + alpha_j v_j + beta_(j-1) v_(j-1). The
/// eigenvalues of T = tridiag(beta, alpha, beta) are the Ritz values, which lie within the spectrum. The
/// largest come first; the smallest of a spectrum like that of a discrete Laplacian takes about as many steps
/// as CG takes iterations. The first vector is a function of the seed, the number of all rows and the rows'
/// global numbers. A and M of any scale are multiplied by powers of two where inner products would leave the
/// range of their type. The method does not test whether A is symmetric.
///
/// A Ritz value may stay near an eigenvalue that is not the extreme one, until the part of the first vector
/// along that one has grown. So the method stops by its tolerance only after k steps with which, but for one
/// first vector of 1000, the extreme Ritz values are within a hundredth of the spectrum's width (60 steps for
/// 10^4 rows, 77 for 10^7), and where both have been known for five steps and a fifth of the steps before.
///
/// Cost of a step: one product with A, one application of M^-1, three passes over vectors, two reductions
/// (one message each) and one wait. Step j with `full` also reads the kept vectors twice, with two more
/// reductions. Implicit QL steps find the eigenvalues of T on the host, in O(k^2).
///
/// Memory: 4 vectors (with M 6, and its workspace); with `full` 2 vectors and one a step (with M 3 vectors
/// and two a step).
///
/// Collective over the processes of `reducer`.
///
/// \throws InputError for A that is not square, a preconditioner of another size, or one that is known not to
/// be symmetric \throws OptionError for options out of their ranges
///
/// Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 6.15 and section 6.7.3; the
/// bound: Parlett, The Symmetric Eigenvalue Problem, section 13.2; the safeguard: Li and Saad, J.
/// Supercomput. 63 (2013), section 5.4; the upper bound: Kuczynski and Wozniakowski, SIAM J. Matrix Anal.
/// Appl. 13 (1992), the probability that Lanczos's method errs by more than e, 1.648 sqrt(n) exp(-sqrt(e)
/// (2 k - 1)).
template <class Scalar, class Space>
LanczosResult lanczos(const Space& space, const Operator<Scalar, Space>& a,
                      const Preconditioner<Scalar, Space>* preconditioner = nullptr,
                      const LanczosOptions& options = {}, const Reducer<Scalar, Space>& reducer = {});

}  // namespace prekond
