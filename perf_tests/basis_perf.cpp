// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "device_rates.hpp"

#include "krylov/basis.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#ifdef KOKKOS_ENABLE_CUDA
#include <cublas_v2.h>
#endif

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
/// project_asynchronously_by_2, project_asynchronously_by_4
///                 the same on two instances of the execution space by turns, each copy while the other
///                 instance computes
/// axpy_by_column  w = w - V h, a kernel for each column
/// axpy_by_cublas  the same by cublasDaxpy; with CUDA
///
/// From project_by_1 on they are what figures 8 and 9 of Ma, Hu, Yuan, Liu (2021) compare.
///
/// `of_copy`: the rate of what must move (V once, the vectors read and written once) over the copy's
namespace {

using namespace prekond;
using perf::Space;
using Kernels = krylov::BasisKernels<double, Space>;
using Pinned = std::conditional_t<is_host_space<Space>, Kokkos::HostSpace, Kokkos::SharedHostPinnedSpace>;

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

#ifdef KOKKOS_ENABLE_CUDA
void add_columns_by_cublas(cublasHandle_t handle, const krylov::Basis<double>& v, int columns,
                           std::int64_t n) {
  const double factor = -1e-3;
  for (int k = 0; k < columns; ++k) cublasDaxpy_64(handle, n, &factor, v.column(k), 1, v.column(columns), 1);
}
#endif

/// One of two streams of batches: its instance, its kernels with their partial sums, and the host's results.
struct Stream {
  Space space;
  std::unique_ptr<Kernels> kernels;
  Kokkos::View<double*, Pinned> dots;
};

struct Data {
  std::int64_t n;
  MultiVector<double, Space> v;
  Vector<double, Space> numbers;
  std::unique_ptr<Kernels> kernels;
  std::vector<Stream> streams;
};

/// V^H w by batches on two instances by turns; the results are on the host at the end.
void project_asynchronously(const Data& own, const krylov::Basis<double>& v, int columns, int batch) {
  for (int k = 0; k < columns; k += batch) {
    const Stream& stream = own.streams[std::size_t(k / batch % 2)];
    const auto part = std::make_pair(k, std::min(k + batch, columns));
    const int count = part.second - k;
    const VectorView<double, Space> dots(own.numbers.data() + k, std::size_t(count));
    stream.kernels->project(stream.space, "project", {v.column(k), own.v.stride(1)}, count, v.column(columns),
                            dots);
    Kokkos::deep_copy(stream.space, Kokkos::subview(stream.dots, part), dots);
  }
  for (const Stream& stream : own.streams) stream.space.fence("prekond::perf::basis");
}

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
  for (const Space& one : Kokkos::Experimental::partition_space(space, 1, 1))
    data->streams.push_back({one, std::make_unique<Kernels>(one, n, 4 * (most + 2 + block)),
                             Kokkos::View<double*, Pinned>("dots", std::size_t(most))});
#ifdef KOKKOS_ENABLE_CUDA
  cublasHandle_t handle = nullptr;
  cublasCreate(&handle);
  cublasSetStream(handle, space.cuda_stream());
  Kokkos::push_finalize_hook([handle] { cublasDestroy(handle); });
#endif
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
    for (const int batch : {2, 4})
      add("project_asynchronously_by_" + std::to_string(batch), j, j + 1,
          [=](const Data& own, const krylov::Basis<double>& v) { project_asynchronously(own, v, j, batch); });
    add("axpy_by_column", j, j + 2, [=](const Data& own, const krylov::Basis<double>& v) {
      add_columns(v, j, own.numbers.data(), own.n);
    });
#ifdef KOKKOS_ENABLE_CUDA
    add("axpy_by_cublas", j, j + 2,
        [=](const Data& own, const krylov::Basis<double>& v) { add_columns_by_cublas(handle, v, j, own.n); });
#endif
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
