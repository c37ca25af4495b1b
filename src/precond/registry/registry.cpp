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
#include <prekond/precond/ic0.hpp>
#include <prekond/precond/ick.hpp>
#include <prekond/precond/ict.hpp>
#include <prekond/precond/ilu0.hpp>
#include <prekond/precond/iluk.hpp>
#include <prekond/precond/ilut.hpp>
#include <prekond/precond/isai.hpp>
#include <prekond/precond/jacobi.hpp>
#include <prekond/precond/ls_polynomial.hpp>
#include <prekond/precond/matched.hpp>
#include <prekond/precond/mic0.hpp>
#include <prekond/precond/multicolor_block_gs.hpp>
#include <prekond/precond/multicolor_gs.hpp>
#include <prekond/precond/multicolor_ilu0.hpp>
#include <prekond/precond/multicolor_ssor.hpp>
#include <prekond/precond/neumann.hpp>
#include <prekond/precond/none.hpp>
#include <prekond/precond/nonsymmetric_fsai.hpp>
#include <prekond/precond/par_ic.hpp>
#include <prekond/precond/par_ilu.hpp>
#include <prekond/precond/par_ilut.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/schwarz.hpp>
#include <prekond/precond/spai.hpp>

#include "core/instantiate.hpp"

namespace prekond {

template <class Scalar, class Space>
const Registry<MatrixPreconditioner<Scalar, Space>>& preconditioner_registry() {
  using Product = MatrixPreconditioner<Scalar, Space>;
  static const Registry<Product> registry = [] {
    Registry<Product> lines = {
        registry_line<Product, None<Scalar, Space>>(),
        registry_line<Product, Jacobi<Scalar, Space>>(),
        registry_line<Product, Fsai<Scalar, Space>>(),
        registry_line<Product, AdaptiveFsai<Scalar, Space>>(),
    };
    if constexpr (!is_complex<Scalar>) {
      lines.push_back(registry_line<Product, NonsymmetricFsai<Scalar, Space>>());
      lines.push_back(registry_line<Product, Spai<Scalar, Space>>());
      lines.push_back(registry_line<Product, DynamicSpai<Scalar, Space>>());
      lines.push_back(registry_line<Product, Isai<Scalar, Space>>());
      lines.push_back(registry_line<Product, MulticolorGs<Scalar, Space>>());
      lines.push_back(registry_line<Product, MulticolorSsor<Scalar, Space>>());
      lines.push_back(registry_line<Product, MulticolorBlockGs<Scalar, Space>>());
      lines.push_back(registry_line<Product, MulticolorIlu0<Scalar, Space>>());
      lines.push_back(registry_line<Product, Ilu0<Scalar, Space>>());
      lines.push_back(registry_line<Product, Iluk<Scalar, Space>>());
      lines.push_back(registry_line<Product, Ic0<Scalar, Space>>());
      lines.push_back(registry_line<Product, Ick<Scalar, Space>>());
      lines.push_back(registry_line<Product, Mic0<Scalar, Space>>());
      lines.push_back(registry_line<Product, ParIlu<Scalar, Space>>());
      lines.push_back(registry_line<Product, ParIc<Scalar, Space>>());
      lines.push_back(registry_line<Product, ParIlut<Scalar, Space>>());
      lines.push_back(registry_line<Product, Ilut<Scalar, Space>>());
      lines.push_back(registry_line<Product, Ict<Scalar, Space>>());
      lines.push_back(registry_line<Product, BlockIlu0<Scalar, Space>>());
      lines.push_back(registry_line<Product, BlockJacobi<Scalar, Space>>());
      lines.push_back(registry_line<Product, Schwarz<Scalar, Space>>());
      lines.push_back(registry_line<Product, Matched<Scalar, Space>>());
      lines.push_back(registry_line<Product, Amg<Scalar, Space>>());
    }
    lines.push_back(registry_line<Product, LsPolynomial<Scalar, Space>>());
    lines.push_back(registry_line<Product, Chebyshev<Scalar, Space>>());
    lines.push_back(registry_line<Product, Neumann<Scalar, Space>>());
    return lines;
  }();
  return registry;
}

#define PREKOND_REGISTRY(Scalar, Space) \
  template const Registry<MatrixPreconditioner<Scalar, Space>>& preconditioner_registry<Scalar, Space>();
PREKOND_INSTANTIATE(PREKOND_REGISTRY)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_REGISTRY)

}  // namespace prekond
