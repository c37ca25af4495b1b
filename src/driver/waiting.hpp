// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prekond::driver {

/// Bounds the time for which OpenMP threads that wait for each other spin before they sleep.
///
/// The threads of GCC's OpenMP spin for milliseconds at every barrier, which takes cores that are shared from
/// those who work on them, its own other threads among them. The length is GOMP_SPINCOUNT, which the OpenMP
/// library reads before `main`; so where neither that nor OMP_WAIT_POLICY is set, it is set here and the
/// program started once more, with the same command line, in the same process. Called first of all. Returns
/// where there is nothing to do, or no way to do it.
void bound_waiting();

}  // namespace prekond::driver
