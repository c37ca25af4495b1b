// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"

#include <prekond/matrix/generate.hpp>
#include "pattern/power.hpp"
#include "precond/approximate_inverse/spai/launcher.hpp"
#include "precond/approximate_inverse/spai/stream.hpp"
#include "sparse_product/transpose.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>

/// The kernels of SPAI that stream columns, by their shapes, with CUDA:
/// perf_spai_shapes --matrix=elasticity3d:30 [--powers=1,2] [--scalars=double,single] [--repetitions=3]
///
/// The columns of the paper's pattern (E + |A|)^k are in bins by their number of unknowns n2, as in a setup,
/// and each bin is solved by every shape that holds them and has at most `most_room` times their columns, and
/// by the shape of the longest column: shape/MATRIX/SCALAR/power:K/upto:N/LANESxCOLUMNSxROWS[:TEAMS], with N
/// from n2 + 1 columns (e_k is one), COLUMNS of a lane, ROWS at once, and at least TEAMS of 128 lanes a
/// processor; team:LANES:TEAMS for columns that a team has. Counters: `columns` of the bin, `used` (1: by the
/// setup), `mean` and `longest` n2 of all columns. perf_tests/papers/spai.py makes the card's table of these.
namespace {

using namespace prekond;
using namespace prekond::impl;
using namespace prekond::impl::spai;
using perf::Space;
using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;

constexpr int most_room = 4;

template <int Lanes>
inline constexpr Unit unit_of = Lanes == 8 ? Unit::vector8 : (Lanes == 16 ? Unit::vector16 : Unit::vector32);
template <int Lanes, int Sets, int Rows, int Teams = 0>
using Vectors = StreamShape<unit_of<Lanes>, Sets, Rows, Teams>;

template <class... Shapes>
struct List {};
using Tried = List<Vectors<8, 1, 16>, Vectors<8, 1, 32>, Vectors<8, 2, 16>, Vectors<8, 2, 16, 4>,
                   Vectors<8, 3, 16>, Vectors<8, 3, 16, 3>, Vectors<8, 3, 16, 4>, Vectors<8, 4, 16>,
                   Vectors<16, 1, 16>, Vectors<16, 2, 16>, Vectors<16, 2, 16, 4>, Vectors<16, 3, 16>,
                   Vectors<16, 3, 16, 3>, Vectors<16, 4, 16>, Vectors<32, 1, 32>, Vectors<32, 2, 16>,
                   Vectors<32, 2, 16, 4>, Vectors<32, 2, 32>, Vectors<32, 3, 16>, Vectors<32, 3, 16, 3>,
                   Vectors<32, 4, 16>, Vectors<32, 4, 16, 2>, TinyTeams, TeamShape<128, 2>, TeamShape<128, 3>,
                   TeamShape<192, 1>, TeamShape<192, 2>, LargeTeams>;

template <class Shape>
constexpr bool is_team = requires {
  Shape::longest;
};

/// The columns that it holds, with e_k.
template <class Shape>
constexpr int room() {
  if constexpr (is_team<Shape>)
    return Shape::longest + 1;
  else
    return Shape::sets * ColumnKernel<Space, Shape::unit>::width;
}

template <class Shape>
std::string name_of() {
  const auto text = [](int value) { return std::to_string(value); };
  if constexpr (is_team<Shape>)
    return "team:" + text(Shape::lanes) + ":" + text(Shape::teams);
  else
    return text(ColumnKernel<Space, Shape::unit>::width) + "x" + text(Shape::sets) + "x" + text(Shape::rows) +
           (Shape::teams > 0 ? ":" + text(Shape::teams) : "");
}

template <class Real, class Shape>
bool fits_in_scratch(int columns) {
  return StreamByVectors<double, Real, Space, Shape>::bytes(columns - 1) <= device_tuning.solve.team_scratch;
}

/// Whether the setup has this shape for that many columns.
template <class Real, class Shape>
bool is_used(int columns) {
  bool used = false;
  const auto compare = [&](auto shape) { used = std::is_same_v<decltype(shape), Shape>; };
  if (columns > MiddleTeams<Real>::longest + 1)
    compare(LargeTeams());
  else if (columns > SmallTeams<Real>::longest + 1)
    compare(MiddleTeams<Real>());
  else if (columns > TinyTeams::longest + 1)
    compare(SmallTeams<Real>());
  else if (columns > longest_of_vectors<Real> + 1 || !fits_in_scratch<Real, Vectors<32, 4, 16>>(columns))
    compare(TinyTeams());
  else
    dispatch_shape<Real>(columns, compare);
  return used;
}

/// The data of a right inverse before its columns are streamed.
struct Problem {
  Matrix b;  ///< A^T
  CsrGraph<Space> lists;
  Vector<double, Space> scale, values;
  Vector<int, Space> n1;
  Vector<unsigned char, Space> status;
  ColumnBins<Space> bins;
  int longest = 0;
};

void count_rows(const Problem& problem) {
  const Space space;
  Kokkos::parallel_for("perf::bound_rows",
                       RowTeams<Space>::policy(space, problem.lists.num_rows, problem.lists.nnz()),
                       BoundRows<Space>{problem.b, problem.lists, {}, problem.n1});
  const auto bins = bin_columns<Space>(space, {problem.n1, problem.lists.row_ptrs, 0}, {}, Status::again, {});
  Launcher<Space> launcher(space, std::int64_t(1) << 30);
  for (const Bin& bin : bins.bins)
    launcher.launch("perf::count_rows",
                    CountRows<double, Space, Unit::slab>{
                        {bins.columns_of(bin), FindArrays(nullptr, bin.n1, bin.n2).bytes, 0, {}, {}},
                        problem.b,
                        problem.lists,
                        problem.n1},
                    4);
  space.fence();
}

std::shared_ptr<Problem> make_problem(const std::string& spec, int power_of) {
  const Space space;
  const auto problem = std::make_shared<Problem>();
  Kokkos::push_finalize_hook([problem] { *problem = {}; });
  problem->b = transpose<double, Space>(space, generate<double>(space, spec));
  problem->lists = power<Space>(space, problem->b, power_of, std::int64_t(1) << 36, std::int64_t(1) << 30);
  const std::int64_t n = problem->b.num_rows;
  problem->scale = Vector<double, Space>("scale", n);
  problem->values = Vector<double, Space>("values", problem->lists.nnz());
  problem->n1 = Vector<int, Space>("n1", n);
  problem->status = Vector<unsigned char, Space>("status", n);
  Kokkos::parallel_for("perf::scale_rows", RowTeams<Space>::policy(space, n, problem->b.nnz()),
                       ScaleRow<double, Space>{problem->b, problem->scale});
  count_rows(*problem);
  const Vector<int, Space> none("none", n);  // bins by n2, as vectors have them
  problem->bins = bin_columns<Space>(space, {none, problem->lists.row_ptrs, 1}, {}, Status::again,
                                     {{LargeTeams::longest + 1}, 1});
  Kokkos::parallel_reduce("perf::longest", Kokkos::RangePolicy<Space>(space, 0, n),
                          LongestColumn<Space>{{problem->n1, problem->lists.row_ptrs, 0}},
                          Kokkos::Max<int>(problem->longest));
  return problem;
}

/// A bin whose rows are known, for the workspace of a team.
int most_rows(const Problem& problem, const Bin& bin) {
  int most = 0;
  const auto columns = problem.bins.columns_of(bin);
  const auto n1 = problem.n1;
  Kokkos::parallel_reduce(
      "perf::most_rows", Kokkos::RangePolicy<Space>(0, bin.count),
      KOKKOS_LAMBDA(std::int64_t k, int& m) { m = n1(columns(k)) > m ? n1(columns(k)) : m; },
      Kokkos::Max<int>(most));
  return most;
}

template <class Real, class Shape>
double solve(const Problem& problem, const Bin& bin) {
  const Space space;
  const Real floor = sizeof(Real) == 4 ? Real(16 * 0x1p-23f) : Real(16 * 0x1p-52);
  const StreamedColumns<double, Real, Space> work{problem.b,      problem.scale, problem.lists, problem.n1,
                                                  problem.values, floor,         problem.status};
  const auto columns = problem.bins.columns_of(bin);
  Launcher<Space> launcher(space, std::int64_t(1) << 30);
  if constexpr (is_team<Shape>) {
    using Kernel = StreamByTeams<double, Real, Space, Shape>;
    const typename Kernel::Arrays arrays(nullptr, nullptr, most_rows(problem, bin), bin.n2 - 1);
    const Kernel kernel{{columns, arrays.near_bytes, arrays.far_bytes, {}, {}}, work};
    return perf::mean_seconds(
        [&] { launcher.launch("perf::stream_by_teams", kernel, Kernel::lanes / Kernel::width); }, 0.02, 20);
  } else {
    using Kernel = StreamByVectors<double, Real, Space, Shape>;
    const std::size_t bytes = Kernel::bytes(bin.n2 - 1);
    const auto fit = static_cast<int>(device_tuning.solve.team_scratch / bytes);
    const Kernel kernel{{columns, bytes, 0, {}, {}}, work};
    const int vectors = std::clamp(fit, 1, Kernel::lanes_of_team / Kernel::width);
    return perf::mean_seconds([&] { launcher.launch("perf::stream", kernel, vectors); }, 0.02, 20);
  }
}

template <class Real, class Shape>
void add_shape(const std::string& name, int repetitions, const std::shared_ptr<Problem>& problem,
               const Bin& bin, int longest) {
  const bool is_near = room<Shape>() <= most_room * bin.n2 || is_used<Real, Shape>(longest);
  if (room<Shape>() < bin.n2 || !is_near) return;
  if constexpr (!is_team<Shape>)
    if (!fits_in_scratch<Real, Shape>(bin.n2)) return;
  perf::add(name + "/upto:" + std::to_string(bin.n2) + "/" + name_of<Shape>(), repetitions,
            [=](benchmark::State& state) {
              state.counters["columns"] = double(bin.count);
              state.counters["used"] = is_used<Real, Shape>(bin.n2);
              state.counters["mean"] = double(problem->lists.nnz()) / double(problem->lists.num_rows);
              state.counters["longest"] = problem->longest;
              return solve<Real, Shape>(*problem, bin);
            });
}

template <class Real, class... Shapes>
void add_shapes(List<Shapes...>, const std::string& name, int repetitions,
                const std::shared_ptr<Problem>& problem) {
  int longest = 0;
  for (const Bin& bin : problem->bins.bins)
    if (bin.group == 0) longest = std::max(longest, bin.n2);
  for (const Bin& bin : problem->bins.bins)
    if (bin.group == 0) (add_shape<Real, Shapes>(name, repetitions, problem, bin, longest), ...);
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "elasticity3d:30");
  const auto powers = perf::numbers(perf::take_flag(argc, argv, "powers", "1"));
  const auto scalars = perf::words(perf::take_flag(argc, argv, "scalars", "double,single"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "3"));
  for (const int k : powers) {
    const auto problem = make_problem(spec, k);
    for (const std::string& scalar : scalars) {
      const std::string name = "shape/" + spec + "/" + scalar + "/power:" + std::to_string(k);
      if (scalar == "single")
        add_shapes<float>(Tried(), name, repetitions, problem);
      else
        add_shapes<double>(Tried(), name, repetitions, problem);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, [](int& count, char** arguments) { register_all(count, arguments); });
}
