// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/fingerprint.hpp"

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "matrix/pair_numbers.hpp"

namespace prekond {
namespace {

/// Entry k's number is mixed of k and its column, row i's of i and where it begins. Below 2^33 entries the
/// arguments of the entries are all different, and those of the rows.
template <class Space>
struct SumOfMixes {
  CsrGraphView<Space> pattern;
  std::int64_t nnz;

  KOKKOS_FUNCTION void operator()(std::int64_t k, std::uint64_t& sum) const {
    const bool entry = k < nnz;
    const std::int64_t i = k - nnz;
    const std::uint64_t place = entry ? static_cast<std::uint64_t>(k) : pattern.row_ptrs(i);
    const auto number = entry ? static_cast<std::uint64_t>(static_cast<unsigned>(pattern.col_idxs(k)))
                              : static_cast<std::uint64_t>(i);
    const std::uint64_t both = place ^ number << 33;
    sum += impl::mix_bits(entry ? ~both : both);
  }
};

template <class Space>
struct AnyDifference {
  CsrGraphView<Space> a, b;
  std::int64_t nnz;
  KOKKOS_FUNCTION void operator()(std::int64_t k, int& any) const {
    if (k < nnz ? a.col_idxs(k) != b.col_idxs(k) : a.row_ptrs(k - nnz) != b.row_ptrs(k - nnz)) any = 1;
  }
};

}  // namespace

template <class Space>
bool equal_patterns(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a,
                    const std::type_identity_t<CsrGraphView<Space>>& b) {
  if (a.num_rows != b.num_rows || a.num_cols != b.num_cols || a.nnz() != b.nnz()) return false;
  int any = 0;
  Kokkos::parallel_reduce(
      "prekond::equal_patterns",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.nnz() + a.num_rows),
      AnyDifference<Space>{a, b, a.nnz()}, Kokkos::Max<int>(any));
  return any <= 0;
}

template <class Space>
std::uint64_t fingerprint(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& pattern) {
  std::uint64_t sum = 0;
  const std::int64_t nnz = pattern.nnz();
  Kokkos::parallel_reduce(
      "prekond::fingerprint",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, nnz + pattern.num_rows),
      SumOfMixes<Space>{pattern, nnz}, sum);
  return sum + impl::mix_bits(static_cast<std::uint64_t>(pattern.num_rows) << 32 ^
                              static_cast<std::uint64_t>(pattern.num_cols));
}

template <class Space>
bool is_symmetric(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& pattern) {
  std::uint64_t sum = 0;
  Kokkos::parallel_reduce("prekond::is_symmetric",
                          impl::RowTeams<Space>::policy(space, pattern.num_rows, pattern.nnz()),
                          impl::SumOfPairs<Space>{pattern}, sum);
  return sum == 0;
}

#define PREKOND_FINGERPRINT(Space)                                                                           \
  template std::uint64_t fingerprint<Space>(const Space&, const std::type_identity_t<CsrGraphView<Space>>&); \
  template bool is_symmetric<Space>(const Space&, const CsrGraphView<Space>&);                               \
  template bool equal_patterns<Space>(const Space&, const CsrGraphView<Space>&, const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_FINGERPRINT)

}  // namespace prekond
