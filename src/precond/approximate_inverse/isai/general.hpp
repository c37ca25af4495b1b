// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The ISAI of a general matrix.
#include <prekond/pattern/impl/supernodes.hpp>
#include "pattern/block_rows.hpp"

#include "precond/approximate_inverse/fsai/flops.hpp"
#include "precond/approximate_inverse/isai/explicit_isai.hpp"
#include "precond/approximate_inverse/isai/general_blocks.hpp"
#include "precond/approximate_inverse/isai/general_row.hpp"
#include "precond/approximate_inverse/isai/row_setup.hpp"
#include "precond/approximate_inverse/row_lu/lu_rows.hpp"
#include "precond/setup/source_blocks.hpp"

namespace prekond::impl::isai {

/// The systems of a general matrix's rows.
template <class Scalar, class Space>
struct GeneralSystems {
  CsrView<Scalar, Space> a;
  VectorView<const double, Space> row_scale;
  VectorView<const Scalar, Space> diagonal;
  InverseRows<Scalar, Space> inverse;
  VectorView<unsigned char, Space> status;

  template <class Real>
  static std::size_t bytes(int longest) {
    return GeneralRow<Scalar, Real, Space, lu::AnyLanes<Space>>::bytes(longest);
  }

  template <class Real, class LaneGroup>
  KOKKOS_FUNCTION void do_row(const LaneGroup& lane_group, char* base, int i, Real floor,
                              Pivoting pivoting) const {
    const GeneralRow<Scalar, Real, Space, LaneGroup> row(lane_group, a, row_scale, base, inverse.length(i));
    const int own = static_cast<int>(inverse.pattern.first_from(i, i) - inverse.begin(i));
    const RowResult result = row.solve(inverse.cols(i), own, floor, pivoting);
    if (lu::Status::end_row(lane_group, status, i, result, pivoting))
      inverse.write(lane_group, i, own, row, result, diagonal(i) == 0 ? 1.0 : 1 / double(diagonal(i)));
  }
};

/// The setup's launches.
template <class Scalar, class Space>
class GeneralSetup : public RowSetup<Scalar, Space> {
 public:
  using RowSetup<Scalar, Space>::RowSetup;

  /// \throws InputError where the system of a row takes more than `memory_budget` in double, which it may
  /// need
  LongestRow check_rows(const CsrGraphView<Space>& pattern) {
    return this->check_longest(pattern, GeneralSystems<Scalar, Space>::template bytes<double>);
  }

  /// M's values. \pre check_rows
  void solve(const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values, bool in_single) {
    const auto sizes = lu::measure_rows<Scalar, Space>(this->m_space, this->m_a, "prekond::isai::numeric",
                                                       /*with_magnitude=*/false);
    const auto status = allocate<Vector<unsigned char, Space>>(
        this->m_space, "prekond::isai::numeric::status", this->m_a.num_rows);
    const GeneralSystems<Scalar, Space> systems{
        this->m_a, sizes.scale, sizes.diagonal, {pattern, values, this->m_outcome}, status};
    lu::solve_in_turn(in_single, [&](auto floor, Pivoting pivoting, bool again) {
      this->solve_bins(systems, pattern.row_ptrs, again ? status : Vector<unsigned char, Space>(), floor,
                       pivoting);
    });
    this->m_space.fence("prekond::isai::numeric::solved");
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
    return power<Space>(space, s, options.power, options.memory_budget, options.workspace_budget);
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
                                      this->options().memory_budget)
              : Base::make_pattern(space, source);
    m_block_rows = b;
    return pattern;
  }

  BreakdownCounter solve(const Space& space, const matrix_source& source, const matrix_type& m,
                         Report& report) override {
    const auto* blocks = source.blocks();
    const bool by_blocks =
        m_block_rows > 0 && blocks != nullptr && blocks->padding == 0 && blocks->block_size == m_block_rows;
    if (!by_blocks) {
      GeneralSetup<Scalar, Space> setup(space, source.csr(), source.wanted_rows(),
                                        this->options().workspace_limits(), this->name());
      return solve_by(setup, space, m, {}, report);
    }
    GeneralBlockSetup<Scalar, Space> setup(space, Blocks(*blocks), source.wanted_rows(),
                                           this->options().workspace_limits(), this->name());
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
