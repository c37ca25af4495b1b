// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/pattern/impl/threshold.hpp>
#include <prekond/precond/impl/static_pattern_inverse.hpp>

#include "core/instantiate.hpp"
#include "precond/setup/check_pattern.hpp"

#include <utility>

namespace prekond {

template <class Scalar, class Space, class Inverse>
StaticPatternInverse<Scalar, Space, Inverse>::StaticPatternInverse(const std::string& name, Reuse reuse,
                                                                   bool needs_values)
    : m_reuse(reuse), m_needs_values(needs_values) {
  refuse_growing_pattern(name, reuse);
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
void StaticPatternInverse<Scalar, Space, Inverse>::symbolic_step(const Space& space,
                                                                 const matrix_source& source) {
  const CsrGraph<Space> before = std::exchange(m_user_pattern, m_given_pattern);
  CsrGraph<Space> pattern;
  try {
    if (source.num_rows() > 0 && (!m_needs_values || has_user_pattern()))
      pattern = make_pattern(space, source);
  } catch (...) {
    m_user_pattern = before;
    throw;
  }
  m_pattern = pattern;
  this->forget_inverse();
}

template <class Scalar, class Space, class Inverse>
void StaticPatternInverse<Scalar, Space, Inverse>::numeric_step(const Space& space,
                                                                const matrix_source& source, Report& report) {
  report.pattern_kept = keeps_pattern();
  find_inverse(space, source, report);
  // The inverse's own is the pattern now, unless the next values have another one.
  if (m_reuse == Reuse::pattern) m_pattern = {};
}

template <class Scalar, class Space, class Inverse>
void StaticPatternInverse<Scalar, Space, Inverse>::numeric_without_rows(const Space& space,
                                                                        const matrix_source& source,
                                                                        Report& report) {
  report.pattern_kept = keeps_pattern();
  Inverse::numeric_without_rows(space, source, report);
}

template <class Scalar, class Space, class Inverse>
CsrGraph<Space> StaticPatternInverse<Scalar, Space, Inverse>::numeric_pattern(const Space& space,
                                                                              const matrix_source& source) {
  if (keeps_pattern()) return this->inverse_pattern();
  return m_pattern.row_ptrs.extent(0) > 0 ? m_pattern : make_pattern(space, source);
}

#define PREKOND_STATIC_PATTERN_INVERSE(Scalar, Space) \
  template class StaticPatternInverse<Scalar, Space>; \
  template class StaticPatternInverse<Scalar, Space, ExplicitInverse<Scalar, Space>>;
PREKOND_INSTANTIATE(PREKOND_STATIC_PATTERN_INVERSE)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_STATIC_PATTERN_INVERSE)

}  // namespace prekond
