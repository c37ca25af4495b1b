// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_matrix.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace prekond::testing {

/// A matrix in standard vectors: what tests write down and compare. Equality is of bits.
template <class Scalar>
struct HostMatrix {
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::vector<std::size_t> row_ptrs = {0};
  std::vector<int> col_idxs;
  std::vector<Scalar> values;

  std::size_t nnz() const { return col_idxs.size(); }

  /// Entry (i, j), 0 where it is not stored.
  Scalar operator()(std::int64_t i, std::int64_t j) const {
    for (std::size_t k = row_ptrs[i]; k < row_ptrs[i + 1]; ++k)
      if (col_idxs[k] == j) return values[k];
    return Scalar(0);
  }

  bool operator==(const HostMatrix& other) const {
    return num_rows == other.num_rows && num_cols == other.num_cols && row_ptrs == other.row_ptrs &&
           col_idxs == other.col_idxs && values.size() == other.values.size() &&
           (values.empty() ||
            std::memcmp(values.data(), other.values.data(), values.size() * sizeof(Scalar)) == 0);
  }
};

/// The nonzeros of a dense matrix.
template <class Scalar = double>
HostMatrix<Scalar> sparse(const std::vector<std::vector<Scalar>>& dense) {
  HostMatrix<Scalar> a;
  a.num_rows = static_cast<std::int64_t>(dense.size());
  a.num_cols = dense.empty() ? 0 : static_cast<std::int64_t>(dense[0].size());
  for (const auto& row : dense) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row[j] == Scalar(0)) continue;
      a.col_idxs.push_back(static_cast<int>(j));
      a.values.push_back(row[j]);
    }
    a.row_ptrs.push_back(a.col_idxs.size());
  }
  return a;
}

template <class Space, class T>
Vector<T, Space> to_device(const std::vector<T>& x) {
  Vector<T, Space> result("prekond::testing::vector", x.size());
  auto mirror = Kokkos::create_mirror_view(result);
  std::copy(x.begin(), x.end(), mirror.data());
  Kokkos::deep_copy(result, mirror);
  return result;
}

template <class Space, class Scalar>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> to_device(const HostMatrix<Scalar>& a) {
  return {a.num_rows, a.num_cols, to_device<Space>(a.row_ptrs), to_device<Space>(a.col_idxs),
          to_device<Space>(a.values)};
}

template <class View>
std::vector<typename View::non_const_value_type> to_vector(const View& x) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x);
  return {host.data(), host.data() + host.extent(0)};
}

template <class Scalar, class MemorySpace, class Traits>
HostMatrix<std::remove_const_t<Scalar>> to_host(
    const CsrMatrix<Scalar, int, std::size_t, MemorySpace, Traits>& a) {
  return {a.num_rows, a.num_cols, to_vector(a.row_ptrs), to_vector(a.col_idxs), to_vector(a.values)};
}

}  // namespace prekond::testing
