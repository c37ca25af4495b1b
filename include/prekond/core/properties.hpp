// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace prekond {

/// The side of A on which its approximate inverse is. In a Krylov method, `right`: A M^-1 u = b, x = M^-1 u;
/// what is minimised and tested is the residual b - A x itself; `left`: M^-1 A x = M^-1 b; what is minimised
/// is M^-1 (b - A x). For a sparse approximate inverse M, `right`: A M is near the identity; `left`: M A.
enum class Side { right, left };

inline std::vector<std::pair<std::string, Side>> side_choices() {
  return {{"right", Side::right}, {"left", Side::left}};
}

/// Is a preconditioner's M^-1 Hermitian, its own conjugate transpose (for real scalars: symmetric)?
enum class Symmetry {
  unknown,       ///< it depends on the matrix, or nothing is known; solvers accept it
  symmetric,     ///< for every Hermitian matrix
  nonsymmetric,  ///< not even for Hermitian matrices
};

/// The properties of an algorithm that follow from its options, before there is a matrix. An option struct
/// has them as `Properties properties() const`; the registry, the objects and the checks of combinations ask
/// nobody else.
struct Properties {
  bool needs_spd = false;  ///< only for Hermitian positive definite A; a solver: and for such M
  Symmetry symmetry = Symmetry::unknown;  ///< of a preconditioner
  /// An incomplete factorisation of the whole matrix in the order of its rows: what it drops depends on that.
  bool factors_in_order = false;
  /// A preconditioner whose M depends on the vector that it is applied to, as that of a K-cycle does.
  bool is_variable = false;
  /// A solver that allows for such an M.
  bool is_flexible = false;
};

/// Can the solver work with the preconditioner, for a matrix that both are made for?
inline bool go_together(const Properties& solver, const Properties& preconditioner) {
  if (preconditioner.is_variable && !solver.is_flexible) return false;
  return !solver.needs_spd || preconditioner.symmetry != Symmetry::nonsymmetric;
}

}  // namespace prekond
