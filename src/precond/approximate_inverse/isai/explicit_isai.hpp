// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The parts that the ISAIs with an explicit M share.
#include <prekond/pattern/impl/threshold.hpp>
#include <prekond/precond/isai.hpp>
#include "pattern/power.hpp"
#include "sparse_product/wanted_rows.hpp"

#include "precond/setup/breakdown_counter.hpp"

namespace prekond::impl::isai {

/// M ~ A^-1, or T^-1 of a triangle T of A, on a pattern that is given in advance.
template <class Scalar, class Space>
class ExplicitIsai : public StaticPatternInverse<Scalar, Space, ExplicitInverse<Scalar, Space>> {
 public:
  using Base = StaticPatternInverse<Scalar, Space, ExplicitInverse<Scalar, Space>>;
  using typename Base::matrix_source;
  using typename Base::matrix_type;
  using typename Base::matrix_view;

  explicit ExplicitIsai(const IsaiOptions& options)
      : Base(IsaiOptions::name, options.reuse, options.prefilter > 0), m_options(options) {}

  std::string name() const override { return IsaiOptions::name; }
  Properties properties() const override { return m_options.properties(); }

 protected:
  /// The part of the user's pattern that M has.
  virtual CsrGraph<Space> part_of(const Space& space, const CsrGraph<Space>& pattern) const = 0;
  /// The power of the part of S, the filtered pattern of A.
  virtual CsrGraph<Space> power_of_part(const Space& space, const CsrGraphView<Space>& s) const = 0;
  /// Finds M's values, and writes the work to the report.
  virtual BreakdownCounter solve(const Space& space, const matrix_source& source, const matrix_type& m,
                                 Report& report) = 0;
  CsrGraph<Space> make_pattern(const Space& space, const matrix_source& source) override {
    const matrix_view& a = source.csr();
    if (this->has_user_pattern()) return part_of(space, this->user_pattern(a));
    const auto power = m_options.prefilter == 0
                           ? power_of_part(space, a)
                           : power_of_part(space, threshold<Scalar, Space>(space, a, m_options.prefilter,
                                                                           m_options.unit_diagonal));
    return keep_wanted_rows<Space>(space, power, source.wanted_rows());
  }

  const IsaiOptions& options() const { return m_options; }

 private:
  void find_inverse(const Space& space, const matrix_source& source, Report& report) override {
    const std::int64_t n = source.num_rows();
    const CsrGraph<Space> pattern = this->numeric_pattern(space, source);
    const matrix_type m(
        n, n, pattern.row_ptrs, pattern.col_idxs,
        allocate<Vector<Scalar, Space>>(space, "prekond::isai::numeric::values", pattern.nnz()));
    report.breakdowns =
        breakdowns_of(solve(space, source, m, report), "fewer columns, without those of bad pivots");
    this->store_inverse(space, m, {m_options.storage, m_options.storage_format}, report);
  }

  IsaiOptions m_options;
};

}  // namespace prekond::impl::isai
