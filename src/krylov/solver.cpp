// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/impl/threads.hpp>
#include <prekond/core/options.hpp>
#include <prekond/krylov/solver.hpp>

#include "core/instantiate.hpp"

namespace prekond {
namespace {

template <class Scalar, class Space>
void check_sizes(const std::string& solver, const Operator<Scalar, Space>& a,
                 const Preconditioner<Scalar, Space>* preconditioner, std::size_t b_rows,
                 std::size_t x_rows) {
  const auto n = static_cast<std::size_t>(a.num_rows());
  if (b_rows != n || x_rows != n)
    throw InputError(solver + ": A has " + std::to_string(n) + " rows, b " + std::to_string(b_rows) +
                     " entries, x " + std::to_string(x_rows));
  if (a.num_cols() != a.num_rows())
    throw InputError(solver + ": A is " + std::to_string(n) + " x " + std::to_string(a.num_cols()) +
                     ", not square");
  if (preconditioner && preconditioner->num_rows() != a.num_rows())
    throw InputError(solver + ": the preconditioner has " + std::to_string(preconditioner->num_rows()) +
                     " rows, A has " + std::to_string(n));
}

}  // namespace

template <class Scalar, class Space>
SolveResult Solver<Scalar, Space>::solve(const Space& space, const Operator<Scalar, Space>& a,
                                         const Preconditioner<Scalar, Space>* preconditioner,
                                         VectorView<const Scalar, Space> b, VectorView<Scalar, Space> x,
                                         const StoppingOptions& stopping, const Monitor& monitor,
                                         const Reducer<Scalar, Space>& reducer) const {
  ColumnMonitor of_the_column;
  if (monitor)
    of_the_column = [&monitor](int, std::int64_t iteration, double norm_r) { monitor(iteration, norm_r); };
  return solve(space, a, preconditioner, MultiVectorView<const Scalar, Space>(as_multivector(b)),
               MultiVectorView<Scalar, Space>(as_multivector(x)), stopping, of_the_column, reducer)
      .front();
}

template <class Scalar, class Space>
std::vector<SolveResult> Solver<Scalar, Space>::solve(
    const Space& space, const Operator<Scalar, Space>& a, const Preconditioner<Scalar, Space>* preconditioner,
    MultiVectorView<const Scalar, Space> b, MultiVectorView<Scalar, Space> x, const StoppingOptions& stopping,
    const ColumnMonitor& monitor, const Reducer<Scalar, Space>& reducer) const {
  check_threads(space);
  StoppingOptions checked = stopping;
  OptionFields::of(checked).check(name());
  check_sizes(name(), a, preconditioner, b.extent(0), x.extent(0));
  if (b.extent(1) != x.extent(1))
    throw InputError(name() + ": B has " + std::to_string(b.extent(1)) + " columns, X " +
                     std::to_string(x.extent(1)));
  if (preconditioner && preconditioner->is_variable() && !is_flexible())
    throw InputError(name() + ": the preconditioner " + preconditioner->name() +
                     " changes between applications; that needs a flexible solver: fgmres, "
                     "richardson, or for symmetric positive definite matrices cg with flexible = true");
  if (b.extent(1) == 0) return {};
  Kokkos::Timer timer;
  std::vector<SolveResult> results =
      run(LinearProblem<Scalar, Space>{space, a, preconditioner, b, x, stopping, monitor, reducer});
  for (SolveResult& result : results) result.seconds = timer.seconds();
  return results;
}

#define PREKOND_SOLVER(Scalar, Space) template class Solver<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_SOLVER)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_SOLVER)

}  // namespace prekond
