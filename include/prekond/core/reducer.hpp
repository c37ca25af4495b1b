// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

namespace prekond {

/// Turns this process's sums into global ones: k values in, k global sums out, in place, in one message.
///
/// The base class is for one process and does nothing. An MPI reducer overrides `sum` by an all-reduce. The
/// values live where the solver's vectors live; the call is ordered after earlier work on `space` and before
/// later work.
///
/// A solver that has other work to do meanwhile makes a sum in two halves: `start`, which need not wait for
/// other processes, and `finish`, after which the values are the sums. A reducer that can send without
/// waiting overrides both; with one that overrides only `sum`, `start` is the sum and `finish` nothing.
/// Collective as `sum` is: all processes start and finish the same reductions in the same order.
template <class Scalar, class Space>
class Reducer {
 public:
  virtual ~Reducer() = default;
  virtual void sum(const Space& /*space*/, VectorView<Scalar, Space> /*values*/) const {}

  /// Starts a sum. \pre the one started before has been finished. Until this one is, nobody reads or writes
  /// `values`, whose memory stays, and this reducer makes no other sum
  virtual void start(const Space& space, VectorView<Scalar, Space> values) const { sum(space, values); }
  /// Ends the sum that was started. Ordered before later work on `space`. \pre a sum was started
  virtual void finish(const Space& /*space*/) const {}
};

}  // namespace prekond
