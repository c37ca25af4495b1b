// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "core/lane_group.hpp"

#include <cstdint>

namespace prekond {

namespace impl {
template <class F>
struct CallByIndex {
  const F* f;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(std::int64_t k) const { (*f)(k); }
};
}  // namespace impl

/// One lane of the host, with all threads of an execution space at its service: for a system that is too
/// large to be left to one of them. It is made and used outside of kernels. The work of a dense kernel in
/// `for_each` and `for_each_by_vectors` becomes a launch whose tasks the threads share, everything else is
/// done by the calling thread. A task does the same whoever does it: the bits do not depend on the number of
/// threads.
template <class Space>
class HostThreadGroup : public HostLaneGroup<Space> {
 public:
  static constexpr bool shares_loops = true;

  /// `label` is the launches'.
  HostThreadGroup(const Space& space, const char* label)
      : HostLaneGroup<Space>(space), m_space(space), m_label(label) {}

  /// Calls f(k) for 0 <= k < n, in any order, and waits for all of them.
  template <class F>
  KOKKOS_FUNCTION void for_each(std::int64_t n, const F& f) const {
    using Policy =
        Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>, Kokkos::Schedule<Kokkos::Dynamic>>;
    KOKKOS_IF_ON_HOST((if (n > 0) {
      Kokkos::parallel_for(m_label, Policy(m_space, 0, n), impl::CallByIndex<F>{&f});
      m_space.fence(m_label);
    }))
    KOKKOS_IF_ON_DEVICE(((void)n; (void)f;))
  }

 private:
  Space m_space;
  const char* m_label;
};

/// Whether a lane group's loops are shared by threads (HostThreadGroup).
template <class LaneGroup>
inline constexpr bool shares_loops = requires {
  LaneGroup::shares_loops;
};

/// Calls f(k) for 0 <= k < n: by the lane group's lanes in turns, or by its threads. Ends with a barrier.
template <class LaneGroup, class Index, class F>
KOKKOS_FORCEINLINE_FUNCTION void for_each(const LaneGroup& lane_group, Index n, const F& f) {
  if constexpr (shares_loops<LaneGroup>) {
    lane_group.for_each(n, [&](std::int64_t k) { f(static_cast<Index>(k)); });
  } else {
    lane_group.region([&](int lane) {
      for (Index k = lane; k < n; k += lane_group.size()) f(k);
    });
  }
}

/// Calls f(vector, k) for 0 <= k < n, each by a vector of the lane group's: by its vectors in turns, or by
/// its threads. Ends with a barrier.
template <class LaneGroup, class F>
KOKKOS_FORCEINLINE_FUNCTION void for_each_by_vectors(const LaneGroup& lane_group, int n, const F& f) {
  if constexpr (shares_loops<LaneGroup>) {
    lane_group.for_each(n, [&](std::int64_t k) { f(lane_group.vector(), static_cast<int>(k)); });
  } else {
    for (int k = lane_group.group(); k < n; k += lane_group.num_groups()) f(lane_group.vector(), k);
    lane_group.join();
  }
}

}  // namespace prekond
