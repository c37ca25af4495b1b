// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/ic.hpp>
#include <prekond/precond/ilu.hpp>

#include "core/instantiate.hpp"

namespace prekond {

template <class Scalar, class Space>
Ilu<Scalar, Space>::Ilu(const IluOptions& options)
    : IncompleteFactorization<Scalar, Space>(IncompleteKind::ilu, resolved(options)), m_options(options) {}

template <class Scalar, class Space>
Ic<Scalar, Space>::Ic(const IcOptions& options)
    : IncompleteFactorization<Scalar, Space>(options.kind, resolved(options)), m_options(options) {}

#define PREKOND_ILU_METHODS(Scalar, Space) \
  template class Ilu<Scalar, Space>;       \
  template class Ic<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_ILU_METHODS)

}  // namespace prekond
