// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What the setup of a polynomial preconditioner knows of the rows, on one rank or on each of several.
#include <prekond/core/report.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/distributed/impl/remote_part.hpp>
#include <prekond/precond/impl/polynomial_preconditioner.hpp>

#include <cstdio>
#include <string>

namespace prekond::impl::polynomial {

/// A as a setup sees it: rows of one rank that is alone, where `all` is null, whose columns of other ranks
/// are left out; or a rank's rows of a distributed matrix. On one rank nothing is collective.
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
  bool is_borrowed = false;          ///< they are A's, which are not written to
  RemotePart<Scalar, Space> remote;  ///< and in those of other ranks, which are counted from 0
  Vector<Real, Space> diagonal, reach;
  Vector<Real, Space> inverse;  ///< 1 / d_i
  int exponent = 0;             ///< e: what is said here is said of 2^-e A
  int unit_exponent = 0;        ///< without scaling by the diagonal: B = 2^unit_exponent A

  std::int64_t num_rows() const { return own.num_rows; }
  std::int64_t nnz() const { return own.nnz() + remote.nnz(); }
};

/// Collective. `report` gets the breakdowns of this rank's rows. `may_borrow`: the rows of one rank are not
/// copied where they stay as they are.
template <class Scalar, class Space>
ScaledRows<Scalar, Space> make_scaled_rows(const Space& space, const RowsOf<Scalar, Space>& a,
                                           PolynomialScaling scaling, bool may_borrow, Report& report);

/// Collective. What is known of the spectrum of D^-1 A, the same on all ranks. `name` is for the notes.
template <class Scalar, class Space>
Spectrum find_spectrum(const Space& space, const RowsOf<Scalar, Space>& a,
                       const ScaledRows<Scalar, Space>& rows, const PolynomialSetup& setup,
                       const std::string& name, Report& report);

inline std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

}  // namespace prekond::impl::polynomial
