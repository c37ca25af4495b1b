// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/ic0.hpp>
#include <prekond/precond/ick.hpp>
#include <prekond/precond/ilu0.hpp>
#include <prekond/precond/iluk.hpp>
#include <prekond/precond/mic0.hpp>

#include "core/instantiate.hpp"

namespace prekond {

template <class Scalar, class Space>
Ilu0<Scalar, Space>::Ilu0(const Ilu0Options& options)
    : IncompleteFactorization<Scalar, Space>(Ilu0Options::name, IncompleteKind::ilu, 0, resolved(options)),
      m_options(options) {}

template <class Scalar, class Space>
Iluk<Scalar, Space>::Iluk(const IlukOptions& options)
    : IncompleteFactorization<Scalar, Space>(IlukOptions::name, IncompleteKind::ilu, options.level,
                                             resolved(options)),
      m_options(options) {}

template <class Scalar, class Space>
Ic0<Scalar, Space>::Ic0(const Ic0Options& options)
    : IncompleteFactorization<Scalar, Space>(Ic0Options::name, IncompleteKind::ic, 0, resolved(options)),
      m_options(options) {}

template <class Scalar, class Space>
Ick<Scalar, Space>::Ick(const IckOptions& options)
    : IncompleteFactorization<Scalar, Space>(IckOptions::name, IncompleteKind::ic, options.level,
                                             resolved(options)),
      m_options(options) {}

template <class Scalar, class Space>
Mic0<Scalar, Space>::Mic0(const Mic0Options& options)
    : IncompleteFactorization<Scalar, Space>(Mic0Options::name, IncompleteKind::mic, 0, resolved(options)),
      m_options(options) {}

#define PREKOND_ILU_METHODS(Scalar, Space) \
  template class Ilu0<Scalar, Space>;      \
  template class Iluk<Scalar, Space>;      \
  template class Ic0<Scalar, Space>;       \
  template class Ick<Scalar, Space>;       \
  template class Mic0<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_ILU_METHODS)

}  // namespace prekond
