// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/krylov/fgmres.hpp>
#include <prekond/krylov/gmres.hpp>

#include "core/instantiate.hpp"
#include "gmres_run.hpp"

namespace prekond {

template <class Scalar, class Space>
std::vector<SolveResult> Gmres<Scalar, Space>::run(const LinearProblem<Scalar, Space>& problem) const {
  const krylov::GmresSettings settings{m_options.restart, m_options.side, m_options.orthogonalization, false,
                                       m_options.step_size};
  return krylov::GmresRun<Scalar, Space>(problem, settings).run();
}

template <class Scalar, class Space>
std::vector<SolveResult> Fgmres<Scalar, Space>::run(const LinearProblem<Scalar, Space>& problem) const {
  const krylov::GmresSettings settings{m_options.restart, Side::right, m_options.orthogonalization, true};
  return krylov::GmresRun<Scalar, Space>(problem, settings).run();
}

// One unit: nearly all of their code is the same.
#define PREKOND_GMRES(Scalar, Space)   \
  template class Gmres<Scalar, Space>; \
  template class Fgmres<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_GMRES)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_GMRES)

}  // namespace prekond
