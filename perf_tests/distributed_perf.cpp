// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "distributed_engine.hpp"
#include "kernel_times.hpp"
#include "named_method.hpp"
#include "region_times.hpp"

#include <prekond/core/devices.hpp>
#include <prekond/distributed/impl/part_of_columns.hpp>
#include <prekond/distributed/impl/remote_part.hpp>
#include <prekond/distributed/split_operator.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/distributed_preconditioner.hpp>
#include <prekond/precond/distributed_transpose.hpp>
#include <prekond/precond/registry.hpp>

#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// The steps of a distributed solve, on the ranks of mpirun:
///
///   mpirun -np P perf_distributed --matrix=elasticity3d:30 [--scaling=strong|weak]
///       [--precond=METHOD[,METHOD...]] [--solver=cg] [--rtol=1e-6] [--rhs=a_ones|ones]
///       [--transport=auto|mpi|nccl] [--repetitions=9] [--kernels=1] [--keep_memory=true]
///       [--benchmark_out=FILE.json]
///
/// --kernels=1 prints the kernels of rank 0's setups and applications first, each with fences around it. A
/// matrix is MATRIX[@B], see rows_of_rank; a method or solver is NAME[:KEY=VALUE...]. elasticity3d gets its
/// rigid body modes as near null space.
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
/// is its time over that of the other one right after it. `again` is another numeric phase. Counters of
/// `apply`: the mean and the fastest rank's time; of `apply`, `setup` and `again`: what exchanges of vectors'
/// entries (import_ms), the import of a level that every rank has whole, or of an overlap (gather_ms) and
/// exchanges of rows (rows_ms) take there of the slowest rank, each with fences around it. Rank 0 prints; the
/// context names the transport.
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
  double mean = 0, fastest = 0;  ///< of the ranks' wall times
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
  double mean = wall;
  MPI_Allreduce(MPI_IN_PLACE, &mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return {of_slowest(wall), of_slowest(processor), mean / World().size, -of_slowest(-wall)};
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
  const std::size_t colon = spec.find(':'), end = std::min(spec.find_first_of(",@", colon), spec.size());
  const double edge = std::stod(spec.substr(colon + 1, end - colon - 1));
  const double dimensions = spec.find("2d") < colon ? 2 : 3;
  return spec.substr(0, colon + 1) + std::to_string(std::lround(edge * std::pow(ranks, 1 / dimensions))) +
         spec.substr(end);
}

/// The rank's rows of the rigid body modes of elasticity: rotations about one point for all ranks.
MultiVector<double, Space> rigid_body_modes_of(const std::string& spec, const perf::RowsOfRank& mine) {
  const MultiVector<double, Space> modes("prekond::perf::modes", mine.num_rows(), 6);
  const auto host = Kokkos::create_mirror_view(modes);
  const double edge = std::stod(spec.substr(spec.find(':') + 1));
  for (std::int64_t k = 0; k < mine.num_rows() / 3; ++k) {
    auto [x, y, z] = perf::coordinates_of_elasticity(spec, mine.first / 3 + k);
    for (double* coordinate : {&x, &y, &z}) *coordinate = *coordinate / edge - 0.5;
    const double of_node[3][6] = {{1, 0, 0, 0, z, -y}, {0, 1, 0, -z, 0, x}, {0, 0, 1, y, -x, 0}};
    for (int c = 0; c < 3; ++c)
      for (int v = 0; v < 6; ++v) host(3 * k + c, v) = of_node[c][v];
  }
  Kokkos::deep_copy(modes, host);
  return modes;
}

/// A matrix over the ranks, in parts, and vectors for its products.
struct Problem {
  Problem(const std::string& spec, bool is_rhs_ones, const perf::RowsOfRank& mine)
      : a(perf::distribute(mine)),
        x("prekond::perf::x", a->num_rows(), 1),
        y("prekond::perf::y", a->num_rows(), 1),
        received("prekond::perf::received", a->num_cols() - a->num_rows(), 1),
        b("prekond::perf::b", a->num_rows()),
        sum("prekond::perf::sum", 1),
        own(part(true)),
        remote(Space(), part(false)) {
    const Space space;
    split = std::make_unique<SplitOperator<double, Space>>(
        space, *a, [&](const Rows&) { return std::make_unique<CsrOperator<double, Space>>(own); });
    Kokkos::deep_copy(x, 1.0);
    if (is_rhs_ones)
      Kokkos::deep_copy(b, 1.0);
    else
      a->product().apply(space, x, as_multivector(b));
    if (spec.starts_with("elasticity3d")) near = {rigid_body_modes_of(spec, mine), 3};
  }

  Rows part(bool is_own) const {
    return impl::part_of_columns<double, Space>(Space(), "prekond::perf::part", a->own_rows(), a->num_rows(),
                                                is_own);
  }

  std::unique_ptr<DistributedMatrix<double, Space>> a;
  MultiVector<double, Space> x, y, received;
  Vector<double, Space> b, sum;
  Rows own;
  RemotePart<double, Space> remote;
  std::unique_ptr<SplitOperator<double, Space>> split;
  NearNullSpace<double, Space> near;
};

/// A method for it.
struct Method {
  using Preconditioner = DistributedPreconditioner<double, Space>;

  Method(std::shared_ptr<const Problem> of, const std::string& text) : problem(std::move(of)), name(text) {
    const auto method = perf::named_method(text);
    configurator =
        find_registered(preconditioner_registry<double, Space>(), method.name, "preconditioner").configure();
    configurator->fields().set(method.options, method.name);
    preconditioner = set_up();
    workspace = preconditioner->make_workspace(Space(), 1);
  }

  std::unique_ptr<Preconditioner> set_up() const {
    auto m = std::make_unique<Preconditioner>(*configurator);
    m->set_near_null_space(problem->near);
    m->numeric(Space(), *problem->a);
    return m;
  }

  SolveResult solve(const Solver<double, Space>& solver, double rtol) const {
    const Problem& p = *problem;
    const Vector<double, Space> solution("prekond::perf::solution", p.a->num_rows());
    StoppingOptions stopping;
    stopping.rtol = rtol;
    return solver.solve(Space(), p.a->product(), preconditioner.get(), p.b, solution, stopping, {},
                        p.a->reducer());
  }

  std::shared_ptr<const Problem> problem;
  std::string name;
  std::unique_ptr<Configurator<MatrixPreconditioner<double, Space>>> configurator;
  std::unique_ptr<Preconditioner> preconditioner;
  std::unique_ptr<Workspace> workspace;
};

/// Counts the time that exchanges take of the work, see the top.
template <class Work>
void count_exchanges(benchmark::State& state, const Work& work, int count) {
  MPI_Barrier(MPI_COMM_WORLD);
  const perf::RegionTimes times;
  for (int k = 0; k < count; ++k) work();
  const auto note = [&](const char* counter, const char* region) {
    state.counters[counter] = 1e3 * of_slowest(times.seconds(region)) / count;
  };
  note("import_ms", "prekond::import");
  note("gather_ms", "prekond::gather");
  note("rows_ms", "prekond::exchange_rows");
}

template <class Work>
void add(const std::string& name, int repetitions, const Work& work) {
  const int count = count_for(work);
  perf::add(name, repetitions,
            [=](benchmark::State& state) { return noted(state, seconds_of(work, count), count); });
}

void add_products(const std::string& name, int repetitions, const std::shared_ptr<Problem>& p) {
  const Space space;
  const auto& columns = p->a->column_import();
  const auto exchange = [=, &columns] {
    columns.start(space, p->x);
    columns.finish(space, p->received);
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
  add(name + "/exchange_reverse", repetitions, [=, &columns] {
    columns.start_reverse(space, p->received);
    columns.finish_reverse(space, p->y);
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

void add_solve(const std::string& name, const std::string& solver, double rtol, int repetitions,
               const std::shared_ptr<Method>& m) {
  const Space space;
  const Problem& p = *m->problem;
  const auto apply = [=, &p] {
    m->preconditioner->apply(space, p.x, p.y, *m->workspace);
    space.fence();
  };
  const int count = count_for(apply);
  perf::add(name + "/apply_" + m->name, repetitions, [=](benchmark::State& state) {
    const Seconds seconds = seconds_of(apply, count);
    state.counters["mean_ms"] = 1e3 * seconds.mean / count;
    state.counters["fastest_ms"] = 1e3 * seconds.fastest / count;
    count_exchanges(state, apply, count);
    return noted(state, seconds, count);
  });
  const auto add_phase = [&](const char* phase, const std::function<void()>& work) {
    perf::add(name + "/" + phase + "_" + m->name, repetitions, [=](benchmark::State& state) {
      count_exchanges(state, work, 1);
      return noted(state, seconds_of(work, 1), 1);
    });
  };
  add_phase("setup", [=] { m->set_up(); });
  add_phase("again", [=, &p] { m->preconditioner->numeric(space, *p.a); });
  const auto add_solver = [&](const std::string& kind,
                              const std::shared_ptr<const Solver<double, Space>>& of_kind) {
    perf::add(name + "/" + kind + "_" + m->name, repetitions, [=](benchmark::State& state) {
      SolveResult result;
      const double seconds = noted(state, seconds_of([&] { result = m->solve(*of_kind, rtol); }, 1), 1);
      state.counters["iterations"] = static_cast<double>(result.iterations);
      state.counters["ms_an_iteration"] =
          1e3 * seconds / static_cast<double>(std::max<std::int64_t>(1, result.iterations));
      state.counters["converged"] = result.converged ? 1 : 0;
      return seconds;
    });
  };
  const auto named = perf::named_method(solver);
  add_solver(named.name, create_solver<double, Space>(named.name, named.options));
  CgOptions single_reduction;
  single_reduction.single_reduction = true;
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
                    methods = perf::take_flag(argc, argv, "precond", "fsai"),
                    solver = perf::take_flag(argc, argv, "solver", "cg"),
                    rhs = perf::take_flag(argc, argv, "rhs", "a_ones");
  const double rtol = std::stod(perf::take_flag(argc, argv, "rtol", "1e-6"));
  const bool shows_kernels = perf::take_flag(argc, argv, "kernels", "0") == "1";
  mpi::set_transport(perf::take_flag(argc, argv, "transport", "auto"));
  if (perf::take_flag(argc, argv, "keep_memory", "true") == "true") keep_freed_memory();
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "9"));
  if (scaling != "strong" && scaling != "weak")
    throw InputError("--scaling is strong or weak, not " + scaling);
  if (rhs != "a_ones" && rhs != "ones") throw InputError("--rhs is a_ones or ones, not " + rhs);
  // One rank writes.
  if (world.rank > 0) perf::take_flag(argc, argv, "benchmark_out", "");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::string spec = scaling == "weak" ? grown(matrix, world.size) : matrix;
  const auto problem =
      std::make_shared<Problem>(spec, rhs == "ones", perf::rows_of_rank(spec, world.rank, world.size));
  add_context(*problem, spec, scaling, world);
  add_products(spec, repetitions, problem);
  for (const std::string& name : perf::words(methods)) {
    const auto method = std::make_shared<Method>(problem, name);
    const auto show_kernels = [&](const std::string& of, const auto& work) {
      const perf::KernelTimes times;
      work();
      if (world.rank == 0) times.print((of + " of " + name).c_str());
    };
    if (shows_kernels) {
      show_kernels("the setup", [&] { method->set_up(); });
      show_kernels("an application", [&] {
        method->preconditioner->apply(Space(), problem->x, problem->y, *method->workspace);
      });
    }
    add_solve(spec, solver, rtol, repetitions, method);
  }
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
