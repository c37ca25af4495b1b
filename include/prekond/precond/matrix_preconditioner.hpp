// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/preconditioner.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <functional>
#include <string>

namespace prekond {

/// A preconditioner made from a matrix in two phases.
///
/// `symbolic(space, A)` looks at the pattern; `numeric(space, A)` at the values, and may be called again when
/// only the values changed. A is not kept: it may go away after the call. A failed phase throws and leaves
/// the preconditioner as it was.
template <class Scalar, class Space, class Ordinal = int, class Offset = std::size_t>
class MatrixPreconditioner : public Preconditioner<Scalar, Space> {
 public:
  using matrix_view = CsrView<Scalar, Space, Ordinal, Offset>;

  virtual void symbolic(const Space& space, const matrix_view& a) = 0;
  virtual void numeric(const Space& space, const matrix_view& a) = 0;

  std::int64_t num_rows() const override { return m_num_rows; }

  /// What the options say, and what the matrix adds to it once there is one.
  virtual Properties properties() const { return {}; }
  bool is_symmetric() const final { return properties().symmetry == Symmetry::symmetric; }
  bool is_nonsymmetric() const final { return properties().symmetry == Symmetry::nonsymmetric; }

  const Report& report() const override { return m_report; }

  /// Who is told, a sentence each, what a user should know while a phase goes on: that it will be long. The
  /// report's notes have it too, but only in the end. What the listener throws ends the phase.
  using Listener = std::function<void(const std::string&)>;
  virtual void set_listener(const Listener& listener) { m_listener = listener; }

 protected:
  /// Tells the listener, and notes it in a phase's report. Nothing where the text is empty.
  void tell(const std::string& text, Report& report) const {
    if (text.empty()) return;
    report.notes.push_back(text);
    if (m_listener) m_listener(text);
  }

  std::int64_t m_num_rows = 0;
  Report m_report;

 private:
  Listener m_listener;
};

}  // namespace prekond
