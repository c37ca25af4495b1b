// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "right_hand_side.hpp"

#include <prekond/core/scalar.hpp>
#include <prekond/matrix/spmv.hpp>
#include "core/concurrent_words.hpp"
#include "core/row_teams.hpp"
#include "matrix/counter_hash.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "text.hpp"

namespace prekond::driver {
namespace {

constexpr std::uint64_t seed_of_real = 1, seed_of_imaginary = 2;

template <class Scalar>
struct FillRandom {
  VectorView<const std::int64_t, Space> numbers;
  Vector<Scalar, Space> b;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const auto number = static_cast<std::uint64_t>(numbers.extent(0) > 0 ? numbers(i) : i);
    const double real = 2 * impl::unit_interval(impl::counter_hash(seed_of_real, number)) - 1;
    if constexpr (is_complex<Scalar>)
      b(i) = Scalar(real, 2 * impl::unit_interval(impl::counter_hash(seed_of_imaginary, number)) - 1);
    else
      b(i) = real;
  }
};

/// The sum of random numbers of `fill_rhs`. Their multiples of 2^-53 are added in two halves, exactly, so
/// that the order does not matter.
struct RandomSum {
  static constexpr int low_bits = 27;
  std::int64_t high = 0, low = 0, count = 0;

  void add(std::uint64_t seed, std::int64_t number) {
    const std::uint64_t bits = impl::counter_hash(seed, static_cast<std::uint64_t>(number)) >> 11;
    high += static_cast<std::int64_t>(bits >> low_bits);
    low += static_cast<std::int64_t>(bits & ((std::uint64_t(1) << low_bits) - 1));
    ++count;
  }
  double mean() const {
    const long double sum = static_cast<long double>(high) * (std::int64_t(1) << low_bits) +
                            static_cast<long double>(low) + static_cast<long double>(count);
    return static_cast<double>(2 * (sum * 0x1p-53L / static_cast<long double>(count)) - 1);
  }
};

/// Subtracts the means of the entries with the same label.
template <class Scalar>
void take_means_out_of(const Space& space, const std::vector<int>& labels, int num_labels,
                       const Vector<Scalar, Space>& b) {
  const auto mean_of = [&](std::uint64_t seed) {
    std::vector<RandomSum> sums(static_cast<std::size_t>(num_labels));
    for (std::size_t i = 0; i < labels.size(); ++i)
      sums[static_cast<std::size_t>(labels[i])].add(seed, static_cast<std::int64_t>(i));
    std::vector<double> means;
    for (const RandomSum& sum : sums) means.push_back(sum.count > 0 ? sum.mean() : 0);
    return means;
  };
  const std::vector<double> real = mean_of(seed_of_real);
  std::vector<double> imaginary;
  if constexpr (is_complex<Scalar>) imaginary = mean_of(seed_of_imaginary);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, b);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(labels[i]);
    if constexpr (is_complex<Scalar>)
      host(i) -= Scalar(real[label], imaginary[label]);
    else
      host(i) -= real[label];
  }
  Kokkos::deep_copy(space, b, host);
  space.fence("prekond::driver::take_means_out");
}

/// The first row of the connected part that each row is in, by joining the ends of edges.
template <class Scalar>
std::vector<int> connected_parts(const Matrix<Scalar>& a) {
  const auto ptrs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, a.row_ptrs);
  const auto cols = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, a.col_idxs);
  std::vector<int> parent(static_cast<std::size_t>(a.num_rows));
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&](int i) {
    while (parent[static_cast<std::size_t>(i)] != i) {
      int& up = parent[static_cast<std::size_t>(i)];
      up = parent[static_cast<std::size_t>(up)];
      i = up;
    }
    return i;
  };
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = ptrs(i); k < ptrs(i + 1); ++k) {
      const int one = find(static_cast<int>(i)), other = find(cols(k));
      parent[static_cast<std::size_t>(std::max(one, other))] = std::min(one, other);
    }
  for (std::size_t i = 0; i < parent.size(); ++i) parent[i] = find(static_cast<int>(i));
  return parent;
}

/// Counts the rows whose sum is not zero.
template <class Scalar>
struct CountSums {
  using Rows = impl::RowTeams<Space>;
  using Real = real_type_t<Scalar>;
  CsrView<Scalar, Space> a;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team, std::int64_t& count) const {
    std::int64_t own = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, begin_of(team.league_rank()), begin_of(team.league_rank() + 1)),
        [&](std::int64_t i, std::int64_t& bad) {
          const std::size_t begin = a.row_ptrs(i), end = a.row_ptrs(i + 1);
          Scalar sum{};
          Real sizes{};
          Kokkos::parallel_reduce(
              Kokkos::ThreadVectorRange(team, begin, end),
              [&](std::size_t k, Scalar& s) { s += a.values(k); }, sum);
          Kokkos::parallel_reduce(
              Kokkos::ThreadVectorRange(team, begin, end),
              [&](std::size_t k, Real& s) { s += Kokkos::abs(a.values(k)); }, sizes);
          const Real rounding = Kokkos::Experimental::epsilon_v<Real> * static_cast<Real>(end - begin);
          if (!(Kokkos::abs(sum) <= rounding * sizes)) ++bad;
        },
        own);
    Kokkos::single(Kokkos::PerTeam(team), [&] { count += own; });
  }
  KOKKOS_FUNCTION std::int64_t begin_of(std::int64_t block) const {
    return block * Rows::rows_per_team < a.num_rows ? block * Rows::rows_per_team : a.num_rows;
  }
};

template <class Scalar>
struct FindZeroRow {
  CsrView<Scalar, Space> a;
  VectorView<const Scalar, Space> b;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& first) const {
    if (i >= first || (b.extent(0) > 0 && b(i) == Scalar(0))) return;
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
      if (a.values(k) != Scalar(0)) return;
    first = i;
  }
};

}  // namespace

template <class Scalar>
Vector<Scalar, Space> times_ones(const Space& space, const Matrix<Scalar>& a) {
  const auto b = allocate<Vector<Scalar, Space>>(space, "prekond::driver::b", a.num_rows);
  const auto ones = allocate<Vector<Scalar, Space>>(space, "prekond::driver::ones", a.num_cols);
  Kokkos::deep_copy(space, ones, Scalar(1));
  spmv<Scalar, Space>(space, Scalar(1), a, as_multivector(ones), Scalar(0), as_multivector(b));
  space.fence("prekond::driver::a_ones");  // before `ones` goes away
  return b;
}

template <class Scalar>
void fill_rhs(const Space& space, const std::string& rhs, const Vector<Scalar, Space>& b,
              const VectorView<const std::int64_t, Space>& numbers) {
  if (rhs == "random")
    Kokkos::parallel_for("prekond::driver::random_rhs", Kokkos::RangePolicy<Space>(space, 0, b.extent(0)),
                         FillRandom<Scalar>{numbers, b});
  else
    Kokkos::deep_copy(space, b, Scalar(1));
  space.fence("prekond::driver::fill_rhs");  // before `numbers` goes away
}

template <class Scalar>
bool rows_sum_to_zero(const Space& space, const CsrView<Scalar, Space>& a) {
  std::int64_t count = 0;
  Kokkos::parallel_reduce("prekond::driver::row_sums",
                          impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz()), CountSums<Scalar>{a},
                          count);
  return count == 0;
}

template <class Scalar>
void take_mean_out(const Space& space, std::int64_t length, const Vector<Scalar, Space>& b) {
  RandomSum sum;
  for (std::int64_t i = 0; i < length; ++i) sum.add(seed_of_real, i);
  const double mean = sum.mean();
  Kokkos::parallel_for(
      "prekond::driver::take_mean_out", Kokkos::RangePolicy<Space>(space, 0, b.extent(0)),
      KOKKOS_LAMBDA(std::int64_t i) { b(i) -= mean; });
  space.fence("prekond::driver::take_mean_out");
}

template <class Scalar>
void take_means_out(const Space& space, const Matrix<Scalar>& a, const Vector<Scalar, Space>& b) {
  take_means_out_of<Scalar>(space, connected_parts<Scalar>(a), static_cast<int>(a.num_rows), b);
}

template <class Scalar>
std::int64_t first_zero_row(const Space& space, const CsrView<Scalar, Space>& a,
                            const VectorView<const Scalar, Space>& b) {
  std::int64_t first = 0;
  Kokkos::parallel_reduce("prekond::driver::first_zero_row", Kokkos::RangePolicy<Space>(space, 0, a.num_rows),
                          FindZeroRow<Scalar>{a, b}, Kokkos::Min<std::int64_t>(first));
  return first < a.num_rows ? first : -1;
}

template <class Scalar>
std::int64_t first_zero_column(const Space& space, const CsrView<Scalar, Space>& a) {
  const auto is_met = allocate_zero<Vector<int, Space>>(space, "prekond::driver::columns", a.num_cols);
  Kokkos::parallel_for(
      "prekond::driver::columns", Kokkos::RangePolicy<Space>(space, 0, a.nnz()),
      KOKKOS_LAMBDA(std::int64_t k) {
        if (a.values(k) != Scalar(0)) impl::raise_flag(is_met(a.col_idxs(k)), 1);
      });
  std::int64_t first = 0;
  Kokkos::parallel_reduce(
      "prekond::driver::first_zero_column", Kokkos::RangePolicy<Space>(space, 0, a.num_cols),
      KOKKOS_LAMBDA(std::int64_t j, std::int64_t & least) {
        if (is_met(j) == 0 && j < least) least = j;
      },
      Kokkos::Min<std::int64_t>(first));
  return first < a.num_cols ? first : -1;
}

std::string zero_row_text(std::int64_t row, const char* what) {
  return text_of(what, " ", row + 1, " of A is empty: A is singular");
}

#define PREKOND_DRIVER_RIGHT_HAND_SIDE(Scalar)                                                             \
  template Vector<Scalar, Space> times_ones<Scalar>(const Space&, const Matrix<Scalar>&);                  \
  template void fill_rhs<Scalar>(const Space&, const std::string&, const Vector<Scalar, Space>&,           \
                                 const VectorView<const std::int64_t, Space>&);                            \
  template bool rows_sum_to_zero<Scalar>(const Space&, const CsrView<Scalar, Space>&);                     \
  template void take_means_out<Scalar>(const Space&, const Matrix<Scalar>&, const Vector<Scalar, Space>&); \
  template std::int64_t first_zero_row<Scalar>(const Space&, const CsrView<Scalar, Space>&,                \
                                               const VectorView<const Scalar, Space>&);                    \
  template std::int64_t first_zero_column<Scalar>(const Space&, const CsrView<Scalar, Space>&);
PREKOND_DRIVER_RIGHT_HAND_SIDE(double)
PREKOND_DRIVER_RIGHT_HAND_SIDE(Complex)
template void take_mean_out<double>(const Space&, std::int64_t, const Vector<double, Space>&);

}  // namespace prekond::driver
