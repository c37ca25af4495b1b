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

/// Solves the block rows of one bin.
template <class Scalar, class Real, class Space, Unit unit>
struct SolveBlockRows : fsai::RowKernel<Space, unit> {
  using typename fsai::RowKernel<Space, unit>::Member;
  using typename fsai::RowKernel<Space, unit>::LaneGroup;
  using Matrix = BlockEntries<Scalar, Space>;
  using SolvedRow = GeneralRow<Scalar, Real, Space, LaneGroup, Matrix>;

  Matrix a;
  VectorView<const double, Space> row_scale;
  VectorView<const Scalar, Space> diagonal;
  InverseRows<Scalar, Space> inverse;
  std::size_t bytes;
  Real floor;
  Pivoting pivoting;
  bool again;                         ///< only those rows that a kernel before did not solve
  VectorView<const int, Space> rows;  ///< of blocks
  VectorView<unsigned char, Space> status, status_of_blocks;
  VectorView<char, Space> workspaces;
  VectorView<int, Space> next;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_rows(team, static_cast<std::int64_t>(rows.extent(0)), bytes, workspaces, next,
                   [&](char* base, std::int64_t k) { do_row(LaneGroup(team), base, rows(k)); });
  }

  /// By the kernel's lane group, or by the threads of a host.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void do_row(const AnyLaneGroup& lane_group, char* base, int k) const {
    const int first = k * a.block_size, length = inverse.length(first);
    const GeneralRow<Scalar, Real, Space, AnyLaneGroup, Matrix> row(lane_group, a, row_scale, base, length);
    const int own = static_cast<int>(inverse.pattern.first_from(first, first) - inverse.begin(first));
    row.factor(inverse.cols(first), floor, pivoting);
    bool is_solved = true;
    for (int r = 0; r < a.block_size; ++r) {
      if (again && status(first + r) != lu::Status::again) continue;
      is_solved = solve(lane_group, row, first + r, own + r) && is_solved;
    }
    lane_group.once([&] {
      status_of_blocks(k) = static_cast<unsigned char>(is_solved ? lu::Status::solved : lu::Status::again);
    });
  }

  /// \returns whether row i is done with
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION bool solve(const AnyLaneGroup& lane_group,
                             const GeneralRow<Scalar, Real, Space, AnyLaneGroup, Matrix>& row, int i,
                             int own) const {
    const bool last_try = pivoting == Pivoting::none;
    row.forget_solution();
    const RowResult result = row.solve_factored(own, pivoting);
    lane_group.once([&] { status(i) = lu::Status::of(result, last_try); });
    if (result.dropped && !last_try) return false;
    inverse.write(lane_group, i, own, row, result, diagonal(i) == 0 ? 1.0 : 1 / double(diagonal(i)));
    return true;
  }
};

/// The setup's launches.
template <class Scalar, class Space>
class GeneralBlockSetup : public RowSetup<Scalar, Space, BlockEntries<Scalar, Space>> {
 public:
  using Matrix = BlockEntries<Scalar, Space>;

  GeneralBlockSetup(const Space& space, const Matrix& a, const VectorView<const unsigned char, Space>& wanted,
                    std::int64_t slab_bytes, const std::string& name, MemoryMeter& meter)
      : RowSetup<Scalar, Space, Matrix>(space, a, wanted, slab_bytes, name, meter) {}

  /// \throws InputError where the system of a row takes more than `slab_bytes` in double, which it may need
  LongestRow check_rows(const CsrGraphView<Space>& pattern) {
    return this->check_longest(pattern, bytes_of<double>);
  }

  /// M's values, on rows of whole blocks. \pre check_rows
  void solve(const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values, bool in_single);

 private:
  using Bytes = VectorView<unsigned char, Space>;
  using RowSetup<Scalar, Space, Matrix>::m_space;
  using RowSetup<Scalar, Space, Matrix>::m_a;
  using RowSetup<Scalar, Space, Matrix>::m_meter;
  using RowSetup<Scalar, Space, Matrix>::m_outcome;
  using RowSetup<Scalar, Space, Matrix>::m_next;

  template <class Real>
  static std::size_t bytes_of(int longest) {
    return SolveBlockRows<Scalar, Real, Space, Unit::slab>::SolvedRow::bytes(longest);
  }

  template <class Real>
  void solve_rows(const InverseRows<Scalar, Space>& inverse, VectorView<const std::size_t, Space> orders,
                  const lu::RowSizes<Scalar, Space>& sizes, const Bytes& status,
                  const Bytes& status_of_blocks, bool again, Real floor, Pivoting pivoting);
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
  const InverseRows<Scalar, Space> inverse{pattern, values, m_outcome};
  const std::int64_t count = m_a.num_rows / m_a.block_size;
  const auto orders = scan_row_lengths(m_space, "prekond::isai::numeric::orders", count,
                                       BlockRowLength<Space>{pattern, m_a.block_size})
                          .first;
  const auto sizes =
      lu::measure_rows<Scalar, Space>(m_space, m_a, "prekond::isai::numeric", /*with_magnitude=*/false);
  using Status = Vector<unsigned char, Space>;
  const auto status = allocate<Status>(m_space, "prekond::isai::numeric::status", m_a.num_rows),
             status_of_blocks = allocate<Status>(m_space, "prekond::isai::numeric::status_of_blocks", count);
  const auto held = m_meter.hold(sizes.scale, sizes.diagonal, status);
  const auto held_blocks = m_meter.hold(orders, status_of_blocks);
  lu::solve_in_turn(in_single, [&](auto floor, Pivoting pivoting, bool again) {
    solve_rows(inverse, orders, sizes, status, status_of_blocks, again, floor, pivoting);
  });
  m_space.fence("prekond::isai::numeric::solved");
}

template <class Scalar, class Space>
template <class Real>
void GeneralBlockSetup<Scalar, Space>::solve_rows(const InverseRows<Scalar, Space>& inverse,
                                                  VectorView<const std::size_t, Space> orders,
                                                  const lu::RowSizes<Scalar, Space>& sizes,
                                                  const Bytes& status, const Bytes& status_of_blocks,
                                                  bool again, Real floor, Pivoting pivoting) {
  VectorView<const unsigned char, Space> chosen;
  if (again) chosen = status_of_blocks;
  fsai::launch_bins<Space>(m_space, orders, chosen, m_meter, bytes_of<Real>,
                           [&](auto unit, VectorView<const int, Space> rows, int longest) {
                             const std::size_t bytes = bytes_of<Real>(longest);
                             const SolveBlockRows<Scalar, Real, Space, decltype(unit)::value> kernel{
                                 {},    m_a,  sizes.scale, sizes.diagonal,   inverse, bytes, floor, pivoting,
                                 again, rows, status,      status_of_blocks, {},      m_next};
                             this->launch(kernel, rows, longest, bytes);
                           });
}

}  // namespace prekond::impl::isai
