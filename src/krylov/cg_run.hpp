// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "run.hpp"

#include <optional>

namespace prekond::krylov {

/// A column of the vectors of CG.
template <class Scalar, class Space>
struct CgVectors {
  VectorView<Scalar, Space> x, r, z, p, q, s;  ///< q = A p, or A z with s = A p in the single-reduction form
};

/// One solve by the classic forms of CG. Its members are compiled in cg.cpp.
template <class Scalar, class Space>
class CgRun : public KrylovRun<Scalar, Space> {
  using Base = KrylovRun<Scalar, Space>;
  using Multi = MultiVector<Scalar, Space>;

 public:
  CgRun(const LinearProblem<Scalar, Space>& problem, bool single_reduction, bool flexible = false);

 protected:
  void iterate() override;

  Multi m_r, m_p;
  Multi m_mr;       ///< M^-1 r; r itself without a preconditioner
  Multi m_product;  ///< A p, with one reduction A M^-1 r

 private:
  CgVectors<Scalar, Space> vectors(int c) const;
  void single_step(bool first);
  void step(bool first);

  /// q = A p and (p, q): in one pass over the matrix for one column.
  void multiply_directions();
  void dots();

  /// The stopping test.
  void test();

  /// With one reduction, (A z, z) is looked at before a step, and (p, A p) after it: alpha = 0 where it was
  /// not positive.
  bool curvature_is_positive(int c, double curvature) const;

  Group residual_group() const;

  bool m_single;
  bool m_flexible;
  bool m_stepped = false;  ///< in this cycle: else the scalars of a step are those of another one
  DeviceScalars<Scalar, Space> m_scalars;
  Multi m_s;  ///< A p where there is one reduction
};

}  // namespace prekond::krylov
