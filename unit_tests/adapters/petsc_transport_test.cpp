// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The transports of messages: MPI, or NCCL from device to device.
#include "adapters/kept_transports.hpp"
#include "testing/distributed_cases.hpp"
#include "testing/messages.hpp"
#include "testing/petsc_matrices.hpp"
#include "testing/transport_of_scope.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/impl/device_messages.hpp>
#include <prekond/adapters/petsc_distributed.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using DistributedAijMatrix = petsc::DistributedAijMatrix<PetscSpace>;

void append(std::vector<double>& list, const auto& numbers) {
  list.insert(list.end(), numbers.begin(), numbers.end());
}
void append_columns(std::vector<double>& list, const MultiVectorView<double, PetscSpace>& x) {
  for (const auto& column : columns_of(x)) append(list, column);
}

/// Two imports on one communicator, both under way, there and back.
std::vector<double> entries_of_two_imports(const DistributedAijMatrix& a,
                                           const std::vector<std::int64_t>& others, std::size_t k) {
  const PetscSpace space;
  const auto other_import = a.make_import(space, to_device<PetscSpace>(others));
  const auto& import = a.column_import();
  MultiVector<double, PetscSpace> x_memory, y_memory;
  std::vector<std::int64_t> own;
  for (std::int64_t i = 0; i < a.num_rows(); ++i) own.push_back(a.global_number(i));
  const auto x = strided<PetscSpace>(x_memory, own.size(), k, [&](std::size_t v) { return entries(own, v); });
  const auto y =
      strided<PetscSpace>(y_memory, own.size(), k, [&](std::size_t v) { return entries(own, v + 9); });
  const MultiVector<double, PetscSpace> first("first", import.num_remote(), k),
      second("second", other_import->num_remote(), k);
  import.start(space, x);
  other_import->start(space, y);
  import.finish(space, first);
  other_import->finish(space, second);
  import.start_reverse(space, first);
  other_import->start_reverse(space, second);
  import.finish_reverse(space, x);
  other_import->finish_reverse(space, y);
  space.fence();
  std::vector<double> all;
  for (const auto& columns :
       {MultiVectorView<double, PetscSpace>(first), MultiVectorView<double, PetscSpace>(second), x, y})
    append_columns(all, columns);
  return all;
}

/// Products one after another: the buffers of each are those of the one before. Nobody waits in between.
std::vector<double> entries_of_products(const Operator<double, PetscSpace>& a, std::size_t k) {
  const PetscSpace space;
  const MultiVector<double, PetscSpace> x("x", a.num_rows(), k), y("y", a.num_rows(), k);
  Kokkos::deep_copy(x, 1.25);
  for (int step = 0; step < 40; ++step) {
    a.apply(space, x, y, 0.125, 0.0);
    a.apply(space, y, x, -0.0625, 0.5);
  }
  space.fence();
  std::vector<double> all;
  append_columns(all, x);
  return all;
}

/// All that a rank gets by messages, as numbers.
std::vector<double> all_that_comes(const DistributedAijMatrix& a, const NamedParts& parts) {
  const PetscSpace space;
  std::vector<std::int64_t> others;
  for (std::int64_t i = a.num_global_rows() - 1; i >= 0; i -= 1 + i % 3)
    if (i < parts.first() || i >= parts.first() + parts.mine()) others.push_back(i);
  std::vector<double> all;
  const auto transposed = distributed_transpose<double, PetscSpace>(space, a);
  for (const std::size_t k : {1, 3, 1}) {
    append(all, entries_of_two_imports(a, others, k));
    append(all, entries_of_products(a.product(), k));
    append(all, entries_of_products(transposed->product(), k));
  }
  const auto rows = a.remote_rows(space, to_device<PetscSpace>(others));
  append(all, to_vector(rows.row_ptrs));
  append(all, to_vector(rows.col_idxs));
  append(all, to_vector(rows.values));
  return all;
}

/// Exchanges as NCCL's, in host memory by MPI. Every call is to name the stream `stream`.
class HostExchange : public mpi::DeviceExchange {
 public:
  explicit HostExchange(void* stream) : m_stream(stream) {}
  void start(void* stream, const std::vector<mpi::DeviceMessage<const void>>& out,
             const std::vector<mpi::DeviceMessage<void>>& in) override {
    EXPECT_EQ(stream, m_stream);
    for (const auto& message : in)
      MPI_Irecv(message.data, static_cast<int>(message.bytes), MPI_BYTE, message.rank, 7, PETSC_COMM_WORLD,
                &m_requests.emplace_back());
    for (const auto& message : out)
      MPI_Isend(message.data, static_cast<int>(message.bytes), MPI_BYTE, message.rank, 7, PETSC_COMM_WORLD,
                &m_requests.emplace_back());
  }
  void finish(void* stream) override {
    EXPECT_EQ(stream, m_stream);
    MPI_Waitall(static_cast<int>(m_requests.size()), m_requests.data(), MPI_STATUSES_IGNORE);
    m_requests.clear();
  }

 private:
  void* m_stream;
  std::vector<MPI_Request> m_requests;
};

struct HostTransport : mpi::DeviceTransport {
  int stream = 0;  ///< its address is the stream
  std::string name() const override { return "none"; }
  std::unique_ptr<mpi::DeviceExchange> make_exchange() override {
    return std::make_unique<HostExchange>(&stream);
  }
};

TEST(PetscTransport, DeviceMessagesAreThePartsOfTheBuffers) {
  const auto transport = std::make_shared<HostTransport>();
  mpi::MessageComm comm;
  comm.comm = PETSC_COMM_WORLD;
  EXPECT_FALSE(mpi::make_messages<double>(comm, {})->in_stream_order());
  comm.device.transport = transport;
  // Each rank sends to all others, to some of them nothing.
  Neighbours neighbours;
  std::int64_t slots = 0;
  for (int other = 0; other < num_ranks(); ++other) {
    if (other == my_rank()) continue;
    neighbours.to.push_back({other, (my_rank() + 2 * other) % 4});
    neighbours.from.push_back({other, (other + 2 * my_rank()) % 4});
    slots += neighbours.to.back().slots;
  }
  const auto of_device = mpi::make_messages<double>(comm, neighbours);
  EXPECT_TRUE(of_device->in_stream_order() && of_device->takes_device_memory());
  of_device->use_stream(&transport->stream);
  for (const int k : {1, 3, 2}) {
    const auto number = [](int from, int to, std::int64_t i) { return 1000.0 * from + 100 * to + double(i); };
    std::vector<double> sent, expected, back(static_cast<std::size_t>(slots * k));
    for (const Neighbour& other : neighbours.to)
      for (std::int64_t i = 0; i < other.slots * k; ++i) sent.push_back(number(my_rank(), other.rank, i));
    for (const Neighbour& other : neighbours.from)
      for (std::int64_t i = 0; i < other.slots * k; ++i) expected.push_back(number(other.rank, my_rank(), i));
    std::vector<double> received(expected.size());
    of_device->start(sent.data(), received.data(), k);
    of_device->finish();
    EXPECT_EQ(received, expected);
    of_device->start_reverse(received.data(), back.data(), k);
    of_device->finish_reverse();
    EXPECT_EQ(back, sent);
  }
}

TEST(PetscTransport, RanksAreConnectedOnce) {
  static int connected = 0;
  const auto find = +[](MPI_Comm) {
    ++connected;
    return mpi::FoundTransport{std::make_shared<HostTransport>(), ""};
  };
  const auto of = [&](MPI_Comm comm) { return mpi::kept_transport(comm, find).transport; };
  const auto of_world = of(PETSC_COMM_WORLD);
  MPI_Comm same = MPI_COMM_NULL, reversed = MPI_COMM_NULL;
  MPI_Comm_dup(PETSC_COMM_WORLD, &same);
  EXPECT_EQ(of(same), of_world);
  MPI_Comm_free(&same);
  EXPECT_EQ(of(PETSC_COMM_WORLD), of_world);
  EXPECT_EQ(connected, 1);
  MPI_Comm_split(PETSC_COMM_WORLD, 0, -my_rank(), &reversed);
  EXPECT_EQ(of(reversed) == of_world, num_ranks() == 1);
  MPI_Comm_free(&reversed);
  EXPECT_EQ(of(MPI_COMM_SELF) == of_world, num_ranks() == 1);
  EXPECT_EQ(connected, num_ranks() == 1 ? 1 : 3);
  // Another kind of transport, which cannot be at first.
  static bool fails = true;
  const auto other = +[](MPI_Comm) {
    if (fails) throw std::runtime_error("no connection");
    return mpi::FoundTransport{nullptr, "none of that kind"};
  };
  EXPECT_THROW(mpi::kept_transport(PETSC_COMM_WORLD, other), std::runtime_error);
  fails = false;
  EXPECT_EQ(mpi::kept_transport(PETSC_COMM_WORLD, other).reason, "none of that kind");
  EXPECT_EQ(of(PETSC_COMM_WORLD), of_world);
}

TEST(PetscTransport, NcclSendsTheSameBitsAsMpi) {
  if (num_ranks() == 1) GTEST_SKIP() << "one rank sends no messages";
  const PetscSpace space;
  for (const HostMatrix<double>& whole : {problem("poisson2d:8"), irregular_matrix(53), half_coupled(24),
                                          diagonal(13), problem("poisson2d:90")}) {
    for (const NamedParts& parts : all_parts(whole.num_rows)) {
      SCOPED_TRACE(parts.name + ", " + std::to_string(whole.num_rows) + " rows");
      const OwnedMat matrix = assemble(whole, parts);
      std::optional<DistributedAijMatrix> by_nccl;
      try {
        by_nccl.emplace(space, matrix.get(), mpi::Transport::nccl);
      } catch (const OptionError& error) {
        GTEST_SKIP() << error.what();  // all ranks do
      }
      const DistributedAijMatrix by_mpi(space, matrix.get(), mpi::Transport::mpi);
      EXPECT_EQ(by_mpi.device_transport(), "");
      EXPECT_THAT(by_nccl->device_transport(), HasSubstr("NCCL 2."));
      messages = {};
      entries_of_products(by_nccl->product(), 2);
      EXPECT_EQ(messages.sent + messages.received, 0) << "messages of MPI's";
      EXPECT_EQ(all_that_comes(*by_nccl, parts), all_that_comes(by_mpi, parts));
    }
  }
}

TEST(PetscTransport, AutomaticIsNcclWhereMpiIsNotTrustedAndItCanBe) {
  const PetscSpace space;
  const OwnedMat matrix = assemble(problem("poisson2d:8"), equal_parts(64));
  bool can_be = num_ranks() > 1;
  std::string why_not = "one rank sends no messages";
  try {
    const DistributedAijMatrix by_nccl(space, matrix.get(), mpi::Transport::nccl);
  } catch (const OptionError& error) {
    can_be = false;
    const std::string text = error.what(), begin = "transport: nccl cannot be: ", end = "; take mpi, or auto";
    why_not = text.substr(begin.size(), text.size() - begin.size() - end.size());
  }
  const bool is_trusted = use_gpu_aware_mpi == PETSC_TRUE && petsc::impl::device_of_petsc().has_value();
  const DistributedAijMatrix automatic(space, matrix.get());
  EXPECT_EQ(automatic.device_transport().empty(), is_trusted || !can_be);
  EXPECT_EQ(automatic.messages().substr(0, 5), is_trusted || !can_be ? "MPI f" : "NCCL ");
  if (!is_host_space<PetscSpace> && !is_trusted && !can_be) {
    EXPECT_EQ(automatic.messages(), "MPI from host memory (" + why_not + ")");
  }
}

TEST(PetscTransport, WhatSendsIsSaidInWords) {
  mpi::MessageComm comm;
  EXPECT_EQ(comm.in_words(), "MPI from host memory");
  comm.device.reason = "there is none";
  EXPECT_EQ(comm.in_words(), "MPI from host memory (there is none)");
  comm.takes_device_memory = true;
  EXPECT_EQ(comm.in_words(), "MPI from device memory");
  comm.device.transport = std::make_shared<HostTransport>();
  EXPECT_EQ(comm.in_words(), "none");  // the transport's name
}

TEST(PetscTransport, NcclIsRefusedOnAHost) {
  if (!is_host_space<PetscSpace>) GTEST_SKIP() << "the ranks compute on devices";
  const std::string text =
      "transport: nccl cannot be: it sends between CUDA devices, and the ranks compute on " +
      std::string(PetscSpace::name()) + "; take mpi, or auto";
  const OwnedMat matrix = assemble(problem("poisson2d:6"), equal_parts(36));
  const auto refused = [&](const auto&... transport) {
    return message_of<OptionError>(
        [&] { const DistributedAijMatrix a(PetscSpace(), matrix.get(), transport...); });
  };
  EXPECT_EQ(refused(mpi::Transport::nccl), text);
  {
    const TransportOfScope scope("nccl");
    EXPECT_EQ(refused(), text);
    const DistributedAijMatrix a(PetscSpace(), matrix.get(), mpi::Transport::mpi);
  }
  for (const char* name : {"auto", "mpi"}) {
    const TransportOfScope scope(name);
    const DistributedAijMatrix a(PetscSpace(), matrix.get());
    EXPECT_EQ(a.device_transport(), "");
    EXPECT_EQ(a.messages(), "MPI from host memory");
  }
}

TEST(PetscTransport, NamesAreChecked) {
  EXPECT_EQ(mpi::transport(), mpi::Transport::automatic);
  for (const auto& [name, transport] : mpi::transport_choices()) {
    const TransportOfScope scope(name);
    EXPECT_EQ(mpi::transport(), transport);
  }
  EXPECT_EQ(message_of<OptionError>([] { mpi::set_transport("ncl"); }),
            "transport: auto, mpi or nccl, not ncl");
  EXPECT_EQ(mpi::transport(), mpi::Transport::automatic);
}

}  // namespace
}  // namespace prekond::testing
