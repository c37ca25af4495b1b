// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The rows of a polynomial preconditioner's setup, on one rank or on each of several.
#include <prekond/core/report.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/distributed/impl/remote_part.hpp>
#include <prekond/precond/polynomial.hpp>

#include <cstdio>
#include <string>

namespace prekond::impl::polynomial {

/// The rows of A in a setup. Where `all` is null they are those of one rank, whose columns of other ranks are
/// left out, and nothing is collective; else they are a rank's rows of a distributed matrix.
template <class Scalar, class Space>
struct RowsOf {
  CsrView<Scalar, Space> view;
  const DistributedMatrix<Scalar, Space>* all = nullptr;

  template <class Work>
  void together(const Work& work) const {
    if (all)
      all->together(work);
    else
      work();
  }
  double largest(double value) const { return all ? all->largest(value) : value; }
  double least(double value) const { return all ? -all->largest(-value) : value; }
};

/// A copy of the rows, brought to an ordinary range, or these themselves, and the diagonal that scales them.
template <class Scalar, class Space>
struct ScaledRows {
  using Real = real_type_t<Scalar>;
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  Matrix own;                        ///< the entries in the rank's own columns
  bool is_borrowed = false;          ///< `own` is A's, with all its columns, which is not written to
  RemotePart<Scalar, Space> remote;  ///< the entries in columns of other ranks, counted from 0
  Vector<Real, Space> diagonal, reach;
  Vector<Real, Space> inverse;  ///< 1 / d_i
  int exponent = 0;             ///< e: all members are those of 2^-e A
  int unit_exponent = 0;        ///< without scaling by the diagonal: B = 2^unit_exponent A

  std::int64_t num_rows() const { return own.num_rows; }
  std::int64_t nnz() const { return own.nnz() + (is_borrowed ? 0 : remote.nnz()); }
};

/// Scales the rows; `report` gets the breakdowns of this rank. With `may_borrow`, on all ranks or on none,
/// the rows in the rank's own columns are not copied where all stay as they are. Collective.
template <class Scalar, class Space>
ScaledRows<Scalar, Space> make_scaled_rows(const Space& space, const RowsOf<Scalar, Space>& a,
                                           PolynomialScaling scaling, bool may_borrow, Report& report);

/// The spectrum of D^-1 A, the same on all ranks. `name` is for the notes. Collective.
template <class Scalar, class Space>
Spectrum find_spectrum(const Space& space, const RowsOf<Scalar, Space>& a,
                       const ScaledRows<Scalar, Space>& rows, const PolynomialOptions& options,
                       const std::string& name, Report& report);

inline std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

}  // namespace prekond::impl::polynomial
