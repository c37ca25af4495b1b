// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "precond/approximate_inverse/fsai/setup.hpp"

#include <algorithm>
#include <cstdint>

#ifdef KOKKOS_ENABLE_CUDA
#include <cusolverDn.h>
#endif

/// Rate of the static FSAI's dense Cholesky factorisation: perf_cholesky [--orders=8,30,64,100,300]
/// [--repetitions=5]. Batches of systems of one order, m^3 / 3 operations each, in the kernels that the setup
/// would take. The matrices are made in the kernels; a launch that only makes them is timed apart and
/// subtracted. On CUDA, cuSOLVER's potrfBatched on matrices that lie in global memory already, beside it.
namespace {

using namespace prekond;
using namespace prekond::impl::fsai;
using perf::Space;

/// Diagonally dominant: m + 1 on the diagonal, 1 / (1 + i - j) below it.
template <class Real>
KOKKOS_FUNCTION Real element(int m, int i, int j) {
  return i == j ? Real(m + 1) : Real(1) / Real(1 + (i > j ? i - j : j - i));
}

template <class Real, Unit unit>
struct FactorBatch : RowKernel<Space, unit> {
  using typename RowKernel<Space, unit>::Member;
  using typename RowKernel<Space, unit>::LaneGroup;
  int m;
  std::int64_t count;
  bool factors;
  Layout<Real> layout;
  VectorView<Real, Space> last;
  VectorView<char, Space> workspaces;
  VectorView<int, Space> next;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_rows(team, count, layout.bytes, workspaces, next,
                   [&](char* base, std::int64_t k) { do_row(team, base, k); });
  }

  KOKKOS_FUNCTION void do_row(const Member& team, char* base, std::int64_t k) const {
    const LaneGroup lane_group(team);
    const PanelCholesky<Real> system{
        reinterpret_cast<Real*>(base + layout.entries), reinterpret_cast<Real*>(base + layout.reciprocals),
        reinterpret_cast<DroppedPivots<Real>*>(base + layout.dropped), PanelCholesky<Real>::padded(m)};
    system.clear(lane_group, m);
    lane_group.region([&](int lane) {
      for (int j = 0; j < m; ++j)
        for (int i = j + lane; i < m; i += lane_group.size()) system(i, j) = element<Real>(m, i, j);
    });
    if (factors) system.factor(lane_group, Real(0));
    lane_group.once([&] { last(k) = factors ? system.reciprocals[m - 1] : system(m - 1, m - 1); });
  }
};

template <class Real, Unit unit>
double seconds_of(int m, std::int64_t count, bool factors) {
  const Space space;
  const Vector<Real, Space> last("last", count);
  const Vector<int, Space> next("next", 1);
  const FactorBatch<Real, unit> kernel{{}, m, count, factors, Layout<Real>(m), last, {}, next};
  return perf::seconds(space, [&] {
    launch_rows(space, kernel, count, m, kernel.layout.bytes, std::int64_t(1) << 30,
                "prekond::perf::factor_batch");
  });
}

template <class Real>
double seconds_of(int m, std::int64_t count, bool factors) {
  if (is_host_space<Space> || Layout<Real>(m).bytes > Tuning::scratch_limit)
    return seconds_of<Real, Unit::slab>(m, count, factors);
  if constexpr (!is_host_space<Space>) {
    if (m <= Tuning::short_vector) return seconds_of<Real, Unit::short_vector>(m, count, factors);
    if (m <= Tuning::longest_of_vector) return seconds_of<Real, Unit::vector>(m, count, factors);
    return seconds_of<Real, Unit::team>(m, count, factors);
  }
  return 0;
}

void set_rate(benchmark::State& state, int m, std::int64_t count, double seconds) {
  state.counters["order"] = m;
  state.counters["systems"] = double(count);
  state.counters["gigaflops"] = double(m) * m * m / 3 * double(count) / seconds * 1e-9;
}

#ifdef KOKKOS_ENABLE_CUDA
cusolverStatus_t potrf(cusolverDnHandle_t handle, int m, float** a, int* info, int count) {
  return cusolverDnSpotrfBatched(handle, CUBLAS_FILL_MODE_LOWER, m, a, m, info, count);
}
cusolverStatus_t potrf(cusolverDnHandle_t handle, int m, double** a, int* info, int count) {
  return cusolverDnDpotrfBatched(handle, CUBLAS_FILL_MODE_LOWER, m, a, m, info, count);
}

template <class Real>
double cusolver(benchmark::State& state, int m, std::int64_t count) {
  const Space space;
  const Vector<Real, Space> entries("entries", count * m * m);
  const Vector<std::uintptr_t, Space> pointers("pointers", count);
  const Vector<int, Space> info("info", count);
  Kokkos::parallel_for(
      "prekond::perf::fill", Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, count),
      KOKKOS_LAMBDA(std::int64_t k) {
        Real* const mine = entries.data() + k * m * m;
        pointers(k) = reinterpret_cast<std::uintptr_t>(mine);
        for (int j = 0; j < m; ++j)
          for (int i = 0; i < m; ++i) mine[j * m + i] = element<Real>(m, i, j);
      });
  cusolverDnHandle_t handle{};
  cusolverDnCreate(&handle);
  cusolverDnSetStream(handle, space.cuda_stream());
  const double time = perf::seconds(space, [&] {
    potrf(handle, m, reinterpret_cast<Real**>(pointers.data()), info.data(), static_cast<int>(count));
  });
  cusolverDnDestroy(handle);
  set_rate(state, m, count, time);
  return time;
}
#endif

template <class Real>
void register_orders(const std::string& word, const std::vector<int>& orders, int repetitions) {
  for (const int m : orders) {
    // About 2^27 entries: half a gigabyte in single precision.
    const std::int64_t count =
        std::clamp<std::int64_t>((std::int64_t(1) << (is_host_space<Space> ? 22 : 27)) / (m * m), 1, 1 << 21);
    perf::add("factor/" + word + "/order:" + std::to_string(m), repetitions, [=](benchmark::State& state) {
      const double fill = seconds_of<Real>(m, count, false), both = seconds_of<Real>(m, count, true);
      set_rate(state, m, count, both - fill);
      state.counters["fill_seconds"] = fill;
      return both - fill;
    });
#ifdef KOKKOS_ENABLE_CUDA
    perf::add("cusolver/" + word + "/order:" + std::to_string(m), repetitions,
              [=](benchmark::State& state) { return cusolver<Real>(state, m, count); });
#endif
  }
}

void register_all(int& argc, char** argv) {
  const auto orders = perf::numbers(perf::take_flag(argc, argv, "orders", "8,16,30,64,100,300"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  register_orders<float>("single", orders, repetitions);
  register_orders<double>("double", orders, repetitions);
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
