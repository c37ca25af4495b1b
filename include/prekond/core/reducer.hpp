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
template <class Scalar, class Space>
class Reducer {
 public:
  virtual ~Reducer() = default;
  virtual void sum(const Space& /*space*/, VectorView<Scalar, Space> /*values*/) const {}
};

}  // namespace prekond
