// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prekond::testing {

/// Calls of MPI_Allreduce on this rank, by any library of the program. Tests set it to zero before what they
/// count.
extern int all_reduces;

}  // namespace prekond::testing
