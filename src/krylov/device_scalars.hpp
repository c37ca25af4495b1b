// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>

#include <atomic>
#include <cmath>
#include <string>

namespace prekond::krylov {

/// Copies scalars of a device to memory that the host reads, and then writes `number` to `arrived`. One team.
template <class Scalar, class Space>
struct SendScalars {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  const Scalar* from;
  Scalar* to;
  int count;
  unsigned* arrived;
  unsigned number;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int k) { to[k] = from[k]; });
    desul::atomic_thread_fence(desul::MemoryOrderSeqCst(), desul::MemoryScopeNode());
    team.team_barrier();
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      desul::atomic_thread_fence(desul::MemoryOrderSeqCst(), desul::MemoryScopeNode());
      *static_cast<volatile unsigned*>(arrived) = number;
    });
  }
};

/// `count` of the scalars of each column, from place `first`. They are contiguous for all columns, so that
/// they make one message of the reducer.
struct Group {
  int first;
  int count;
};

/// The scalars of a solve's columns, on the device and where the host reads them: `size` places a column, in
/// `sets` sets that alternate between iterations, so that a kernel reads this iteration's and the last one's
/// while none overwrites them. A place belongs to one group.
template <class Scalar, class Space>
class DeviceScalars {
 public:
  using View = VectorView<Scalar, Space>;

  DeviceScalars(const Space& space, const std::string& label, int size, int columns, int sets = 1)
      : m_size(size), m_columns(columns), m_sets(sets) {
    m_device = allocate_zero<Vector<Scalar, Space>>(space, label, std::size_t(size) * columns * sets);
    if constexpr (is_host_space<Space>) {
      m_host = m_device;
    } else {
      m_host = HostView(label + "_on_host", m_device.extent(0));
      m_arrived = Arrived(label + "_arrived");
    }
  }

  void swap() { m_now = m_sets - 1 - m_now; }
  /// A column's scalars of this iteration, and of the one before (with one set: the same).
  View now(Group group, int column) const { return place(m_now, group, column, group.count); }
  View before(Group group, int column) const { return place(m_sets - 1 - m_now, group, column, group.count); }
  /// The scalars of all columns, which are one message.
  View message(Group group) const { return place(m_now, group, 0, group.count * m_columns); }
  View message_before(Group group) const {
    return place(m_sets - 1 - m_now, group, 0, group.count * m_columns);
  }

  /// The host round trip of an iteration: `send`, and `await` before the host reads. Kernels that are
  /// launched between them run while the host waits and works, because the host does not wait for the stream,
  /// but for a number that arrives after the scalars. On a host space `await` is a fence.
  void send(const Space& space, const char* label) {
    if constexpr (!is_host_space<Space>)
      Kokkos::parallel_for(
          label, Kokkos::TeamPolicy<Space>(space, 1, send_threads),
          SendScalars<Scalar, Space>{m_device.data(), m_host.data(), static_cast<int>(m_device.extent(0)),
                                     m_arrived.data(), ++m_sent});
  }
  void await(const Space& space, const char* label) const {
    if constexpr (!is_host_space<Space>) {
      const std::atomic_ref<unsigned> arrived(*m_arrived.data());
      const Kokkos::Timer timer;
      for (int looks = 1; arrived.load(std::memory_order_acquire) != m_sent; ++looks)
        if (looks % looks_per_timing == 0 && timer.seconds() > longest_wait) return space.fence(label);
    } else {
      space.fence(label);
    }
  }
  void read(const Space& space, const char* label) {
    send(space, label);
    await(space, label);
  }
  /// Writes a value on the host; `upload` copies all of them to the device. A value may be written again
  /// after the next fence, or after `await` of scalars that were sent later.
  void write_now(Group group, int column, int k, const Scalar& value) {
    m_host(index(m_now, group, column) + k) = value;
  }
  void upload(const Space& space) const {
    if constexpr (!is_host_space<Space>) Kokkos::deep_copy(space, m_device, m_host);
  }
  /// Values on the host, after `read`.
  Scalar host_now(Group group, int column, int k) const { return m_host(index(m_now, group, column) + k); }
  Scalar host_before(Group group, int column, int k) const {
    return m_host(index(m_sets - 1 - m_now, group, column) + k);
  }
  /// A value that is real but for rounding errors: the real part, or the imaginary part where that is not
  /// finite.
  double real_now(Group group, int column, int k) const { return real_value(host_now(group, column, k)); }
  double real_before(Group group, int column, int k) const {
    return real_value(host_before(group, column, k));
  }

 private:
  static double real_value(const Scalar& value) {
    const double imaginary = static_cast<double>(imaginary_part(value));
    return std::isfinite(imaginary) ? static_cast<double>(real_part(value)) : imaginary;
  }
  std::size_t index(int set, Group group, int column) const {
    return (std::size_t(set) * m_size + group.first) * m_columns + std::size_t(column) * group.count;
  }
  View place(int set, Group group, int column, int count) const {
    return View(m_device.data() + index(set, group, column), count);
  }

  template <class S, bool OnHost>
  struct host_view {
    using type = Vector<Scalar, S>;
  };
  template <class S>
  struct host_view<S, false> {
    using type = Kokkos::View<Scalar*, Kokkos::LayoutLeft, Kokkos::SharedHostPinnedSpace>;
  };
  using HostView = typename host_view<Space, is_host_space<Space>>::type;
  using Arrived = Kokkos::View<unsigned, Kokkos::SharedHostPinnedSpace>;

  static constexpr int send_threads = 128;
  /// After this time in seconds the host waits for the stream instead, whose fence also reports a kernel that
  /// failed.
  static constexpr double longest_wait = 0.1;
  static constexpr int looks_per_timing = 1024;

  int m_size, m_columns, m_sets;
  Vector<Scalar, Space> m_device;
  HostView m_host;
  Arrived m_arrived;  ///< on a device: the number of the scalars that have arrived
  unsigned m_sent = 0;
  int m_now = 0;
};

}  // namespace prekond::krylov
