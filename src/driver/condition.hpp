// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --condition: the extreme eigenvalues of M^-1 A.
#include <prekond/core/operator.hpp>
#include <prekond/core/preconditioner.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/core/reducer.hpp>

#include <string>

#include "problem.hpp"

namespace prekond::driver {

/// \throws OptionError where there is no condition number: for a preconditioner that is not symmetric, and
/// for
/// --precond of `info` without --condition
void check_condition(const Settings& settings, const std::string& command, const Properties& precond);

/// \throws InputError for a matrix that is not symmetric (Hermitian)
void check_condition_of(const std::string& matrix, bool symmetric);

/// Collective. Measures M^-1 A by Lanczos's method, or A where `m` is null, and returns the report's
/// `condition`. `most_rows`: the rows of the process that has most.
template <class Scalar>
Json measure_condition(const Context& context, const Operator<Scalar, Space>& a,
                       const Preconditioner<Scalar, Space>* m, const Reducer<Scalar, Space>& reducer,
                       double most_rows);

/// Prints the report's `condition`, if it has one.
void print_condition(const Json& report);

/// "the matrix is negative definite ...", with the cure, where a few Lanczos steps on a symmetric A show
/// that; else nothing.
template <class Scalar>
std::string negative_definite_text(const Space& space, const Matrix<Scalar>& a);

}  // namespace prekond::driver
