// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Pieces of a graph, from which a partition's parts are cut.
#include "core/row_teams.hpp"
#include "pattern/partition/coarsen.hpp"

namespace prekond::impl::partition {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// From numbers of iterations, which a host counts as well as a device; not measured for time on a device.
struct MultilevelTuning {
  static constexpr std::int64_t coarsest = 64;  ///< vertices of a graph that is not made coarser
  static constexpr std::int64_t vertices = 32;  ///< of a piece of a coarser graph, in the mean
  /// A bisection of a coarser graph that cuts fewer than one of 32 pieces is the last one there.
  static constexpr std::int64_t share = 32;
  /// Moves after a bisection. 4 leave a tenth more edges between parts of poisson3d:60, 16 take 3 % away.
  static constexpr int rounds = 8;
  static constexpr double imbalance = 0.06;  ///< of a piece's rows and its share of all
};

/// The least and the largest number of rows that suits a number of parts.
struct Bounds {
  double rows_of_part;

  KOKKOS_FUNCTION std::int64_t most(int parts) const {
    return static_cast<std::int64_t>(parts * ((1 + MultilevelTuning::imbalance) * rows_of_part));
  }
  KOKKOS_FUNCTION std::int64_t least(int parts) const {
    const auto rows = static_cast<std::int64_t>(parts * ((1 - MultilevelTuning::imbalance) * rows_of_part));
    return rows > parts ? rows : parts;
  }
};

/// A piece has the number of the first of the parts that it is cut into.
template <class Space>
struct Pieces {
  Pieces(const Space& space, std::int64_t rows, std::int64_t all_parts)
      : num_rows(rows),
        num_parts(all_parts),
        parts(allocate_zero<Vector<int, Space>>(space, "prekond::partition::parts", all_parts)),
        weight(allocate_zero<Vector<int, Space>>(space, "prekond::partition::weight", all_parts)) {
    Kokkos::deep_copy(space, Kokkos::subview(parts, 0), static_cast<int>(num_parts));
    Kokkos::deep_copy(space, Kokkos::subview(weight, 0), static_cast<int>(num_rows));
  }

  Bounds bounds() const { return {double(num_rows) / double(num_parts)}; }

  std::int64_t num_rows, num_parts;
  std::int64_t count = 1;     ///< of pieces
  Vector<int, Space> parts;   ///< of a piece; 0: no piece has this number
  Vector<int, Space> weight;  ///< of a piece, its rows
};

}  // namespace prekond::impl::partition
