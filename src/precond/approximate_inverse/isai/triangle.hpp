// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The ISAI of a triangle.
#include "core/concurrency.hpp"

#include "precond/approximate_inverse/isai/explicit_isai.hpp"
#include "precond/approximate_inverse/isai/row_setup.hpp"
#include "precond/approximate_inverse/isai/triangular_row.hpp"

namespace prekond::impl::isai {

/// The rows of a triangle hold few entries, even where those of M are long, and get few lanes. Workspaces are
/// in scratch where they fit.
inline constexpr fsai::UnitLimits triangle_units{64, 1 << 30};

/// Solves the rows of one bin of a triangle.
template <class Scalar, class Space, Unit unit>
struct SolveTriangular : fsai::RowKernel<Space, unit> {
  using typename fsai::RowKernel<Space, unit>::Member;
  using typename fsai::RowKernel<Space, unit>::LaneGroup;
  using SolvedRow = TriangularRow<Scalar, Space, LaneGroup>;

  CsrView<Scalar, Space> a;
  Triangle triangle;
  InverseRows<Scalar, Space> inverse;
  std::size_t bytes;
  VectorView<int, Space> places;  ///< num_rows for a host thread; empty on a device
  VectorView<const int, Space> rows;
  VectorView<char, Space> workspaces;
  VectorView<int, Space> next;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_rows(team, static_cast<std::int64_t>(rows.extent(0)), bytes, workspaces, next,
                   [&](char* base, std::int64_t k) { do_row(team, base, rows(k)); });
  }

  KOKKOS_FUNCTION void do_row(const Member& team, char* base, int i) const {
    const LaneGroup lane_group(team);
    const int length = inverse.length(i);
    const std::size_t mine =
        static_cast<std::size_t>(a.num_rows) * static_cast<std::size_t>(team.league_rank());
    const SolvedRow row(lane_group, a, triangle, base, length, this->host ? places.data() + mine : nullptr);
    const RowResult result = row.solve(inverse.cols(i));
    inverse.write(lane_group, i, triangle.upper ? 0 : length - 1, row, result, row.diagonal());
  }
};

/// The setup's launches.
template <class Scalar, class Space>
class TriangularSetup : public RowSetup<Scalar, Space> {
 public:
  using RowSetup<Scalar, Space>::RowSetup;

  /// \throws InputError where the workspace of a row takes more than `memory_budget`
  LongestRow check_rows(const CsrGraphView<Space>& pattern) { return this->check_longest(pattern, bytes_of); }

  /// M's values for a triangle of A. \pre check_rows
  void solve(const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values, const Triangle& triangle) {
    const InverseRows<Scalar, Space> inverse{pattern, values, m_outcome};
    const std::int64_t threads = is_host_space<Space> ? concurrency(m_space) : 0;
    const auto places =
        allocate_zero<Vector<int, Space>>(m_space, "prekond::isai::numeric::places", threads * m_a.num_rows);
    fsai::launch_bins<Space>(
        m_space, pattern.row_ptrs, {}, bytes_of,
        [&](auto unit, VectorView<const int, Space> rows, int longest) {
          const std::size_t bytes = bytes_of(longest);
          const SolveTriangular<Scalar, Space, decltype(unit)::value> kernel{
              {}, m_a, triangle, inverse, bytes, places, rows, {}, m_next};
          this->launch(kernel, rows, longest, bytes);
        },
        triangle_units);
  }

 private:
  using RowSetup<Scalar, Space>::m_space;
  using RowSetup<Scalar, Space>::m_a;
  using RowSetup<Scalar, Space>::m_outcome;
  using RowSetup<Scalar, Space>::m_next;

  static std::size_t bytes_of(int longest) {
    return SolveTriangular<Scalar, Space, Unit::slab>::SolvedRow::bytes(longest);
  }
};

/// Isai of kind lower or upper.
template <class Scalar, class Space>
class TriangularIsai : public ExplicitIsai<Scalar, Space> {
 public:
  using typename ExplicitIsai<Scalar, Space>::matrix_source;
  using typename ExplicitIsai<Scalar, Space>::matrix_type;
  using typename ExplicitIsai<Scalar, Space>::matrix_view;
  using ExplicitIsai<Scalar, Space>::ExplicitIsai;

 private:
  bool is_upper() const { return this->options().kind == IsaiKind::upper; }

  CsrGraph<Space> part_of(const Space& space, const CsrGraph<Space>& pattern) const override {
    return is_upper() ? upper_triangle<Space>(space, pattern) : lower_triangle<Space>(space, pattern);
  }

  CsrGraph<Space> power_of_part(const Space& space, const CsrGraphView<Space>& s) const override {
    const IsaiOptions& options = this->options();
    if (is_upper())
      return power<Space>(space, upper_triangle<Space>(space, s), options.power, options.memory_budget,
                          options.workspace_budget);
    const auto lower_power_of = [&](const CsrGraphView<Space>& graph) {
      return lower_power<Space>(space, graph, options.power, options.memory_budget, options.workspace_budget);
    };
    // The powers 0 and 1 are the same of all of A, whose triangle need not be made then.
    return options.power <= 1 ? lower_power_of(s) : lower_power_of(lower_triangle<Space>(space, s));
  }

  BreakdownCounter solve(const Space& space, const matrix_source& source, const matrix_type& m,
                         Report& report) override {
    const matrix_view& a = source.csr();
    const IsaiOptions& options = this->options();
    TriangularSetup<Scalar, Space> setup(space, a, source.wanted_rows(), options.workspace_limits(),
                                         this->name());
    setup.check_rows(m);
    setup.solve(m, m.values, {is_upper(), options.unit_diagonal});
    // By A's mean row, in which entries of the other triangle count too.
    report.numeric_flops = 2.0 * double(m.nnz()) * double(a.nnz()) / double(a.num_rows);
    return setup.outcome();
  }
};

}  // namespace prekond::impl::isai
