// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

namespace prekond {

struct NoneOptions {
  static constexpr const char* name = "none";
  static constexpr const char* summary = "no preconditioner, M = I";
  static constexpr const char* paper = "";
  Properties properties() const { return {.symmetry = Symmetry::symmetric}; }

  template <class Visitor>
  void describe(Visitor&) {}
};

namespace impl {
template <class Scalar, class Space>
struct CopyRow {
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(int i) const {
    for (std::size_t v = 0; v < x.extent(1); ++v) y(i, v) = x(i, v);
  }
};
}  // namespace impl

/// The identity: y = x.
template <class Scalar, class Space>
class None : public MatrixPreconditioner<Scalar, Space> {
 public:
  using options_type = NoneOptions;
  using typename MatrixPreconditioner<Scalar, Space>::matrix_source;
  using typename MatrixPreconditioner<Scalar, Space>::matrix_view;

  explicit None(const NoneOptions& = {}) {}
  std::string name() const override { return NoneOptions::name; }
  Properties properties() const override { return NoneOptions().properties(); }

 protected:
  void symbolic_step(const Space&, const matrix_source&) override {}
  void numeric_step(const Space&, const matrix_source&, Report&) override {}
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace&) const override {
    Kokkos::parallel_for("prekond::none::apply", Kokkos::RangePolicy<Space>(space, 0, x.extent(0)),
                         impl::CopyRow<Scalar, Space>{x, y});
  }
};

}  // namespace prekond
