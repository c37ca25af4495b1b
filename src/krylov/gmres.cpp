// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/krylov/fgmres.hpp>
#include <prekond/krylov/gmres.hpp>

#include "core/instantiate.hpp"
#include "gmres_iteration.hpp"

namespace prekond {

template <class Scalar, class Space>
std::vector<SolveResult> Gmres<Scalar, Space>::run(const LinearProblem<Scalar, Space>& problem) const {
  const krylov::GmresSettings settings{m_options.restart, m_options.side, m_options.orthogonalization, false,
                                       m_options.step_size};
  return krylov::GmresIteration<Scalar, Space>(problem, settings).run();
}

template <class Scalar, class Space>
std::vector<SolveResult> Fgmres<Scalar, Space>::run(const LinearProblem<Scalar, Space>& problem) const {
  const krylov::GmresSettings settings{m_options.restart, Side::right, m_options.orthogonalization, true};
  return krylov::GmresIteration<Scalar, Space>(problem, settings).run();
}

// Both are in one unit because nearly all of their code is the same.
#define PREKOND_GMRES(Scalar, Space)   \
  template class Gmres<Scalar, Space>; \
  template class Fgmres<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_GMRES)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_GMRES)

}  // namespace prekond
