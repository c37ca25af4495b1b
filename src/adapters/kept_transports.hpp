// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "adapters/nccl_transport.hpp"

namespace prekond::mpi {

using FindTransport = FoundTransport (*)(MPI_Comm comm);

/// The result of `find` when it was first asked for these processes in this order, by any communicator: to
/// connect them takes long, and communicators come and go. Kept until MPI ends. Collective. \throws what
/// `find` throws; then nothing is kept
FoundTransport kept_transport(MPI_Comm comm, FindTransport find);

}  // namespace prekond::mpi
