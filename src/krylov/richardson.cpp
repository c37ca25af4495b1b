// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/krylov/richardson.hpp>

#include "core/instantiate.hpp"
#include "iteration.hpp"

namespace prekond {
namespace {

/// The only scalar of a column: (r, r)
constexpr krylov::Group residual_norm{0, 1};

/// x += omega z, r -= omega t, and (r, r). z may be r itself.
template <class Scalar, class Space>
void step(const Space& space, Scalar omega, VectorView<Scalar, Space> x, VectorView<Scalar, Space> r,
          VectorView<const Scalar, Space> z, VectorView<const Scalar, Space> t,
          VectorView<Scalar, Space> result, const ReduceWorkspace<Scalar, Space>& workspace) {
  block_reduce<1>(
      space, "prekond::richardson::step", r.extent(0), workspace, result,
      KOKKOS_LAMBDA(std::int64_t i, Scalar * sum) {
        x(i) += omega * z(i);
        r(i) -= omega * t(i);
        sum[0] += conjugate(r(i)) * r(i);
      });
}

/// One solve.
template <class Scalar, class Space>
class RichardsonIteration : public krylov::KrylovIteration<Scalar, Space> {
  using Base = krylov::KrylovIteration<Scalar, Space>;
  using Multi = MultiVector<Scalar, Space>;

 public:
  RichardsonIteration(const LinearProblem<Scalar, Space>& problem, double omega)
      : Base(problem, Side::right, false),
        m_omega(static_cast<real_type_t<Scalar>>(omega)),
        m_scalars(problem.space, "prekond::richardson::scalars", 1, this->num_columns()) {
    m_r = this->allocate_columns("prekond::richardson::r", this->num_columns());
    m_t = this->allocate_columns("prekond::richardson::t", this->num_columns());
    m_z = this->has_preconditioner() ? this->allocate_columns("prekond::richardson::z", this->num_columns())
                                     : m_r;
    this->lend_scratch(m_t);
  }

 private:
  /// Omega is for the unscaled M^-1 A.
  bool ignores_factor_of_matrix() const override { return false; }

  void iterate() override {
    this->residual(m_r);
    for (int c : this->running())
      block_reduce<1>(this->space(), "prekond::richardson::first_norm", this->num_rows(),
                      this->reduce_workspace(), m_scalars.now(residual_norm, c),
                      impl::DotBody<Scalar, Space>{column(m_r, c), column(m_r, c)});
    test();
    while (!this->running().empty()) {
      this->product(m_r, m_z, m_t);
      for (int c : this->running())
        step<Scalar, Space>(this->space(), m_omega, this->x(c), column(m_r, c), column(m_z, c),
                            column(m_t, c), m_scalars.now(residual_norm, c), this->reduce_workspace());
      this->count_iteration();
      test();
    }
  }

  void test() {
    this->sum(m_scalars.message(residual_norm));
    m_scalars.read(this->space(), "prekond::richardson::stopping_test");
    this->for_each_running([&](int c) { this->judge(c, m_scalars.real_now(residual_norm, c, 0), true); });
  }

  Scalar m_omega;
  krylov::DeviceScalars<Scalar, Space> m_scalars;
  Multi m_r, m_z, m_t;
};

}  // namespace

template <class Scalar, class Space>
std::vector<SolveResult> Richardson<Scalar, Space>::run(const LinearProblem<Scalar, Space>& problem) const {
  return RichardsonIteration<Scalar, Space>(problem, m_options.omega).run();
}

#define PREKOND_RICHARDSON(Scalar, Space) template class Richardson<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_RICHARDSON)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_RICHARDSON)

}  // namespace prekond
