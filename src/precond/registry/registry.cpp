// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include <prekond/precond/amg.hpp>
#include <prekond/precond/block_ilu0.hpp>
#include <prekond/precond/block_jacobi.hpp>
#include <prekond/precond/dynamic_spai.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/ic0.hpp>
#include <prekond/precond/ick.hpp>
#include <prekond/precond/ict.hpp>
#include <prekond/precond/ilu0.hpp>
#include <prekond/precond/iluk.hpp>
#include <prekond/precond/ilut.hpp>
#include <prekond/precond/isai.hpp>
#include <prekond/precond/jacobi.hpp>
#include <prekond/precond/matched.hpp>
#include <prekond/precond/mic0.hpp>
#include <prekond/precond/multicolor_block_gs.hpp>
#include <prekond/precond/multicolor_gs.hpp>
#include <prekond/precond/multicolor_ilu0.hpp>
#include <prekond/precond/none.hpp>
#include <prekond/precond/nonsymmetric_fsai.hpp>
#include <prekond/precond/par_ic.hpp>
#include <prekond/precond/par_ilu.hpp>
#include <prekond/precond/par_ilut.hpp>
#include <prekond/precond/polynomial.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/schwarz.hpp>
#include <prekond/precond/spai.hpp>

#include "core/instantiate.hpp"

namespace prekond {

template <class Scalar, class Space>
const Registry<MatrixPreconditioner<Scalar, Space>>& preconditioner_registry() {
  using Base = MatrixPreconditioner<Scalar, Space>;
  static const Registry<Base> registry = [] {
    Registry<Base> lines = {
        registry_entry<Base, None<Scalar, Space>>(),
        registry_entry<Base, Jacobi<Scalar, Space>>(),
        registry_entry<Base, Fsai<Scalar, Space>>(),
        registry_entry<Base, AdaptiveFsai<Scalar, Space>>(),
    };
    if constexpr (!is_complex<Scalar>) {
      lines.push_back(registry_entry<Base, NonsymmetricFsai<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Spai<Scalar, Space>>());
      lines.push_back(registry_entry<Base, DynamicSpai<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Isai<Scalar, Space>>());
      lines.push_back(registry_entry<Base, MulticolorGs<Scalar, Space>>());
      lines.push_back(registry_alias<Base, MulticolorGs<Scalar, Space>>(
          "multicolor_ssor", "symmetric over-relaxation over the colours, MC-SSOR(k)",
          {{"direction", std::string("symmetric")}}));
      lines.push_back(registry_entry<Base, MulticolorBlockGs<Scalar, Space>>());
      lines.push_back(registry_entry<Base, MulticolorIlu0<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Ilu0<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Iluk<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Ic0<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Ick<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Mic0<Scalar, Space>>());
      lines.push_back(registry_entry<Base, ParIlu<Scalar, Space>>());
      lines.push_back(registry_entry<Base, ParIc<Scalar, Space>>());
      lines.push_back(registry_entry<Base, ParIlut<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Ilut<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Ict<Scalar, Space>>());
      lines.push_back(registry_entry<Base, BlockIlu0<Scalar, Space>>());
      lines.push_back(registry_entry<Base, BlockJacobi<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Schwarz<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Matched<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Amg<Scalar, Space>>());
    }
    using Polynomials = PolynomialPreconditioner<Scalar, Space>;
    lines.push_back(registry_entry<Base, Polynomials>());
    lines.push_back(registry_alias<Base, Polynomials>(
        "ls_polynomial", "least-squares polynomial in D^-1 A on an interval from a few Lanczos steps (SPD)",
        {{"kind", std::string("least_squares")}}));
    lines.push_back(registry_alias<Base, Polynomials>(
        "chebyshev", "Chebyshev iteration in D^-1 A, a smoother, or a preconditioner (SPD)",
        PolynomialOptions::chebyshev_preset()));
    lines.push_back(registry_alias<Base, Polynomials>(
        "neumann", "Neumann series, sum of (I - omega D^-1 A)^j omega D^-1 for j <= k",
        PolynomialOptions::neumann_preset()));
    return lines;
  }();
  return registry;
}

#define PREKOND_REGISTRY(Scalar, Space) \
  template const Registry<MatrixPreconditioner<Scalar, Space>>& preconditioner_registry<Scalar, Space>();
PREKOND_INSTANTIATE(PREKOND_REGISTRY)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_REGISTRY)

}  // namespace prekond
