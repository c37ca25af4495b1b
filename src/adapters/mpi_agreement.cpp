// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "adapters/ranks.hpp"

#include <prekond/adapters/impl/mpi_agreement.hpp>

namespace prekond::mpi {
namespace {

class MpiRanks : public prekond::impl::Ranks {
 public:
  explicit MpiRanks(MPI_Comm comm) : m_comm(comm) {}
  int rank() const override {
    int rank = 0;
    MPI_Comm_rank(m_comm, &rank);
    return rank;
  }
  int size() const override {
    int size = 1;
    MPI_Comm_size(m_comm, &size);
    return size;
  }
  long long min(long long mine) const override { return reduce(MPI_LONG_LONG, MPI_MIN, mine); }
  long long max(long long mine) const override { return reduce(MPI_LONG_LONG, MPI_MAX, mine); }
  long long sum(long long mine) const override { return reduce(MPI_LONG_LONG, MPI_SUM, mine); }
  double max(double mine) const override { return reduce(MPI_DOUBLE, MPI_MAX, mine); }
  double sum(double mine) const override { return reduce(MPI_DOUBLE, MPI_SUM, mine); }
  void broadcast(int root, void* data, int bytes) const override {
    MPI_Bcast(data, bytes, MPI_BYTE, root, m_comm);
  }

 private:
  template <class T>
  T reduce(MPI_Datatype type, MPI_Op op, T mine) const {
    T all{};
    MPI_Allreduce(&mine, &all, 1, type, op, m_comm);
    return all;
  }

  MPI_Comm m_comm;
};

}  // namespace

void agree(MPI_Comm comm, const std::optional<RankError>& mine) {
  prekond::impl::agree(MpiRanks(comm), mine);
}

Report merged_report(MPI_Comm comm, const Report& report, std::int64_t first_global_row) {
  return prekond::impl::merged_report(MpiRanks(comm), report, first_global_row);
}

}  // namespace prekond::mpi
