// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The ISAI of a general matrix.
#include <prekond/pattern/supernodes.hpp>
#include "pattern/block_rows.hpp"

#include "precond/approximate_inverse/fsai/flops.hpp"
#include "precond/approximate_inverse/isai/explicit_isai.hpp"
#include "precond/approximate_inverse/isai/general_blocks.hpp"
#include "precond/approximate_inverse/isai/general_row.hpp"
#include "precond/approximate_inverse/isai/row_setup.hpp"
#include "precond/approximate_inverse/row_lu/lu_rows.hpp"
#include "precond/setup/source_blocks.hpp"

namespace prekond::impl::isai {

using lu::Status;

/// Solves the rows of one bin of a general matrix.
template <class Scalar, class Real, class Space, Unit unit>
struct SolveGeneral : fsai::RowKernel<Space, unit> {
  using typename fsai::RowKernel<Space, unit>::Member;
  using typename fsai::RowKernel<Space, unit>::LaneGroup;
  using SolvedRow = GeneralRow<Scalar, Real, Space, LaneGroup>;

  CsrView<Scalar, Space> a;
  VectorView<const double, Space> row_scale;
  VectorView<const Scalar, Space> diagonal;
  InverseRows<Scalar, Space> inverse;
  std::size_t bytes;
  Real floor;
  Pivoting pivoting;
  VectorView<const int, Space> rows;
  VectorView<unsigned char, Space> status;
  VectorView<char, Space> workspaces;
  VectorView<int, Space> next;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_rows(team, static_cast<std::int64_t>(rows.extent(0)), bytes, workspaces, next,
                   [&](char* base, std::int64_t k) { do_row(LaneGroup(team), base, rows(k)); });
  }

  /// By the kernel's lane group, or by the threads of a host.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void do_row(const AnyLaneGroup& lane_group, char* base, int i) const {
    const GeneralRow<Scalar, Real, Space, AnyLaneGroup> row(lane_group, a, row_scale, base,
                                                            inverse.length(i));
    const int own = static_cast<int>(inverse.pattern.first_from(i, i) - inverse.begin(i));
    const RowResult result = row.solve(inverse.cols(i), own, floor, pivoting);
    const bool last_try = pivoting == Pivoting::none;
    lane_group.once([&] { status(i) = Status::of(result, last_try); });
    if (result.dropped && !last_try) return;
    inverse.write(lane_group, i, own, row, result, diagonal(i) == 0 ? 1.0 : 1 / double(diagonal(i)));
  }
};

/// The setup's launches.
template <class Scalar, class Space>
class GeneralSetup : public RowSetup<Scalar, Space> {
 public:
  GeneralSetup(const Space& space, const CsrView<Scalar, Space>& a,
               const VectorView<const unsigned char, Space>& wanted, std::int64_t slab_bytes,
               const std::string& name, MemoryMeter& meter)
      : RowSetup<Scalar, Space>(space, a, wanted, slab_bytes, name, meter) {}

  /// \throws InputError where the system of a row takes more than `slab_bytes` in double, which it may need
  LongestRow check_rows(const CsrGraphView<Space>& pattern) {
    return this->check_longest(pattern, bytes_of<double>);
  }

  /// M's values. \pre check_rows
  void solve(const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values, bool in_single) {
    const InverseRows<Scalar, Space> inverse{pattern, values, m_outcome};
    const auto sizes =
        lu::measure_rows<Scalar, Space>(m_space, m_a, "prekond::isai::numeric", /*with_magnitude=*/false);
    const auto status =
        allocate<Vector<unsigned char, Space>>(m_space, "prekond::isai::numeric::status", m_a.num_rows);
    const auto held = m_meter.hold(sizes.scale, sizes.diagonal, status);
    lu::solve_in_turn(in_single, [&](auto floor, Pivoting pivoting, bool again) {
      solve_rows(inverse, sizes, status, again, floor, pivoting);
    });
    m_space.fence("prekond::isai::numeric::solved");
  }

 private:
  using RowSetup<Scalar, Space>::m_space;
  using RowSetup<Scalar, Space>::m_a;
  using RowSetup<Scalar, Space>::m_meter;
  using RowSetup<Scalar, Space>::m_outcome;
  using RowSetup<Scalar, Space>::m_next;

  template <class Real>
  static std::size_t bytes_of(int longest) {
    return SolveGeneral<Scalar, Real, Space, Unit::slab>::SolvedRow::bytes(longest);
  }

  template <class Real>
  void solve_rows(const InverseRows<Scalar, Space>& inverse, const lu::RowSizes<Scalar, Space>& sizes,
                  const Vector<unsigned char, Space>& status, bool again, Real floor, Pivoting pivoting) {
    VectorView<const unsigned char, Space> chosen;
    if (again) chosen = status;
    fsai::launch_bins<Space>(m_space, inverse.pattern.row_ptrs, chosen, m_meter, bytes_of<Real>,
                             [&](auto unit, VectorView<const int, Space> rows, int longest) {
                               const std::size_t bytes = bytes_of<Real>(longest);
                               const SolveGeneral<Scalar, Real, Space, decltype(unit)::value> kernel{
                                   {},    m_a,      sizes.scale, sizes.diagonal, inverse, bytes,
                                   floor, pivoting, rows,        status,         {},      m_next};
                               this->launch(kernel, rows, longest, bytes);
                             });
  }
};

// Compiled in blocks.cpp.
extern template class GeneralBlockSetup<double, Kokkos::DefaultExecutionSpace>;
extern template class GeneralBlockSetup<float, Kokkos::DefaultExecutionSpace>;
extern template class GeneralBlockSetup<double, Kokkos::DefaultHostExecutionSpace>;
extern template class GeneralBlockSetup<float, Kokkos::DefaultHostExecutionSpace>;

template <class Space>
struct CountDiagonals {
  CsrGraphView<Space> graph;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count) const {
    const std::size_t k = graph.first_from(i, i);
    count += k < graph.row_ptrs(i + 1) && graph.col_idxs(k) == i;
  }
};

/// Does each row of the graph have its diagonal entry? Fences.
template <class Space>
bool has_whole_diagonal(const Space& space, const CsrGraphView<Space>& graph) {
  std::int64_t count = 0;
  Kokkos::parallel_reduce(
      "prekond::isai::count_diagonals",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, graph.num_rows),
      CountDiagonals<Space>{graph}, count);
  return count == graph.num_rows;
}

/// Isai of kind general.
template <class Scalar, class Space>
class GeneralIsai : public ExplicitIsai<Scalar, Space> {
 public:
  using Base = ExplicitIsai<Scalar, Space>;
  using Base::Base;
  using typename Base::matrix_source;
  using typename Base::matrix_type;

 private:
  using Blocks = BlockEntries<Scalar, Space>;

  CsrGraph<Space> part_of(const Space&, const CsrGraph<Space>& pattern) const override { return pattern; }

  CsrGraph<Space> power_of_part(const Space& space, const CsrGraphView<Space>& s) const override {
    const IsaiOptions& options = this->options();
    return power<Space>(space, s, options.power, options.pattern_bytes, options.slab_bytes);
  }

  /// The size of the source's blocks, where the rows of a block have the same pattern of whole blocks; else
  /// 0.
  int block_rows(const Space& space, const matrix_source& source) const {
    const auto* blocks = source.blocks();
    const IsaiOptions& options = this->options();
    if (blocks == nullptr || blocks->padding > 0 || blocks->block_size < 2 || options.prefilter > 0 ||
        options.power == 0 || this->has_user_pattern())
      return 0;
    return has_whole_diagonal<Space>(space, graph_of<Space>(*blocks)) ? blocks->block_size : 0;
  }

  CsrGraph<Space> make_pattern(const Space& space, const matrix_source& source) override {
    const int b = block_rows(space, source);
    const CsrGraph<Space> pattern =
        b > 0 ? rows_of_blocks<Space>(space, power_of_part(space, graph_of<Space>(*source.blocks())), b,
                                      this->options().pattern_bytes)
              : Base::make_pattern(space, source);
    m_block_rows = b;
    return pattern;
  }

  BreakdownCounter solve(const Space& space, const matrix_source& source, const matrix_type& m,
                         Report& report, MemoryMeter& meter) override {
    const auto* blocks = source.blocks();
    const bool by_blocks =
        m_block_rows > 0 && blocks != nullptr && blocks->padding == 0 && blocks->block_size == m_block_rows;
    if (!by_blocks) {
      GeneralSetup<Scalar, Space> setup(space, source.csr(), source.wanted_rows(), this->options().slab_bytes,
                                        this->name(), meter);
      return solve_by(setup, space, m, {}, report);
    }
    GeneralBlockSetup<Scalar, Space> setup(space, Blocks(*blocks), source.wanted_rows(),
                                           this->options().slab_bytes, this->name(), meter);
    return solve_by(setup, space, m, uniform_supernodes<Space>(space, m.num_rows, m_block_rows), report);
  }

  template <class AnySetup>
  BreakdownCounter solve_by(AnySetup& setup, const Space& space, const matrix_type& m,
                            const Supernodes<Space>& supernodes, Report& report) {
    const LongestRow longest = setup.check_rows(m);
    report.numeric_flops =
        2 * fsai::count_flops<Space>(space, "prekond::isai::numeric::count_flops", m, supernodes);
    const auto length = static_cast<double>(longest.length);
    this->tell(
        cost_note(space, this->name(), report.numeric_flops, 2 * length * length * length / 3, longest),
        report);
    setup.solve(m, m.values, this->options().setup_scalar == Precision::single_precision);
    return setup.outcome();
  }

  int m_block_rows = 0;  ///< the size of the blocks that the pattern is made of; 0: it is not
};

}  // namespace prekond::impl::isai
