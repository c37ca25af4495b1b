// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../batched_data.hpp"

#include <KokkosBatched_CG.hpp>
#include <KokkosBatched_CrsMatrix.hpp>
#include <KokkosBatched_GMRES.hpp>
#include <KokkosBatched_Krylov_Handle.hpp>

/// Kokkos Kernels' batched CG and GMRES, without a preconditioner, on the batches of perf_batched, to the
/// same relative residual of 1e-10: peer_kokkoskernels_batched [--matrices=stencil3:64;...] [--systems=20000]
/// [--solvers=cg,gmres]
/// [--per_team=1,2,4,8,16,32] [--steps=200] [--repetitions=5]
///
/// Cases kokkoskernels/SOLVER/LAYOUT/PER_TEAM/MATRIX/SYSTEMS, LAYOUT of their multivectors (left: systems are
/// neighbours in memory), PER_TEAM systems a team; Kokkos chooses the size of a team. Counters:
/// `us_a_system`, and `residual`, the largest relative residual, from x. `--steps`: of GMRES, at most, which
/// does not restart. A case whose memory does not fit is left out.
namespace {

using namespace prekond;
using perf::Space;
using Shared = perf::SharedBatch;

/// The batch as they have it: systems by rows of a matrix.
template <class Layout>
struct TheirBatch {
  using Numbers = Kokkos::View<double**, Layout, Space>;
  using Integers = Kokkos::View<int*, Layout, Space>;
  using Handle = KokkosBatched::KrylovHandle<Numbers, Integers, Kokkos::View<double***, Layout, Space>>;
  using Operator = KokkosBatched::CrsMatrix<Numbers, Integers>;

  Integers row_ptrs, col_idxs;
  Numbers values, b, x;

  explicit TheirBatch(const perf::BatchData& data) {
    const std::int64_t n = data.model.num_rows, nnz = data.model.nnz(), count = data.systems;
    row_ptrs = Integers("row_ptrs", n + 1);
    col_idxs = Integers("col_idxs", nnz);
    values = Numbers("values", count, nnz);
    b = Numbers("b", count, n);
    x = Numbers("x", count, n);
    Kokkos::parallel_for("prekond::perf::their_pattern", Kokkos::RangePolicy<Space>(0, n + 1),
                         CopyInts<Vector<const std::size_t, Space>>{data.model.row_ptrs, row_ptrs});
    Kokkos::parallel_for("prekond::perf::their_pattern", Kokkos::RangePolicy<Space>(0, nnz),
                         CopyInts<Vector<const int, Space>>{data.model.col_idxs, col_idxs});
    Kokkos::parallel_for("prekond::perf::their_values", Kokkos::RangePolicy<Space>(0, count),
                         Flip{data.values, values});
    Kokkos::deep_copy(b, 1.0);
  }

  template <class From>
  struct CopyInts {
    From from;
    Integers to;
    KOKKOS_FUNCTION void operator()(std::int64_t k) const { to(k) = static_cast<int>(from(k)); }
  };
  struct Flip {
    MultiVector<double, Space> from;
    Numbers to;
    KOKKOS_FUNCTION void operator()(std::int64_t s) const {
      for (std::size_t k = 0; k < to.extent(1); ++k) to(s, k) = from(k, s);
    }
  };
  struct Residual {
    Integers row_ptrs, col_idxs;
    Numbers values, b, x;
    KOKKOS_FUNCTION void operator()(std::int64_t s, double& most) const {
      double rr = 0, bb = 0;
      for (std::size_t i = 0; i + 1 < row_ptrs.extent(0); ++i) {
        double r = b(s, i);
        for (int k = row_ptrs(i); k < row_ptrs(i + 1); ++k) r -= values(s, k) * x(s, col_idxs(k));
        rr += r * r;
        bb += b(s, i) * b(s, i);
      }
      const double relative = Kokkos::sqrt(rr / bb);
      if (!(relative <= most)) most = relative;
    }
  };
  double residual() const {
    double most = 0;
    Kokkos::parallel_reduce("prekond::perf::their_residual", Kokkos::RangePolicy<Space>(0, x.extent(0)),
                            Residual{row_ptrs, col_idxs, values, b, x}, Kokkos::Max<double>(most));
    return most;
  }
};

template <class Layout, bool Gmres>
struct Solve {
  using Batch = TheirBatch<Layout>;
  Batch batch;
  int per_team;
  typename Batch::Handle handle;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const int first = member.league_rank() * per_team, count = static_cast<int>(batch.x.extent(0));
    const auto own = Kokkos::make_pair(first, first + per_team < count ? first + per_team : count);
    const auto values = Kokkos::subview(batch.values, own, Kokkos::ALL);
    const auto x = Kokkos::subview(batch.x, own, Kokkos::ALL);
    const auto b = Kokkos::subview(batch.b, own, Kokkos::ALL);
    const KokkosBatched::CrsMatrix<std::decay_t<decltype(values)>, typename Batch::Integers> a(
        values, batch.row_ptrs, batch.col_idxs);
    if constexpr (Gmres)
      KokkosBatched::TeamVectorGMRES<Member>::template invoke<std::decay_t<decltype(a)>>(member, a, b, x,
                                                                                         handle);
    else
      KokkosBatched::TeamVectorCG<Member>::template invoke<std::decay_t<decltype(a)>>(member, a, b, x,
                                                                                      handle);
  }
};

template <class Layout, bool Gmres>
void add_case(const Shared& data, int per_team, int most_steps, int repetitions) {
  const std::string layout = std::is_same_v<Layout, Kokkos::LayoutLeft> ? "left" : "right";
  const std::string name = std::string("kokkoskernels/") + (Gmres ? "gmres/" : "cg/") + layout + "/" +
                           std::to_string(per_team) + "/" + data->name();
  perf::add(name, repetitions, [=](benchmark::State& state) {
    data->load();
    const int n = static_cast<int>(data->model.num_rows);
    const int steps = Gmres ? std::min(n, most_steps) : 2000;
    Solve<Layout, Gmres> solve{
        TheirBatch<Layout>(*data), per_team, {static_cast<int>(data->systems), per_team, steps}};
    solve.handle.set_tolerance(1e-10);
    // Vectors and numbers of a team, as their functions take them from its scratch memory, aligned
    const int vectors = Gmres ? n + steps + 3 : 4 * n;
    const std::size_t bytes = sizeof(double) * per_team * (std::size_t(vectors) + (Gmres ? 0 : 5)) + 256;
    constexpr std::size_t most_fast_bytes = 46000;
    const int level = bytes <= most_fast_bytes ? 0 : 1;
    solve.handle.set_scratch_pad_level(level);
    if constexpr (Gmres) {
      solve.handle.set_ortho_strategy(0);
      solve.handle.set_compute_last_residual(false);
      using Arnoldi = typename TheirBatch<Layout>::Handle::ArnoldiViewType;
      solve.handle.Arnoldi_view = Arnoldi("arnoldi", data->systems, steps, n + steps + 3);
    }
    Kokkos::TeamPolicy<Space> policy(solve.handle.get_number_of_teams(), Kokkos::AUTO(), Kokkos::AUTO());
    policy.set_scratch_size(level, Kokkos::PerTeam(bytes));
    double time = 0;
    for (int k = 0; k < 2; ++k) {
      Kokkos::deep_copy(solve.batch.x, 0.0);
      time = perf::seconds(Space(), [&] { Kokkos::parallel_for("kokkoskernels", policy, solve); });
    }
    state.counters["us_a_system"] = 1e6 * time / double(data->systems);
    state.counters["residual"] = solve.batch.residual();
    return time;
  });
}

/// Bytes of GMRES's basis and Hessenberg matrices
double arnoldi_bytes(const Shared& data, int most_steps) {
  data->load();
  const double n = double(data->model.num_rows), steps = std::min(n, double(most_steps));
  return 8 * double(data->systems) * steps * (n + steps + 3);
}

void register_all(int& argc, char** argv) {
  const auto flag = [&](const char* name, const char* fallback) {
    return perf::take_flag(argc, argv, name, fallback);
  };
  const int repetitions = std::stoi(flag("repetitions", "5"));
  const auto systems = perf::numbers(flag("systems", "20000"));
  const auto solvers = perf::words(flag("solvers", "cg,gmres"));
  const auto per_team = perf::numbers(flag("per_team", "1,2,4,8,16,32"));
  const int steps = std::stoi(flag("steps", "200"));
  const double most_bytes = std::stod(flag("most_gigabytes", "40")) * 1e9;
  std::string matrices = flag("matrices", "stencil3:64");
  std::replace(matrices.begin(), matrices.end(), ';', ',');
  for (const std::string& spec : perf::words(matrices))
    for (const int count : systems) {
      const auto data = std::make_shared<perf::BatchData>();
      data->spec = spec;
      data->systems = count;
      for (const auto& solver : solvers)
        for (const int together : per_team) {
          if (solver == "cg") {
            add_case<Kokkos::LayoutLeft, false>(data, together, 0, repetitions);
            add_case<Kokkos::LayoutRight, false>(data, together, 0, repetitions);
          } else if (arnoldi_bytes(data, steps) <= most_bytes) {
            add_case<Kokkos::LayoutLeft, true>(data, together, steps, repetitions);
            add_case<Kokkos::LayoutRight, true>(data, together, steps, repetitions);
          }
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
