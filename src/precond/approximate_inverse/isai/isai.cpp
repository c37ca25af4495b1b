// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/isai.hpp>
#include <prekond/precond/relaxed.hpp>

#include "core/instantiate.hpp"
#include "precond/approximate_inverse/isai/general.hpp"
#include "precond/approximate_inverse/isai/triangle.hpp"

namespace prekond {
namespace {

/// The static FSAI by the ISAI's name, in its messages. The rows of a block, where there are blocks, are
/// solved together: with a power > 0 they have the same columns anyhow.
template <class Scalar, class Space>
class FactoredIsai : public Fsai<Scalar, Space> {
 public:
  using Fsai<Scalar, Space>::Fsai;
  using typename Fsai<Scalar, Space>::matrix_source;
  std::string name() const override { return IsaiOptions::name; }

 protected:
  int block_size_for(const matrix_source& source) const override {
    const auto* blocks = source.blocks();
    const bool together = blocks != nullptr && blocks->padding == 0 &&
                          blocks->block_size <= largest_block_size && this->options().power > 0 &&
                          this->options().prefilter == 0 && !this->has_user_pattern();
    return together ? blocks->block_size : 1;
  }
};

IsaiOptions checked(const IsaiOptions& options) {
  refuse_growing_pattern(IsaiOptions::name, options.reuse);
  return resolved(options);
}

FsaiOptions factored_options(const IsaiOptions& options) {
  FsaiOptions result;
  static_cast<StaticSetupOptions&>(result) = options;
  result.power = options.power;
  result.prefilter = options.prefilter;
  return result;
}

RelaxedOptions relaxed_options(const IsaiOptions& options) {
  RelaxedOptions result;
  result.steps = options.relaxation_steps;
  if (options.kind == IsaiKind::lower) result.part = MatrixPart::lower;
  if (options.kind == IsaiKind::upper) result.part = MatrixPart::upper;
  result.unit_diagonal = options.unit_diagonal;
  return result;
}

}  // namespace

template <class Scalar, class Space>
Isai<Scalar, Space>::Isai(const IsaiOptions& options) : m_options(checked(options)) {
  if (m_options.kind == IsaiKind::spd) {
    auto fsai = std::make_unique<FactoredIsai<Scalar, Space>>(factored_options(m_options));
    m_factored = fsai.get();
    m_method = std::move(fsai);
  } else {
    std::unique_ptr<Explicit> isai;
    if (m_options.kind == IsaiKind::general)
      isai = std::make_unique<impl::isai::GeneralIsai<Scalar, Space>>(m_options);
    else
      isai = std::make_unique<impl::isai::TriangularIsai<Scalar, Space>>(m_options);
    m_explicit = isai.get();
    m_method = std::move(isai);
  }
  if (m_options.relaxation_steps > 0)
    m_method = std::make_unique<Relaxed<Scalar, Space>>(std::move(m_method), relaxed_options(m_options));
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::set_pattern(const Space& space, const CsrGraphView<Space>& pattern) {
  if (m_factored)
    m_factored->set_pattern(space, pattern);
  else
    m_explicit->set_pattern(space, pattern);
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::set_listener(const typename Method::Listener& listener) {
  Method::set_listener(listener);
  m_method->set_listener(listener);
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> Isai<Scalar, Space>::make_workspace(const Space& space, int num_vectors) const {
  return m_method->make_workspace(space, num_vectors);
}

template <class Scalar, class Space>
const typename Isai<Scalar, Space>::matrix_type& Isai<Scalar, Space>::inverse() const {
  static const matrix_type none;
  return m_explicit ? m_explicit->inverse() : none;
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  m_method->symbolic(space, source);
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source, Report& report) {
  m_method->numeric(space, source);
  report = m_method->report();
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::numeric_without_rows(const Space& space, const matrix_source& source,
                                               Report& report) {
  Isai::numeric_step(space, source, report);
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                     MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  Method::apply_step_of(*m_method, space, x, y, workspace);
}

template <class Scalar, class Space>
void Isai<Scalar, Space>::apply_add_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                         MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  Method::apply_add_step_of(*m_method, space, x, y, workspace);
}

#define PREKOND_ISAI(Scalar, Space) template class Isai<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_ISAI)

}  // namespace prekond
