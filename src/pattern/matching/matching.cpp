// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "pattern/matching/costs.hpp"

#include <limits>
#include <string>

namespace prekond {
namespace {

/// log |a_ij|, -infinity of what counts as missing, and the largest |a_ij| of each column: bits of
/// nonnegative numbers are in their order, and atomic maxima of integers the same in any.
template <class Scalar, class Space>
struct Logarithms {
  using Rows = impl::RowTeams<Space>;
  CsrView<Scalar, Space> a;
  VectorView<double, Space> log_abs;
  VectorView<std::uint64_t, Space> largest;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = a.row_ptrs(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(a.row_ptrs(i + 1) - begin)),
                           [&](int k) { take(begin + static_cast<std::size_t>(k)); });
    });
  }
  KOKKOS_FUNCTION void take(std::size_t k) const {
    const int col = a.col_idxs(k);
    const double x = Kokkos::abs(to_double(a.values(k)));
    const bool missing = col >= a.num_rows || !(x > 0) || !Kokkos::isfinite(x);
    log_abs(k) = missing ? -Kokkos::Experimental::infinity_v<double> : Kokkos::log(x);
    if (!missing) Kokkos::atomic_max(&largest(col), Kokkos::bit_cast<std::uint64_t>(x));
  }
};

template <class Space>
struct ColumnMaxima {
  VectorView<const std::uint64_t, Space> largest;
  VectorView<double, Space> column_max;

  KOKKOS_FUNCTION void operator()(std::int64_t j) const {
    column_max(j) = largest(j) == 0 ? 0.0 : Kokkos::log(Kokkos::bit_cast<double>(largest(j)));
  }
};

template <class Space>
struct ToCosts {
  VectorView<const int, Space> col_idxs;
  VectorView<const double, Space> column_max;
  VectorView<double, Space> cost;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const double log_abs = cost(k);
    const bool missing = log_abs == -Kokkos::Experimental::infinity_v<double>;
    cost(k) = missing ? Kokkos::Experimental::infinity_v<double> : column_max(col_idxs(k)) - log_abs;
  }
};

template <class Scalar, class Space>
matching::Costs<Space> costs_of(const Space& space, const CsrView<Scalar, Space>& a) {
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  const std::int64_t n = a.num_rows;
  const auto cost = allocate<Vector<double, Space>>(space, "prekond::matching::cost", a.nnz());
  const auto column_max = allocate<Vector<double, Space>>(space, "prekond::matching::column_max", n);
  const auto largest = allocate_zero<Vector<std::uint64_t, Space>>(space, "prekond::matching::largest", n);
  Kokkos::parallel_for("prekond::matching::logarithms", impl::RowTeams<Space>::policy(space, n, a.nnz()),
                       Logarithms<Scalar, Space>{a, cost, largest});
  Kokkos::parallel_for("prekond::matching::column_maxima", Policy(space, 0, n),
                       ColumnMaxima<Space>{largest, column_max});
  Kokkos::parallel_for("prekond::matching::costs", Policy(space, 0, a.nnz()),
                       ToCosts<Space>{a.col_idxs, column_max, cost});
  space.fence("prekond::matching::costs");  // before `largest` goes away
  return {a, cost, column_max};
}

}  // namespace

template <class Scalar, class Space>
Matching<Space> maximum_product_matching(const Space& space, const CsrView<Scalar, Space>& a,
                                         const MatchingOptions& options) {
  if (!(options.epsilon >= 1e-5 && options.epsilon <= 10))
    throw InputError("maximum_product_matching: epsilon is " + std::to_string(options.epsilon) +
                     "; it must be from 1e-5 to 10");
  if (a.num_cols < a.num_rows)
    throw InputError("maximum_product_matching: the matrix has " + std::to_string(a.num_rows) + " rows and " +
                     std::to_string(a.num_cols) + " columns; it needs a column for each row");
  return matching::solve<Space>(space, costs_of<Scalar, Space>(space, a), options);
}

#define PREKOND_MATCHING(Scalar, Space)                             \
  template Matching<Space> maximum_product_matching<Scalar, Space>( \
      const Space&, const CsrView<Scalar, Space>&, const MatchingOptions&);
PREKOND_INSTANTIATE(PREKOND_MATCHING)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_MATCHING)

}  // namespace prekond
