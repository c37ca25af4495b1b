// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/all_reduces.hpp"

#include <mpi.h>

int prekond::testing::all_reduces = 0;

// MPI's profiling interface: every library of this program calls this one.
extern "C" int MPI_Allreduce(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  ++prekond::testing::all_reduces;
  return PMPI_Allreduce(mine, all, count, type, op, comm);
}

extern "C" int MPI_Iallreduce(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
  ++prekond::testing::all_reduces;
  return PMPI_Iallreduce(mine, all, count, type, op, comm, request);
}
