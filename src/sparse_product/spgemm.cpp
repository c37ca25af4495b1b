// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/sparse_product/spgemm.hpp>

#include "core/instantiate.hpp"
#include "sparse_product/host_product.hpp"
#include "sparse_product/product_rows.hpp"
#include "sparse_product/row_search.hpp"

#include <limits>
#include <string>

namespace prekond {
template <class Space>
CsrGraph<Space> product_pattern(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a,
                                const std::type_identity_t<CsrGraphView<Space>>& b, std::int64_t max_bytes,
                                std::int64_t slab_bytes) {
  impl::spgemm::check_fit(a.num_rows, a.num_cols, b.num_rows, b.num_cols);
  if (a.nnz() > 0 && b.nnz() > 0) {
    const auto check = [&](std::size_t nnz) { impl::spgemm::check_size(a.num_rows, nnz, max_bytes); };
    const auto found = [&] {
      if constexpr (is_host_space<Space>)
        return impl::spgemm::pattern_on_host<Space>(space, a, b, slab_bytes, check);
      else
        return impl::spgemm::pattern_on_device<Space>(space, a, b, slab_bytes, check);
    }();
    if (found) return *found;
    return impl::row_search::search_rows<Space>(
        space, "prekond::spgemm", a, b, impl::row_search::Part::product, 1, slab_bytes,
        std::numeric_limits<std::size_t>::max(), [&](std::size_t nnz, bool) { check(nnz); });
  }
  return {a.num_rows, b.num_cols,
          allocate_zero<Vector<std::size_t, Space>>(space, "prekond::spgemm::row_ptrs", a.num_rows + 1),
          Vector<int, Space>()};
}

#define PREKOND_PRODUCT_PATTERN(Space)                                                      \
  template CsrGraph<Space> product_pattern<Space>(const Space&, const CsrGraphView<Space>&, \
                                                  const CsrGraphView<Space>&, std::int64_t, std::int64_t);
PREKOND_INSTANTIATE_SPACES(PREKOND_PRODUCT_PATTERN)

}  // namespace prekond
