// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Right-hand sides that have a name, and rows of A that decide whether there is a solution.
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>
#include <string>

#include "context.hpp"

namespace prekond::driver {

using Complex = Kokkos::complex<double>;

template <class Scalar>
using Matrix = CsrMatrix<const Scalar, const int, const std::size_t, Space::memory_space>;

/// A 1
template <class Scalar>
Vector<Scalar, Space> times_ones(const Space& space, const Matrix<Scalar>& a);

/// Fills b, where --rhs is `ones` or `random`. Entry `number` of a random one is uniform in (-1, 1], a
/// function of the number; likewise its imaginary part. `numbers`: of b's entries; empty: 0, 1, ...
template <class Scalar>
void fill_rhs(const Space& space, const std::string& rhs, const Vector<Scalar, Space>& b,
              const VectorView<const std::int64_t, Space>& numbers = {});

/// Do the entries of each row sum to zero, up to rounding? Then A 1 = 0, as for Neumann conditions.
template <class Scalar>
bool rows_sum_to_zero(const Space& space, const CsrView<Scalar, Space>& a);

constexpr const char* note_of_zero_sums =
    "the rows of A sum to zero: A is singular, and the random b is less its mean, so that there is a "
    "solution";
constexpr const char* note_of_own_zero_sums =
    "the rows of A sum to zero: A is singular, and there is a solution only where the mean of b over each "
    "connected part of A is zero";

/// Takes the mean out of a random vector of `fill_rhs`, which has `length` entries on all processes.
template <class Scalar>
void take_mean_out(const Space& space, std::int64_t length, const Vector<Scalar, Space>& b);

/// Likewise the mean over each connected part of a symmetric matrix that one process has. Where its rows sum
/// to zero, vectors that are constant on such a part are those that it annihilates.
template <class Scalar>
void take_means_out(const Space& space, const Matrix<Scalar>& a, const Vector<Scalar, Space>& b);

/// The first row, from 0, all of whose entries are zero; with b the first of those where b is not zero. -1:
/// none
template <class Scalar>
std::int64_t first_zero_row(const Space& space, const CsrView<Scalar, Space>& a,
                            const VectorView<const Scalar, Space>& b = {});

/// The first column, from 0, all of whose entries are zero. -1: none
template <class Scalar>
std::int64_t first_zero_column(const Space& space, const CsrView<Scalar, Space>& a);

/// "row 18 of A is empty: A is singular", with `row` from 0; `what`: row or column
std::string zero_row_text(std::int64_t row, const char* what = "row");

}  // namespace prekond::driver
