// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/power.hpp"
#include <prekond/core/error.hpp>
#include <prekond/pattern/impl/threshold.hpp>

#include "core/instantiate.hpp"
#include "sparse_product/row_search.hpp"

#include <algorithm>
#include <string>

namespace prekond {
namespace {

using impl::row_search::Part;

/// The limits that a result has to fit.
struct Budget {
  Part part;
  int k;
  std::int64_t num_rows;
  std::int64_t max_bytes;

  std::int64_t bytes(std::size_t nnz) const {
    return static_cast<std::int64_t>((num_rows + 1) * sizeof(std::size_t) + nnz * sizeof(int));
  }
  /// Entries up to which they are counted: where they are more than twice as many as there is room for, their
  /// number does not matter.
  std::size_t most_counted() const {
    return 2 * static_cast<std::size_t>(std::max<std::int64_t>(0, max_bytes - bytes(0))) / sizeof(int);
  }
  void check(std::size_t nnz, bool is_all = true) const {
    if (is_all && bytes(nnz) <= max_bytes) return;
    const std::string least = is_all ? "" : "more than ";
    throw InputError(
        (part == Part::lower ? "the lower triangle of the pattern's power " : "the pattern's power ") +
        std::to_string(k) + " would have " + least + std::to_string(nnz) + " entries and take " + least +
        std::to_string(bytes(nnz)) + " bytes, more than the " + std::to_string(max_bytes) +
        " allowed; lower the power, or raise the threshold or memory_budget");
  }
};

void check_power(int k) {
  if (k < 0) throw InputError("the power of a pattern is " + std::to_string(k) + "; it must be 0 or larger");
}

/// Entries of the lower triangle, with the whole diagonal.
template <class Space>
struct CountLowerTriangle {
  CsrGraphView<Space> s;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::size_t& sum) const {
    sum += s.first_from(i, i) - s.row_ptrs(i) + 1;
  }
};

}  // namespace

template <class Space>
CsrGraph<Space> lower_power(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s, int k,
                            std::int64_t max_bytes, std::int64_t slab_bytes) {
  check_power(k);
  const std::int64_t n = s.num_rows;
  const Budget budget{Part::lower, k, n, max_bytes};
  if (k == 1 || n == 0) {
    std::size_t nnz = 0;
    Kokkos::parallel_reduce("prekond::power::count_lower_triangle",
                            Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, n),
                            CountLowerTriangle<Space>{s}, nnz);
    budget.check(nnz);
    return lower_triangle<Space>(space, s);
  }
  return impl::row_search::search_rows<Space>(
      space, "prekond::power", s, budget.part, k, slab_bytes, budget.most_counted(),
      [&](std::size_t nnz, bool is_all) { budget.check(nnz, is_all); });
}

template <class Space>
CsrGraph<Space> power(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s, int k,
                      std::int64_t max_bytes, std::int64_t slab_bytes) {
  check_power(k);
  const std::int64_t n = s.num_rows;
  const Budget budget{Part::whole, k, n, max_bytes};
  if (k <= 1 || n == 0) {
    budget.check(static_cast<std::size_t>(n));
    if (k == 1) budget.check(static_cast<std::size_t>(s.nnz()));
    return k == 0 ? lower_power<Space>(space, s, 0, max_bytes, slab_bytes) : with_diagonal<Space>(space, s);
  }
  return impl::row_search::search_rows<Space>(
      space, "prekond::power", s, budget.part, k, slab_bytes, budget.most_counted(),
      [&](std::size_t nnz, bool is_all) { budget.check(nnz, is_all); });
}

#define PREKOND_LOWER_POWER(Space)                                                                         \
  template CsrGraph<Space> lower_power<Space>(const Space&, const CsrGraphView<Space>&, int, std::int64_t, \
                                              std::int64_t);                                               \
  template CsrGraph<Space> power<Space>(const Space&, const CsrGraphView<Space>&, int, std::int64_t,       \
                                        std::int64_t);
PREKOND_INSTANTIATE_SPACES(PREKOND_LOWER_POWER)

}  // namespace prekond
