// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/common/breakdown_counter.hpp"

#include "instantiate.hpp"

namespace prekond::impl {

template <class Space>
Vector<BreakdownCounter, Space> make_breakdown_counter(const Space& space, const std::string& label) {
  return allocate_zero<Vector<BreakdownCounter, Space>>(space, label, 1);
}

template <class Space>
BreakdownCounter fetch(const Space& space, const Vector<BreakdownCounter, Space>& outcome) {
  BreakdownCounter result;
  Kokkos::deep_copy(
      space,
      Kokkos::View<BreakdownCounter, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&result),
      Kokkos::subview(outcome, 0));
  space.fence("prekond::breakdowns");
  return result;
}

#define PREKOND_BREAKDOWN_COUNTER(Space)                                                             \
  template Vector<BreakdownCounter, Space> make_breakdown_counter(const Space&, const std::string&); \
  template BreakdownCounter fetch(const Space&, const Vector<BreakdownCounter, Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_BREAKDOWN_COUNTER)

}  // namespace prekond::impl
