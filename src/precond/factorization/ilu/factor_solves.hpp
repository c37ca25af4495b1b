// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The two triangular solves that apply an incomplete factorisation.
#include "precond/triangular/scaled_triangles.hpp"
#include "precond/triangular/solve_pair.hpp"

#include <string>

namespace prekond::impl::ilu {

/// The application y = C (I + U)^-1 D^-1 (I + L)^-1 R x.
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
  /// With `same_methods`, U = L^T and M stays symmetric: where one solve falls back to an exact one, the
  /// other does too; both do the larger number of sweeps; the approximate inverse of I + U is the transpose
  /// of that of I + L. Fences.
  void numeric(const Space& space, const FillPattern<Space>& pattern,
               const sweeps::Factors<Scalar, Space>& factors, bool same_methods, Report& report);
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const;
  std::int64_t bytes() const;
  double flops() const;
  int num_levels() const { return m_lower.num_levels(); }  ///< of L; 0 where the solves need none
  std::string description() const { return m_lower.description(); }

 private:
  using Factors = sweeps::Factors<Scalar, Space>;

  void make_same(const Space& space, const FillPattern<Space>& pattern, const Factors& factors,
                 const Vector<Scalar, Space>& upper_scale, Report& report);
  bool same_sweeps(const Space& space, Report& report);
  void solve_exactly(const Space& space, Triangle which, const CsrGraph<Space>& pattern,
                     const Vector<Scalar, Space>& values, const Vector<Scalar, Space>& scale, Report& report);

  using Pair::m_lower;
  using Pair::m_owner;
  using Pair::m_upper;
  TriangularOptions m_options;
  Vector<Scalar, Space> m_last_scale;  ///< R's diagonal; empty: |r| went to D^-1
};

}  // namespace prekond::impl::ilu
