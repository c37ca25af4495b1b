// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Factors by sweeps over their entries.
#include <prekond/pattern/fill.hpp>
#include <prekond/precond/par_ilu.hpp>

#include "precond/factorization/ilu/row_breakdowns.hpp"
#include "precond/factorization/ilu/sweep_pattern.hpp"
#include "precond/factorization/par_ilu/sweep_entries.hpp"
#include "precond/triangular/scaled_triangles.hpp"

#include <sstream>
#include <string>

namespace prekond::impl::par_ilu {

using sweeps::Factors;

/// The factors in work, and those of the sweep before.
template <class Scalar, class Space>
struct SweepFactors {
  struct Copy {
    Vector<Scalar, Space> lower, columns, pivots;
    SweepValues<Scalar, Space> values() const { return {lower, columns, pivots}; }
  };
  Copy now, next;               ///< `next` is empty before it is needed
  Vector<Scalar, Space> found;  ///< the pivots as the last sweep found them
};

/// Sweeps on one pattern, of A's triangles on it.
template <class Scalar, class Space>
class Sweeps {
 public:
  using Matrix = SweepMatrix<Scalar, Space>;

  /// `factors` are A's triangles, which are kept: see sweeps::fill_triangles.
  Sweeps(const Space& space, const FillPattern<Space>& pattern, const SweepPattern<Space>& sweeps,
         const Factors<Scalar, Space>& factors, bool symmetric, double alpha);

  /// Starts with the entries of A, those of L divided by the diagonal.
  void start();
  void sweep(int times);
  /// Makes room for a second copy.
  void make_next();
  /// ||(A - L U)_S||_F / ||A_S||_F. Fences.
  double residual() const;
  /// Replaces A's values in `factors` by the factors' and sets the pivots; rows with bad pivots, and those
  /// with entries larger than `most`, fall back to their diagonal. \returns the breakdowns. Fences.
  BreakdownCounter end(Factors<Scalar, Space>& factors,
                       Scalar most = Kokkos::Experimental::finite_max_v<Scalar>) const;

  SweepFactors<Scalar, Space>& values() { return m_values; }
  const Matrix& matrix() const { return m_matrix; }

 private:
  Space m_space;
  Matrix m_matrix;
  bool m_symmetric;
  std::int64_t m_num_rows;
  SweepFactors<Scalar, Space> m_values;
};

/// All of a try, see ParIlu: at most `most_sweeps` sweeps from A's triangles. `report` gets the breakdowns of
/// the scaling. Fences.
template <class Scalar, class Space>
Factors<Scalar, Space> sweep_factors(const Space& space, const CsrView<Scalar, Space>& a,
                                     const FillPattern<Space>& pattern, const SweepPattern<Space>& sweeps,
                                     int most_sweeps, IncompleteKind kind, double alpha, Report& report,
                                     ilu::Outcome& outcome);

/// "5 sweeps: |(A - L U)_S| / |A_S| was 0.1, and is 0.001"
inline std::string note_of_residuals(const std::string& what, double before, double after) {
  std::ostringstream text;
  text << what << ": the residual |(A - L U)_S| / |A_S| was " << before << ", and is " << after;
  return text.str();
}

}  // namespace prekond::impl::par_ilu
