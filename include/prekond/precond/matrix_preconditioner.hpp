// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/setup_memory.hpp>
#include <prekond/core/impl/threads.hpp>
#include <prekond/core/preconditioner.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/matrix/matrix_source.hpp>
#include <prekond/matrix/validate.hpp>
#include <prekond/precond/impl/phase_checks.hpp>
#include <prekond/precond/impl/phase_counter.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace prekond {

/// The rows that a part of an inverse depends on, for a setup over several ranks: a row's part on the rows of
/// A that `levels` steps along its entries lead to.
struct RowReach {
  int levels = -1;          ///< -1: on all rows
  bool both_ways = false;   ///< the steps lead along the entries of A^T too
  bool by_columns = false;  ///< it is a column of the inverse that depends so, not a row
  int block_rows = 1;       ///< rows b k .. b k + b - 1 are found together
  bool adaptive = false;    ///< fewer levels bound what is found, and leave it an inverse of its kind
};

/// A preconditioner made from a matrix in two phases, and applied.
///
/// `symbolic(space, A)` looks at the pattern; `numeric(space, A)` at the values, and may be called again when
/// only the values changed. A is a CsrMatrix, or a MatrixSource where more is known of it than its entries.
/// It is not kept: it may go away after the call. A failed phase throws and leaves the preconditioner as it
/// was, its report included.
///
/// An algorithm derives from this and gives the three steps below. Their frame is the same for all,
/// and is here: the order of the calls, the sizes, the times, the count of fences, a rank's part without
/// rows.
template <class Scalar, class Space, class Ordinal = int, class Offset = std::size_t>
class MatrixPreconditioner : public Preconditioner<Scalar, Space> {
 public:
  using matrix_source = MatrixSource<Scalar, Space, Ordinal, Offset>;
  using matrix_view = typename matrix_source::matrix_view;

  /// Begins anew, with A's pattern: there is nothing to apply until `numeric`. Fences.
  ///
  /// \throws InputError where A has fewer columns than rows or the columns of a row do not ascend, and where
  /// the algorithm says so \throws OptionError see check_threads
  void symbolic(const Space& space, const matrix_source& source);

  /// Makes the inverse from A's values. The first call runs `symbolic` before, where that was not done.
  /// Fences, which the report counts.
  ///
  /// \throws InputError where A has fewer columns than rows, or another number of rows than `symbolic` was
  /// given, and where the algorithm says so \throws OptionError see check_threads
  void numeric(const Space& space, const matrix_source& source);

  /// y = M^-1 x for k vectors. Cost: the algorithm's, and k^2 comparisons on the host where x and y are parts
  /// of one block. Allocates nothing, does not fence.
  ///
  /// \throws std::logic_error before `numeric`, for x and y that share memory, and for a workspace that was
  /// made for fewer vectors \throws InputError for x or y of another size than num_rows() x k
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const final;

  /// y = y + M^-1 x, likewise: M^-1 x is rounded before it is added. \pre can_apply_add()
  void apply_add(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                 Workspace& workspace) const;
  /// Does the algorithm add M^-1 x to a vector without one more vector for it?
  virtual bool can_apply_add() const { return false; }

  /// The rows of the last phase that succeeded; 0 before the first.
  std::int64_t num_rows() const override { return m_num_rows; }

  /// The properties by the options, and by the matrix once there is one.
  virtual Properties properties() const { return {}; }
  bool is_symmetric() const final { return properties().symmetry == Symmetry::symmetric; }
  bool is_nonsymmetric() const final { return properties().symmetry == Symmetry::nonsymmetric; }
  bool is_variable() const final { return properties().is_variable; }

  /// How far a part of the inverse reaches. Here: it depends on all rows.
  virtual RowReach reach() const { return {}; }

  const Report& report() const override { return m_report; }

  /// Who is told, a sentence each, what a user should know while a phase goes on: that it will be long. The
  /// report's notes have it too, but only in the end. An exception of the listener ends the phase.
  using Listener = std::function<void(const std::string&)>;
  virtual void set_listener(const Listener& listener) { m_listener = listener; }

 protected:
  /// The work of the algorithm on the pattern. It forgets what was applied before. A step changes its
  /// object once nothing can fail any more; kernels may still run when it ends.
  virtual void symbolic_step(const Space& space, const matrix_source& source) = 0;

  /// The work on the values, and its part of the report; the frame adds times, fences and the
  /// peak of the temporary memory. A has
  /// rows, as many as symbolic_step's. `num_rows()` and `report()` are those of the phase before.
  virtual void numeric_step(const Space& space, const matrix_source& source, Report& report) = 0;

  /// Bytes that symbolic_step left and numeric_step works with, without those that its result keeps.
  virtual std::int64_t symbolic_bytes() const { return 0; }

  /// In place of numeric_step on a rank's part without rows. \pre source.num_rows() == 0
  virtual void numeric_without_rows(const Space&, const matrix_source&, Report&) {}

  /// y = M^-1 x, after a numeric_step. x and y have num_rows() > 0 rows and as many vectors, one at least,
  /// and share no memory.
  virtual void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                          MultiVectorView<Scalar, Space> y, Workspace& workspace) const = 0;

  /// y = y + M^-1 x, likewise. \throws std::logic_error where the algorithm has none
  virtual void apply_add_step(const Space&, MultiVectorView<const Scalar, Space>,
                              MultiVectorView<Scalar, Space>, Workspace&) const {
    throw std::logic_error(this->name() + ": it cannot add to a vector, apply_add");
  }

  /// The steps of another one that a wrapper's own phases have set up: what the wrapper's frame has checked
  /// is not checked again.
  static void apply_step_of(const MatrixPreconditioner& inner, const Space& space,
                            MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                            Workspace& workspace) {
    inner.apply_step(space, x, y, workspace);
  }
  static void apply_add_step_of(const MatrixPreconditioner& inner, const Space& space,
                                MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                                Workspace& workspace) {
    inner.apply_add_step(space, x, y, workspace);
  }

  /// Tells the listener, and notes it in a phase's report. Nothing where the text is empty.
  void tell(const std::string& text, Report& report) const {
    if (text.empty()) return;
    report.notes.push_back(text);
    if (m_listener) m_listener(text);
  }

 private:
  enum class State { nothing, symbolic, numeric };

  /// \returns the seconds that it took
  double run_symbolic(const Space& space, const matrix_source& source);
  void check_apply(const MultiVectorView<const Scalar, Space>& x,
                   const MultiVectorView<Scalar, Space>& y) const;

  State m_state = State::nothing;
  std::int64_t m_num_rows = 0;
  Report m_report;
  Listener m_listener;
};

template <class Scalar, class Space, class Ordinal, class Offset>
double MatrixPreconditioner<Scalar, Space, Ordinal, Offset>::run_symbolic(const Space& space,
                                                                          const matrix_source& source) {
  const Kokkos::Timer timer;
  if constexpr (matrix_source::can_expand)
    if (!source.blocks() && !rows_ascend<Scalar, Space>(space, source.csr()))
      validate<Scalar, Space>(space, source.csr());
  symbolic_step(space, source);
  space.fence("prekond::symbolic::end");
  return timer.seconds();
}

template <class Scalar, class Space, class Ordinal, class Offset>
void MatrixPreconditioner<Scalar, Space, Ordinal, Offset>::symbolic(const Space& space,
                                                                    const matrix_source& source) {
  check_threads(space);
  impl::check_part(source.num_rows(), source.num_cols(), this->name());
  const impl::SetupMemory memory(space);
  Report report;
  report.symbolic_seconds = run_symbolic(space, source);
  m_report = std::move(report);
  m_num_rows = source.num_rows();
  m_state = State::symbolic;
}

template <class Scalar, class Space, class Ordinal, class Offset>
void MatrixPreconditioner<Scalar, Space, Ordinal, Offset>::numeric(const Space& space,
                                                                   const matrix_source& source) {
  check_threads(space);
  impl::check_part(source.num_rows(), source.num_cols(), this->name());
  const bool is_first = m_state == State::nothing;
  if (!is_first) impl::check_same_rows(source.num_rows(), m_num_rows, this->name());
  std::optional<impl::SetupMemory> memory(std::in_place, space);
  const double symbolic_seconds = is_first ? run_symbolic(space, source) : m_report.symbolic_seconds;
  Report report;
  const Kokkos::Timer timer;
  const std::int64_t from_symbolic = symbolic_bytes();
  const impl::PhaseCounter counter;
  if (source.num_rows() > 0)
    numeric_step(space, source, report);
  else
    numeric_without_rows(space, source, report);
  space.fence("prekond::numeric::end");
  memory.reset();  // the end of small views counts too
  report.numeric_seconds = timer.seconds();
  report.symbolic_seconds = symbolic_seconds;
  report.fences = counter.fences();
  report.setup_bytes = std::max(report.setup_bytes, from_symbolic + counter.temporary_bytes());
  m_report = std::move(report);
  m_num_rows = source.num_rows();
  m_state = State::numeric;
}

template <class Scalar, class Space, class Ordinal, class Offset>
void MatrixPreconditioner<Scalar, Space, Ordinal, Offset>::check_apply(
    const MultiVectorView<const Scalar, Space>& x, const MultiVectorView<Scalar, Space>& y) const {
  if (m_state != State::numeric) throw std::logic_error(this->name() + ": apply before numeric");
  impl::check_vectors<Scalar, Space>(m_num_rows, x, y, *this);
}

template <class Scalar, class Space, class Ordinal, class Offset>
void MatrixPreconditioner<Scalar, Space, Ordinal, Offset>::apply(const Space& space,
                                                                 MultiVectorView<const Scalar, Space> x,
                                                                 MultiVectorView<Scalar, Space> y,
                                                                 Workspace& workspace) const {
  check_apply(x, y);
  if (x.size() > 0) apply_step(space, x, y, workspace);
}

template <class Scalar, class Space, class Ordinal, class Offset>
void MatrixPreconditioner<Scalar, Space, Ordinal, Offset>::apply_add(const Space& space,
                                                                     MultiVectorView<const Scalar, Space> x,
                                                                     MultiVectorView<Scalar, Space> y,
                                                                     Workspace& workspace) const {
  check_apply(x, y);
  if (x.size() > 0) apply_add_step(space, x, y, workspace);
}

}  // namespace prekond
