// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/prolongator.hpp"

#include <prekond/krylov/lanczos.hpp>
#include <prekond/pattern/impl/threshold.hpp>
#include <prekond/precond/jacobi.hpp>
#include "core/lane_group.hpp"
#include "matrix/filter_entries.hpp"

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "sparse_product/host_transpose.hpp"

#include <algorithm>
#include <cmath>

namespace prekond::impl::amg {
namespace {

/// A Ritz value is taken after a few steps where its residual is small. An eigenvalue apart from the others
/// may be hidden then; the margin allows for it, and a Chebyshev polynomial of degree 2 with eigenvalue_ratio
/// 7 is positive up to 1.14 times what it takes for the largest eigenvalue.
struct LanczosTuning {
  static constexpr int few_steps = 10, steps = 20;
  static constexpr double residual = 0.05, margin = 1.15;
};

template <class Scalar, class Space>
struct IsKept {
  CsrView<Scalar, Space> a;
  CsrGraphView<Space> strong;
  int unknowns;
  KOKKOS_FUNCTION bool operator()(std::int64_t i, std::size_t k) const {
    const int col = a.col_idxs(k);
    if (col >= a.num_rows) return false;
    const std::int64_t node = i / unknowns, other = col / unknowns;
    if (node == other) return true;
    const std::size_t place = strong.first_from(node, other);
    return place < strong.row_ptrs(node + 1) && strong.col_idxs(place) == other;
  }
};

/// A_F's values in a row, by a vector of lanes.
template <class Scalar, class Space>
struct FilterValues {
  CsrView<Scalar, Space> a;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> f;
  CsrGraphView<Space> of_f;  ///< f's pattern

  /// Both sorted rows side by side.
  KOKKOS_FUNCTION void merge_row(std::int64_t i) const {
    const std::size_t end = a.row_ptrs(i + 1), end_f = f.row_ptrs(i + 1);
    std::size_t to = f.row_ptrs(i), diagonal = to;
    Scalar dropped = 0;
    for (std::size_t k = a.row_ptrs(i); k < end && a.col_idxs(k) < a.num_rows; ++k) {
      const int col = a.col_idxs(k);
      for (; to < end_f && f.col_idxs(to) < col; ++to) f.values(to) = Scalar(0);
      if (to < end_f && f.col_idxs(to) == col)
        f.values(to++) = a.values(k);
      else
        dropped += a.values(k);
    }
    for (; to < end_f; ++to) f.values(to) = Scalar(0);
    while (f.col_idxs(diagonal) != i) ++diagonal;
    f.values(diagonal) += dropped;
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void do_row(const LaneGroup& lane_group, std::int64_t i) const {
    if constexpr (is_host_space<Space>)
      merge_row(i);
    else
      look_up_row(lane_group, i);
  }

  /// That of A's k-th entry in row i of F, or the row's end: it has its place from the beginning where
  /// nothing is dropped before it, and from the end where nothing is after it.
  KOKKOS_FUNCTION std::size_t place_in_f(std::int64_t i, std::size_t k) const {
    const std::size_t begin = f.row_ptrs(i), end = f.row_ptrs(i + 1);
    const int col = a.col_idxs(k);
    const std::size_t from_begin = begin + (k - a.row_ptrs(i)), to_end = a.row_ptrs(i + 1) - k;
    if (from_begin < end && f.col_idxs(from_begin) == col) return from_begin;
    if (to_end <= end - begin && f.col_idxs(end - to_end) == col) return end - to_end;
    const std::size_t place = of_f.first_from(i, col);
    return place < end && f.col_idxs(place) == col ? place : end;
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void look_up_row(const LaneGroup& lane_group, std::int64_t i) const {
    const std::size_t end = a.row_ptrs(i + 1), end_f = f.row_ptrs(i + 1);
    lane_group.region([&](int lane) {
      for (std::size_t k = f.row_ptrs(i) + lane; k < end_f; k += LaneGroup::width) f.values(k) = Scalar(0);
    });
    const Scalar dropped = lane_group.template sum<Scalar>([&](int lane) {
      Scalar mine = 0;
      for (std::size_t k = a.row_ptrs(i) + lane; k < end; k += LaneGroup::width) {
        if (a.col_idxs(k) >= a.num_rows) continue;
        const std::size_t place = place_in_f(i, k);
        if (place < end_f)
          f.values(place) = a.values(k);
        else
          mine += a.values(k);
      }
      return mine;
    });
    lane_group.once([&] { f.values(of_f.first_from(i, i)) += dropped; });
  }
};

/// A row of P^T, by a vector of lanes.
template <class Scalar, class Space>
struct TransposeRows {
  CsrView<Scalar, Space> p;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> r;
  CsrGraphView<Space> of_p;

  template <class LaneGroup>
  KOKKOS_FUNCTION void do_row(const LaneGroup& lane_group, std::int64_t j) const {
    const std::size_t end = r.row_ptrs(j + 1);
    lane_group.region([&](int lane) {
      for (std::size_t k = r.row_ptrs(j) + lane; k < end; k += LaneGroup::width)
        r.values(k) = p.values(of_p.first_from(r.col_idxs(k), j));
    });
  }
};

/// sum_j |f_ij| and d_i of each row, by a vector of lanes.
template <class Scalar, class Space>
struct SumRows {
  CsrView<Scalar, Space> f;
  RowTeams<Space> rows;
  VectorView<double, Space> sums, diagonal;  ///< `diagonal` is zero before

  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    rows.for_each_row(team, [&](std::int64_t i) {
      double sum = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, f.row_ptrs(i), f.row_ptrs(i + 1)),
          [&](std::size_t k, double& mine) {
            if (f.col_idxs(k) >= f.num_rows) return;
            mine += Kokkos::abs(double(f.values(k)));
            if (f.col_idxs(k) == i) diagonal(i) = f.values(k);
          },
          sum);
      Kokkos::single(Kokkos::PerThread(team), [&] { sums(i) = sum; });
    });
  }
};

/// The largest sum_j |f_ij| / d_i, and how many rows have no positive finite d_i or sum.
template <class Space>
struct LargestNorm {
  VectorView<const double, Space> sums, diagonal;
  KOKKOS_FUNCTION void operator()(std::int64_t i, double& most, std::int64_t& unusable) const {
    const double norm = sums(i) / diagonal(i);
    if (!(diagonal(i) > 0) || !Kokkos::isfinite(norm))
      ++unusable;
    else if (norm > most)
      most = norm;
  }
};

/// Q - omega D^-1 (F Q) in a row of P, by a vector of lanes.
template <class Scalar, class Space>
struct SmoothRows {
  CsrView<Scalar, Space> f, q;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> p;
  double omega;

  template <class LaneGroup>
  KOKKOS_FUNCTION void do_row(const LaneGroup& lane_group, std::int64_t i) const {
    const std::size_t end = f.row_ptrs(i + 1), end_p = p.row_ptrs(i + 1);
    const double diagonal = lane_group.template sum<double>([&](int lane) {
      double mine = 0;
      for (std::size_t k = f.row_ptrs(i) + lane; k < end; k += LaneGroup::width)
        if (f.col_idxs(k) == i) mine = f.values(k);
      return mine;
    });
    const bool usable = diagonal > 0 && Kokkos::isfinite(omega / diagonal);
    const double factor = usable ? omega / diagonal : 0;
    const std::size_t of_q = q.row_ptrs(i);
    const auto length = static_cast<int>(q.row_ptrs(i + 1) - of_q);
    const int first = length > 0 ? q.col_idxs(of_q) : 0;
    lane_group.region([&](int lane) {
      for (std::size_t k = p.row_ptrs(i) + lane; k < end_p; k += LaneGroup::width) {
        const int place = p.col_idxs(k) - first;
        const double own = place >= 0 && place < length ? double(q.values(of_q + place)) : 0;
        p.values(k) = Scalar(usable ? own - factor * double(p.values(k)) : own);
      }
    });
  }
};

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// Rows by vectors of lanes, one each; on the host a thread has a block of rows.
template <class Row, class Space, int Lanes>
struct EachRow {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, Lanes>;
  static constexpr int rows_per_team = is_host_space<Space> ? 256 : 128 / Lanes;

  Row row;
  std::int64_t num_rows;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t begin = std::int64_t(team.league_rank()) * rows_per_team;
    const std::int64_t end = begin + rows_per_team < num_rows ? begin + rows_per_team : num_rows;
    for (std::int64_t i = begin + team.team_rank(); i < end; i += team.team_size())
      row.do_row(LaneGroup(team), i);
  }
};

template <int Lanes, class Row, class Space>
void for_rows(const Space& space, const char* label, std::int64_t num_rows, const Row& row) {
  using Kernel = EachRow<Row, Space, Lanes>;
  const auto teams = static_cast<int>((num_rows + Kernel::rows_per_team - 1) / Kernel::rows_per_team);
  constexpr int threads = is_host_space<Space> ? 1 : Kernel::rows_per_team;
  Kokkos::parallel_for(label,
                       typename Kernel::Policy(space, teams, threads, is_host_space<Space> ? 1 : Lanes),
                       Kernel{row, num_rows});
}

}  // namespace

template <class Scalar, class Space>
RowSums row_sums(const Space& space, const CsrView<Scalar, Space>& f) {
  RowSums result;
  const auto sums = allocate<Vector<double, Space>>(space, "prekond::amg::row_sums", f.num_rows);
  const auto diagonal = allocate_zero<Vector<double, Space>>(space, "prekond::amg::diagonal", f.num_rows);
  Kokkos::parallel_for("prekond::amg::sum_rows", RowTeams<Space>::policy(space, f.num_rows, f.nnz()),
                       SumRows<Scalar, Space>{f, {f.num_rows}, sums, diagonal});
  Kokkos::parallel_reduce("prekond::amg::largest_norm", Rows<Space>(space, 0, f.num_rows),
                          LargestNorm<Space>{sums, diagonal}, Kokkos::Max<double>(result.most),
                          Kokkos::Sum<std::int64_t>(result.unusable));
  if (!(result.most > 0)) result.most = 1;  // no row is usable
  return result;
}

template <class Scalar, class Space>
double largest_scaled_eigenvalue(const Space& space, const CsrView<Scalar, Space>& f,
                                 const Operator<Scalar, Space>& products, const RowSums& sums,
                                 const Reducer<Scalar, Space>& reducer) {
  if (sums.is_dominant()) return sums.most;
  Jacobi<Scalar, Space> jacobi;
  jacobi.numeric(space, f);
  const double found = estimated_largest_eigenvalue<Scalar, Space>(space, products, jacobi, reducer);
  if (sums.unusable > 0) return found > 0 ? found : sums.most;
  return found > 0 ? std::min(found, sums.most) : sums.most;
}

template <class Scalar, class Space>
double estimated_largest_eigenvalue(const Space& space, const Operator<Scalar, Space>& a,
                                    const Preconditioner<Scalar, Space>& m,
                                    const Reducer<Scalar, Space>& reducer) {
  const auto after = [&](int steps) {
    return lanczos<Scalar, Space>(space, a, &m, {.steps = steps}, reducer);
  };
  const LanczosResult few = after(LanczosTuning::few_steps);
  const RitzValue& theta = few.largest;
  if (theta.bound < LanczosTuning::residual * theta.value)
    return std::min(LanczosTuning::margin * theta.value, few.upper_bound);
  const double bound = after(LanczosTuning::steps).upper_bound;
  return bound > 0 && std::isfinite(bound) ? bound : 0;
}

template <class Scalar, class Space>
CsrGraph<Space> filtered_pattern(const Space& space, const CsrView<Scalar, Space>& a,
                                 const std::type_identity_t<CsrGraphView<Space>>& strong, int unknowns) {
  CsrGraph<Space> kept = filter_pattern<Scalar, Space>(space, a, IsKept<Scalar, Space>{a, strong, unknowns});
  kept.num_cols = a.num_rows;
  return with_diagonal<Space>(space, kept);
}

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> filtered_matrix(
    const Space& space, const CsrView<Scalar, Space>& a, const CsrGraph<Space>& pattern) {
  const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> f(
      pattern.num_rows, pattern.num_cols, pattern.row_ptrs, pattern.col_idxs,
      allocate<Vector<Scalar, Space>>(space, "prekond::amg::filtered_matrix", pattern.nnz()));
  constexpr const char* label = "prekond::amg::filter_values";
  if (pattern.nnz() / pattern.num_rows < 12)
    for_rows<8>(space, label, a.num_rows, FilterValues<Scalar, Space>{a, f, f});
  else
    for_rows<32>(space, label, a.num_rows, FilterValues<Scalar, Space>{a, f, f});
  return f;
}

template <class Scalar, class Space>
void smooth_prolongator(const Space& space, const CsrView<Scalar, Space>& f, double omega,
                        const CsrView<Scalar, Space>& q,
                        const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& p) {
  constexpr const char* label = "prekond::amg::smooth_prolongator";
  if (f.nnz() / f.num_rows < 12)
    for_rows<4>(space, label, p.num_rows, SmoothRows<Scalar, Space>{f, q, p, omega});
  else
    for_rows<16>(space, label, p.num_rows, SmoothRows<Scalar, Space>{f, q, p, omega});
}

template <class Scalar, class Space>
void write_transpose(const Space& space, const CsrView<Scalar, Space>& p,
                     const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& r) {
  if (r.nnz() == 0) return;
  if constexpr (is_host_space<Space>)
    HostTranspose<Scalar, Space>(space, p).write(r, false);
  else
    for_rows<32>(space, "prekond::amg::transpose", r.num_rows, TransposeRows<Scalar, Space>{p, r, p});
}

#define PREKOND_AMG_SMOOTHING(Scalar, Space)                                                                \
  template CsrGraph<Space> filtered_pattern<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&,     \
                                                           const CsrGraphView<Space>&, int);                \
  template CsrMatrix<Scalar, int, std::size_t, Space::memory_space> filtered_matrix<Scalar, Space>(         \
      const Space&, const CsrView<Scalar, Space>&, const CsrGraph<Space>&);                                 \
  template RowSums row_sums<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&);                    \
  template double estimated_largest_eigenvalue<Scalar, Space>(const Space&, const Operator<Scalar, Space>&, \
                                                              const Preconditioner<Scalar, Space>&,         \
                                                              const Reducer<Scalar, Space>&);               \
  template double largest_scaled_eigenvalue<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&,     \
                                                           const Operator<Scalar, Space>&, const RowSums&,  \
                                                           const Reducer<Scalar, Space>&);                  \
  template void smooth_prolongator<Scalar, Space>(                                                          \
      const Space&, const CsrView<Scalar, Space>&, double, const CsrView<Scalar, Space>&,                   \
      const CsrMatrix<Scalar, int, std::size_t, Space::memory_space>&);                                     \
  template void write_transpose<Scalar, Space>(                                                             \
      const Space&, const CsrView<Scalar, Space>&,                                                          \
      const CsrMatrix<Scalar, int, std::size_t, Space::memory_space>&);
PREKOND_INSTANTIATE(PREKOND_AMG_SMOOTHING)

}  // namespace prekond::impl::amg
