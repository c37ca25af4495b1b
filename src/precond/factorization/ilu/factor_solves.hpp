// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The two triangular solves that apply an incomplete factorisation.
#include "pattern/levels/row_blocks.hpp"
#include "precond/triangular/scaled_triangles.hpp"
#include "precond/triangular/solve_by_blocks.hpp"
#include "precond/triangular/solve_pair.hpp"

#include <memory>
#include <string>

namespace prekond::impl::ilu {

/// The application y = C (I + U)^-1 D^-1 (I + L)^-1 R x: two triangular solves, or with the method
/// `automatic` on a host, where both triangles are block-diagonal and no block has more than two thirds of L,
/// both solves of a block by one thread.
template <class Scalar, class Space>
class FactorSolves : public triangular::SolvePair<Scalar, Space> {
 public:
  using Pair = triangular::SolvePair<Scalar, Space>;

  FactorSolves(const std::string& owner, const TriangularOptions& options)
      : Pair(owner, options), m_options(options) {}

  /// See SolvePair; without `levels` it finds them where the solves need them. Fences.
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
  using Blockwise = triangular::BlockwiseSolves<Scalar, Space>;
  using Factors = sweeps::Factors<Scalar, Space>;

  void begin(std::int64_t num_rows);
  void numeric_by_blocks(const Space& space, const FillPattern<Space>& pattern, const Factors& factors,
                         const Vector<Scalar, Space>& upper_scale, bool upper_is_transposed, Report& report);
  void make_same(const Space& space, const FillPattern<Space>& pattern, const Factors& factors,
                 const Vector<Scalar, Space>& upper_scale, Report& report);
  void solve_exactly(const Space& space, Triangle which, const CsrGraph<Space>& pattern,
                     const Vector<Scalar, Space>& values, const Vector<Scalar, Space>& scale, Report& report);

  using Pair::m_lower;
  using Pair::m_owner;
  using Pair::m_upper;
  TriangularOptions m_options;
  std::int64_t m_num_rows = 0;
  levels::RowBlocks<Space> m_blocks;
  std::shared_ptr<const Blockwise> m_blockwise;  ///< of a numeric phase with blocks, in place of the two
  Vector<Scalar, Space> m_last_scale;            ///< R's diagonal; empty: |r| went to D^-1
};

}  // namespace prekond::impl::ilu
