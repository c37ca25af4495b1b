// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/impl/static_pattern_inverse.hpp>
#include <prekond/precond/setup_options.hpp>

#include <memory>

namespace prekond {

/// The matrix that an ISAI inverts: a general one, a symmetric positive definite one in factored form, or A's
/// lower or upper triangle.
enum class IsaiKind { general, spd, lower, upper };

inline std::vector<std::pair<std::string, IsaiKind>> isai_kinds() {
  return {{"general", IsaiKind::general},
          {"spd", IsaiKind::spd},
          {"lower", IsaiKind::lower},
          {"upper", IsaiKind::upper}};
}

/// Parameters of the ISAI.
struct IsaiOptions : StaticSetupOptions {
  static constexpr const char* name = "isai";
  static constexpr const char* summary =
      "incomplete sparse approximate inverse, M A = I on M's pattern; of a triangle, in place of its solve";
  static constexpr const char* paper = "Anzt, Huckle, Braeckle, Dongarra, Parallel Comput. 71 (2018)";

  IsaiKind kind = IsaiKind::general;
  int power = 1;
  double prefilter = 0;
  bool unit_diagonal = false;
  int relaxation_steps = 0;

  IsaiOptions() { setup_scalar = Precision::double_precision; }

  /// \throws OptionError for a unit diagonal of a kind that is not triangular
  void resolve() {
    if (unit_diagonal && kind != IsaiKind::lower && kind != IsaiKind::upper)
      throw OptionError("isai: unit_diagonal is for kind = lower or upper");
  }

  Properties properties() const {
    if (kind == IsaiKind::spd) return {.needs_spd = true, .symmetry = Symmetry::symmetric};
    return {.symmetry = Symmetry::nonsymmetric};
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit(
        "kind", kind, isai_kinds(),
        "matrix that is inverted: general is A, spd is a symmetric positive definite A, inverted by G^T G as "
        "in fsai, which cg takes, lower and upper are A's triangles");
    visit(
        "power", power, 0, 1000,
        "k, the power of the filtered matrix, or of its triangle, that is the pattern; a higher power makes "
        "a stronger and longer inverse");
    visit(
        "prefilter", prefilter, 0.0, 1.0,
        "tau, the size below which an entry does not count for the pattern, |a_ij| <= tau sqrt|a_ii a_jj|; a "
        "larger tau makes powers affordable");
    visit("unit_diagonal", unit_diagonal,
          "for kind = lower or upper, whether the diagonal is 1, stored or not, as in the L of an ILU");
    visit("relaxation_steps", relaxation_steps, 0, 1000000,
          "number of Richardson steps y += M (x - A y) in an application; each makes it stronger and as "
          "expensive again. They keep a copy of A or its triangle");
    StaticSetupOptions::describe(visit);
  }
};

/// M ~ A^-1 on a pattern S that is given in advance, with (M A)_ij = I_ij for all (i, j) in S.
///
/// Formula: row i of M, on the columns P = S_i, solves M[i, P] A[P, P] = e_i^T[P].
///
/// Pattern: that of |A|^k without the entries that are small compared with the diagonal (tau), or a graph
/// that the user gives, with the diagonal. Rows may have any length.
///
/// Kinds:
/// - `general`: each system by LU with row pivoting, scaled by rows (PanelLu).
/// - `lower`, `upper`: for A's triangle T, whose pattern is raised to the power; A's entries in the other
///   triangle are not looked at. A system is T[P, P]^T, triangular: one substitution by T's sparse rows, and
///   nothing dense is formed. M T has the unit diagonal, so that I - M T is nilpotent. With `unit_diagonal`
///   T's diagonal is 1, and not looked at. M replaces the solve with T, a factor of an ILU for example. The
///   systems are solved in double.
/// - `spd`: M = G^T G with a lower triangular G, diag(G A G^T) = 1: the factor of the static FSAI on the
///   lower triangle of the pattern (see Fsai, which makes it, and `factored()`). The options hold as there.
///
/// Blocks: a MatrixSource of unpadded blocks of size > 1 is read as it is, with a power > 0 and without a
/// prefilter or a pattern of the user. For `general`, where all diagonal blocks are stored, the rows of a
/// block then have the same columns, one gather and one factorisation; for `spd` they are one of Fsai's
/// blocks of rows, if there are 32 at most. In exact arithmetic the result is that of the expanded matrix.
/// The triangular kinds, relaxation and all else have the blocks expanded.
///
/// Relaxation, with `relaxation_steps` > 0 (see Relaxed): an application is y_0 = M x, y_(l + 1) = y_l + M (x
/// - A y_l), with A's triangle for the triangular kinds, for which it ends with the solution after one step
/// less than the triangle has levels. It keeps a copy of A, or the part that it needs, which the report's
/// bytes count. It is symmetric for `spd`; positive definite for an even number of steps, and for an odd one
/// where the eigenvalues of M A are below 2.
///
/// Parallelism: rows are binned by length as in the static FSAI. For `general` a vector of lanes or a team
/// works on a row, in scratch or a slab; for a triangle a vector, up to some 1500 entries in scratch.
///
/// Cost: 2 m^3 / 3 + 2 m^2 operations for a row of m entries of `general`; for a triangle two operations for
/// each entry of T's rows in P.
///
/// Memory: besides M a byte and an int for a row and 2 n numbers for `general`, else an int for a row (on the
/// host n ints more for a thread), and workspaces, in scratch or in a slab of `workspace_budget`.
///
/// Breakdown: for `general` a pivot not above 16 eps times the largest entry of its column, or a solution
/// that is not finite in the matrix's precision. The row is solved again in double, and then without
/// pivoting, where a column with a pivot not above 2^-26 of its largest entry is left out of the row. Where
/// that is the diagonal itself, or nothing is finite, the row becomes 1 / a_ii on the diagonal, or 1 where
/// that is not finite. For a triangle a diagonal entry that is 0, missing or not finite leaves its column out
/// of the rows that have it, and its own row becomes 1 there. The report counts all of them; its first pivot
/// is relative to the largest entry of its column (0 for a triangle's). A diagonal entry of zero is no
/// breakdown of `general` by itself. A numeric phase that fails leaves the inverse as it was.
///
/// Ranks: columns >= num_rows (those of other ranks) are skipped; a matrix without rows has an empty inverse.
///
/// `is_nonsymmetric()` for all kinds but `spd`: conjugate gradients refuse them. For real scalars.
///
/// \throws InputError for a pattern of more than `memory_budget` bytes; for a row whose system takes more
/// than that in double (some 8 m^2 bytes for m entries of `general`, half of that for
/// `spd`); for kind = spd, for a diagonal entry that is missing or not positive
///
/// Source: Anzt et al. (2018).
template <class Scalar, class Space>
class Isai : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;
  using options_type = IsaiOptions;
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  using typename Method::matrix_source;

  /// \throws OptionError for `Reuse::extend`: this pattern does not grow; for `unit_diagonal` with a kind
  /// that is not triangular
  explicit Isai(const IsaiOptions& options = {});

  std::string name() const override { return IsaiOptions::name; }
  Properties properties() const override { return m_options.properties(); }

  /// See StaticPatternInverse.
  void set_pattern(const Space& space, const CsrGraphView<Space>& pattern);
  void set_listener(const typename Method::Listener& listener) override;
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;
  bool can_apply_add() const override { return m_method->can_apply_add(); }

  /// M with sorted rows; it has none for kind = spd. Its values are gone where they are stored in another
  /// precision.
  const matrix_type& inverse() const;
  /// The FSAI that has G for kind = spd; else null.
  const Fsai<Scalar, Space>* factored() const { return m_factored; }
  Fsai<Scalar, Space>* factored() { return m_factored; }

  /// The steps of the relaxation multiply by all of A.
  RowReach reach() const override {
    if (m_options.relaxation_steps > 0) return {};
    return {.levels = m_options.power};
  }

  const IsaiOptions& options() const { return m_options; }

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  /// y = M x, and the relaxation. Cost: 2 nnz(M) operations a vector; a step of the relaxation adds as many
  /// and 2 nnz(A) + n.
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;
  void apply_add_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                      MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  using Explicit = StaticPatternInverse<Scalar, Space, ExplicitInverse<Scalar, Space>>;

  IsaiOptions m_options;
  std::unique_ptr<Method> m_method;           ///< the method of the kind, relaxed where there are steps
  Fsai<Scalar, Space>* m_factored = nullptr;  ///< in m_method, for kind = spd
  Explicit* m_explicit = nullptr;             ///< in m_method, for the other kinds
};

}  // namespace prekond
