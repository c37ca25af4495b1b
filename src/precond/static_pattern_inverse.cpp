// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/core/threads.hpp>
#include <prekond/pattern/threshold.hpp>
#include <prekond/precond/impl/fsai_diagonal.hpp>
#include <prekond/precond/static_pattern_inverse.hpp>

#include "instantiate.hpp"

namespace prekond {

template <class Scalar, class Space, class Inverse>
StaticPatternInverse<Scalar, Space, Inverse>::StaticPatternInverse(const std::string& name, Reuse reuse,
                                                                   bool needs_values)
    : m_reuse(reuse), m_needs_values(needs_values) {
  if (reuse == Reuse::extend)
    throw OptionError(
        name + ": reuse = extend is for patterns that grow, those of adaptive_fsai; choose pattern or none");
}

template <class Scalar, class Space, class Inverse>
void StaticPatternInverse<Scalar, Space, Inverse>::set_pattern(const Space& space,
                                                               const CsrGraphView<Space>& pattern) {
  impl::check_graph(space, pattern, this->name());
  m_given_pattern = Inverse::pattern_from(space, pattern);
}

template <class Scalar, class Space, class Inverse>
CsrGraph<Space> StaticPatternInverse<Scalar, Space, Inverse>::user_pattern(const matrix_view& a) const {
  impl::check_pattern_rows(m_user_pattern, a.num_rows, this->name());
  return m_user_pattern;
}

template <class Scalar, class Space, class Inverse>
void StaticPatternInverse<Scalar, Space, Inverse>::symbolic(const Space& space, const matrix_view& a) {
  check_threads(space);
  Kokkos::Timer timer;
  impl::check_part(a, this->name());
  m_user_pattern = m_given_pattern;
  CsrGraph<Space> pattern;
  if (a.num_rows > 0 && (!m_needs_values || has_user_pattern())) {
    pattern = make_pattern(space, a);
    space.fence("prekond::fsai::symbolic::end");
  }
  m_pattern = pattern;
  this->m_num_rows = a.num_rows;
  this->m_report = {};
  m_symbolic_done = true;
  this->forget_inverse();
  this->m_report.symbolic_seconds = timer.seconds();
}

template <class Scalar, class Space, class Inverse>
bool StaticPatternInverse<Scalar, Space, Inverse>::begin_numeric(const Space& space, const matrix_view& a,
                                                                 Report& report) {
  if (!m_symbolic_done) symbolic(space, a);
  impl::check_part(a, this->name());
  impl::check_same_rows(a.num_rows, this->m_num_rows, this->name());
  report.symbolic_seconds = this->m_report.symbolic_seconds;
  report.pattern_kept = keeps_pattern();
  if (a.num_rows > 0) return true;
  this->take_empty_inverse(space);
  this->m_report = report;
  return false;
}

template <class Scalar, class Space, class Inverse>
CsrGraph<Space> StaticPatternInverse<Scalar, Space, Inverse>::numeric_pattern(const Space& space,
                                                                              const matrix_view& a,
                                                                              int fences, Report& report) {
  if (keeps_pattern()) return this->inverse_pattern();
  if (m_pattern.row_ptrs.extent(0) > 0) return m_pattern;
  report.fences += fences;
  return make_pattern(space, a);
}

#define PREKOND_STATIC_PATTERN_INVERSE(Scalar, Space) \
  template class StaticPatternInverse<Scalar, Space>; \
  template class StaticPatternInverse<Scalar, Space, ExplicitInverse<Scalar, Space>>;
PREKOND_INSTANTIATE(PREKOND_STATIC_PATTERN_INVERSE)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_STATIC_PATTERN_INVERSE)

}  // namespace prekond
