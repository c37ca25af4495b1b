// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/krylov/fgmres.hpp>

#include "gmres_run.hpp"
#include "instantiate.hpp"

namespace prekond {

template <class Scalar, class Space>
std::vector<SolveResult> Fgmres<Scalar, Space>::run(const LinearProblem<Scalar, Space>& problem) const {
  const krylov::GmresSettings settings{m_options.restart, Side::right, m_options.orthogonalization, true};
  return krylov::GmresRun<Scalar, Space>(problem, settings).run();
}

#define PREKOND_FGMRES(Scalar, Space) template class Fgmres<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_FGMRES)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_FGMRES)

}  // namespace prekond
