// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <functional>
#include <memory>

#include "precond/distributed/devices/held_views.hpp"

namespace prekond::impl::devices {

/// While this lives, threads with a `Turn` call Kokkos one at a time. A thread passes the turn on whenever it
/// waits for its device, which it notices by Kokkos's own events (its tools' callbacks): in every fence; and
/// before a copy or the end of an allocation, which wait inside of the driver, in a fence of its own. So it
/// does before `allocate`, which waits for the stream too. Kernels of all devices run at the same time,
/// launches do not.
///
/// A tool's own callbacks go on being called, by the thread that has the turn. As with PhaseCounter, nobody
/// else may set callbacks at the time when this begins or ends.
///
/// A kernel whose arguments Kokkos keeps in constant memory (512 bytes and more on CUDA, but for those of a
/// KernelPolicy) waits for the one before it without an event, and so does a scan whose sum the host gets:
/// the turn stays where it is. (Kokkos tells its tools of a kernel after a fence of all devices: no help.)
class TakingTurns {
 public:
  TakingTurns();
  ~TakingTurns();
  TakingTurns(const TakingTurns&) = delete;
  TakingTurns& operator=(const TakingTurns&) = delete;
};

/// The calling thread takes part while this lives: it waits for the turn, and gives it back in the end.
class Turn : private AllocationWatch {
 public:
  /// `fence` waits for the thread's device, by a fence of Kokkos. `held`, where not null, gets what the
  /// thread allocates.
  explicit Turn(const std::function<void()>& fence, HeldViews* held = nullptr);
  ~Turn() override;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  void before_allocation() override;
  void allocated(std::unique_ptr<HeldView> view) override;

  HeldViews* m_held;
};

}  // namespace prekond::impl::devices
