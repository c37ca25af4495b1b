// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/approximate_inverse/spai/least_on_pattern.hpp"

#include "sparse_product/transpose.hpp"

#include "core/instantiate.hpp"
#include "precond/approximate_inverse/spai/setup.hpp"

namespace prekond::impl::spai {

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> least_on_pattern(
    const Space& space, const CsrView<Scalar, Space>& a, const CsrGraph<Space>& pattern,
    const VectorView<const unsigned char, Space>& wanted, const SpaiOptions& options, const std::string& name,
    const CostListener& listener, Report& report) {
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  const bool right = options.side == Side::right;
  // The right inverse is found by the rows of A^T, and as M^T, whose values come into the place of these
  // zeros.
  Matrix m(a.num_rows, a.num_rows, pattern.row_ptrs, pattern.col_idxs,
           allocate_zero<Vector<Scalar, Space>>(space, "prekond::spai::values", pattern.nnz()));
  Matrix transposed;
  if (right) {
    m = transpose<Scalar, Space>(space, m);
    transposed = transpose<Scalar, Space>(space, a);
  }
  {
    const CsrView<Scalar, Space> b = right ? CsrView<Scalar, Space>(transposed) : a;
    Setup<Scalar, Space> setup(space, b, m, wanted, options, name, listener);
    setup.solve(m.values);
    report.breakdowns = spai::breakdowns_of(
        setup.outcome(),
        "of rank-deficient systems have the solution of the least norm, as far as rounding tells their rank");
    report.numeric_flops = setup.flops();
  }
  transposed = {};
  if (!right) return m;
  return transpose<Scalar, Space>(space, m);
}

#define PREKOND_LEAST_ON_PATTERN(Scalar, Space)                                                      \
  template CsrMatrix<Scalar, int, std::size_t, Space::memory_space> least_on_pattern<Scalar, Space>( \
      const Space&, const CsrView<Scalar, Space>&, const CsrGraph<Space>&,                           \
      const VectorView<const unsigned char, Space>&, const SpaiOptions&, const std::string&,         \
      const CostListener&, Report&);
PREKOND_INSTANTIATE(PREKOND_LEAST_ON_PATTERN)

}  // namespace prekond::impl::spai
