// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The launches of the setup of NonsymmetricFsai.
#include "matrix/find_entry.hpp"

#include "precond/approximate_inverse/nonsymmetric_fsai/row.hpp"
#include "precond/approximate_inverse/row_lu/lu_rows.hpp"
#include "precond/scaling/equilibrate.hpp"
#include "precond/setup/breakdown_counter.hpp"

#include <optional>
#include <utility>

namespace prekond::impl::nonsymmetric_fsai {

using lu::Status;

/// The systems of the rows of G_L and the columns of G_U.
template <class Scalar, class Space>
struct Systems {
  CsrView<Scalar, Space> a;
  VectorView<const double, Space> row_scale;
  CsrGraphView<Space> pattern;
  VectorView<Scalar, Space> lower;
  VectorView<Scalar, Space> upper;
  VectorView<unsigned char, Space> status;
  VectorView<BreakdownCounter, Space> outcome;

  template <class Real>
  static std::size_t bytes(int longest) {
    return Row<Scalar, Real, Space, lu::AnyLanes<Space>>::bytes(longest);
  }

  template <class Real, class LaneGroup>
  KOKKOS_FUNCTION void do_row(const LaneGroup& lane_group, char* base, int i, Real floor,
                              Pivoting pivoting) const {
    const std::size_t begin = pattern.row_ptrs(i);
    const int length = static_cast<int>(pattern.row_ptrs(i + 1) - begin);
    const Row<Scalar, Real, Space, LaneGroup> row(lane_group, a, row_scale, base, length);
    const RowResult result = row.solve(pattern.col_idxs.data() + begin, floor, pivoting);
    if (!Status::end_row(lane_group, status, i, result, pivoting)) return;
    lane_group.region([&](int lane) {
      for (int k = lane; k < length; k += lane_group.size()) {
        lower(begin + k) = result.last ? Scalar(k == length - 1) : static_cast<Scalar>(row.lower(k));
        upper(begin + k) = result.last ? Scalar(k == length - 1) : static_cast<Scalar>(row.upper(k));
      }
    });
    if (result.dropped) lane_group.once([&] { BreakdownCounter::note_first(outcome(0), i, result.pivot); });
  }
};

/// Scales row i of G_L and column i of G_U, with unit diagonals and s = g_L A g_U, by 1 / sqrt|s| and sign(s)
/// / sqrt|s|, in double. Where s is too small or not finite they become 1 / sqrt|a_ii| on the diagonal.
/// Counts the rows that broke down.
template <class Scalar, class Space, int Width>
struct ScaleRows : VectorRows<Space, Width> {
  using typename VectorRows<Space, Width>::Member;
  using typename VectorRows<Space, Width>::LaneGroup;
  using VectorRows<Space, Width>::width;

  CsrView<Scalar, Space> a;
  VectorView<const Scalar, Space> diagonal;
  VectorView<const Scalar, Space> magnitude;
  CsrGraphView<Space> pattern;
  VectorView<Scalar, Space> lower;
  VectorView<Scalar, Space> upper;
  VectorView<const unsigned char, Space> status;
  VectorView<BreakdownCounter, Space> outcome;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_rows(team, a.num_rows, [&](const LaneGroup& lane_group, int i) { scale_row(lane_group, i); });
  }

  KOKKOS_FUNCTION void scale_row(const LaneGroup& lane_group, int i) const {
    const std::size_t begin = pattern.row_ptrs(i), end = pattern.row_ptrs(i + 1);
    const double s = lane_group.template sum<double>([&](int lane) {
      double sum = 0;
      for (std::size_t j = begin; j < end; ++j) sum += double(lower(j)) * row_product(begin, end, j, lane);
      return sum;
    });
    const double relative = s / double(magnitude(i));
    const bool sound = Kokkos::abs(relative) > 16 * 2.220446049250313e-16 && Kokkos::isfinite(relative);
    const double pivot = sound ? s : (diagonal(i) != 0 ? double(diagonal(i)) : 1.0);
    const double scale = 1 / Kokkos::sqrt(Kokkos::abs(pivot)), signed_scale = pivot < 0 ? -scale : scale;
    lane_group.region([&](int lane) {
      for (std::size_t k = begin + lane; k < end; k += width) {
        const bool last = k + 1 == end;
        lower(k) = static_cast<Scalar>(sound ? double(lower(k)) * scale : (last ? scale : 0));
        upper(k) = static_cast<Scalar>(sound ? double(upper(k)) * signed_scale : (last ? signed_scale : 0));
      }
    });
    lane_group.once([&] { count(i, sound, static_cast<float>(relative)); });
  }

  KOKKOS_FUNCTION void count(int i, bool sound, float relative) const {
    if ((sound && status(i) == Status::solved) || !BreakdownCounter::counts(outcome(0), i)) return;
    if (status(i) == Status::solved) BreakdownCounter::note_first(outcome(0), i, relative);
    const bool shortened = sound && status(i) == Status::shortened;
    Kokkos::atomic_inc(shortened ? &outcome(0).pivots : &outcome(0).diagonals);
  }

  /// A lane's part of sum_c a_jc g_c, for the place j in the row, over the row's columns c.
  KOKKOS_FUNCTION double row_product(std::size_t begin, std::size_t end, std::size_t j, int lane) const {
    const int first = pattern.col_idxs(begin), last = pattern.col_idxs(end - 1), row = pattern.col_idxs(j);
    double sum = 0;
    if (a.row_ptrs(row + 1) - a.row_ptrs(row) >= 32 * (end - begin)) {  // a dense row is not read for each g
      for (std::size_t k = begin + lane; k < end; k += width) {
        std::size_t place = 0;
        const double value = find_entry(a, row, pattern.col_idxs(k), place);
        if (place < a.row_ptrs(row + 1)) sum += value * double(upper(k));
      }
      return sum;
    }
    std::size_t k = begin;  // on the host the two lists are merged, where they are of like lengths
    const bool merges = width == 1 && (end - begin) / 32 < a.row_ptrs(row + 1) - a.row_ptrs(row);
    for (std::size_t entry = a.row_ptrs(row) + lane; entry < a.row_ptrs(row + 1); entry += width) {
      const int col = a.col_idxs(entry);
      if (col > last) break;
      if (col < first) continue;
      if (merges)
        while (pattern.col_idxs(k) < col) ++k;
      else
        k = this->find_from(pattern, k, end - 1, col);
      if (pattern.col_idxs(k) == col) sum += double(a.values(entry)) * double(upper(k));
    }
    return sum;
  }
};

/// A place is kept where it is large in either factor.
template <class Scalar, class Space>
struct KeepEither {
  KeepLarge<Scalar, Space> lower;
  KeepLarge<Scalar, Space> upper;
  KOKKOS_FUNCTION bool operator()(std::int64_t row, std::size_t k) const {
    return lower(row, k) || upper(row, k);
  }
};

/// Extremes of 2^-k, with the largest entries of rows in [2^k, 2^(k + 1)).
template <class Space>
struct RangeOfScales {
  VectorView<const double, Space> scale;
  KOKKOS_FUNCTION void operator()(std::int64_t i, double& min, double& max) const {
    if (scale(i) < min) min = scale(i);
    if (scale(i) > max) max = scale(i);
  }
};

/// The setup's launches.
template <class Scalar, class Space>
class Setup {
 public:
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  /// `wanted`: see MatrixSource.
  Setup(const Space& space, const CsrView<Scalar, Space>& a,
        const VectorView<const unsigned char, Space>& wanted, const WorkspaceLimits& limits,
        const std::string& name)
      : m_space(space),
        m_a(a),
        m_limits(limits),
        m_name(name),
        m_sizes(lu::measure_rows<Scalar, Space>(space, a, "prekond::nonsymmetric_fsai::numeric", true)),
        m_status(allocate<Vector<unsigned char, Space>>(space, "prekond::nonsymmetric_fsai::numeric::status",
                                                        a.num_rows)),
        m_outcome(make_breakdown_counter(space, "prekond::nonsymmetric_fsai::numeric::outcome", wanted)),
        m_next(allocate<Vector<int, Space>>(space, "prekond::nonsymmetric_fsai::numeric::next", 1)) {
    const auto [least, most] = range_of_rows();
    m_scaled.emplace(space, a, VectorView<const Scalar, Space>(), least, most);
    if (!m_scaled->is_scaled()) return;
    m_a = m_scaled->matrix();
    m_sizes = lu::measure_rows<Scalar, Space>(space, m_a, "prekond::nonsymmetric_fsai::numeric", true);
  }

  /// \throws InputError where a row's system takes more than `memory_budget`, in double, which it may need
  LongestRow check_rows(const CsrGraphView<Space>& pattern) {
    const LongestRow longest = longest_row<Space>(m_space, pattern.row_ptrs);
    check_slab(m_name, longest,
               Systems<Scalar, Space>::template bytes<double>(static_cast<int>(longest.length)),
               m_limits.system);
    return longest;
  }

  /// The solutions with unit diagonals, into the values of G_L and G_U^T, which have the same pattern.
  /// \pre check_rows
  void solve(const Matrix& lower, const Matrix& upper, bool in_single) {
    const Systems<Scalar, Space> systems{m_a,          m_sizes.scale, lower,    lower.values,
                                         upper.values, m_status,      m_outcome};
    lu::solve_in_turn(in_single, [&](auto floor, Pivoting pivoting, bool again) {
      lu::solve_bins(m_space, systems, VectorView<const std::size_t, Space>(lower.row_ptrs),
                     again ? m_status : Vector<unsigned char, Space>(), floor, pivoting, m_next,
                     m_limits.slab, "prekond::nonsymmetric_fsai::numeric::solve_rows");
    });
  }

  /// Drops the places that are small in both, and says so in the report.
  void postfilter(Matrix& lower, Matrix& upper, double delta, Report& report) {
    const VectorView<const Scalar, Space> magnitude = m_sizes.magnitude;
    const auto least_lower = measure_rows<Scalar, Space>(m_space, lower, lower.values, magnitude, delta);
    const auto least_upper = measure_rows<Scalar, Space>(m_space, upper, upper.values, magnitude, delta);
    const KeepEither<Scalar, Space> keep{{lower, lower.values, magnitude, least_lower},
                                         {upper, upper.values, magnitude, least_upper}};
    report.notes.push_back("G_L and G_U had " + std::to_string(lower.nnz() + upper.nnz()) +
                           " entries before the postfilter");
    const Matrix filtered_lower = filter_entries<Scalar, Space>(m_space, lower, keep);
    const Matrix filtered_upper = filter_entries<Scalar, Space>(m_space, upper, keep);
    m_space.fence("prekond::nonsymmetric_fsai::numeric::postfilter");
    lower = filtered_lower;
    upper = Matrix(lower.num_rows, lower.num_cols, lower.row_ptrs, lower.col_idxs, filtered_upper.values);
  }

  void scale(const Matrix& lower, const Matrix& upper) {
    if (lower.nnz() > 8 * m_a.num_rows)
      scale_by<32>(lower, upper);
    else
      scale_by<8>(lower, upper);
    m_scaled->undo(m_space, lower, lower.values);
    m_scaled->undo(m_space, upper, upper.values);
  }

  BreakdownCounter outcome() const { return fetch(m_space, m_outcome); }

 private:
  /// The least and the largest of the rows' largest entries, but for a factor of two.
  std::pair<Scalar, Scalar> range_of_rows() {
    double least = 1, most = 1;
    Kokkos::parallel_reduce("prekond::nonsymmetric_fsai::numeric::range_of_rows",
                            Kokkos::RangePolicy<Space>(m_space, 0, m_a.num_rows),
                            RangeOfScales<Space>{m_sizes.scale}, Kokkos::Min<double>(least),
                            Kokkos::Max<double>(most));
    return {static_cast<Scalar>(1 / most), static_cast<Scalar>(1 / least)};
  }

  template <int Width>
  void scale_by(const Matrix& lower, const Matrix& upper) {
    const ScaleRows<Scalar, Space, Width> kernel{
        {}, m_a, m_sizes.diagonal, m_sizes.magnitude, lower, lower.values, upper.values, m_status, m_outcome};
    Kokkos::parallel_for("prekond::nonsymmetric_fsai::numeric::scale_rows",
                         kernel.policy(m_space, m_a.num_rows), kernel);
  }

  Space m_space;
  CsrView<Scalar, Space> m_a;
  WorkspaceLimits m_limits;
  std::string m_name;  ///< of the preconditioner
  lu::RowSizes<Scalar, Space> m_sizes;
  Vector<unsigned char, Space> m_status;
  Vector<BreakdownCounter, Space> m_outcome;
  Vector<int, Space> m_next;
  std::optional<Equilibrated<Scalar, Space>> m_scaled;
};

}  // namespace prekond::impl::nonsymmetric_fsai
