// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/setup/breakdown_counter.hpp"

#include "core/instantiate.hpp"

namespace prekond::impl {

namespace {
template <class Space>
struct SetWanted {
  VectorView<BreakdownCounter, Space> outcome;
  VectorView<const unsigned char, Space> wanted;
  KOKKOS_FUNCTION void operator()(int) const { outcome(0).wanted = wanted.data(); }
};
}  // namespace

template <class Space>
Vector<BreakdownCounter, Space> make_breakdown_counter(
    const Space& space, const std::string& label,
    const std::type_identity_t<VectorView<const unsigned char, Space>>& wanted) {
  const auto outcome = allocate_zero<Vector<BreakdownCounter, Space>>(space, label, 1);
  if (wanted.extent(0) > 0)
    Kokkos::parallel_for("prekond::breakdowns::wanted", Kokkos::RangePolicy<Space>(space, 0, 1),
                         SetWanted<Space>{outcome, wanted});
  return outcome;
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

#define PREKOND_BREAKDOWN_COUNTER(Space)                                                \
  template Vector<BreakdownCounter, Space> make_breakdown_counter(                      \
      const Space&, const std::string&, const VectorView<const unsigned char, Space>&); \
  template BreakdownCounter fetch(const Space&, const Vector<BreakdownCounter, Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_BREAKDOWN_COUNTER)

}  // namespace prekond::impl
