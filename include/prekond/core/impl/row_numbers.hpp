// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <cstdint>

namespace prekond {

/// The global numbers of a process's rows, for vectors whose entries are functions of them: what is made by
/// them is the same however the rows are distributed.
template <class Space>
struct RowNumbers {
  std::int64_t num_global_rows = 0;             ///< the rows of all processes
  std::int64_t first = 0;                       ///< row i is first + i where there is no list
  Vector<const std::int64_t, Space> numbers{};  ///< the list: row i is numbers(i)

  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t i) const {
    return numbers.extent(0) > 0 ? numbers(i) : first + i;
  }
};

}  // namespace prekond
