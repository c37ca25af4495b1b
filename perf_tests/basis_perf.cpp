// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "device_rates.hpp"

#include "krylov/basis.hpp"

#include <algorithm>
#include <memory>
#include <string>

/// Kernels of GMRES on a vector and j columns of a basis: perf_basis [--rows=1500000] [--columns=1,4,8,15,30]
/// [--block=4] [--repetitions=5]. Cases, each NAME/COLUMNS:
///
/// project         V^H w, all inner products in one kernel and one reduction
/// project_two     V^H u and V^H w
/// orthonormalize  w = (w - V h) / beta, one kernel
/// delayed_step    both updates of dcgs2
/// combine         y = V c
/// project_block   V^H W and W^H W of the s-step form, W of --block=4 vectors after V
/// update_block    W = W T - V C
///
/// `of_copy`: the rate of what must move (V once, the vectors read and written once) over the copy's
namespace {

using namespace prekond;
using perf::Space;
using Kernels = krylov::BasisKernels<double, Space>;

struct Data {
  std::int64_t n;
  MultiVector<double, Space> v;
  Vector<double, Space> numbers;
  std::unique_ptr<Kernels> kernels;
};

void register_all(int& argc, char** argv) {
  const std::int64_t n = std::stoll(perf::take_flag(argc, argv, "rows", "1500000"));
  const auto counts = perf::numbers(perf::take_flag(argc, argv, "columns", "1,4,8,15,30"));
  const int block = std::stoi(perf::take_flag(argc, argv, "block", "4"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const int most = *std::max_element(counts.begin(), counts.end());
  const Space space;
  const auto data = std::make_shared<Data>();
  Kokkos::push_finalize_hook([data] { *data = {}; });
  data->n = n;
  data->v = MultiVector<double, Space>("v", n, most + std::max(2, block));
  data->numbers = Vector<double, Space>("numbers", (4 + block) * (most + 2 + block));
  data->kernels = std::make_unique<Kernels>(space, n, 4 * (most + 2 + block));
  const auto add = [&](const std::string& name, int columns, double passes, const auto& work) {
    perf::add(name + "/" + std::to_string(columns), repetitions, [=](benchmark::State& state) {
      Kokkos::deep_copy(data->v, 1e-3);
      Kokkos::deep_copy(data->numbers, 1e-3);
      const krylov::Basis<double> basis{data->v.data(), data->v.stride(1)};
      const double time = perf::mean_seconds([&] { work(*data, basis); });
      const double bytes = 8.0 * passes * double(data->n);
      state.counters["bytes_per_second"] = bytes / time;
      state.counters["of_copy"] = bytes / time / perf::copy_bandwidth();
      return time;
    });
  };
  for (const int j : counts) {
    const auto part = [=](const Data& own, int count) {
      return VectorView<double, Space>(own.numbers.data(), static_cast<std::size_t>(count));
    };
    add("project", j, j + 1, [=](const Data& own, const krylov::Basis<double>& v) {
      own.kernels->project(Space(), "project", v, j, v.column(j), part(own, j));
    });
    add("project_two", j, j + 2, [=](const Data& own, const krylov::Basis<double>& v) {
      own.kernels->project_two(Space(), "project_two", v, j, v.column(j), v.column(j + 1), part(own, 2 * j));
    });
    add("orthonormalize", j, j + 2, [=](const Data& own, const krylov::Basis<double>& v) {
      double* h = own.numbers.data();
      own.kernels->orthonormalize(Space(), "orthonormalize", v, j, h, v.column(j), h + j + 1);
    });
    add("delayed_step", j, j + 4, [=](const Data& own, const krylov::Basis<double>& v) {
      double* s = own.numbers.data();
      own.kernels->delayed_step(Space(), "delayed_step", v, j, s, s + j + 1, v.column(j), v.column(j + 1),
                                s + 2 * j + 2);
    });
    add("combine", j, j + 1, [=](const Data& own, const krylov::Basis<double>& v) {
      own.kernels->combine(Space(), "combine", v, j, own.numbers.data(), v.column(j));
    });
    add("project_block", j, j + block, [=](const Data& own, const krylov::Basis<double>& v) {
      own.kernels->project_block(Space(), "project_block", v, j + block, j, block,
                                 part(own, block * (j + block)));
    });
    add("update_block", j, j + 2 * block, [=](const Data& own, const krylov::Basis<double>& v) {
      double* t = own.numbers.data();
      own.kernels->update_block(Space(), "update_block", v, j, block, t, t + block * block);
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
