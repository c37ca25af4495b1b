// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include <prekond/precond/amg.hpp>
#include <prekond/precond/block_ilu0.hpp>
#include <prekond/precond/block_jacobi.hpp>
#include <prekond/precond/chebyshev.hpp>
#include <prekond/precond/dynamic_spai.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/ic.hpp>
#include <prekond/precond/ilu.hpp>
#include <prekond/precond/ilut.hpp>
#include <prekond/precond/isai.hpp>
#include <prekond/precond/jacobi.hpp>
#include <prekond/precond/ls_polynomial.hpp>
#include <prekond/precond/matched.hpp>
#include <prekond/precond/multicolor_block_gs.hpp>
#include <prekond/precond/multicolor_gs.hpp>
#include <prekond/precond/multicolor_ilu0.hpp>
#include <prekond/precond/multicolor_ssor.hpp>
#include <prekond/precond/neumann.hpp>
#include <prekond/precond/none.hpp>
#include <prekond/precond/nonsymmetric_fsai.hpp>
#include <prekond/precond/par_ilu.hpp>
#include <prekond/precond/par_ilut.hpp>
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
      lines.push_back(registry_entry<Base, MulticolorSsor<Scalar, Space>>());
      lines.push_back(registry_entry<Base, MulticolorBlockGs<Scalar, Space>>());
      lines.push_back(registry_entry<Base, MulticolorIlu0<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Ilu<Scalar, Space>>());
      lines.push_back(registry_alias<Base, Ilu<Scalar, Space>>(
          "iluk", "ILU(k), by default ILU(1): incomplete L D U with fill up to level k", {{"level", 1}}));
      lines.push_back(registry_entry<Base, Ic<Scalar, Space>>());
      lines.push_back(registry_alias<Base, Ic<Scalar, Space>>(
          "ick", "IC(k), by default IC(1): incomplete L D L^T with fill up to level k", {{"level", 1}}));
      lines.push_back(registry_alias<Base, Ic<Scalar, Space>>(
          "mic0", "MIC(0): IC(0) whose dropped entries are added to the diagonal, so that row sums are kept",
          {{"modified", true}}));
      lines.push_back(registry_entry<Base, ParIlu<Scalar, Space>>());
      lines.push_back(registry_alias<Base, ParIlu<Scalar, Space>>(
          "par_ic", "ParIC: incomplete L D L^T on the pattern of IC(k), by sweeps over all entries at once",
          {{"kind", "ic"}}));
      lines.push_back(registry_entry<Base, ParIlut<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Ilut<Scalar, Space>>());
      lines.push_back(registry_alias<Base, Ilut<Scalar, Space>>(
          "ict", "ICT(p, tau): incomplete L D L^T on a pattern found by the sizes of its entries",
          {{"kind", "ic"}}));
      lines.push_back(registry_entry<Base, BlockIlu0<Scalar, Space>>());
      lines.push_back(registry_entry<Base, BlockJacobi<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Schwarz<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Matched<Scalar, Space>>());
      lines.push_back(registry_entry<Base, Amg<Scalar, Space>>());
    }
    lines.push_back(registry_entry<Base, LsPolynomial<Scalar, Space>>());
    lines.push_back(registry_entry<Base, Chebyshev<Scalar, Space>>());
    lines.push_back(registry_entry<Base, Neumann<Scalar, Space>>());
    return lines;
  }();
  return registry;
}

#define PREKOND_REGISTRY(Scalar, Space) \
  template const Registry<MatrixPreconditioner<Scalar, Space>>& preconditioner_registry<Scalar, Space>();
PREKOND_INSTANTIATE(PREKOND_REGISTRY)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_REGISTRY)

}  // namespace prekond
