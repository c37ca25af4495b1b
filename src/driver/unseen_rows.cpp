// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "unseen_rows.hpp"

#include "text.hpp"

namespace prekond::driver {
namespace {

/// The rows that deserve a smaller residual.
template <class Scalar>
struct LookAtRow {
  CsrView<Scalar, Space> a;
  VectorView<const Scalar, Space> b, x;
  double small_entry, small_terms;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count, std::int64_t& first,
                                  double& worst) const {
    double largest = 0, terms = Kokkos::abs(b(i));
    Scalar residual = b(i);
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k) {
      const Scalar part = a.values(k) * x(a.col_idxs(k));
      largest = Kokkos::fmax(largest, double(Kokkos::abs(a.values(k))));
      terms += double(Kokkos::abs(part));
      residual -= part;
    }
    if (largest > small_entry || terms > small_terms || terms == 0) return;
    const double relative = double(Kokkos::abs(residual)) / terms;
    if (!(relative > 1e-3)) return;
    ++count;
    if (i < first) first = i;
    if (relative > worst) worst = relative;
  }
};

template <class Scalar>
double largest_entry(const Space& space, const CsrView<Scalar, Space>& a) {
  double largest = 0;
  Kokkos::parallel_reduce(
      "prekond::driver::largest_entry",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.nnz()),
      KOKKOS_LAMBDA(std::int64_t k, double& most) {
        most = Kokkos::fmax(most, double(Kokkos::abs(a.values(k))));
      },
      Kokkos::Max<double>(largest));
  return largest;
}

}  // namespace

template <class Scalar>
UnseenRows find_unseen_rows(const Space& space, const CsrView<Scalar, Space>& a,
                            const VectorView<const Scalar, Space>& b,
                            const VectorView<const Scalar, Space>& x, double rtol, double norm_b) {
  UnseenRows found;
  const LookAtRow<Scalar> look{a, b, x, rtol * largest_entry<Scalar>(space, a), rtol * norm_b};
  Kokkos::parallel_reduce("prekond::driver::unseen_rows",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_rows),
                          look, Kokkos::Sum<std::int64_t>(found.count),
                          Kokkos::Min<std::int64_t>(found.first), Kokkos::Max<double>(found.worst));
  return found;
}

std::string text_of_unseen(const UnseenRows& rows, std::int64_t row) {
  if (rows.count == 0) return "";
  return text_of("the residual norm does not see ", rows.count,
                 " rows, whose entries are below rtol times "
                 "the largest of the matrix: they are NOT SOLVED, the first is ",
                 row, format(" (from 0), and |b - A x| is up to %.2g of |b| + |A| |x| there; ", rows.worst),
                 "eliminate the unknowns that penalties fix, or lower a penalty to 1 / sqrt(rtol) times the "
                 "other entries");
}

#define PREKOND_DRIVER_UNSEEN_ROWS(Scalar)                                                  \
  template UnseenRows find_unseen_rows<Scalar>(const Space&, const CsrView<Scalar, Space>&, \
                                               const VectorView<const Scalar, Space>&,      \
                                               const VectorView<const Scalar, Space>&, double, double);
PREKOND_DRIVER_UNSEEN_ROWS(double)
PREKOND_DRIVER_UNSEEN_ROWS(Complex)

}  // namespace prekond::driver
