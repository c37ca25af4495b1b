// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched_data.hpp"
#include "device_rates.hpp"

#include <prekond/batched/solver.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/jacobi.hpp>

/// Batches of systems with one pattern, the entries off the diagonal multiplied by 1 - 0.2 u, u uniform in
/// (0, 1), the same for both triangles; b = 1, x = 0, to a relative residual of 1e-10:
/// perf_batched --matrices=stencil3:64;FILE.mtx --systems=20000 [--solvers=cg,bicgstab]
/// [--preconds=none,jacobi,ilu0,ic0,...] [--lanes=auto] [--one=20] [--repetitions=5]
///
/// Cases, each NAME/MATRIX/SYSTEMS; all have the counters `iterations` (the mean) and `us_a_system`:
///
/// batched/SOLVER/PRECOND     one launch; `bytes_per_second`: A once an iteration and product, as it would be
///                    read from memory, `converged`: the share of the systems; `share_of_copy`: of the time,
///                    what a copy would take for the bytes that a solve cannot do without (A's values, b, x
///                    twice), `share_of_multiply_adds`: what the operations of the iterations would, by the
///                    device's fastest multiply-adds
/// one_by_one/cg/jacobi       `--one` of the systems by Cg, one after the other; the time is scaled to all
/// block_diagonal/cg/jacobi   all of them as one matrix by Cg
namespace {

using namespace prekond;
using perf::Space;
using Batch = perf::BatchOfDoubles;
using Shared = perf::SharedBatch;

/// Row pointers and columns of the block-diagonal matrix of all systems.
struct FillBlocks {
  CsrView<double, Space> model;
  Vector<std::size_t, Space> row_ptrs;
  Vector<int, Space> col_idxs;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    const std::int64_t n = model.num_rows, i = row % n, s = row / n;
    const std::size_t first = std::size_t(s) * model.col_idxs.extent(0);
    row_ptrs(row + 1) = first + model.row_ptrs(i + 1);
    for (std::size_t k = model.row_ptrs(i); k < model.row_ptrs(i + 1); ++k)
      col_idxs(first + k) = static_cast<int>(s * n) + model.col_idxs(k);
  }
};

/// Operations of an application of a preconditioner; A has `nnz` entries, and its factors too.
double apply_flops(BatchedPreconditioner precond, double n, double nnz, const BatchedOptions& options) {
  switch (precond) {
    case BatchedPreconditioner::none:
      return 0;
    case BatchedPreconditioner::jacobi:
      return n;
    case BatchedPreconditioner::block_jacobi:
      return 2 * n * options.block_size;
    case BatchedPreconditioner::fsai:
      return 2 * (nnz + n);  // two products with a triangle
    case BatchedPreconditioner::ilu_isai:
      return 2 * (nnz + n);
    default:
      return 2 * nnz;
  }
}

/// Operations of an iteration, with the preconditioner's; for GMRES the mean of all steps.
double iteration_flops(const BatchedOptions& options, double n, double nnz, double iterations) {
  const double apply = apply_flops(options.precond, n, nnz, options);
  switch (options.solver) {
    case BatchedMethod::cg:
      return 2 * nnz + 10 * n + apply;
    case BatchedMethod::bicgstab:
      return 4 * nnz + 20 * n + 2 * apply;
    case BatchedMethod::gmres: {
      const double steps = std::min({iterations, double(options.restart), n});
      return 2 * nnz + apply + 4 * n * (steps + 2) + 5 * n;  // twice, (steps + 1) / 2 vectors on average
    }
    case BatchedMethod::idr: {
      const double s = options.s;
      return 2 * nnz + apply + n * s / (s + 1) * (6 * s + 8);
    }
    default:
      return 2 * nnz + apply + 4 * n;
  }
}

constexpr double rtol = 1e-10;
constexpr int max_iters = 2000;

void add_batched(const Shared& data, const BatchedOptions& options, const std::string& name,
                 int repetitions) {
  perf::add("batched/" + name + "/" + data->name(), repetitions, [=](benchmark::State& state) {
    data->load();
    const Space space;
    BatchedSolver<double, Batch> solver(options);
    BatchedResult<Space> result;
    const Batch a = data->batch();
    solver.symbolic(space, a);
    const auto solve = [&] {
      Kokkos::deep_copy(space, data->x, 0.0);
      const double time = perf::seconds(space, [&] { solver.solve(space, a, data->b, data->x, result); });
      return time;
    };
    solve();
    const double time = solve();
    const BatchedReport report = summarize(space, result);
    const double products = options.solver == BatchedMethod::bicgstab ? 2 : 1;  // the others have one
    const double bytes = double(data->model.nnz()) * 12;
    state.counters["iterations"] = report.mean_iterations;
    state.counters["us_a_system"] = 1e6 * time / double(data->systems);
    state.counters["bytes_per_second"] =
        products * report.mean_iterations * bytes * double(data->systems) / time;
    state.counters["converged"] = double(report.num_converged) / double(report.num_systems);
    const double n = double(data->model.num_rows), nnz = double(data->model.nnz());
    const double flops = report.mean_iterations * iteration_flops(options, n, nnz, report.mean_iterations);
    state.counters["share_of_copy"] =
        8 * (nnz + 3 * n) * double(data->systems) / perf::copy_bandwidth() / time;
    state.counters["share_of_multiply_adds"] =
        flops * double(data->systems) / perf::multiply_add_rate<double>() / time;
    return time;
  });
}

double solve_by_cg(const CsrView<double, Space>& a, MultiVectorView<const double, Space> b,
                   MultiVectorView<double, Space> x, std::int64_t& iterations) {
  const Space space;
  Jacobi<double, Space> jacobi;
  StoppingOptions stopping;
  stopping.rtol = rtol;
  stopping.max_iters = max_iters;
  const Cg<double, Space> cg;
  return perf::seconds(space, [&] {
    jacobi.symbolic(space, a);
    jacobi.numeric(space, a);
    iterations = cg.solve(space, CsrOperator<double, Space>(a), &jacobi, b, x, stopping)[0].iterations;
  });
}

void add_one_by_one(const Shared& data, std::int64_t count, int repetitions) {
  perf::add("one_by_one/cg/jacobi/" + data->name(), repetitions, [=](benchmark::State& state) {
    data->load();
    Kokkos::deep_copy(data->x, 0.0);
    double time = 0, sum = 0;
    for (std::int64_t s = -1; s < count; ++s) {  // the first one warms up
      const std::size_t at = s < 0 ? 0 : s;
      const auto column = std::pair(at, at + 1);
      const CsrView<double, Space> a{data->model.num_rows, data->model.num_rows, data->model.row_ptrs,
                                     data->model.col_idxs, Kokkos::subview(data->values, Kokkos::ALL, at)};
      const auto x = Kokkos::subview(data->x, Kokkos::ALL, column);
      Kokkos::deep_copy(x, 0.0);
      std::int64_t iterations = 0;
      const double one = solve_by_cg(a, Kokkos::subview(data->b, Kokkos::ALL, column), x, iterations);
      if (s < 0) continue;
      time += one;
      sum += double(iterations);
    }
    state.counters["iterations"] = sum / double(count);
    state.counters["us_a_system"] = 1e6 * time / double(count);
    return time / double(count) * double(data->systems);
  });
}

void add_block_diagonal(const Shared& data, int repetitions) {
  perf::add("block_diagonal/cg/jacobi/" + data->name(), repetitions, [=](benchmark::State& state) {
    data->load();
    const Space space;
    const std::int64_t n = data->model.num_rows * data->systems;
    const std::size_t nnz = data->model.nnz() * data->systems;
    const Vector<std::size_t, Space> row_ptrs("row_ptrs", n + 1);
    const Vector<int, Space> col_idxs("col_idxs", nnz);
    Kokkos::parallel_for("prekond::perf::blocks", Kokkos::RangePolicy<Space>(space, 0, n),
                         FillBlocks{data->model, row_ptrs, col_idxs});
    const VectorView<const double, Space> values(data->values.data(), nnz);
    const CsrView<double, Space> a{n, n, row_ptrs, col_idxs, values};
    const MultiVectorView<const double, Space> b(data->b.data(), n, 1);
    const MultiVectorView<double, Space> x(data->x.data(), n, 1);
    std::int64_t iterations = 0;
    double time = 0;
    for (int k = 0; k < 2; ++k) {
      Kokkos::deep_copy(data->x, 0.0);
      time = solve_by_cg(a, b, x, iterations);
    }
    state.counters["iterations"] = double(iterations);
    state.counters["us_a_system"] = 1e6 * time / double(data->systems);
    return time;
  });
}

void register_all(int& argc, char** argv) {
  const auto flag = [&](const char* name, const char* fallback) {
    return perf::take_flag(argc, argv, name, fallback);
  };
  const int repetitions = std::stoi(flag("repetitions", "5"));
  const auto systems = perf::numbers(flag("systems", "20000"));
  const auto solvers = perf::words(flag("solvers", "cg,bicgstab"));
  const auto preconds = perf::words(flag("preconds", "none,jacobi,ilu0,ic0"));
  const std::string lanes = flag("lanes", "auto");
  const int one = std::stoi(flag("one", "20"));
  std::string matrices = flag("matrices", "stencil3:64");
  std::replace(matrices.begin(), matrices.end(), ';', ',');
  for (const std::string& spec : perf::words(matrices))
    for (const int count : systems) {
      const auto data = std::make_shared<perf::BatchData>();
      data->spec = spec;
      data->systems = count;
      for (const auto& solver : solvers)
        for (const auto& precond : preconds) {
          BatchedOptions options;
          OptionFields::of(options).set({{"solver", solver}, {"precond", precond}, {"lanes", lanes}},
                                        "perf_batched");
          options.stopping.rtol = rtol;
          options.stopping.max_iters = max_iters;
          const bool general =
              precond == "ilu0" || precond == "par_ilu" || precond == "isai" || precond == "ilu_isai";
          if (solver != "cg" || !general) add_batched(data, options, solver + "/" + precond, repetitions);
        }
      if (one > 0) {
        add_one_by_one(data, std::min(one, count), repetitions);
        add_block_diagonal(data, repetitions);
      }
    }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
