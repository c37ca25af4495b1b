// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/pattern/matching.hpp>
#include <prekond/precond/impl/registered_methods.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>
#include <prekond/precond/setup_options.hpp>

#include <functional>
#include <memory>
#include <string>

namespace prekond {

template <class Scalar, class Space>
class Scaled;

/// A matching of largest product as a permutation of rows.
template <class Space>
struct MatchedRows {
  Matching<Space> matching;
  Vector<int, Space> rows;          ///< the row of A by that of Q A
  Vector<double, Space> row_scale;  ///< the matching's, by rows of Q A
  std::int64_t rows_moved = 0;      ///< rows of Q A that are others in A
};

/// maximum_product_matching, and the permutation Q whose Q A has the matched entries on its diagonal.
/// permute_rows makes Q A of `rows`. Fences, the last time at the end.
template <class Scalar, class Space>
MatchedRows<Space> match_rows(const Space& space, const CsrView<Scalar, Space>& a,
                              const MatchingOptions& options = {});

/// Parameters of a preconditioner of matched rows.
struct MatchedOptions {
  static constexpr const char* name = "matched";
  static constexpr const char* summary =
      "any preconditioner, of the matrix with its rows permuted and scaled by a matching of largest product";
  static constexpr const char* paper = "Duff, Koster, SIAM J. Matrix Anal. Appl. 22 (2001)";

  Reuse reuse = Reuse::pattern;
  MethodChoice inner = {"ilu0", {}};

  /// \throws OptionError for an inner method that needs a positive definite matrix
  void resolve() const { refuse_spd(inner_properties(), inner.name); }
  static void refuse_spd(const Properties& of_inner, const std::string& inner_name) {
    if (of_inner.needs_spd)
      throw OptionError("matched: '" + inner_name +
                        "' is for symmetric positive definite matrices, and one with permuted rows is none; "
                        "choose an inner method for other matrices, such as ilu0");
  }

  Properties inner_properties() const { return impl::registered_method_properties(inner, "preconditioner"); }
  /// M is not symmetric for a Hermitian matrix either: with permuted rows it is not Hermitian.
  Properties properties() const { return with_inner(inner_properties()); }
  static Properties with_inner(const Properties& of_inner) {
    return {.symmetry = Symmetry::nonsymmetric, .is_variable = of_inner.is_variable};
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit(
        "reuse", reuse, reuse_choices(),
        "what a second numeric phase does: keeps rows and scales of the matching that there is, or finds it "
        "anew");
    visit.method("inner", inner, impl::registered_method_table("preconditioner"),
                 "M, of the permuted and scaled matrix: any preconditioner that takes general matrices");
  }
};

/// The preconditioner M of the matrix R Q A C, for A itself: y = C M^-1 R Q x.
///
/// Q permutes the rows so that the product of the diagonal's entries is as large as possible, and R and C are
/// the scales that go with it (see maximum_product_matching), rounded to powers of two (see Scaled): entries
/// of the diagonal are in [1/2, 2], and no other is above 2 exp(epsilon). It is for methods that divide by
/// the diagonal, where that has zeros, or entries that are small against others. A solver is given the
/// original A and b; its residuals are those of A x = b. It is not symmetric, also where A is.
///
/// Phases: `symbolic` does nothing, as a matching needs values. The first `numeric` finds it, and runs both
/// phases of an M made for it. Later ones keep Q, R, C and M and run M's `numeric` on the new values, or find
/// all anew (`reuse`); then the former M stays until the new one is ready.
///
/// Columns >= num_rows (of other ranks) stay after the others and are M's to skip: each rank matches its own
/// rows and columns. Rows of other ranks, blocks, unknowns a node and near-null-space vectors are not passed
/// on.
///
/// A matrix of smaller structural rank than rows is singular whatever its values. A note of the report says
/// so and `rank()` how many rows are matched; M is set up with what entries the others' diagonals have.
/// Breakdowns are M's, with rows counted as in A.
///
/// Cost besides M's: that of maximum_product_matching where it is found, a sort of A's rows and two copies of
/// A; of an application two passes over vectors. Memory: two numbers and 20 bytes a row; a workspace has one
/// vector a column besides M's. Fences: those of the matching, two to permute, and two.
///
/// Sources: Duff and Koster, SIAM J. Matrix Anal. Appl. 22 (2001); with incomplete factorisations Benzi, Haws
/// and Tuma, SIAM J. Sci. Comput. 22 (2000).
template <class Scalar, class Space>
class Matched : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Inner = MatrixPreconditioner<Scalar, Space>;
  using options_type = MatchedOptions;
  using typename Inner::matrix_source;
  using typename Inner::matrix_view;
  using Real = real_type_t<Scalar>;

  /// Makes a new M, for every matching that is found.
  using MakeInner = std::function<std::unique_ptr<Inner>()>;

  /// With M of the registry. \throws OptionError see MatchedOptions::resolve; for an unknown option of M
  explicit Matched(const MatchedOptions& options = {});
  /// With M of the caller's; `options.inner` is not read. \throws OptionError where M needs a positive
  /// definite matrix \throws std::logic_error where there is nothing that makes M, or it makes none
  explicit Matched(MakeInner make, const MatchedOptions& options = {});
  ~Matched() override;

  std::string name() const override { return MatchedOptions::name; }
  Properties properties() const override { return MatchedOptions::with_inner(m_inner_properties); }
  void set_listener(const typename Inner::Listener& listener) override;
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;

  /// M, of the last numeric phase. \throws std::logic_error before there was one with rows
  const Inner& inner() const;
  const MatchedOptions& options() const { return m_options; }
  /// The row of A by that of Q A; the diagonals of R, by rows of Q A, and of C, as the last numeric phase has
  /// found them.
  const Vector<int, Space>& rows() const { return m_rows; }
  const Vector<Real, Space>& row_scale() const;     ///< \throws std::logic_error as inner()
  const Vector<Real, Space>& column_scale() const;  ///< likewise
  std::int64_t rank() const { return m_rank; }      ///< rows that are matched

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  /// The objects that belong to one matching.
  struct State {
    std::shared_ptr<Scaled<Scalar, Space>> scaled;  ///< M with R and C
    Vector<int, Space> rows;
    std::int64_t rank = 0;
    std::int64_t rows_moved = 0;
    std::int64_t rows_on_host = 0;  ///< that this phase has matched there
    double host_seconds = 0;
  };
  State find(const Space& space, const matrix_view& a) const;
  void set_up(const Space& space, const Matrix& matrix, const State& state) const;
  Report report_of(const Matrix& matrix, const State& state, bool kept) const;
  void forget();
  const Scaled<Scalar, Space>& scaled() const;

  MatchedOptions m_options;
  MakeInner m_make;
  Properties m_inner_properties;
  typename Inner::Listener m_inner_listener;
  std::shared_ptr<Scaled<Scalar, Space>> m_scaled;
  Vector<int, Space> m_rows;
  std::int64_t m_rank = 0;
  std::int64_t m_rows_moved = 0;
  bool m_found = false;  ///< was there a numeric phase since symbolic? Also one of a rank without rows
};

}  // namespace prekond
