// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "distributed_engine.hpp"

#include <prekond/distributed/impl/remote_part.hpp>
#include <prekond/distributed/split_operator.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/distributed_preconditioner.hpp>
#include <prekond/precond/distributed_transpose.hpp>
#include <prekond/precond/registry.hpp>

#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// The steps of a distributed solve, on the ranks of mpirun:
///
///   mpirun -np P perf_distributed --matrix=elasticity3d:30 [--scaling=strong|weak] [--precond=fsai]
///       [--solver=cg] [--transport=auto|mpi|nccl] [--repetitions=9] [--benchmark_out=FILE.json]
///
/// Strong: the matrix is that of --matrix on any number of ranks. Weak: --matrix is what one rank has, and P
/// ranks get the cube of as near to P times as many unknowns as there is; `rows_a_rank` says how many.
///
/// perf_distributed_petsc, where there is one, is the same program with PETSc for the matrix and the
/// messages; PETSC_OPTIONS="-mat_type baij -mat_block_size 3" gives it blocks.
///
/// Each time is that of the slowest rank, of one step, by as many as take some 50 ms together, begun together
/// after a barrier; medians of the repetitions. `processor_ms` is the processor's time, which other work on
/// the machine changes less. `product` overlaps the exchange with the rank's own part, and `engine_product`
/// is that of the engine's matrix, by which CG multiplies; `product_in_turn` exchanges first, and its counter
/// is its time over that of the other one right after it. Rank 0 prints; the context names the transport.
namespace {

using namespace prekond;
using Space = perf::EngineSpace;
using Rows = CsrMatrix<double, int, std::size_t, Space::memory_space>;

struct World {
  int rank = 0, size = 1;
  World() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
};

double of_slowest(double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

/// Times of the slowest rank, and of the one that computed longest. MPI's waiting may count as computing.
struct Seconds {
  double wall = 0, processor = 0;
};

/// The time of `count` times the work.
template <class Work>
Seconds seconds_of(const Work& work, int count) {
  Space().fence();
  MPI_Barrier(MPI_COMM_WORLD);
  const std::clock_t begin = std::clock();
  const Kokkos::Timer timer;
  for (int k = 0; k < count; ++k) work();
  Space().fence();
  const double wall = timer.seconds();
  const double processor = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return {of_slowest(wall), of_slowest(processor)};
}

/// Notes the processor's time of one of `count`; \returns that of the wall.
double noted(benchmark::State& state, const Seconds& seconds, int count) {
  state.counters["processor_ms"] = 1e3 * seconds.processor / count;
  return seconds.wall / count;
}

/// The same on all ranks.
template <class Work>
int count_for(const Work& work, double wanted = 0.05, double most = 1000) {
  work();
  return static_cast<int>(std::clamp(wanted / seconds_of(work, 1).wall, 1.0, most));
}

/// NAME:EDGE with an edge for `ranks` times as many unknowns.
std::string grown(const std::string& spec, int ranks) {
  const std::size_t colon = spec.find(':'), end = std::min(spec.find(',', colon), spec.size());
  const double edge = std::stod(spec.substr(colon + 1, end - colon - 1));
  const double dimensions = spec.find("2d") < colon ? 2 : 3;
  return spec.substr(0, colon + 1) + std::to_string(std::lround(edge * std::pow(ranks, 1 / dimensions))) +
         spec.substr(end);
}

/// This rank's share, of whole nodes.
perf::HostRows share_of(const std::string& spec, const World& world) {
  const auto whole = generate<double>(Kokkos::DefaultHostExecutionSpace(), spec);
  const std::int64_t b = spec.starts_with("elasticity3d") ? 3 : 1, nodes = whole.num_rows / b;
  perf::HostRows rows;
  rows.num_global_rows = whole.num_rows;
  rows.first = nodes * world.rank / world.size * b;
  const std::int64_t end = nodes * (world.rank + 1) / world.size * b;
  for (std::int64_t i = rows.first; i < end; ++i) {
    for (std::size_t k = whole.row_ptrs(i); k < whole.row_ptrs(i + 1); ++k) {
      rows.col_idxs.push_back(whole.col_idxs(k));
      rows.values.push_back(whole.values(k));
    }
    rows.row_ptrs.push_back(rows.values.size());
  }
  return rows;
}

/// A matrix over the ranks, in parts, and vectors for its products.
struct Problem {
  using Preconditioner = DistributedPreconditioner<double, Space>;

  Problem(const std::string& spec, const std::string& method, const World& world)
      : a(perf::distribute(share_of(spec, world))),
        x("prekond::perf::x", a->num_rows(), 1),
        y("prekond::perf::y", a->num_rows(), 1),
        received("prekond::perf::received", a->num_cols() - a->num_rows(), 1),
        b("prekond::perf::b", a->num_rows()),
        sum("prekond::perf::sum", 1),
        own(part(true)),
        remote(Space(), part(false)),
        configurator(
            find_registered(preconditioner_registry<double, Space>(), method, "preconditioner").configure()) {
    const Space space;
    split = std::make_unique<SplitOperator<double, Space>>(
        space, *a, [&](const Rows&) { return std::make_unique<CsrOperator<double, Space>>(own); });
    Kokkos::deep_copy(x, 1.0);
    a->product().apply(space, x, as_multivector(b));
    preconditioner = set_up();
    workspace = preconditioner->make_workspace(space, 1);
  }

  std::unique_ptr<Preconditioner> set_up() const {
    auto m = std::make_unique<Preconditioner>(*configurator);
    m->numeric(Space(), *a);
    return m;
  }

  SolveResult solve(const Solver<double, Space>& solver) const {
    const Vector<double, Space> solution("prekond::perf::solution", a->num_rows());
    StoppingOptions stopping;
    stopping.rtol = 1e-6;
    return solver.solve(Space(), a->product(), preconditioner.get(), b, solution, stopping, {}, a->reducer());
  }

  Rows part(bool is_own) const {
    const Space space;
    const CsrView<double, Space> rows = a->own_rows();
    const auto columns = allocate<Vector<int, Space>>(space, "prekond::perf::columns", rows.num_cols);
    Kokkos::parallel_for("prekond::perf::number", Kokkos::RangePolicy<Space>(space, 0, rows.num_cols),
                         impl::NumberPart<Space>{static_cast<int>(rows.num_rows), is_own, columns});
    return select_entries<double, Space>(space, "prekond::perf::part", rows, rows.num_rows, {}, columns,
                                         is_own ? rows.num_rows : rows.num_cols - rows.num_rows);
  }

  std::unique_ptr<DistributedMatrix<double, Space>> a;
  MultiVector<double, Space> x, y, received;
  Vector<double, Space> b, sum;
  Rows own;
  RemotePart<double, Space> remote;
  std::unique_ptr<SplitOperator<double, Space>> split;
  std::unique_ptr<Configurator<MatrixPreconditioner<double, Space>>> configurator;
  std::unique_ptr<Preconditioner> preconditioner;
  std::unique_ptr<Workspace> workspace;
};

template <class Work>
void add(const std::string& name, int repetitions, const Work& work) {
  const int count = count_for(work);
  perf::add(name, repetitions,
            [=](benchmark::State& state) { return noted(state, seconds_of(work, count), count); });
}

void add_products(const std::string& name, int repetitions, const std::shared_ptr<Problem>& p) {
  const Space space;
  const auto& import = p->a->column_import();
  const auto exchange = [=, &import] {
    import.start(space, p->x);
    import.finish(space, p->received);
  };
  const auto own = [=] {
    spmv<double, Space>(space, 1.0, p->own, p->x, 0.0, p->y);
    space.fence();
  };
  const auto remote = [=] {
    p->remote.add_product(space, 1.0, p->received, p->y);
    space.fence();
  };
  add(name + "/exchange", repetitions, exchange);
  add(name + "/exchange_reverse", repetitions, [=, &import] {
    import.start_reverse(space, p->received);
    import.finish_reverse(space, p->y);
  });
  add(name + "/own_part", repetitions, own);
  add(name + "/remote_part", repetitions, remote);
  const auto overlapped = [=] {
    p->split->apply(space, p->x, p->y);
    space.fence();
  };
  const auto in_turn = [=] {
    exchange();
    spmv<double, Space>(space, 1.0, p->own, p->x, 0.0, p->y);
    remote();
  };
  add(name + "/product", repetitions, overlapped);
  add(name + "/engine_product", repetitions, [=] {
    p->a->product().apply(space, p->x, p->y);
    space.fence();
  });
  const int count = count_for(in_turn);
  perf::add(name + "/product_in_turn", repetitions, [=](benchmark::State& state) {
    const Seconds seconds = seconds_of(in_turn, count);
    state.counters["over_overlapped"] = seconds.wall / seconds_of(overlapped, count).wall;
    return noted(state, seconds, count);
  });
  add(name + "/transpose", repetitions, [=] {
    distributed_transpose<double, Space>(space, *p->a);
    space.fence();
  });
  add(name + "/all_reduce", repetitions, [=] {
    p->a->reducer().sum(space, p->sum);
    space.fence();
  });
}

void add_solve(const std::string& name, const std::string& method, const std::string& solver, int repetitions,
               const std::shared_ptr<Problem>& p) {
  const Space space;
  add(name + "/apply_" + method, repetitions, [=] {
    p->preconditioner->apply(space, p->x, p->y, *p->workspace);
    space.fence();
  });
  perf::add(name + "/setup_" + method, repetitions,
            [=](benchmark::State& state) { return noted(state, seconds_of([&] { p->set_up(); }, 1), 1); });
  const auto add_solver = [&](const std::string& kind,
                              const std::shared_ptr<const Solver<double, Space>>& of_kind) {
    perf::add(name + "/" + kind + "_" + method, repetitions, [=](benchmark::State& state) {
      SolveResult result;
      const double seconds = noted(state, seconds_of([&] { result = p->solve(*of_kind); }, 1), 1);
      state.counters["iterations"] = static_cast<double>(result.iterations);
      state.counters["ms_an_iteration"] =
          1e3 * seconds / static_cast<double>(std::max<std::int64_t>(1, result.iterations));
      state.counters["converged"] = result.converged ? 1 : 0;
      return seconds;
    });
  };
  CgOptions single_reduction;
  single_reduction.single_reduction = true;
  add_solver(solver, create_solver<double, Space>(solver));
  if (solver == "cg")
    add_solver("single_reduction_cg", std::make_shared<const Cg<double, Space>>(single_reduction));
}

/// The problem of the run, and the largest part of it that a rank has.
void add_context(const Problem& p, const std::string& spec, const std::string& scaling, const World& world) {
  const auto most = [](std::int64_t value) {
    return std::to_string(static_cast<std::int64_t>(of_slowest(static_cast<double>(value))));
  };
  benchmark::AddCustomContext("backend", Space::name());
  benchmark::AddCustomContext("concurrency", std::to_string(Space().concurrency()));
  benchmark::AddCustomContext("transport", perf::transport());
  benchmark::AddCustomContext("ranks", std::to_string(world.size));
  benchmark::AddCustomContext("scaling", scaling);
  benchmark::AddCustomContext("matrix", spec);
  benchmark::AddCustomContext("block_size", std::to_string(p.a->block_size()));
  benchmark::AddCustomContext("rows_a_rank", most(p.a->num_rows()));
  benchmark::AddCustomContext("received_entries", most(p.a->num_cols() - p.a->num_rows()));
}

/// Takes part in the measurements of rank 0.
class Silent : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

int run(int argc, char** argv) {
  const World world;
  const std::string matrix = perf::take_flag(argc, argv, "matrix", "elasticity3d:30"),
                    scaling = perf::take_flag(argc, argv, "scaling", "strong"),
                    method = perf::take_flag(argc, argv, "precond", "fsai"),
                    solver = perf::take_flag(argc, argv, "solver", "cg");
  mpi::set_transport(perf::take_flag(argc, argv, "transport", "auto"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "9"));
  if (scaling != "strong" && scaling != "weak")
    throw InputError("--scaling is strong or weak, not " + scaling);
  // One rank writes.
  if (world.rank > 0) perf::take_flag(argc, argv, "benchmark_out", "");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::string spec = scaling == "weak" ? grown(matrix, world.size) : matrix;
  const auto problem = std::make_shared<Problem>(spec, method, world);
  add_context(*problem, spec, scaling, world);
  add_products(spec, repetitions, problem);
  add_solve(spec, method, solver, repetitions, problem);
  Silent silent;
  if (world.rank == 0)
    benchmark::RunSpecifiedBenchmarks();
  else
    benchmark::RunSpecifiedBenchmarks(&silent);
  benchmark::Shutdown();
  benchmark::ClearRegisteredBenchmarks();  // what they share has Views
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const perf::EngineScope scope(&argc, &argv);
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "perf_distributed: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}
