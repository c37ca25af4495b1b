// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/reducer.hpp>
#include <prekond/core/scalar.hpp>

#include <Teuchos_Comm.hpp>
#include <Teuchos_CommHelpers.hpp>

#include <utility>
#include <vector>

namespace prekond::tpetra {

/// Global sums over a Teuchos communicator: one all-reduce for the k values of a step, after a fence. The
/// object is for one thread at a time.
template <class Scalar, class Space>
class CommReducer : public Reducer<Scalar, Space> {
 public:
  explicit CommReducer(Teuchos::RCP<const Teuchos::Comm<int>> comm) : m_comm(std::move(comm)) {}
  CommReducer(const CommReducer&) = delete;
  CommReducer& operator=(const CommReducer&) = delete;

  void sum(const Space& space, VectorView<Scalar, Space> values) const override {
    if (m_comm->getSize() == 1 || values.extent(0) == 0) return;
    fetch(space, values);
    Teuchos::reduceAll(*m_comm, Teuchos::REDUCE_SUM, static_cast<int>(values.extent(0)), m_mine.data(),
                       m_all.data());
    put_back(space, values);
  }

 private:
  using Host =
      Kokkos::View<Scalar*, Kokkos::LayoutLeft, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  /// This rank's values on the host.
  void fetch(const Space& space, const VectorView<Scalar, Space>& values) const {
    const std::size_t count = values.extent(0);
    if (m_mine.size() < count) {
      m_mine.resize(count);
      m_all.resize(count);
    }
    Kokkos::deep_copy(space, Host(m_mine.data(), count), values);
    space.fence("prekond::tpetra::reducer::sum");
  }
  void put_back(const Space& space, const VectorView<Scalar, Space>& values) const {
    Kokkos::deep_copy(space, values, Host(m_all.data(), values.extent(0)));
    // The next sum overwrites the buffer.
    if constexpr (!is_host_space<Space>) space.fence("prekond::tpetra::reducer::copied");
  }

  Teuchos::RCP<const Teuchos::Comm<int>> m_comm;
  mutable std::vector<Scalar> m_mine, m_all;
};

}  // namespace prekond::tpetra
