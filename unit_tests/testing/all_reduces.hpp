// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prekond::testing {

/// Calls of MPI_Allreduce and MPI_Iallreduce on this rank, by any library of the program, and those of the
/// second, which do not wait. Tests set them to zero before what they count.
extern int all_reduces;
extern int all_reduces_that_do_not_wait;

}  // namespace prekond::testing
