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

/// What an ISAI inverts: a general matrix, a symmetric positive definite one in factored form, or A's lower
/// or upper triangle.
enum class IsaiKind { general, spd, lower, upper };

inline std::vector<std::pair<std::string, IsaiKind>> isai_kinds() {
  return {{"general", IsaiKind::general},
          {"spd", IsaiKind::spd},
          {"lower", IsaiKind::lower},
          {"upper", IsaiKind::upper}};
}

/// Parameters of the ISAI.
struct IsaiOptions {
  static constexpr const char* name = "isai";
  static constexpr const char* summary =
      "incomplete sparse approximate inverse, M A = I on M's pattern; of a triangle, in place of its solve";
  static constexpr const char* paper = "Anzt, Huckle, Braeckle, Dongarra, Parallel Comput. 71 (2018)";

  IsaiKind kind = IsaiKind::general;
  int power = 1;
  double prefilter = 0;
  bool unit_diagonal = false;
  int relaxation_steps = 0;
  Precision setup_scalar = Precision::double_precision;
  Storage storage = Storage::full;
  MatrixFormat storage_format = MatrixFormat::csr;
  Reuse reuse = Reuse::pattern;
  std::int64_t pattern_bytes = std::int64_t(16) << 30;
  std::int64_t slab_bytes = std::int64_t(256) << 20;

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
        "what is inverted: the matrix; a symmetric positive definite one, by G^T G as fsai, which cg takes; "
        "its lower or its upper triangle");
    visit("power", power, 0, 1000,
          "k: the pattern is the k-th power of the filtered matrix's, or triangle's");
    visit("prefilter", prefilter, 0.0, 1.0,
          "tau: entries with |a_ij| <= tau sqrt|a_ii a_jj| do not count for the pattern");
    visit("unit_diagonal", unit_diagonal,
          "of kind lower or upper: the diagonal is 1, stored or not, as ILU's L has it");
    visit("relaxation_steps", relaxation_steps, 0, 1000000,
          "Richardson steps y += M (x - A y) of an application, which keep a copy of A or its triangle");
    visit(
        "setup_scalar", setup_scalar, precision_choices(),
        "precision of the dense systems; a row that breaks down in single is solved in double; a triangle's "
        "are solved in double always");
    visit("storage", storage, storage_choices(),
          "precision in which the inverse is kept and applied; full: the matrix's; half loses what is below "
          "2^-28 of its row's largest entry");
    describe_storage_format(visit, storage_format);
    visit("reuse", reuse, reuse_choices(),
          "what a second numeric phase does: solves on the inverse's pattern, or finds it anew");
    visit("pattern_bytes", pattern_bytes, std::int64_t(1) << 10, std::int64_t(1) << 50,
          "most memory that the power's pattern may take");
    visit(
        "slab_bytes", slab_bytes, std::int64_t(1) << 16, std::int64_t(1) << 40,
        "budget of a working slab of the setup; as many rows are solved at a time as it has room for, and a "
        "longer one is refused");
  }
};

/// M ~ A^-1 on a pattern S that is given in advance, with (M A)_ij = I_ij for all (i, j) in S.
///
/// Row i of M, on the columns P = S_i, solves M[i, P] A[P, P] = e_i^T[P]. The pattern is that of |A|^k
/// without the entries that are small beside the diagonal (tau), or a graph of the user's, with the diagonal.
/// Rows may have any length.
///
/// Kinds:
/// - `general`: each system by LU with row pivoting, scaled by rows (PanelLu): 2 m^3 / 3 + 2 m^2 operations
///   for a row of m entries.
/// - `lower`, `upper`: for A's triangle T, whose pattern is what is raised to the power; A's entries of the
///   other triangle are not looked at. A system is T[P, P]^T, triangular: one substitution by T's sparse
///   rows, two operations for each of their entries in P, nothing dense is formed. M T has the unit diagonal,
///   so that I - M T is nilpotent. `unit_diagonal`: T's diagonal is 1, and not looked at. It stands in for
///   T's solve, of a factor of ILU say.
/// - `spd`: M = G^T G with a lower triangular G, diag(G A G^T) = 1: the static FSAI's factor on the lower
///   triangle of the pattern (see Fsai, which it is made by, and `factored()`). The options hold as there.
///
/// A MatrixSource of unpadded blocks of size > 1 is read as it is, with a power > 0 and without a prefilter
/// or a pattern of the user's. Of `general`, where all diagonal blocks are stored, the rows of a block then
/// have the same columns, one gather and one factorisation; of `spd` they are one of Fsai's blocks of rows,
/// if there are 32 at most.
/// In exact arithmetic the result is that of the expanded matrix. The triangular kinds, relaxation and all
/// else have the blocks expanded.
///
/// Relaxation, with `relaxation_steps` > 0 (see Relaxed): an application is y_0 = M x, y_(l + 1) = y_l + M (x
/// - A y_l), A's triangle for the triangular kinds, for which it ends with the solution after one step less
/// than the triangle has levels. It keeps a copy of A, the part that it needs, which the report's bytes
/// count. Symmetric for `spd`; positive definite for an even number of steps, and for an odd one where the
/// eigenvalues of M A are below 2.
///
/// Memory beyond M: a byte and an int a row and 2 n numbers of `general`, an int a row else (on the host n
/// ints a thread more), and workspaces, in scratch or in a slab of `slab_bytes`. Rows are binned by length as
/// in the static FSAI: of `general`, a vector of lanes or a team each, in scratch or a slab; of a triangle a
/// vector each, up to some 1500 entries in scratch.
///
/// Breakdown, `general`: a pivot not above 16 eps times the largest entry of its column, or a solution that
/// is not finite in the matrix's precision. The row is done again in double, and then without pivoting, where
/// a column with a pivot not above 2^-26 of its largest entry is left out of the row. Where that is the
/// diagonal itself, or nothing is finite, the row falls back to 1 / a_ii, or to 1 where that is not finite. A
/// triangle: a diagonal entry that is 0, missing or not finite leaves its column out of the rows that have
/// it, and its own row becomes 1 there. All are counted in the report, whose first pivot is relative to the
/// largest entry of its column (0 for a triangle's). A diagonal entry of zero is no breakdown of `general` by
/// itself. A numeric phase that fails leaves the inverse as it was. Columns >= num_rows (of other ranks) are
/// skipped; a matrix without rows (a rank's part) has an empty inverse.
///
/// `is_nonsymmetric()` for all kinds but `spd`: conjugate gradients refuse them. For real scalars.
///
/// \throws InputError for a power whose pattern takes more than `pattern_bytes`; for a row whose system takes
/// more than `slab_bytes` in double (of `general` some 8 m^2 bytes for m entries, of `spd` half); of kind
/// spd, for a diagonal entry that is missing or not positive
template <class Scalar, class Space>
class Isai : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;
  using options_type = IsaiOptions;
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  using typename Method::matrix_source;

  /// \throws OptionError for `Reuse::extend`: this pattern does not grow; for `unit_diagonal` of a kind that
  /// is not triangular
  explicit Isai(const IsaiOptions& options = {});

  std::string name() const override { return IsaiOptions::name; }
  Properties properties() const override { return m_options.properties(); }

  /// See StaticPatternInverse.
  void set_pattern(const Space& space, const CsrGraphView<Space>& pattern);
  void set_listener(const typename Method::Listener& listener) override;
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;
  bool can_apply_add() const override { return m_method->can_apply_add(); }

  /// M: sorted rows, none of kind spd. Its values are gone where they are stored in another precision.
  const matrix_type& inverse() const;
  /// Of kind spd, what has G; else null.
  const Fsai<Scalar, Space>* factored() const { return m_factored; }
  Fsai<Scalar, Space>* factored() { return m_factored; }

  /// The relaxation's steps are with all of A.
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
  std::unique_ptr<Method> m_method;           ///< of the kind, relaxed where there are steps
  Fsai<Scalar, Space>* m_factored = nullptr;  ///< in m_method, of kind spd
  Explicit* m_explicit = nullptr;             ///< in m_method, of the other kinds
};

}  // namespace prekond
