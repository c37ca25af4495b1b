// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The ISAI of a general matrix by blocks: the rows of a block have the same columns, and their systems one
/// factorisation.
#include "precond/approximate_inverse/isai/general_row.hpp"
#include "precond/approximate_inverse/isai/row_setup.hpp"
#include "precond/approximate_inverse/row_lu/lu_rows.hpp"
#include "precond/scaling/matrix_rows.hpp"

namespace prekond::impl::isai {

/// The systems of the rows of blocks.
template <class Scalar, class Space>
struct BlockSystems {
  using Matrix = BlockEntries<Scalar, Space>;

  Matrix a;
  VectorView<const double, Space> row_scale;
  VectorView<const Scalar, Space> diagonal;
  InverseRows<Scalar, Space> inverse;
  VectorView<unsigned char, Space> status, status_of_blocks;
  bool again;  ///< only those rows that an attempt before did not solve

  template <class Real>
  static std::size_t bytes(int longest) {
    return GeneralRow<Scalar, Real, Space, lu::AnyLanes<Space>, Matrix>::bytes(longest);
  }

  template <class Real, class LaneGroup>
  KOKKOS_FUNCTION void do_row(const LaneGroup& lane_group, char* base, int k, Real floor,
                              Pivoting pivoting) const {
    const int first = k * a.block_size, length = inverse.length(first);
    const GeneralRow<Scalar, Real, Space, LaneGroup, Matrix> row(lane_group, a, row_scale, base, length);
    const int own = static_cast<int>(inverse.pattern.first_from(first, first) - inverse.begin(first));
    row.factor(inverse.cols(first), floor, pivoting);
    bool is_solved = true;
    for (int r = 0; r < a.block_size; ++r) {
      if (again && status(first + r) != lu::Status::again) continue;
      is_solved = solve(lane_group, row, first + r, own + r, pivoting) && is_solved;
    }
    lane_group.once([&] {
      status_of_blocks(k) = static_cast<unsigned char>(is_solved ? lu::Status::solved : lu::Status::again);
    });
  }

  /// \returns whether row i is finished
  template <class LaneGroup, class FactoredRow>
  KOKKOS_FUNCTION bool solve(const LaneGroup& lane_group, const FactoredRow& row, int i, int own,
                             Pivoting pivoting) const {
    row.forget_solution();
    const RowResult result = row.solve_factored(own, pivoting);
    if (!lu::Status::end_row(lane_group, status, i, result, pivoting)) return false;
    inverse.write(lane_group, i, own, row, result, diagonal(i) == 0 ? 1.0 : 1 / double(diagonal(i)));
    return true;
  }
};

/// The setup's launches.
template <class Scalar, class Space>
class GeneralBlockSetup : public RowSetup<Scalar, Space, BlockEntries<Scalar, Space>> {
 public:
  using RowSetup<Scalar, Space, BlockEntries<Scalar, Space>>::RowSetup;

  /// \throws InputError where the system of a row takes more than `memory_budget` in double, which it may
  /// need
  LongestRow check_rows(const CsrGraphView<Space>& pattern) {
    return this->check_longest(pattern, BlockSystems<Scalar, Space>::template bytes<double>);
  }

  /// M's values, on rows of whole blocks. \pre check_rows
  void solve(const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values, bool in_single);
};

/// The length of a block's rows.
template <class Space>
struct BlockRowLength {
  CsrGraphView<Space> pattern;
  int block_size;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t k) const {
    return pattern.row_ptrs(k * block_size + 1) - pattern.row_ptrs(k * block_size);
  }
};

// Outside of the class, so that it is compiled in one place.
template <class Scalar, class Space>
void GeneralBlockSetup<Scalar, Space>::solve(const CsrGraphView<Space>& pattern,
                                             VectorView<Scalar, Space> values, bool in_single) {
  const Space& space = this->m_space;
  const auto& a = this->m_a;
  const std::int64_t count = a.num_rows / a.block_size;
  const auto orders = scan_row_lengths(space, "prekond::isai::numeric::orders", count,
                                       BlockRowLength<Space>{pattern, a.block_size})
                          .first;
  const auto sizes =
      lu::measure_rows<Scalar, Space>(space, a, "prekond::isai::numeric", /*with_magnitude=*/false);
  using Status = Vector<unsigned char, Space>;
  const auto status = allocate<Status>(space, "prekond::isai::numeric::status", a.num_rows),
             status_of_blocks = allocate<Status>(space, "prekond::isai::numeric::status_of_blocks", count);
  BlockSystems<Scalar, Space> systems{
      a, sizes.scale, sizes.diagonal, {pattern, values, this->m_outcome}, status, status_of_blocks, false};
  lu::solve_in_turn(in_single, [&](auto floor, Pivoting pivoting, bool again) {
    systems.again = again;
    this->solve_bins(systems, orders, again ? status_of_blocks : Status(), floor, pivoting);
  });
  space.fence("prekond::isai::numeric::solved");
}

}  // namespace prekond::impl::isai
