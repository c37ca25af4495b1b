// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The two triangular solves that apply an incomplete factorisation.
#include <prekond/pattern/fill.hpp>
#include <prekond/precond/triangular_solver.hpp>

#include "pattern/levels/row_blocks.hpp"
#include "precond/triangular/scaled_triangles.hpp"
#include "precond/triangular/solve_by_blocks.hpp"

#include <memory>
#include <string>

namespace prekond::impl::ilu {

/// The application y = C (I + U)^-1 D^-1 (I + L)^-1 R x: two triangular solves, or with the method
/// `automatic` on a host, where both triangles are block-diagonal and no block has more than two thirds of L,
/// both solves of a block by one thread.
template <class Scalar, class Space>
class FactorSolves {
 public:
  FactorSolves(const std::string& owner, const TriangularOptions& options)
      : m_owner(owner),
        m_options(options),
        m_lower(owner, Triangle::lower, options),
        m_upper(owner, Triangle::upper, options) {}

  /// `levels` are those of L, and in reverse those of U where the pattern is symmetric. Fences.
  void symbolic(const Space& space, const FillPattern<Space>& pattern, const LevelSchedule<Space>& levels);
  /// Finds the levels where the solves need them. Fences.
  void symbolic(const Space& space, const FillPattern<Space>& pattern);
  /// Whether `numeric` with `same_methods` needs U's values, and not only L's.
  bool reads_upper_of_symmetric() const { return !m_blocks; }
  /// With `same_methods`, U = L^T and M stays symmetric: where one solve falls back to an exact one, the
  /// other does too; both do the larger number of sweeps; the approximate inverse of I + U is the transpose
  /// of that of I + L. Fences.
  void numeric(const Space& space, const FillPattern<Space>& pattern,
               const sweeps::Factors<Scalar, Space>& factors, bool same_methods, Report& report);
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const;
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const;
  std::int64_t bytes() const;
  double flops() const;
  int num_levels() const { return m_lower.num_levels(); }  ///< of L; 0 where the solves need none

 private:
  using Pair = triangular::BlockwiseSolves<Scalar, Space>;
  using Factors = sweeps::Factors<Scalar, Space>;

  void numeric_by_blocks(const Space& space, const FillPattern<Space>& pattern, const Factors& factors,
                         const Vector<Scalar, Space>& upper_scale, bool upper_is_transposed, Report& report);
  void make_same(const Space& space, const FillPattern<Space>& pattern, const Factors& factors,
                 const Vector<Scalar, Space>& upper_scale, Report& report);
  bool same_sweeps(const Space& space, Report& report);
  void solve_exactly(const Space& space, Triangle which, const CsrGraph<Space>& pattern,
                     const Vector<Scalar, Space>& values, const Vector<Scalar, Space>& scale, Report& report);

  std::string m_owner;
  TriangularOptions m_options;
  std::int64_t m_num_rows = 0;
  TriangularSolver<Scalar, Space> m_lower, m_upper;  ///< without a pattern where there are blocks
  levels::RowBlocks<Space> m_blocks;
  std::shared_ptr<const Pair> m_pair;  ///< of a numeric phase with blocks
  Vector<Scalar, Space> m_last_scale;  ///< R's diagonal; empty: |r| went to D^-1
};

}  // namespace prekond::impl::ilu
