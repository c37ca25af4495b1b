// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Batches for the performance programs: systems of one pattern, the entries off the diagonal multiplied by
/// 1 - 0.2 u, u uniform in (0, 1), the same for both triangles; b = 1.
#include "benchmark_main.hpp"

#include <prekond/batched/csr.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/impl/counter_hash.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include <filesystem>
#include <memory>

namespace prekond::perf {

using BatchOfDoubles = BatchedCsr<double, Space>;

struct FillBatch {
  CsrView<double, Space> model;
  MultiVector<double, Space> values;
  KOKKOS_FUNCTION void operator()(std::int64_t e) const {
    const std::int64_t i = e % model.num_rows, s = e / model.num_rows;
    for (std::size_t k = model.row_ptrs(i); k < model.row_ptrs(i + 1); ++k) {
      const std::int64_t j = model.col_idxs(k), least = Kokkos::min(i, j), most = Kokkos::max(i, j);
      const auto hash = impl::counter_hash(1, std::uint64_t(s), std::uint64_t(least * model.num_rows + most));
      const double factor = i == j ? 1 : 1 - 0.2 * impl::unit_interval(hash);
      values(k, s) = factor * model.values(k);
    }
  }
};

/// -1, 2, -1 in each row
inline CsrMatrix<double, int, std::size_t, Space::memory_space> stencil3(int n) {
  const CsrMatrix<double, int, std::size_t, Space::memory_space> a(
      n, n, Vector<std::size_t, Space>("row_ptrs", n + 1), Vector<int, Space>("col_idxs", 3 * n - 2),
      Vector<double, Space>("values", 3 * n - 2));
  const auto row_ptrs = Kokkos::create_mirror_view(a.row_ptrs);
  const auto col_idxs = Kokkos::create_mirror_view(a.col_idxs);
  const auto values = Kokkos::create_mirror_view(a.values);
  std::size_t k = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = std::max(i - 1, 0); j <= std::min(i + 1, n - 1); ++j, ++k) {
      col_idxs(k) = j;
      values(k) = i == j ? 2 : -1;
    }
    row_ptrs(i + 1) = k;
  }
  Kokkos::deep_copy(a.row_ptrs, row_ptrs);
  Kokkos::deep_copy(a.col_idxs, col_idxs);
  Kokkos::deep_copy(a.values, values);
  return a;
}

struct BatchData {
  std::string spec;
  std::int64_t systems = 0;
  CsrMatrix<const double, const int, const std::size_t, Space::memory_space> model;
  MultiVector<double, Space> values, b, x;

  std::string name() const {
    return std::filesystem::path(spec).filename().string() + "/" + std::to_string(systems);
  }
  BatchOfDoubles batch() const { return {model.num_rows, model.row_ptrs, model.col_idxs, values}; }

  /// When the first of its cases runs: all batches at once would not fit.
  void load() {
    if (model.num_rows > 0) return;
    const Space space;
    if (spec.rfind("stencil3:", 0) == 0)
      model = stencil3(std::stoi(spec.substr(9)));
    else if (std::filesystem::exists(spec))
      model = copy_to<Space>(read_matrix_market<double>(spec));
    else
      model = generate<double>(space, spec);
    values = MultiVector<double, Space>("values", model.nnz(), systems);
    b = MultiVector<double, Space>("b", model.num_rows, systems);
    x = MultiVector<double, Space>("x", model.num_rows, systems);
    Kokkos::parallel_for("prekond::perf::values",
                         Kokkos::RangePolicy<Space>(space, 0, model.num_rows * systems),
                         FillBatch{model, values});
    Kokkos::deep_copy(b, 1.0);
    space.fence();
  }
};
using SharedBatch = std::shared_ptr<BatchData>;

}  // namespace prekond::perf
