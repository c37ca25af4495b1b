// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include "matrix/filter_entries.hpp"
#include "precond/multigrid/strength.hpp"

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"

#include <string>

namespace prekond {
namespace impl::influences {

/// The entries of a row that count: of its own unknown.
template <class Scalar, class Space>
struct OwnUnknown {
  CsrView<Scalar, Space> a;
  VectorView<const int, Space> unknown_of;

  KOKKOS_FORCEINLINE_FUNCTION bool has(std::int64_t i, std::size_t k) const {
    const int j = a.col_idxs(k);
    return j < a.num_rows && (unknown_of.extent(0) == 0 || unknown_of(i) == unknown_of(j));
  }
};

/// The entry of each row that is farthest from 0 on the side that the diagonal is not on; 0 where there is
/// none, and of the rows that are exceptions.
template <class Scalar, class Space>
struct FarthestEntries {
  using Rows = RowTeams<Space>;
  OwnUnknown<Scalar, Space> entries;
  double max_row_sum;
  VectorView<double, Space> farthest;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{entries.a.num_rows}.for_each_row(team, [&](std::int64_t i) { do_row(team, i); });
  }
  KOKKOS_FUNCTION void do_row(const typename Rows::Member& team, std::int64_t i) const {
    const CsrView<Scalar, Space>& a = entries.a;
    const auto range = Kokkos::ThreadVectorRange(team, a.row_ptrs(i), a.row_ptrs(i + 1));
    double diagonal = 0, others = 0, least = 0, most = 0;
    Kokkos::parallel_reduce(
        range, [&](std::size_t k, double& sum) { sum += a.col_idxs(k) == i ? value(k) : 0; }, diagonal);
    Kokkos::parallel_reduce(
        range, [&](std::size_t k, double& sum) { sum += is_other(i, k) ? value(k) : 0; }, others);
    Kokkos::parallel_reduce(
        range,
        [&](std::size_t k, double& sofar) {
          if (is_other(i, k) && value(k) < sofar) sofar = value(k);
        },
        Kokkos::Min<double>(least));
    Kokkos::parallel_reduce(
        range,
        [&](std::size_t k, double& sofar) {
          if (is_other(i, k) && value(k) > sofar) sofar = value(k);
        },
        Kokkos::Max<double>(most));
    Kokkos::single(Kokkos::PerThread(team), [&] {
      const bool is_exception =
          max_row_sum < 1 && Kokkos::abs(diagonal + others) > max_row_sum * Kokkos::abs(diagonal);
      const double far = diagonal < 0 ? Kokkos::fmax(most, 0.0) : Kokkos::fmin(least, 0.0);
      farthest(i) = is_exception ? 0.0 : far;
    });
  }
  KOKKOS_FORCEINLINE_FUNCTION double value(std::size_t k) const { return to_double(entries.a.values(k)); }
  KOKKOS_FORCEINLINE_FUNCTION bool is_other(std::int64_t i, std::size_t k) const {
    return entries.a.col_idxs(k) != i && entries.has(i, k);
  }
};

/// The diagonal is not on the farthest entry's side of 0.
template <class Scalar, class Space>
struct IsInfluence {
  OwnUnknown<Scalar, Space> entries;
  VectorView<const double, Space> farthest;
  double theta;

  KOKKOS_FUNCTION bool operator()(std::int64_t i, std::size_t k) const {
    if (!entries.has(i, k)) return false;
    const double far = farthest(i), value = to_double(entries.a.values(k));
    return far < 0 ? value < 0 && value <= theta * far : value > 0 && far > 0 && value >= theta * far;
  }
};

}  // namespace impl::influences

namespace {

void check(double value, const char* name) {
  if (!(value >= 0 && value <= 1))
    throw InputError(std::string("strong_influences: ") + name + " is " + std::to_string(value) +
                     "; it must be from 0 to 1");
}

}  // namespace

template <class Scalar, class Space>
CsrGraph<Space> strong_influences(const Space& space, const CsrView<Scalar, Space>& a,
                                  const InfluenceOptions<Space>& options) {
  using namespace impl::influences;
  check(options.theta, "theta");
  check(options.max_row_sum, "max_row_sum");
  const auto listed = static_cast<std::int64_t>(options.unknown_of.extent(0));
  if (listed != 0 && listed != a.num_rows)
    throw InputError("strong_influences: unknown_of has " + std::to_string(listed) + " entries for " +
                     std::to_string(a.num_rows) + " rows; give one a row, or none");
  const auto farthest =
      allocate<Vector<double, Space>>(space, "prekond::strong_influences::farthest", a.num_rows);
  const OwnUnknown<Scalar, Space> entries{a, options.unknown_of};
  Kokkos::parallel_for("prekond::strong_influences::farthest",
                       impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                       FarthestEntries<Scalar, Space>{entries, options.max_row_sum, farthest});
  CsrGraph<Space> result =
      filter_pattern<Scalar, Space>(space, a, IsInfluence<Scalar, Space>{entries, farthest, options.theta});
  result.num_cols = a.num_rows;
  space.fence("prekond::strong_influences");  // the scales are freed
  return result;
}

#define PREKOND_STRONG_INFLUENCES(Scalar, Space)                                                         \
  template CsrGraph<Space> strong_influences<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&, \
                                                            const InfluenceOptions<Space>&);
PREKOND_INSTANTIATE(PREKOND_STRONG_INFLUENCES)

}  // namespace prekond
