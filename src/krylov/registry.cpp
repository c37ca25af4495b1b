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
  using Base = Solver<Scalar, Space>;
  static const Registry<Base> registry = {
      registry_entry<Base, Cg<Scalar, Space>>(),    registry_entry<Base, Bicgstab<Scalar, Space>>(),
      registry_entry<Base, Gmres<Scalar, Space>>(), registry_entry<Base, Fgmres<Scalar, Space>>(),
      registry_entry<Base, Idr<Scalar, Space>>(),   registry_entry<Base, Richardson<Scalar, Space>>(),
  };
  return registry;
}

#define PREKOND_SOLVERS(Scalar, Space) \
  template const Registry<Solver<Scalar, Space>>& solver_registry<Scalar, Space>();
PREKOND_INSTANTIATE(PREKOND_SOLVERS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_SOLVERS)

}  // namespace prekond
