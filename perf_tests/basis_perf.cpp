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
/// project_by_1, project_by_2, project_by_4
///                 V^H w of 1, 2 or 4 columns at a time, with a copy of each result to the host before the
///                 next
/// axpy_by_column  w = w - V h, a kernel for each column
///
/// The last four are what figures 8 and 9 of Ma, Hu, Yuan, Liu (2021) compare.
///
/// `of_copy`: the rate of what must move (V once, the vectors read and written once) over the copy's
namespace {

using namespace prekond;
using perf::Space;
using Kernels = krylov::BasisKernels<double, Space>;

/// w -= h v for a column v.
struct AddColumn {
  const double* v;
  const double* h;
  double* w;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { w[i] -= *h * v[i]; }
};

void add_columns(const krylov::Basis<double>& v, int columns, const double* h, std::int64_t n) {
  for (int k = 0; k < columns; ++k)
    Kokkos::parallel_for("prekond::perf::add_column",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(Space(), 0, n),
                         AddColumn{v.column(k), h + k, v.column(columns)});
}

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
    for (const int batch : {1, 2, 4})
      add("project_by_" + std::to_string(batch), j, j + 1,
          [=](const Data& own, const krylov::Basis<double>& v) {
            for (int k = 0; k < j; k += batch) {
              const VectorView<double, Space> dots(own.numbers.data() + k, std::min(batch, j - k));
              own.kernels->project(Space(), "project", {v.column(k), own.v.stride(1)}, std::min(batch, j - k),
                                   v.column(j), dots);
              Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), dots);
            }
          });
    add("axpy_by_column", j, j + 2, [=](const Data& own, const krylov::Basis<double>& v) {
      add_columns(v, j, own.numbers.data(), own.n);
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
