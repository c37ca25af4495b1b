// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/messages.hpp"

#include <mpi.h>

#include <map>

prekond::testing::Messages prekond::testing::messages;

using prekond::testing::messages;

namespace {

/// Whether a persistent request sends.
std::map<MPI_Request, bool> sends;

void count_start(MPI_Request request) {
  ++(sends.at(request) ? messages.sent : messages.received);
}

}  // namespace

// MPI's profiling interface: every library of this program calls these.
extern "C" {

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++messages.sent;
  return PMPI_Send(data, count, type, to, tag, comm);
}
int MPI_Ssend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++messages.sent;
  return PMPI_Ssend(data, count, type, to, tag, comm);
}
int MPI_Rsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++messages.sent;
  return PMPI_Rsend(data, count, type, to, tag, comm);
}
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  ++messages.sent;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  ++messages.received;
  return PMPI_Recv(data, count, type, from, tag, comm, status);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  ++messages.received;
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}

// Messages that are prepared once and started often.
int MPI_Send_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  const int code = PMPI_Send_init(data, count, type, to, tag, comm, request);
  sends[*request] = true;
  return code;
}
int MPI_Recv_init(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  const int code = PMPI_Recv_init(data, count, type, from, tag, comm, request);
  sends[*request] = false;
  return code;
}
int MPI_Start(MPI_Request* request) {
  count_start(*request);
  return PMPI_Start(request);
}
int MPI_Startall(int count, MPI_Request requests[]) {
  for (int i = 0; i < count; ++i) count_start(requests[i]);
  return PMPI_Startall(count, requests);
}

#if MPI_VERSION >= 4
int MPI_Isend_c(const void* data, MPI_Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                MPI_Request* request) {
  ++messages.sent;
  return PMPI_Isend_c(data, count, type, to, tag, comm, request);
}
int MPI_Irecv_c(void* data, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                MPI_Request* request) {
  ++messages.received;
  return PMPI_Irecv_c(data, count, type, from, tag, comm, request);
}
int MPI_Send_init_c(const void* data, MPI_Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                    MPI_Request* request) {
  const int code = PMPI_Send_init_c(data, count, type, to, tag, comm, request);
  sends[*request] = true;
  return code;
}
int MPI_Recv_init_c(void* data, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                    MPI_Request* request) {
  const int code = PMPI_Recv_init_c(data, count, type, from, tag, comm, request);
  sends[*request] = false;
  return code;
}
#endif

}  // extern "C"
