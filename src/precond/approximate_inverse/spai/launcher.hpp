// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// How kernels over the columns of a bin are launched.
#include "core/concurrency.hpp"
#include "core/host_thread_group.hpp"

#include "precond/approximate_inverse/spai/kernels.hpp"

#include <algorithm>
#include <cstdint>

namespace prekond::impl::spai {

/// Whether all threads of a host work on each column of a bin, one column after another. The number of
/// threads has no part in it, since it must not change a bit. The threads share the columns of a local
/// matrix, which has to have many.
inline bool is_shared(const Bin& bin) {
  constexpr int longest_of_thread = 512, few_columns = 128;
  return bin.n2 > longest_of_thread && (bin.count <= few_columns || bin.n2 > 8 * longest_of_thread);
}

/// An instance of an execution space (a stream of a device's), with the slab and the counter of its kernels.
template <class Space>
class Launcher {
 public:
  static constexpr bool host = is_host_space<Space>;

  Launcher(const Space& space, std::int64_t workspace_budget)
      : m_space(space),
        m_workspace_budget(workspace_budget),
        m_next(allocate<Vector<int, Space>>(space, "prekond::spai::numeric::next", 1)) {}

  std::int64_t workspace_budget() const { return m_workspace_budget; }
  void fence() { m_space.fence("prekond::spai::numeric::launcher"); }

  void release_slab() {
    if (m_slab.extent(0) == 0) return;
    fence();
    m_slab = {};
  }

  /// `vectors` of a team, which are one column's or do one each.
  template <class Kernel>
  void launch(const char* label, Kernel kernel, int vectors) {
    using Policy = typename Kernel::Policy;
    const auto count = static_cast<std::int64_t>(kernel.columns.extent(0));
    const int in_team = Kernel::of_team ? 1 : vectors;
    auto league = static_cast<int>((count + in_team - 1) / in_team);
    if constexpr (Kernel::has_slab) {
      const std::size_t bytes = Kernel::unit == Unit::apart ? kernel.far_bytes : kernel.near_bytes;
      const std::int64_t affordable = std::max<std::int64_t>(
          1, m_workspace_budget / static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1)));
      const std::int64_t useful = std::max(1, concurrency(m_space) / (vectors * Kernel::width));
      league = static_cast<int>(std::min({count, useful, affordable}));
      kernel.slab = slab_of(bytes * static_cast<std::size_t>(league));
      kernel.next = m_next;
      set_zero(m_space, m_next);
    }
    auto policy = Policy(m_space, league, host ? 1 : vectors, Kernel::width);
    if constexpr (Kernel::has_scratch)
      policy.set_scratch_size(
          0, Kokkos::PerTeam(static_cast<int>(kernel.near_bytes * static_cast<std::size_t>(in_team) + 16)));
    Kokkos::parallel_for(label, policy, kernel);
  }

  /// The columns of a bin: by `launch`, or, where they are shared, one after another by all threads of a
  /// host.
  template <class Kernel>
  void launch_bin(const char* label, const Kernel& kernel, int vectors, const Bin& bin) {
    if constexpr (host) {
      if (is_shared(bin)) {
        char* const near = slab_of(kernel.near_bytes).data();
        fence();
        const HostThreadGroup<Space> level(m_space, label);
        for (std::int64_t k = 0; k < bin.count; ++k)
          kernel.do_column(level, near, static_cast<char*>(nullptr), kernel.columns(k));
        return;
      }
    }
    launch(label, kernel, vectors);
  }

 private:
  /// Larger where it has to be: the first bins need most.
  VectorView<char, Space> slab_of(std::size_t bytes) {
    if (m_slab.extent(0) < bytes) {
      release_slab();
      m_slab = allocate<Vector<char, Space>>(m_space, "prekond::spai::numeric::slab", bytes);
    }
    return m_slab;
  }

  Space m_space;
  std::int64_t m_workspace_budget;
  Vector<int, Space> m_next;
  Vector<char, Space> m_slab;
};

}  // namespace prekond::impl::spai
