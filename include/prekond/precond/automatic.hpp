// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/precond/candidates.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <memory>
#include <string>
#include <vector>

namespace prekond {

/// A preconditioner chosen by the matrix, for a solver that somebody else has chosen.
///
/// The candidates are those of `candidates_for`. A trial solve with Jacobi and a random right-hand side tells
/// how hard the system is, and so the iterations that each of the others needs; the one of the least
/// work(solves) is set up. Where a setup fails the next one takes its place. For a Hermitian matrix with a
/// positive diagonal M is symmetric, unless the trial shows that A is not definite. AutoSolver, which chooses
/// the solver as well and sees the residuals of the true system, chooses better.
///
/// `symbolic` does nothing, as a choice needs values. The first `numeric` chooses; later ones keep the
/// method, and run its `numeric`; where that fails they choose again. Columns of other ranks are left out:
/// each rank chooses for its own rows.
///
/// Cost besides the method's: a pass over A, and the trial, at most `budget` times the work expected of the
/// other method that is cheapest. Memory: one method's at a time.
/// Breakdown: the method's.
/// \throws InputError from `numeric` where no method of the list can be set up
template <class Scalar, class Space>
class Automatic : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Inner = MatrixPreconditioner<Scalar, Space>;
  using options_type = AutomaticOptions;
  using typename Inner::matrix_source;

  /// \throws OptionError for a value out of its range
  explicit Automatic(const AutomaticOptions& options = {}) : m_options(resolved(options)) {}

  std::string name() const override { return AutomaticOptions::name; }
  /// The method's, once it is chosen.
  Properties properties() const override { return m_inner ? m_inner->properties() : Properties(); }
  bool can_apply_add() const override { return m_inner && m_inner->can_apply_add(); }
  void set_listener(const typename Inner::Listener& listener) override;
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;

  /// The candidates, with what became of each; none before `numeric`.
  const std::vector<Candidate>& candidates() const { return m_candidates; }
  /// The method. \throws std::logic_error before a `numeric` with rows
  const Inner& inner() const;

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;
  void apply_add_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                      MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  std::string choose(const Space& space, const matrix_source& source);

  AutomaticOptions m_options;
  typename Inner::Listener m_inner_listener;
  std::vector<Candidate> m_candidates;
  std::unique_ptr<Inner> m_inner;
  std::string m_reason;  ///< why the method was chosen
};

}  // namespace prekond
