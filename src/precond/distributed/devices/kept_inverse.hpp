// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// An inverse that was found elsewhere, kept and applied as that of a method.
#include <prekond/precond/impl/explicit_inverse.hpp>
#include <prekond/precond/impl/factored_inverse.hpp>

#include <string>
#include <utility>

namespace prekond::impl::devices {

/// The common part of the two kinds: `numeric` stores what it was given by `give` before.
template <class Scalar, class Space, class Inverse>
class KeptInverse : public Inverse {
 public:
  using typename Inverse::matrix_source;
  using typename Inverse::matrix_type;

  KeptInverse(std::string name, const Properties& properties, StoredAs as)
      : m_as(as), m_name(std::move(name)), m_properties(properties) {}

  std::string name() const override { return m_name; }
  Properties properties() const override { return m_properties; }

  /// G twice, G_L and G_U^T, or M twice.
  void give(const matrix_type& first, const matrix_type& second) {
    m_first = first;
    m_second = second;
  }

 protected:
  void symbolic_step(const Space&, const matrix_source&) override {}
  void numeric_step(const Space& space, const matrix_source&, Report& report) override {
    const matrix_type first = std::exchange(m_first, {}), second = std::exchange(m_second, {});
    if constexpr (std::is_same_v<Inverse, FactoredInverse<Scalar, Space>>)
      this->store_factors(space, first, second, m_as, report);
    else
      this->store_inverse(space, first, m_as, report);
  }

 private:
  StoredAs m_as;
  std::string m_name;
  Properties m_properties;
  matrix_type m_first, m_second;
};

}  // namespace prekond::impl::devices
