// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/adapters/transport.hpp>

namespace prekond::mpi {

/// Was this library built with NCCL?
extern const bool has_nccl;

/// That over NCCL between the ranks of `comm`, from Kokkos's devices; none where ranks share a device. Kept
/// until MPI ends, for all communicators of these ranks. Collective. \pre has_nccl, several ranks. \throws
/// std::runtime_error on all ranks
FoundTransport nccl_transport(MPI_Comm comm);

}  // namespace prekond::mpi
