// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Messages between all processes, of any length: MPI's lengths are ints, and longer messages go in pieces.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace prekond::driver {

/// An MPI type for the bytes of a T, while it lives.
template <class T>
class MessageType {
  static_assert(std::is_trivially_copyable_v<T>, "messages are sent as bytes");

 public:
  MessageType() {
    MPI_Type_contiguous(static_cast<int>(sizeof(T)), MPI_BYTE, &m_type);
    MPI_Type_commit(&m_type);
  }
  ~MessageType() { MPI_Type_free(&m_type); }
  MessageType(const MessageType&) = delete;
  MessageType& operator=(const MessageType&) = delete;
  MPI_Datatype type() const { return m_type; }

 private:
  MPI_Datatype m_type = MPI_DATATYPE_NULL;
};

constexpr std::size_t longest_message = std::size_t(1) << 26;

/// Collective. Sends out[r] to process r. Returns the lists that came, by sender. Pairs without entries send
/// no message.
template <class T>
std::vector<std::vector<T>> exchange_lists(int rank, const std::vector<std::vector<T>>& out) {
  const int size = static_cast<int>(out.size());
  std::vector<std::int64_t> sent, lengths(out.size());
  for (const auto& list : out) sent.push_back(static_cast<std::int64_t>(list.size()));
  MPI_Alltoall(sent.data(), 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
  std::vector<std::vector<T>> in;
  for (const std::int64_t length : lengths) in.emplace_back(static_cast<std::size_t>(length));
  const MessageType<T> type;
  std::vector<MPI_Request> requests;
  const auto in_pieces = [&](std::size_t length, const auto& start) {
    for (std::size_t k = 0; k < length; k += longest_message)
      start(k, static_cast<int>(std::min(longest_message, length - k)), &requests.emplace_back());
  };
  for (int r = 0; r < size; ++r) {
    if (r == rank) continue;
    in_pieces(in[r].size(), [&](std::size_t k, int length, MPI_Request* request) {
      MPI_Irecv(in[r].data() + k, length, type.type(), r, 0, MPI_COMM_WORLD, request);
    });
    in_pieces(out[r].size(), [&](std::size_t k, int length, MPI_Request* request) {
      MPI_Isend(out[r].data() + k, length, type.type(), r, 0, MPI_COMM_WORLD, request);
    });
  }
  in[rank] = out[rank];
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return in;
}

}  // namespace prekond::driver
