// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prekond::testing {

/// The number of calls of MPI_Allreduce and MPI_Iallreduce on this rank, by any library of the program. A
/// test sets it to zero before the calls that it counts.
extern int all_reduces;

}  // namespace prekond::testing
