// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "peers/cusparse_triangular.hpp"

#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/triangular_solver.hpp>
#include "core/lane_group.hpp"
#include "matrix/filter_entries.hpp"
#include "sparse_product/transpose.hpp"

#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>

/// Level schedules and solves with I + N, N the strict lower or upper triangle of the matrix, its rows
/// divided by twice the sum of their sizes:
/// perf_triangular --matrices=poisson3d:160;elasticity3d:100;FILE.mtx.gz [--triangles=lower,upper]
/// [--methods=levels,sync_free,jacobi,isai] [--storages=full,single,half] [--sweeps=3] [--vectors=4]
/// [--repetitions=5]
///
/// Cases, each NAME/MATRIX/TRIANGLE:
///
/// level_schedule     `levels`, `rows_a_level`
///
/// product            y = N x by CSR
///
/// symbolic/METHOD    `bytes`: what the solver keeps
///
/// numeric/METHOD
///
/// apply/METHOD/STORAGE    `bytes_per_second` counts what must move: N (of jacobi once a sweep), x and y;
///                    `over_product`: the time over the product's; `us_a_level`; `difference`: the
///                    largest one to the solve by levels, over its largest entry
/// apply/naive_rows, apply/naive_columns    with these among the methods: substitution with nothing in
/// parallel
///                    but the entries of a row or of a column, by 32 lanes (GPU-Row and GPU-Col of Li and
///                    Saad 2013, table 4; by rows on a host the plain loop of one thread). The program ends
///                    where x is not that of the levels
/// apply_4/METHOD     an application to four vectors at once; `over_one`: the time over four times one
/// cusparse_analysis, cusparse_solve    with CUDA, cusparseSpSV
namespace {

using namespace prekond;
using perf::Space;
using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;
using Vec = Vector<double, Space>;

struct IsStrict {
  CsrView<double, Space> a;
  Triangle which;
  KOKKOS_FUNCTION bool operator()(std::int64_t i, std::size_t k) const {
    const int col = a.col_idxs(k);
    return col < a.num_rows && (which == Triangle::lower ? col < i : col > i);
  }
};

struct DivideRows {
  Matrix n;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    double sum = 0;
    for (std::size_t k = n.row_ptrs(i); k < n.row_ptrs(i + 1); ++k) sum += Kokkos::abs(n.values(k));
    for (std::size_t k = n.row_ptrs(i); k < n.row_ptrs(i + 1); ++k) n.values(k) /= 2 * sum;
  }
};

struct LargestDifference {
  Vec x, y;
  KOKKOS_FUNCTION void operator()(std::int64_t i, double& difference, double& size) const {
    difference = Kokkos::max(difference, Kokkos::abs(x(i) - y(i)));
    size = Kokkos::max(size, Kokkos::abs(y(i)));
  }
};

struct Data {
  std::string spec;
  Triangle which = Triangle::lower;
  Matrix n;
  Vec x, y, exact;
  double product = 0;
  int levels = 0;

  std::string name() const { return spec + (which == Triangle::lower ? "/lower" : "/upper"); }
  CsrGraph<Space> graph() const { return {n.num_rows, n.num_cols, n.row_ptrs, n.col_idxs}; }
  MultiVectorView<const double, Space> in() const {
    return as_multivector(VectorView<const double, Space>(x));
  }

  /// When the first of its cases runs: all matrices at once would not fit.
  void load() {
    if (n.num_rows > 0) return;
    const Space space;
    CsrMatrix<const double, const int, const std::size_t, Space::memory_space> a;
    if (std::filesystem::exists(spec))
      a = copy_to<Space>(read_matrix_market<double>(spec));
    else
      a = generate<double>(space, spec);
    const Matrix strict = filter_entries<double, Space>(space, a, IsStrict{a, which});
    n = Matrix(a.num_rows, a.num_rows, strict.row_ptrs, strict.col_idxs, strict.values);
    Kokkos::parallel_for("prekond::perf::divide_rows", Kokkos::RangePolicy<Space>(space, 0, n.num_rows),
                         DivideRows{n});
    x = Vec("x", n.num_rows);
    y = Vec("y", n.num_rows);
    exact = Vec("exact", n.num_rows);
    Kokkos::deep_copy(x, 1.0 / 3);
    Report report;
    TriangularSolver<double, Space> solver("perf", which, {.method = TriangularMethod::levels});
    solver.symbolic(space, graph());
    solver.numeric(space, n.values, {}, report);
    const auto workspace = solver.make_workspace(space, 1);
    solver.apply(space, in(), as_multivector(exact), *workspace);
    levels = solver.num_levels();
    space.fence();
  }
};
using Shared = std::shared_ptr<Data>;

double difference_of(const Data& data) {
  double difference = 0, size = 0;
  Kokkos::parallel_reduce("prekond::perf::difference", Kokkos::RangePolicy<Space>(0, data.n.num_rows),
                          LargestDifference{data.y, data.exact}, Kokkos::Max<double>(difference),
                          Kokkos::Max<double>(size));
  return difference / size;
}

void add_matrix(const Shared& data, int repetitions) {
  perf::add("level_schedule/" + data->name(), repetitions, [=](benchmark::State& state) {
    data->load();
    const double time =
        perf::mean_seconds([&] { level_schedule<Space>(Space(), data->graph(), data->which); });
    state.counters["levels"] = data->levels;
    state.counters["rows_a_level"] = double(data->n.num_rows) / data->levels;
    state.counters["rows"] = double(data->n.num_rows);
    state.counters["nnz"] = double(data->n.nnz());
    return time;
  });
  perf::add("product/" + data->name(), repetitions, [=](benchmark::State& state) {
    data->load();
    const double time = perf::mean_seconds(
        [&] { spmv<double, Space>(Space(), 1.0, data->n, data->in(), 0.0, as_multivector(data->y)); });
    data->product = data->product > 0 ? std::min(data->product, time) : time;
    state.counters["bytes_per_second"] = (double(data->n.bytes()) + 16.0 * double(data->n.num_rows)) / time;
    return time;
  });
}

using Solver = TriangularSolver<double, Space>;

double bytes_of(const Solver& solver, const Data& data) {
  const Storage storage = solver.options().storage;
  const double value = storage == Storage::full ? 8 : (storage == Storage::single_precision ? 4 : 2);
  const double n = double(data.n.num_rows);
  const double once = double(data.n.nnz()) * (value + 4) + 8 * n;
  if (solver.method() == TriangularMethod::jacobi) return solver.options().sweeps * (once + 24 * n);
  // The exact ones also read the permutation, and write x in the order of the levels.
  return once + (solver.method() == TriangularMethod::isai ? 16 : 28) * n;
}

void add_method(const Shared& data, const TriangularOptions& options, const std::string& method,
                const std::string& storage, int repetitions) {
  const auto make = [=] {
    data->load();
    Solver solver("perf", data->which, options);
    Report report;
    solver.symbolic(Space(), data->graph());
    solver.numeric(Space(), data->n.values, {}, report);
    return solver;
  };
  if (options.storage == Storage::full) {
    perf::add("symbolic/" + method + "/" + data->name(), repetitions, [=](benchmark::State& state) {
      Solver solver = make();
      state.counters["bytes"] = double(solver.bytes());
      return perf::mean_seconds([&] { solver.symbolic(Space(), data->graph()); });
    });
    perf::add("numeric/" + method + "/" + data->name(), repetitions, [=](benchmark::State&) {
      Solver solver = make();
      Report report;
      return perf::mean_seconds([&] { solver.numeric(Space(), data->n.values, {}, report); });
    });
  }
  perf::add("apply/" + method + "/" + storage + "/" + data->name(), repetitions,
            [=](benchmark::State& state) {
              const Solver solver = make();
              const auto workspace = solver.make_workspace(Space(), 1);
              const double time = perf::mean_seconds(
                  [&] { solver.apply(Space(), data->in(), as_multivector(data->y), *workspace); });
              state.counters["bytes_per_second"] = bytes_of(solver, *data) / time;
              if (data->product > 0) state.counters["over_product"] = time / data->product;
              state.counters["us_a_level"] = 1e6 * time / data->levels;
              state.counters["difference"] = difference_of(*data);
              state.SetLabel(solver.description());
              return time;
            });
}

/// An application to several vectors at once; `over_one`: the time over that of as many applications to one.
void add_vectors(const Shared& data, const TriangularOptions& options, const std::string& method, int count,
                 int repetitions) {
  perf::add("apply_" + std::to_string(count) + "/" + method + "/" + data->name(), repetitions,
            [=](benchmark::State& state) {
              data->load();
              Solver solver("perf", data->which, options);
              Report report;
              solver.symbolic(Space(), data->graph());
              solver.numeric(Space(), data->n.values, {}, report);
              const MultiVector<double, Space> x("x", data->n.num_rows, count),
                  y("y", data->n.num_rows, count);
              Kokkos::deep_copy(x, 1.0 / 3);
              const auto workspace = solver.make_workspace(Space(), count);
              const double one = perf::mean_seconds(
                  [&] { solver.apply(Space(), data->in(), as_multivector(data->y), *workspace); });
              const double time = perf::mean_seconds([&] { solver.apply(Space(), x, y, *workspace); });
              state.counters["over_one"] = time / (count * one);
              return time;
            });
}

/// One vector of lanes after the other unknown: a row's inner product, or a column's update, is all that is
/// in parallel. `n` by rows, or its transpose.
template <bool ByColumns>
struct NaiveSolve {
  using Member = Kokkos::TeamPolicy<Space>::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, 32>;

  CsrView<double, Space> n;
  bool is_lower;
  VectorView<const double, Space> b;
  VectorView<double, Space> x;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const LaneGroup lanes(team);
    if (ByColumns)
      lanes.region([&](int lane) {
        for (std::int64_t i = lane; i < n.num_rows; i += LaneGroup::width) x(i) = b(i);
      });
    for (std::int64_t k = 0; k < n.num_rows; ++k) {
      const std::int64_t i = is_lower ? k : n.num_rows - 1 - k;
      ByColumns ? update_by_column(lanes, i) : solve_row(lanes, i);
    }
  }

  KOKKOS_FUNCTION void solve_row(const LaneGroup& lanes, std::int64_t i) const {
    const auto sum = lanes.template sum<double>([&](int lane) {
      double of_lane = 0;
      for (std::size_t k = n.row_ptrs(i) + lane; k < n.row_ptrs(i + 1); k += LaneGroup::width)
        of_lane += n.values(k) * x(n.col_idxs(k));
      return of_lane;
    });
    lanes.once([&] { x(i) = b(i) - sum; });
  }

  KOKKOS_FUNCTION void update_by_column(const LaneGroup& lanes, std::int64_t j) const {
    const double factor = x(j);
    lanes.region([&](int lane) {
      for (std::size_t k = n.row_ptrs(j) + lane; k < n.row_ptrs(j + 1); k += LaneGroup::width)
        x(n.col_idxs(k)) -= n.values(k) * factor;
    });
  }
};

template <bool ByColumns>
void add_naive(const Shared& data, int repetitions) {
  const std::string method = ByColumns ? "naive_columns" : "naive_rows";
  perf::add("apply/" + method + "/full/" + data->name(), repetitions, [=](benchmark::State& state) {
    data->load();
    const Space space;
    const Matrix n = ByColumns ? transpose<double, Space>(space, data->n) : data->n;
    const NaiveSolve<ByColumns> solve{n, data->which == Triangle::lower, data->x, data->y};
    const auto run = [&] {
      Kokkos::parallel_for("prekond::perf::naive_solve",
                           Kokkos::TeamPolicy<Space>(space, 1, 1, NaiveSolve<ByColumns>::LaneGroup::width),
                           solve);
    };
    run();
    state.counters["difference"] = difference_of(*data);
    if (!(difference_of(*data) < 1e-10)) throw std::runtime_error(method + ": another x than the levels'");
    const double time = perf::mean_seconds(run);
    if (data->product > 0) state.counters["over_product"] = time / data->product;
    return time;
  });
}

void add_cusparse(const Shared& data, int repetitions) {
#ifdef KOKKOS_ENABLE_CUDA
  perf::add("cusparse_analysis/" + data->name(), repetitions, [=](benchmark::State&) {
    data->load();
    const perf::CusparseTriangle triangle(Space(), data->n, data->which);
    return perf::seconds(Space(), [&] { triangle.analyse(); });
  });
  perf::add("cusparse_solve/" + data->name(), repetitions, [=](benchmark::State& state) {
    data->load();
    const perf::CusparseTriangle triangle(Space(), data->n, data->which);
    triangle.analyse();
    const double time = perf::mean_seconds([&] { triangle.solve(data->x.data(), data->y.data()); });
    if (data->product > 0) state.counters["over_product"] = time / data->product;
    state.counters["difference"] = difference_of(*data);
    return time;
  });
#else
  (void)data;
  (void)repetitions;
#endif
}

void register_all(int& argc, char** argv) {
  std::istringstream matrices(perf::take_flag(argc, argv, "matrices", "poisson3d:60;elasticity3d:30"));
  const auto triangles = perf::words(perf::take_flag(argc, argv, "triangles", "lower,upper"));
  const auto methods = perf::words(perf::take_flag(argc, argv, "methods", "levels,sync_free,jacobi,isai"));
  const auto storages = perf::words(perf::take_flag(argc, argv, "storages", "full,single,half"));
  const int sweeps = std::stoi(perf::take_flag(argc, argv, "sweeps", "3"));
  const auto vectors = perf::numbers(perf::take_flag(argc, argv, "vectors", "4"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  for (std::string spec; std::getline(matrices, spec, ';');)
    for (const std::string& triangle : triangles) {
      const auto data = std::make_shared<Data>();
      data->spec = spec;
      data->which = triangle == "upper" ? Triangle::upper : Triangle::lower;
      add_matrix(data, repetitions);
      for (const std::string& method : methods) {
        if (method == "naive_rows") add_naive<false>(data, repetitions);
        if (method == "naive_columns") add_naive<true>(data, repetitions);
        if (method.starts_with("naive_")) continue;
        for (const std::string& storage : storages) {
          TriangularOptions options;
          OptionFields::of(options).set({{"method", method}, {"storage", storage}, {"sweeps", sweeps}},
                                        "perf_triangular");
          add_method(data, options, method, storage, repetitions);
          for (const int count : vectors)
            if (count > 1 && options.storage == Storage::full)
              add_vectors(data, options, method, count, repetitions);
        }
      }
      add_cusparse(data, repetitions);
      perf::add("end/" + data->name(), 1, [=](benchmark::State&) {
        Data empty;  // the memory is the next one's
        empty.spec = data->spec;
        empty.which = data->which;
        *data = empty;
        return 0.0;
      });
    }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
