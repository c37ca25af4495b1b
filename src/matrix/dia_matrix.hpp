// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>

namespace prekond {

struct DiaOptions {
  /// num_diagonals num_rows <= max_padding (nnz + num_rows), else make_dia refuses.
  double max_padding = 3;
};

/// A sparse matrix by diagonals: entry (i, i + offsets(d)) is `values(d * stride + i)`. Places without an
/// entry have 0: an entry that is 0 adds nothing to a product, whatever x has there.
///
/// Memory: 8 bytes a row and diagonal in double precision, no columns. Source: Saad, Iterative Methods for
/// Sparse Linear Systems, 2nd ed., section 3.4.
template <class Value, class Space>
struct DiaMatrix {
  using value_type = Value;
  std::int64_t num_diagonals() const { return static_cast<std::int64_t>(offsets.extent(0)); }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(offsets.span() * sizeof(int) + values.span() * sizeof(Value));
  }

  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::int64_t nnz = 0;
  std::int64_t stride = 0;      ///< num_rows, rounded up to a multiple of 32
  Vector<int, Space> offsets;   ///< ascending, column minus row
  Vector<Value, Space> values;  ///< stride x num_diagonals()
};

/// The argument of kernels: nothing owned.
template <class Value, class Space>
struct DiaView {
  DiaView() = default;
  DiaView(const DiaMatrix<Value, Space>& a)
      : num_rows(a.num_rows), num_cols(a.num_cols), stride(a.stride), offsets(a.offsets), values(a.values) {}

  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::int64_t stride = 0;
  VectorView<const int, Space> offsets;
  VectorView<const Value, Space> values;
};

/// The number of diagonals with an entry, main or not. Each row's columns are read together with those of the
/// row above. Memory, while it runs: 12 bytes for each of num_rows + num_cols diagonals. Fences.
template <class Space>
std::int64_t count_diagonals(const Space& space, const CsrGraphView<Space>& pattern);

/// The matrix by diagonals. Cost: count_diagonals, one reading of the columns and values, one writing of all
/// places. Fences. \throws InputError where there would be more places than the options allow: it names the
/// diagonals and the bytes that they would take; OptionError where max_padding < 1
template <class Value, class Space>
DiaMatrix<Value, Space> make_dia(const Space& space, const CsrView<Value, Space>& a,
                                 const DiaOptions& options = {});

}  // namespace prekond
