// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/pattern/fingerprint.hpp>

#include "core/row_teams.hpp"
#include "instantiate.hpp"

namespace prekond {
namespace {

/// The finaliser of MurmurHash3: every bit of the argument moves about half of the result's.
KOKKOS_FUNCTION std::uint64_t mix(std::uint64_t bits) {
  bits ^= bits >> 33;
  bits *= 0xff51afd7ed558ccdull;
  bits ^= bits >> 33;
  bits *= 0xc4ceb9fe1a85ec53ull;
  return bits ^ bits >> 33;
}

template <class Space>
struct SumOfMixes {
  using Teams = impl::RowTeams<Space>;
  CsrGraphView<Space> pattern;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team, std::uint64_t& sum) const {
    Teams{pattern.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = pattern.row_ptrs(i), end = pattern.row_ptrs(i + 1);
      const std::uint64_t row = static_cast<std::uint64_t>(i + 1) << 32;
      std::uint64_t of_row = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, begin, end),
          [&](std::size_t k, std::uint64_t& part) {
            part += mix(row ^ static_cast<std::uint64_t>(static_cast<unsigned>(pattern.col_idxs(k))));
          },
          of_row);
      Kokkos::single(Kokkos::PerThread(team), [&] { sum += of_row; });
    });
  }
};

}  // namespace

template <class Space>
std::uint64_t fingerprint(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& pattern) {
  using Teams = impl::RowTeams<Space>;
  std::uint64_t sum = 0;
  if (pattern.num_rows > 0)
    Kokkos::parallel_reduce("prekond::fingerprint", Teams::policy(space, pattern.num_rows, pattern.nnz()),
                            SumOfMixes<Space>{pattern}, sum);
  return sum + mix(static_cast<std::uint64_t>(pattern.num_rows) << 32 ^
                   static_cast<std::uint64_t>(pattern.num_cols));
}

#define PREKOND_FINGERPRINT(Space) \
  template std::uint64_t fingerprint<Space>(const Space&, const std::type_identity_t<CsrGraphView<Space>>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_FINGERPRINT)

}  // namespace prekond
