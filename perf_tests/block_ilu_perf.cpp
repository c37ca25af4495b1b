// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "device_rates.hpp"
#include "peers/cusparse_block_ilu.hpp"

#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/precond/block_ilu0.hpp>
#include "matrix/bcsr_operator.hpp"

#include "precond/factorization/block_ilu/factors.hpp"

#include <filesystem>
#include <memory>
#include <sstream>

/// ILU(0) by blocks, and GMRES with it: perf_block_ilu --matrices=elasticity3d:60@3;FILE.mtx.gz@4
/// [--sweeps=2,3,4,5,6] [--orthogonalizations=cgs2,dcgs2] [--restart=30] [--rtol=1e-5]
/// [--max_iters=3000] [--repetitions=5]. Cases, each NAME/MATRIX@BLOCK_SIZE, by BCSR:
///
/// product            y = A x; `of_copy`: the rate of the bytes that must move over the copy's
/// symbolic           the seconds of symbolic; `num_levels`, `breakdowns`
/// numeric/SCHEDULE   of a further numeric phase of a matrix by blocks; `factor`: only of the factorisation;
///                    `from_csr`: of a numeric phase of the matrix by single rows
/// apply/METHOD       an application; `over_products`: over that of the product by BCSR; METHOD is an exact
///                    one, isai, or jacobi_K with K sweeps
/// gmres/ORTHOGONALIZATION/METHOD     a whole solve (ORTHOGONALIZATION stepsS: step_size S, cgs2);
/// `iterations`, `converged`, `precond`: seconds of 30
///                    applications; `true_relative_residual`
/// cusparse_*         with CUDA, bsrilu02 and bsrsv2 in the same run: `analysis`, numeric, apply, gmres
namespace {

using namespace prekond;
using perf::Space;
using Blocks = BcsrMatrix<const double, const int, const std::size_t, Space::memory_space>;
using Csr = CsrMatrix<const double, const int, const std::size_t, Space::memory_space>;

struct Settings {
  std::vector<std::string> sweeps, orthogonalizations;
  int restart, repetitions;
  std::int64_t max_iters;
  double rtol;
};

struct Data {
  std::string spec, file;
  int b = 0;
  Csr csr;
  Blocks a;
  Vector<double, Space> x, y;
  double product = 0;

  void load() {
    if (a.num_block_rows > 0) return;
    const Space space;
    if (std::filesystem::exists(file))
      csr = copy_to<Space>(read_matrix_market<double>(file));
    else
      csr = generate<double>(space, file);
    if (b == 0) b = detect_block_size<Space>(space, csr).block_size;
    a = to_bcsr<double, Space>(space, csr, b);
    x = Vector<double, Space>("x", a.num_rows());
    y = Vector<double, Space>("y", a.num_rows());
    Kokkos::deep_copy(x, 1.0 / 3);
    space.fence();
  }
  MultiVectorView<const double, Space> in() const {
    return as_multivector(VectorView<const double, Space>(x));
  }
};
using Shared = std::shared_ptr<Data>;

BlockIlu0Options options_of(const Data& data, const std::string& method) {
  BlockIlu0Options options;
  options.block_size = data.b;
  const auto at = method.find('_');
  const bool sweeps = method != "sync_free" && at != std::string::npos;
  OptionMap map{{"solve.method", sweeps ? method.substr(0, at) : method}};
  if (sweeps) map["solve.sweeps"] = std::int64_t(std::stoi(method.substr(at + 1)));
  OptionFields::of(options).set(map, "perf_block_ilu");
  return options;
}

double apply_time(const Data& data, const Preconditioner<double, Space>& m) {
  const Space space;
  const auto workspace = m.make_workspace(space, 1);
  return perf::mean_seconds([&] { m.apply(space, data.in(), as_multivector(data.y), *workspace); });
}

double gmres_time(benchmark::State& state, const Data& data, const Settings& settings,
                  const std::string& orthogonalization, const Preconditioner<double, Space>& m) {
  const Space space;
  const BcsrOperator<double, Space> op(data.a);
  const Vector<double, Space> b("b", data.a.num_rows()), x("x", data.a.num_rows());
  Kokkos::deep_copy(b, 1.0);
  StoppingOptions stopping;
  stopping.rtol = settings.rtol;
  stopping.max_iters = settings.max_iters;
  OptionMap options{{"restart", std::int64_t(settings.restart)}};
  if (orthogonalization.rfind("steps", 0) == 0)
    options["step_size"] = std::int64_t(std::stoi(orthogonalization.substr(5)));
  else
    options["orthogonalization"] = orthogonalization;
  const auto solver = create_solver<double, Space>("gmres", options);
  const auto result = solver->solve(space, op, &m, b, x, stopping);
  state.counters["iterations"] = double(result.iterations);
  state.counters["converged"] = result.converged;
  state.counters["true_relative_residual"] = result.true_relative_residual;
  state.counters["precond"] = 30 * apply_time(data, m);
  return result.seconds;
}

void add_product(const Shared& data, const Settings& settings) {
  perf::add("product/" + data->spec, settings.repetitions, [=](benchmark::State& state) {
    data->load();
    const BcsrOperator<double, Space> op(data->a);
    data->product = perf::mean_seconds([&] { op.apply(Space(), data->in(), as_multivector(data->y)); });
    const double bytes = double(data->a.bytes()) + 16.0 * double(data->a.num_rows());
    state.counters["of_copy"] = bytes / data->product / perf::copy_bandwidth();
    return data->product;
  });
}

void add_setup(const Shared& data, const Settings& settings) {
  perf::add("symbolic/" + data->spec, settings.repetitions, [=](benchmark::State& state) {
    data->load();
    const Space space;
    const MatrixSource<double, Space> source(space, data->a);
    BlockIlu0<double, Space> m(options_of(*data, "auto"));
    m.symbolic(space, source);
    const double time = perf::seconds(space, [&] { m.symbolic(space, source); });
    m.numeric(space, source);
    state.counters["breakdowns"] = double(m.report().breakdowns.count);
    state.counters["num_levels"] =
        level_schedule<Space>(space,
                              CsrGraph<Space>{data->a.num_block_rows, data->a.num_block_rows,
                                              m.factor_lower().row_ptrs, m.factor_lower().col_idxs},
                              Triangle::lower)
            .num_levels();
    return time;
  });
  for (const std::string schedule : {"auto", "levels", "sync_free"})
    perf::add("numeric/" + schedule + "/" + data->spec, settings.repetitions, [=](benchmark::State& state) {
      data->load();
      const Space space;
      const MatrixSource<double, Space> source(space, data->a);
      const auto options = options_of(*data, schedule);
      BlockIlu0<double, Space> m(options);
      m.numeric(space, source);
      impl::block_ilu::Symbolic<double, Space> symbolic{
          data->b, data->a.padding, data->a.num_blocks(), {}, {"perf", {}}};
      symbolic.pattern =
          fill_pattern<Space>(space, impl::graph_of<Space>(data->a), 0, std::int64_t(1) << 50, true);
      impl::block_ilu::schedule_factorisation<double, Space>(
          space, level_schedule<Space>(space, CsrGraphView<Space>(symbolic.pattern.lower), Triangle::lower),
          options.schedule(), symbolic);
      impl::ilu::Outcome outcome;
      const auto factor = [&] {
        impl::block_ilu::factor<double, Space>(space, data->a, symbolic, m.shift(), outcome);
      };
      factor();
      state.counters["factor"] = perf::seconds(space, factor);
      state.counters["stalled"] = outcome.stalled;
      state.counters["shift"] = m.shift();
      const double time = perf::seconds(space, [&] { m.numeric(space, source); });
      m.numeric(space, data->csr);
      state.counters["from_csr"] = perf::seconds(space, [&] { m.numeric(space, data->csr); });
      return time;
    });
}

void add_method(const Shared& data, const Settings& settings, const std::string& method) {
  const auto make = [=] {
    data->load();
    const Space space;
    auto m = std::make_shared<BlockIlu0<double, Space>>(options_of(*data, method));
    m->numeric(space, MatrixSource<double, Space>(space, data->a));
    return m;
  };
  perf::add("apply/" + method + "/" + data->spec, settings.repetitions, [=](benchmark::State& state) {
    const double time = apply_time(*data, *make());
    if (data->product > 0) state.counters["over_products"] = time / data->product;
    return time;
  });
  for (const std::string& orthogonalization : settings.orthogonalizations)
    perf::add("gmres/" + orthogonalization + "/" + method + "/" + data->spec, 3,
              [=](benchmark::State& state) {
                return gmres_time(state, *data, settings, orthogonalization, *make());
              });
}

void add_cusparse(const Shared& data, const Settings& settings) {
#ifdef KOKKOS_ENABLE_CUDA
  const auto make = [=] {
    data->load();
    const Space space;
    auto m = std::make_shared<perf::CusparseBlockIlu>(space, data->a);
    m->analyse();
    m->factor();
    m->analyse_solves();
    space.fence();
    return m;
  };
  perf::add("cusparse_numeric/" + data->spec, settings.repetitions, [=](benchmark::State& state) {
    data->load();
    const Space space;
    const perf::CusparseBlockIlu m(space, data->a);
    state.counters["analysis"] = perf::seconds(space, [&] {
      m.analyse();
      m.analyse_solves();
    });
    m.factor();
    m.reset(space);
    return perf::seconds(space, [&] { m.factor(); });
  });
  perf::add("cusparse_apply/" + data->spec, settings.repetitions,
            [=](benchmark::State&) { return apply_time(*data, *make()); });
  for (const std::string& orthogonalization : settings.orthogonalizations)
    perf::add("cusparse_gmres/" + orthogonalization + "/" + data->spec, 3, [=](benchmark::State& state) {
      return gmres_time(state, *data, settings, orthogonalization, *make());
    });
#else
  (void)data;
  (void)settings;
#endif
}

void register_all(int& argc, char** argv) {
  std::istringstream matrices(
      perf::take_flag(argc, argv, "matrices", "elasticity3d:30@3;convection_diffusion3d:50@4"));
  Settings settings;
  settings.sweeps = perf::words(perf::take_flag(argc, argv, "sweeps", "2,3,4,5,6"));
  settings.orthogonalizations = perf::words(perf::take_flag(argc, argv, "orthogonalizations", "cgs2,dcgs2"));
  settings.restart = std::stoi(perf::take_flag(argc, argv, "restart", "30"));
  settings.rtol = std::stod(perf::take_flag(argc, argv, "rtol", "1e-5"));
  settings.max_iters = std::stoi(perf::take_flag(argc, argv, "max_iters", "3000"));
  settings.repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  for (std::string spec; std::getline(matrices, spec, ';');) {
    const auto data = std::make_shared<Data>();
    const auto at = spec.find('@');
    data->file = spec.substr(0, at);
    data->b = at == std::string::npos ? 0 : std::stoi(spec.substr(at + 1));
    data->spec = std::filesystem::path(spec).filename().string();
    add_product(data, settings);
    add_setup(data, settings);
    for (const std::string method : {"auto", "levels", "sync_free", "isai"})
      add_method(data, settings, method);
    for (const std::string& count : settings.sweeps) add_method(data, settings, "jacobi_" + count);
    add_cusparse(data, settings);
    perf::add("end/" + data->spec, 1, [=](benchmark::State&) {
      Data empty;  // the memory is the next one's
      empty.spec = data->spec;
      empty.file = data->file;
      empty.b = data->b;
      *data = empty;
      return 0.0;
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
