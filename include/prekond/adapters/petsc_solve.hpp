// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Prekond's solvers on PETSc's vectors. Needs the target prekond::petsc.
#include <prekond/adapters/impl/petsc_vectors.hpp>
#include <prekond/adapters/petsc_distributed.hpp>
#include <prekond/krylov/solver.hpp>

#include <petscvec.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace prekond::petsc {

namespace impl {

/// \throws InputError where a rank's part of the vector is not one of the rank's rows
inline void check_part(Vec x, std::int64_t num_rows, const std::string& what) {
  PetscInt rows = 0;
  check(VecGetLocalSize(x, &rows));
  if (rows != num_rows)
    throw InputError(what + " has " + std::to_string(rows) + " entries on this rank, A has " +
                     std::to_string(num_rows) + " rows there");
}

}  // namespace impl

/// Collective. Solves A x = b on PETSc's vectors by one of Prekond's solvers, from the x given.
/// `preconditioner` acts on the rank's part of vectors (a DistributedPreconditioner that was set up for A, or
/// any for the rank's own rows), and may be null. A rank multiplies its own columns while the entries of
/// others are under way; the dot products that a step computes together travel in one all-reduce.
///
/// Works on the vectors' memory where kernels of `Space` reach it; else b and x are copied once, and x back.
/// A failure on one rank in the middle of the solve (memory that runs out) is thrown only on that rank.
/// \throws InputError on all ranks where b or x is not distributed as A's rows are, both are one, or a rank's
/// preconditioner has other rows
template <class Space>
SolveResult solve(const Space& space, const Solver<PetscScalar, Space>& solver,
                  const DistributedAijMatrix<Space>& a,
                  const std::type_identity_t<Preconditioner<PetscScalar, Space>>* preconditioner, Vec b,
                  Vec x, const StoppingOptions& stopping = {}, const Monitor& monitor = {}) {
  a.together([&] {
    impl::check_part(b, a.num_rows(), solver.name() + ": b");
    impl::check_part(x, a.num_rows(), solver.name() + ": x");
    if (b == x) throw InputError(solver.name() + ": b and x are one vector; b would change while it is read");
    if (preconditioner && preconditioner->num_rows() != a.num_rows())
      throw InputError(solver.name() + ": the preconditioner has " +
                       std::to_string(preconditioner->num_rows()) + " rows, A has " +
                       std::to_string(a.num_rows()));
  });
  ColumnsBuffer<Space> b_buffer, x_buffer;
  const ReadVec<Space> from(b);
  const UpdateVec<Space> to(x);
  const auto b_view = b_buffer.read(space, from.columns());
  const auto x_view = x_buffer.update(space, to.columns());
  const SolveResult result = solver.solve(space, a.product(), preconditioner, column(b_view, 0),
                                          column(x_view, 0), stopping, monitor, a.reducer());
  x_buffer.finish(space, x_view, to.columns());
  space.fence("prekond::petsc::solve");  // PETSc has its own streams
  return result;
}

}  // namespace prekond::petsc
