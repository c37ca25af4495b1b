// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Batches for the performance programs: perturbed_batch of a model; b = 1.
#include "benchmark_main.hpp"

#include <prekond/batched/convert.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include <filesystem>
#include <memory>

namespace prekond::perf {

using BatchOfDoubles = BatchedCsr<double, Space>;

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
      model = generate<double>(space, "tridiagonal:" + spec.substr(9));
    else if (std::filesystem::exists(spec))
      model = copy_to<Space>(read_matrix_market<double>(spec));
    else
      model = generate<double>(space, spec);
    values = perturbed_batch<double, Space>(space, model, systems).values;
    b = MultiVector<double, Space>("b", model.num_rows, systems);
    x = MultiVector<double, Space>("x", model.num_rows, systems);
    Kokkos::deep_copy(b, 1.0);
    space.fence();
  }
};
using SharedBatch = std::shared_ptr<BatchData>;

}  // namespace prekond::perf
