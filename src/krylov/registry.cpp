// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/krylov/bicgstab.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/krylov/fgmres.hpp>
#include <prekond/krylov/gmres.hpp>
#include <prekond/krylov/idr.hpp>
#include <prekond/krylov/richardson.hpp>

#include "core/instantiate.hpp"

namespace prekond {

template <class Scalar, class Space>
const Registry<Solver<Scalar, Space>>& solver_registry() {
  using Product = Solver<Scalar, Space>;
  static const Registry<Product> registry = {
      registry_line<Product, Cg<Scalar, Space>>(),    registry_line<Product, Bicgstab<Scalar, Space>>(),
      registry_line<Product, Gmres<Scalar, Space>>(), registry_line<Product, Fgmres<Scalar, Space>>(),
      registry_line<Product, Idr<Scalar, Space>>(),   registry_line<Product, Richardson<Scalar, Space>>(),
  };
  return registry;
}

#define PREKOND_SOLVERS(Scalar, Space) \
  template const Registry<Solver<Scalar, Space>>& solver_registry<Scalar, Space>();
PREKOND_INSTANTIATE(PREKOND_SOLVERS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_SOLVERS)

}  // namespace prekond
