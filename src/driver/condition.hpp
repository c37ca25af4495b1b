// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --condition: the extreme eigenvalues of M^-1 A.
#include <prekond/krylov/lanczos.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <nlohmann/json.hpp>
#include <string>

#include "kokkos_session.hpp"
#include "settings.hpp"

namespace prekond::driver {

/// The result of Lanczos's method.
struct Condition {
  LanczosResult found;
  std::string precond;  ///< "none" for A itself
  bool full = false;    ///< with full reorthogonalisation
  bool scaled = false;  ///< M is one of A scaled: --scale
  double seconds = 0;

  /// Is there a number? Not where the method has shown nothing, or that it was not for M or A.
  bool known() const {
    return found.steps > 0 && found.reason != LanczosEnd::preconditioner_not_spd &&
           found.reason != LanczosEnd::nan;
  }
  bool converged() const {
    return found.reason == LanczosEnd::tolerance || found.reason == LanczosEnd::invariant_subspace;
  }
};

/// \throws OptionError where there is no condition number: for a preconditioner that is not symmetric, and
/// for
/// --precond of `info` without --condition
void check_condition(const Settings& settings, const std::string& command, const Properties& precond);

/// \throws InputError for a matrix that is not symmetric (Hermitian)
void check_condition_of(const std::string& matrix, bool symmetric);

/// Collective. Measures M^-1 A, or A where `m` is null. `most_rows`: the rows of the process that has most.
template <class Scalar>
Condition measure_condition(const Space& space, const Operator<Scalar, Space>& a,
                            const Preconditioner<Scalar, Space>* m, const Reducer<Scalar, Space>& reducer,
                            double most_rows);

void print_condition(const Condition& condition);
nlohmann::ordered_json condition_json(const Condition& condition);

}  // namespace prekond::driver
