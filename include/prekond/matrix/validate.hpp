// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_matrix.hpp>

namespace prekond {

/// Checks that the matrix is one: sizes that fit each other, row pointers from 0 to nnz that never decrease,
/// columns in range, ascending and unique in every row, finite values. A matrix that passes here is trusted
/// everywhere else.
///
/// Two kernels, one reading of the matrix; nothing of its size is allocated. Rows, columns and positions in
/// the messages count from 1. With `any_order` the columns of a row may be in any order, and more than once.
/// \throws InputError that names the first offender
template <class Scalar, class Space>
void validate(const Space& space, const CsrView<Scalar, Space>& a, bool any_order = false);

/// Do columns ascend strictly in every row? Where they do not, `validate` names the first place, and
/// `sort_rows` sorts.
///
/// Cost: one reading of the pattern. Fences.
template <class Scalar, class Space>
bool rows_ascend(const Space& space, const CsrView<Scalar, Space>& a);

/// Checks what can be checked cheaply of "symmetric positive definite": the matrix is square and not empty,
/// every a_ii is stored and positive, and for every stored entry
///   |a_ij - a_ji| <= symmetry_tolerance sqrt(|a_ii a_jj|),
/// where an entry that is not stored counts as 0. For a complex matrix "Hermitian positive definite": a_ji
/// is conjugated, and |Im a_ii| <= symmetry_tolerance Re a_ii.
///
/// Cost: a binary search a stored entry. Memory: a double a row.
/// \pre validate(space, a) passed
/// \throws InputError that names the first offender, in the order of rows and columns, counted from 1
template <class Scalar, class Space>
void check_spd_input(const Space& space, const CsrView<Scalar, Space>& a);

/// The same for a rank's rows of a distributed matrix: num_cols >= num_rows, no rows are allowed, and entries
/// in columns of other ranks (>= num_rows) are not looked at.
template <class Scalar, class Space>
void check_local_spd_input(const Space& space, const CsrView<Scalar, Space>& a);

/// Asymmetry that is taken for rounding: 1e-10 in double, 1e-5 in float, and in complex numbers of either.
template <class Scalar>
inline constexpr double symmetry_tolerance = sizeof(real_type_t<Scalar>) < sizeof(double) ? 1e-5 : 1e-10;

}  // namespace prekond
