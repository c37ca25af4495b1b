// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/amg/smoothing_matrix.hpp"

#include <prekond/core/levels.hpp>
#include <prekond/krylov/lanczos.hpp>
#include <prekond/matrix/filter_entries.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/pattern/threshold.hpp>
#include <prekond/precond/jacobi.hpp>

#include "instantiate.hpp"

#include <cmath>

namespace prekond::impl::amg {
namespace {

struct SmoothingTuning {
  static constexpr int lanczos_steps = 10;
  static constexpr double boost = 1.1;  ///< what ten steps may lack of the largest eigenvalue
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
template <class Scalar, class Space, int Lanes>
struct FilterValues {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using Level = NativeVectorLevel<Space, Member, Lanes>;
  CsrView<Scalar, Space> a;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> f;
  CsrGraphView<Space> of_a, of_f;  ///< their patterns

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t i = std::int64_t(team.league_rank()) * team.team_size() + team.team_rank();
    if (i < a.num_rows) do_row(Level(team), i);
  }
  /// The place of a column in a row; the row's end where it is not there.
  KOKKOS_FUNCTION static std::size_t find(const CsrGraphView<Space>& pattern, std::int64_t i, int col) {
    const std::size_t place = pattern.first_from(i, col), end = pattern.row_ptrs(i + 1);
    return place < end && pattern.col_idxs(place) == col ? place : end;
  }

  KOKKOS_FUNCTION void do_row(const Level& level, std::int64_t i) const {
    const std::size_t end = a.row_ptrs(i + 1), end_f = f.row_ptrs(i + 1);
    level.region([&](int lane) {
      for (std::size_t k = f.row_ptrs(i) + lane; k < end_f; k += Level::width) {
        const std::size_t place = find(of_a, i, f.col_idxs(k));
        f.values(k) = place < end ? a.values(place) : Scalar(0);
      }
    });
    const Scalar dropped = level.template sum<Scalar>([&](int lane) {
      Scalar mine = 0;
      for (std::size_t k = a.row_ptrs(i) + lane; k < end; k += Level::width)
        if (a.col_idxs(k) < a.num_rows && find(of_f, i, a.col_idxs(k)) == end_f) mine += a.values(k);
      return mine;
    });
    level.once([&] { f.values(of_f.first_from(i, i)) += dropped; });
  }
};

template <class Scalar, class Space>
struct RowNorm {
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> f;
  KOKKOS_FUNCTION void operator()(std::int64_t i, double& most) const {
    double sum = 0, diagonal = 0;
    for (std::size_t k = f.row_ptrs(i); k < f.row_ptrs(i + 1); ++k) {
      sum += Kokkos::abs(double(f.values(k)));
      if (f.col_idxs(k) == i) diagonal = f.values(k);
    }
    if (diagonal > 0 && sum / diagonal > most && Kokkos::isfinite(sum / diagonal)) most = sum / diagonal;
  }
};

/// A_F becomes I - omega D^-1 A_F.
template <class Scalar, class Space>
struct MakeSmoothing {
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> f;
  CsrGraphView<Space> of_f;
  double omega;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const double diagonal = f.values(of_f.first_from(i, i));
    const double factor = omega / diagonal;
    const bool usable = diagonal > 0 && Kokkos::isfinite(factor);
    for (std::size_t k = f.row_ptrs(i); k < f.row_ptrs(i + 1); ++k) {
      const double one = f.col_idxs(k) == i ? 1 : 0;
      f.values(k) = Scalar(usable ? one - factor * double(f.values(k)) : one);
    }
  }
};

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <int Lanes, class Scalar, class Space>
void filter_values(const Space& space, const FilterValues<Scalar, Space, Lanes>& kernel) {
  const int team = is_host_space<Space> ? 1 : 128 / Lanes;
  Kokkos::parallel_for("prekond::amg::filter_values",
                       typename FilterValues<Scalar, Space, Lanes>::Policy(
                           space, static_cast<int>((kernel.a.num_rows + team - 1) / team), team,
                           is_host_space<Space> ? 1 : Lanes),
                       kernel);
}

template <class Scalar, class Space>
double largest_eigenvalue(const Space& space,
                          const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& f) {
  Jacobi<Scalar, Space> jacobi;
  jacobi.numeric(space, f);
  const LanczosResult found = lanczos<Scalar, Space>(space, CsrOperator<Scalar, Space>(f), &jacobi,
                                                     {.steps = SmoothingTuning::lanczos_steps});
  const double lambda = SmoothingTuning::boost * found.largest.value;
  const bool usable = found.steps > 0 && lambda > 0 && std::isfinite(lambda) &&
                      found.reason != LanczosEnd::preconditioner_not_spd && found.reason != LanczosEnd::nan;
  if (usable) return lambda;
  double most = 0;
  Kokkos::parallel_reduce("prekond::amg::row_norm", Rows<Space>(space, 0, f.num_rows),
                          RowNorm<Scalar, Space>{f}, Kokkos::Max<double>(most));
  return most > 0 ? most : 1;
}

}  // namespace

template <class Scalar, class Space>
CsrGraph<Space> filtered_pattern(const Space& space, const CsrView<Scalar, Space>& a,
                                 const std::type_identity_t<CsrGraphView<Space>>& strong, int unknowns) {
  const auto kept = filter_entries<Scalar, Space>(space, a, IsKept<Scalar, Space>{a, strong, unknowns});
  const CsrGraph<Space> pattern{a.num_rows, a.num_rows, kept.row_ptrs, kept.col_idxs};
  return with_diagonal<Space>(space, pattern);
}

template <class Scalar, class Space>
SmoothingMatrix<Scalar, Space> smoothing_matrix(const Space& space, const CsrView<Scalar, Space>& a,
                                                const CsrGraph<Space>& pattern, double damping) {
  SmoothingMatrix<Scalar, Space> result;
  result.s = {pattern.num_rows, pattern.num_cols, pattern.row_ptrs, pattern.col_idxs,
              allocate<Vector<Scalar, Space>>(space, "prekond::amg::smoothing_matrix", pattern.nnz())};
  if (pattern.nnz() / pattern.num_rows < 12)
    filter_values<8>(space, FilterValues<Scalar, Space, 8>{a, result.s, a, result.s});
  else
    filter_values<32>(space, FilterValues<Scalar, Space, 32>{a, result.s, a, result.s});
  result.lambda = largest_eigenvalue<Scalar, Space>(space, result.s);
  Kokkos::parallel_for("prekond::amg::smoothing_matrix", Rows<Space>(space, 0, pattern.num_rows),
                       MakeSmoothing<Scalar, Space>{result.s, result.s, damping / result.lambda});
  return result;
}

#define PREKOND_AMG_SMOOTHING(Scalar, Space)                                                            \
  template CsrGraph<Space> filtered_pattern<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&, \
                                                           const CsrGraphView<Space>&, int);            \
  template SmoothingMatrix<Scalar, Space> smoothing_matrix<Scalar, Space>(                              \
      const Space&, const CsrView<Scalar, Space>&, const CsrGraph<Space>&, double);
PREKOND_INSTANTIATE(PREKOND_AMG_SMOOTHING)

}  // namespace prekond::impl::amg
