// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/par_ilu.hpp>

#include "core/instantiate.hpp"
#include "precond/factorization/ilu/symbolic_factors.hpp"
#include "precond/factorization/par_ilu/sweeps.hpp"

namespace prekond {
template <class Scalar, class Space>
ParIlu<Scalar, Space>::ParIlu(const ParIluOptions& options)
    : Base(options.kind, resolved(options)), m_options(options) {}

template <class Scalar, class Space>
void ParIlu<Scalar, Space>::schedule_step(const Space& space, typename Base::Symbolic& symbolic) const {
  using Pattern = impl::par_ilu::SweepPattern<Space>;
  symbolic.sweeps =
      this->kind() == IncompleteKind::ilu
          ? std::make_shared<const Pattern>(impl::par_ilu::make_sweep_pattern<Space>(space, symbolic.pattern))
          : std::make_shared<const Pattern>();
  symbolic.solves.symbolic(space, symbolic.pattern);
}

template <class Scalar, class Space>
typename ParIlu<Scalar, Space>::Base::Factors ParIlu<Scalar, Space>::factor_step(
    const Space& space, const matrix_view& a, const typename Base::Symbolic& symbolic, double alpha,
    Report& report, typename Base::Outcome& outcome) const {
  return impl::par_ilu::sweep_factors<Scalar, Space>(space, a, symbolic.pattern, *symbolic.sweeps,
                                                     m_options.sweeps, this->kind(), alpha, report, outcome);
}

#define PREKOND_PAR_ILU_METHODS(Scalar, Space) template class ParIlu<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_PAR_ILU_METHODS)

}  // namespace prekond
