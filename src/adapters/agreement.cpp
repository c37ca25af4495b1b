// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "adapters/ranks.hpp"

#include <prekond/adapters/impl/agreement.hpp>

#include <Teuchos_CommHelpers.hpp>

namespace prekond::tpetra {
namespace {

class TeuchosRanks : public prekond::impl::Ranks {
 public:
  explicit TeuchosRanks(const Teuchos::Comm<int>& comm) : m_comm(comm) {}
  int rank() const override { return m_comm.getRank(); }
  int size() const override { return m_comm.getSize(); }
  long long min(long long mine) const override { return reduce(Teuchos::REDUCE_MIN, mine); }
  long long max(long long mine) const override { return reduce(Teuchos::REDUCE_MAX, mine); }
  long long sum(long long mine) const override { return reduce(Teuchos::REDUCE_SUM, mine); }
  double max(double mine) const override { return reduce(Teuchos::REDUCE_MAX, mine); }
  double sum(double mine) const override { return reduce(Teuchos::REDUCE_SUM, mine); }
  void broadcast(int root, void* data, int bytes) const override {
    Teuchos::broadcast(m_comm, root, bytes, static_cast<char*>(data));
  }

 private:
  template <class T>
  T reduce(Teuchos::EReductionType type, T mine) const {
    T all{};
    Teuchos::reduceAll(m_comm, type, 1, &mine, &all);
    return all;
  }

  const Teuchos::Comm<int>& m_comm;
};

}  // namespace

void agree(const Teuchos::Comm<int>& comm, const std::optional<RankError>& mine) {
  prekond::impl::agree(TeuchosRanks(comm), mine);
}

Report merged_report(const Teuchos::Comm<int>& comm, const Report& report, std::int64_t first_global_row) {
  return prekond::impl::merged_report(TeuchosRanks(comm), report, first_global_row);
}

}  // namespace prekond::tpetra
