// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/incomplete_options.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <memory>
#include <string>

namespace prekond {

namespace impl::par_ilu {
template <class Space>
struct ThresholdPattern;
}  // namespace impl::par_ilu
namespace impl::ilu {
template <class Scalar, class Space>
class FactorSolves;
}  // namespace impl::ilu

/// Parameters of ParILUT.
struct ParIlutOptions : FactorOptions {
  static constexpr const char* name = "par_ilut";
  static constexpr const char* summary =
      "ParILUT: incomplete L D U whose pattern is found in steps, by sweeps over all entries at once";
  static constexpr const char* paper = "Anzt, Chow, Dongarra, SIAM J. Sci. Comput. 40 (2018)";

  int steps = 5;
  double fill_factor = 2;
  Reuse reuse = Reuse::pattern;
  std::int64_t memory_budget = 0;

  Properties properties() const { return FactorOptions::properties(IncompleteKind::ilu); }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit(
        "steps", steps, 0, 1000,
        "steps, each of which adds all candidates, sweeps, drops the small entries, and sweeps again; raise "
        "it where the solver needs too many iterations; default 5");
    visit("fill_factor", fill_factor, 0.0, 1e6,
          "ratio of the entries that L and U keep to those of A's triangles, without the diagonal; raise it "
          "where the solver needs too many iterations, lower it where memory is short; default 2");
    describe_shift(visit);
    describe_solve(visit);
    visit("reuse", reuse, reuse_choices(),
          "use of the pattern in a second numeric phase: pattern keeps it and sweeps, none finds it anew; "
          "default pattern");
    visit("memory_budget", memory_budget, 0, std::int64_t(1) << 50,
          "bound of the memory that a pattern with all candidates, or the list from which it is found, may "
          "take; raise it where rows with many entries are refused; 0: auto, 64 times what rows of A's "
          "mean length need, from 256 KiB to 16 GiB");
    visit.formerly("pattern_bytes");
  }
};

/// ParILUT: factors on a pattern S that is found with them, all entries and rows at the same time.
///
/// Formula: M = (I + L) D (I + U), nearly A on S. With D (I + U) as U, A scaled as by
/// IncompleteFactorization, and its triangles as the first factors, each of `steps` steps
///
///   1. adds all candidates, the entries of L U and A outside S, to S: those of U with the value r_ij =
///      a_ij - (L U)_ij, those of L with r_ij / u_jj;
///   2. does one sweep (see ParIlu);
///   3. keeps the `fill_factor` nnz largest entries of L, and of U, for the nnz entries of A's triangle; of
///      equal ones the first by rows;
///   4. does one sweep on what is left.
///
/// The factors have the same bits for any number of threads. A later numeric phase with `reuse =
/// pattern` does 2 `steps` sweeps on the pattern found, from A's triangles. The report's notes have the
/// entries, the least sizes kept, and ||(A - L U)_S||_F / ||A_S||_F at the beginning, for A's own S, and in
/// the end. Where it grew, or is not finite, A's triangles are taken, as by ParIlu. Cost of a step: a list of
/// the columns of all products l_ik u_kj, sorted; two patterns' transposes; two sweeps and what takes about
/// as long as a third; 34 passes over the values for the largest. Memory in numeric: that list, 4 bytes a
/// product; the pattern with all candidates, 12 bytes an entry and 8 of a transpose; four copies of the
/// values. Columns >= num_rows (of other ranks) are skipped. For real scalars. Breakdown: see ParIlu. \throws
/// InputError where the list or the pattern takes more than `memory_budget`: a row and a column with most of
/// a matrix's entries make every entry a candidate. Source: Anzt, Chow, Dongarra,
/// SIAM J. Sci. Comput. 40 (2018); on GPUs Anzt, Ribizel, Flegar, Chow, Dongarra, IPDPS 2019.
template <class Scalar, class Space>
class ParIlut : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;
  using typename Method::matrix_source;
  using typename Method::matrix_view;
  using options_type = ParIlutOptions;
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  /// \throws OptionError for `Reuse::extend`
  explicit ParIlut(const ParIlutOptions& options = {});
  ~ParIlut() override;

  std::string name() const override { return ParIlutOptions::name; }
  Properties properties() const override { return m_options.properties(); }
  const ParIlutOptions& options() const { return m_options; }

  /// From the next numeric on the factors can be looked at: see IncompleteFactorization.
  void keep_factors() { m_keeps_factors = true; }
  const matrix_type& factor_lower() const { return m_lower; }
  const matrix_type& factor_upper() const { return m_upper; }
  const Vector<Scalar, Space>& pivots() const { return m_pivots; }
  const Vector<Scalar, Space>& row_scale() const { return m_row_scale; }
  double shift() const { return m_shift; }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  using Pattern = impl::par_ilu::ThresholdPattern<Space>;
  using Solves = impl::ilu::FactorSolves<Scalar, Space>;

  std::shared_ptr<const Pattern> find_pattern(const Space& space, const matrix_view& a) const;

  ParIlutOptions m_options;
  bool m_keeps_factors = false;
  std::shared_ptr<const Pattern> m_known;  ///< A's own
  std::shared_ptr<const Pattern> m_found;  ///< of a numeric phase
  std::shared_ptr<const Solves> m_solves;
  bool m_has_values = false;  ///< there was a numeric phase since symbolic
  matrix_type m_lower, m_upper;
  Vector<Scalar, Space> m_pivots, m_row_scale;
  double m_shift = 0;
};

}  // namespace prekond
