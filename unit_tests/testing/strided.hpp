// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <gtest/gtest.h>
#include <prekond/core/views.hpp>

#include <utility>
#include <vector>

namespace prekond::testing {

inline constexpr double pad = -4321;  ///< in what nobody may write

/// A multivector of rows x k in memory with `extra` rows between the columns.
template <class Scalar, class Space>
struct Strided {
  Strided(std::size_t rows, int k, int extra)
      : whole("prekond::testing::strided", rows + extra, k),
        part(Kokkos::subview(whole, std::make_pair(std::size_t(0), rows), Kokkos::ALL)) {
    Kokkos::deep_copy(whole, Scalar(pad));
  }
  Strided(const std::vector<std::vector<Scalar>>& columns, std::size_t rows, int extra)
      : Strided(rows, static_cast<int>(columns.size()), extra) {
    fill(columns);
  }
  void fill(const std::vector<std::vector<Scalar>>& columns) {
    const auto host = Kokkos::create_mirror_view(whole);
    Kokkos::deep_copy(host, Scalar(pad));
    for (std::size_t v = 0; v < columns.size(); ++v)
      for (std::size_t i = 0; i < columns[v].size(); ++i) host(i, v) = columns[v][i];
    Kokkos::deep_copy(whole, host);
  }
  std::vector<std::vector<Scalar>> columns() const {
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), whole);
    std::vector<std::vector<Scalar>> result(whole.extent(1), std::vector<Scalar>(part.extent(0)));
    for (std::size_t v = 0; v < result.size(); ++v) {
      for (std::size_t i = 0; i < part.extent(0); ++i) result[v][i] = host(i, v);
      for (std::size_t i = part.extent(0); i < whole.extent(0); ++i)
        EXPECT_EQ(host(i, v), Scalar(pad)) << "wrote between the columns";
    }
    return result;
  }
  MultiVector<Scalar, Space> whole;
  MultiVectorView<Scalar, Space> part;
};

}  // namespace prekond::testing
