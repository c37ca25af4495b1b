// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/polynomial/scaled_rows.hpp"

#include <prekond/distributed/impl/part_of_columns.hpp>
#include <prekond/krylov/lanczos.hpp>
#include <prekond/matrix/impl/own_columns.hpp>
#include "matrix/borrowed.hpp"
#include "matrix/filter_entries.hpp"

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "precond/polynomial/row_kernels.hpp"
#include "precond/polynomial/scaled_operator.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <type_traits>

namespace prekond::impl::polynomial {
namespace {

template <class Space>
using Rows = Kokkos::RangePolicy<Space>;

template <class Scalar, class Space>
RowParts<Scalar, Space> parts_of(const ScaledRows<Scalar, Space>& rows) {
  const auto& remote = rows.remote.matrix();
  RowParts<Scalar, Space> parts{rows.own, remote, rows.own.values, remote.values};
  if (rows.is_borrowed) parts.own_values = {};
  return parts;
}

template <class Scalar, class Space>
RemotePart<Scalar, Space> remote_part(const Space& space, const CsrView<Scalar, Space>& a) {
  return {space, prekond::impl::part_of_columns<Scalar, Space>(space, "prekond::polynomial::numeric::remote",
                                                               a, a.num_rows, false)};
}

/// The entries of one rank's own columns and, of a distributed matrix, those in other ranks' columns.
template <class Scalar, class Space>
void copy_rows(const Space& space, const RowsOf<Scalar, Space>& a, ScaledRows<Scalar, Space>& rows) {
  const CsrView<Scalar, Space>& view = a.view;
  const auto own =
      view.num_cols > view.num_rows
          ? filter_entries<Scalar, Space>(space, view, prekond::impl::IsOwnColumn<Scalar, Space>{view})
          : copy_of<Scalar, Space>(space, "prekond::polynomial::numeric::own", view);
  rows.own = {view.num_rows, view.num_rows, own.row_ptrs, own.col_idxs, own.values};
  if (!a.all) return;
  rows.remote = remote_part<Scalar, Space>(space, view);
}

template <class Scalar, class Space>
void measure(const Space& space, ScaledRows<Scalar, Space>& rows) {
  const auto vector = [&](const char* label) {
    return allocate<Vector<real_type_t<Scalar>, Space>>(space, label, rows.num_rows());
  };
  rows.diagonal = vector("prekond::polynomial::diagonal");
  rows.reach = vector("prekond::polynomial::reach");
  rows.inverse = vector("prekond::polynomial::inverse_diagonal");
  if (rows.num_rows() == 0) return;
  Kokkos::parallel_for("prekond::polynomial::numeric::measure_rows",
                       RowTeams<Space>::policy(space, rows.num_rows(), rows.own.nnz()),
                       MeasureRows<Scalar, Space>{parts_of(rows), rows.diagonal, rows.reach});
}

/// Collective. The exponent of the power of two that A is divided by where it is out of the ordinary, or 0.
template <class Scalar, class Space>
int exponent_of(const Space& space, const RowsOf<Scalar, Space>& a, const ScaledRows<Scalar, Space>& rows) {
  using Real = real_type_t<Scalar>;
  Real least = 0, most = 0;
  Kokkos::parallel_reduce("prekond::polynomial::numeric::range_of_reach",
                          Rows<Space>(space, 0, rows.num_rows()), RangeOfReach<Real, Space>{rows.reach},
                          Kokkos::Min<Real>(least), Kokkos::Max<Real>(most));
  least = static_cast<Real>(a.least(least));
  most = static_cast<Real>(a.largest(most));
  constexpr int ordinary = std::numeric_limits<Real>::max_exponent / 16;
  if (!(most > 0)) return 0;
  // Even, so that roots are rounded as those of A.
  const int exponent = (std::ilogb(least) + std::ilogb(most)) / 4 * 2;
  if (std::abs(exponent) <= ordinary) return 0;
  constexpr int possible = std::numeric_limits<Real>::max_exponent - 2;
  return std::clamp(exponent, -possible, possible);
}

template <class Scalar, class Space>
void divide_by_power(const Space& space, int exponent, ScaledRows<Scalar, Space>& rows) {
  if (exponent == 0) return;
  rows.exponent = exponent;
  const auto factor = std::ldexp(real_type_t<Scalar>(1), -exponent);
  const auto multiply = [&](const auto& x) {
    using T = typename std::decay_t<decltype(x)>::non_const_value_type;
    Kokkos::parallel_for("prekond::polynomial::numeric::bring_to_range",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(
                             space, 0, static_cast<std::int64_t>(x.extent(0))),
                         TimesFactor<T, Space>{x, factor});
  };
  multiply(rows.own.values);
  multiply(rows.remote.matrix().values);
  multiply(rows.diagonal);
  multiply(rows.reach);
}

/// Collective. 1 / d_i.
template <class Scalar, class Space>
void invert_diagonal(const Space& space, const RowsOf<Scalar, Space>& a, PolynomialScaling scaling,
                     ScaledRows<Scalar, Space>& rows, Breakdowns& breakdowns) {
  using Real = real_type_t<Scalar>;
  const Rows<Space> range(space, 0, rows.num_rows());
  std::int64_t first = 0;
  if (scaling == PolynomialScaling::diagonal) {
    Kokkos::parallel_reduce("prekond::polynomial::numeric::invert_diagonal", range,
                            InvertDiagonal<Real, Space>{rows.diagonal, rows.reach, rows.inverse},
                            Kokkos::Min<std::int64_t>(first), Kokkos::Sum<std::int64_t>(breakdowns.count));
  } else {
    Real largest = 0;
    Kokkos::parallel_reduce("prekond::polynomial::numeric::count_replaced", range,
                            CountReplaced<Real, Space>{rows.reach}, Kokkos::Min<std::int64_t>(first),
                            Kokkos::Sum<std::int64_t>(breakdowns.count), Kokkos::Max<Real>(largest));
    largest = static_cast<Real>(a.largest(largest));
    // A power of two, so that the polynomial is one of ordinary numbers.
    const bool usable = largest > 0 && std::isfinite(largest) && std::isfinite(1 / largest);
    const int exponent = usable ? std::ilogb(largest) : 0;
    Kokkos::deep_copy(space, rows.inverse, std::ldexp(Real(1), -exponent));
    rows.unit_exponent = -exponent - rows.exponent;
  }
  if (breakdowns.count == 0) return;
  breakdowns.first_row = first;
  Real pivot = 0, sum = 0;
  Kokkos::deep_copy(space, pivot, Kokkos::subview(rows.diagonal, first));
  Kokkos::deep_copy(space, sum, Kokkos::subview(rows.reach, first));
  space.fence("prekond::polynomial::breakdowns");
  breakdowns.first_pivot = sum > 0 ? static_cast<double>(pivot / sum) : 0;
  breakdowns.action =
      "rows without a positive diagonal entry are scaled by their largest magnitude, rows with an entry that "
      "is not finite are replaced by rows of a multiple of the identity";
}

/// Collective. The ends of Gershgorin's discs.
template <class Scalar, class Space>
Spectrum by_gershgorin(const Space& space, const RowsOf<Scalar, Space>& a,
                       const ScaledRows<Scalar, Space>& rows) {
  using Real = real_type_t<Scalar>;
  const auto vector = [&](const char* label) {
    return allocate<Vector<Real, Space>>(space, label, rows.num_rows());
  };
  const auto low = vector("prekond::polynomial::low"), high = vector("prekond::polynomial::high");
  if (rows.num_rows() > 0)
    Kokkos::parallel_for("prekond::polynomial::numeric::gershgorin",
                         RowTeams<Space>::policy(space, rows.num_rows(), rows.own.nnz()),
                         GershgorinDiscs<Scalar, Space>{parts_of(rows), rows.inverse, low, high});
  Real least = 0, most = 0;
  Kokkos::parallel_reduce("prekond::polynomial::numeric::range_of_discs",
                          Rows<Space>(space, 0, rows.num_rows()), RangeOfDiscs<Real, Space>{low, high},
                          Kokkos::Min<Real>(least), Kokkos::Max<Real>(most));
  Spectrum spectrum;
  spectrum.exponent = rows.unit_exponent;
  spectrum.min = a.least(static_cast<double>(least));
  spectrum.max = a.largest(static_cast<double>(most));
  // Where rows are as large as their diagonals, rounding says on which side of 0 a disc ends.
  const double rounding = std::sqrt(static_cast<double>(std::numeric_limits<Real>::epsilon()));
  const bool is_known = spectrum.min > rounding * spectrum.max;
  spectrum.min_bound = is_known ? 0 : std::numeric_limits<double>::infinity();
  if (!is_known) spectrum.min = std::min(spectrum.min, 0.0);
  spectrum.source = "Gershgorin's discs";
  return spectrum;
}

/// The Ritz values of the options' Lanczos steps, and a bound of the largest eigenvalue by these or by
/// Gershgorin's discs. Collective.
template <class Scalar, class Space>
Spectrum by_lanczos(const Space& space, const RowsOf<Scalar, Space>& a, const ScaledRows<Scalar, Space>& rows,
                    const PolynomialOptions& options, const std::string& name, Report& report) {
  using Real = real_type_t<Scalar>;
  const bool by_diagonal = options.scaling == PolynomialScaling::diagonal;
  Vector<Real, Space> root;
  if (by_diagonal) {
    root = allocate<Vector<Real, Space>>(space, "prekond::polynomial::root", rows.num_rows());
    Kokkos::parallel_for("prekond::polynomial::numeric::roots", Rows<Space>(space, 0, rows.num_rows()),
                         Roots<Real, Space>{rows.inverse, root});
  }
  const ScaledOperator<Scalar, Space> scaled(space, a, rows, by_diagonal ? root : rows.inverse, root);
  const LanczosOptions lanczos_options{.steps = options.lanczos_steps};
  const LanczosResult result =
      a.all ? lanczos<Scalar, Space>(space, scaled, nullptr, lanczos_options, a.all->reducer())
            : lanczos<Scalar, Space>(space, scaled, nullptr, lanczos_options);
  Spectrum spectrum;
  spectrum.exponent = rows.unit_exponent;
  spectrum.min = result.smallest.value;
  spectrum.min_bound = result.smallest.bound;
  spectrum.max = result.largest.value;
  spectrum.max_bound = std::min(result.upper_bound, by_gershgorin(space, a, rows).max) - spectrum.max;
  spectrum.source = std::to_string(result.steps) + " Lanczos steps";
  if (result.steps > 0 && result.smallest.value <= 0)
    report.notes.push_back(name + ": the matrix is not positive definite: Lanczos found the Ritz value " +
                           number_text(spectrum.as_given(result.smallest.value)));
  return spectrum;
}

}  // namespace

template <class Scalar, class Space>
ScaledRows<Scalar, Space> make_scaled_rows(const Space& space, const RowsOf<Scalar, Space>& a,
                                           PolynomialScaling scaling, bool may_borrow, Report& report) {
  if (may_borrow && (a.all || a.view.num_cols == a.view.num_rows)) {
    ScaledRows<Scalar, Space> rows;
    rows.own = prekond::impl::borrowed<Scalar, Space>(a.view);
    rows.is_borrowed = true;
    a.together([&] { measure(space, rows); });
    Breakdowns found;
    if (exponent_of(space, a, rows) == 0) {
      invert_diagonal(space, a, scaling, rows, found);
      a.together([&] {
        if (a.all) rows.remote = remote_part<Scalar, Space>(space, a.view);
      });
      if (a.largest(static_cast<double>(found.count)) == 0) return rows;
    }
  }
  ScaledRows<Scalar, Space> rows;
  a.together([&] {
    copy_rows(space, a, rows);
    measure(space, rows);
  });
  divide_by_power(space, exponent_of(space, a, rows), rows);
  invert_diagonal(space, a, scaling, rows, report.breakdowns);
  return rows;
}

template <class Scalar, class Space>
Spectrum find_spectrum(const Space& space, const RowsOf<Scalar, Space>& a,
                       const ScaledRows<Scalar, Space>& rows, const PolynomialOptions& options,
                       const std::string& name, Report& report) {
  Spectrum spectrum;
  spectrum.exponent = rows.unit_exponent;
  spectrum.min_bound = std::numeric_limits<double>::infinity();
  if (options.lambda_max > 0) {
    spectrum.max = std::ldexp(options.lambda_max, rows.unit_exponent);
    spectrum.max_given = true;
    spectrum.source = "lambda_max";
  } else if (options.bounds == SpectrumBounds::lanczos) {
    spectrum = by_lanczos(space, a, rows, options, name, report);
  } else {
    spectrum = by_gershgorin(space, a, rows);
  }
  if (options.lambda_min > 0) {
    spectrum.min = std::ldexp(options.lambda_min, rows.unit_exponent);
    spectrum.min_bound = 0;
    spectrum.min_given = true;
    spectrum.source += std::string(spectrum.max_given ? " and" : ",") + " lambda_min";
  }
  return spectrum;
}

#define PREKOND_SCALED_ROWS(Scalar, Space)                                                        \
  template ScaledRows<Scalar, Space> make_scaled_rows(const Space&, const RowsOf<Scalar, Space>&, \
                                                      PolynomialScaling, bool, Report&);          \
  template Spectrum find_spectrum(const Space&, const RowsOf<Scalar, Space>&,                     \
                                  const ScaledRows<Scalar, Space>&, const PolynomialOptions&,     \
                                  const std::string&, Report&);
PREKOND_INSTANTIATE(PREKOND_SCALED_ROWS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_SCALED_ROWS)

}  // namespace prekond::impl::polynomial
