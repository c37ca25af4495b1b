// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/reducer.hpp>
#include <prekond/core/scalar.hpp>

#include <Teuchos_Comm.hpp>
#include <Teuchos_CommHelpers.hpp>
#ifdef HAVE_TEUCHOS_MPI
#include <Teuchos_DefaultMpiComm.hpp>
#endif

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace prekond::tpetra {

#ifdef HAVE_TEUCHOS_MPI
namespace impl {

/// An all-reduce that does not wait, on the communicator below a Teuchos::MpiComm.
class PendingSum {
 public:
  bool is_pending() const { return m_request != MPI_REQUEST_NULL; }

  /// The sums of `mine` are to be in `all`; both stay where they are until `wait` has returned.
  template <class Real>
  void start(const Teuchos::MpiComm<int>& comm, const Real* mine, Real* all, int count) {
    static_assert(std::is_same_v<Real, double> || std::is_same_v<Real, float>);
    check(MPI_Iallreduce(mine, all, count, std::is_same_v<Real, double> ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM,
                         *comm.getRawMpiComm(), &m_request));
  }
  void wait() { check(MPI_Wait(&m_request, MPI_STATUS_IGNORE)); }

 private:
  static void check(int code) {
    if (code != MPI_SUCCESS)
      throw std::runtime_error("MPI could not make a sum over the ranks: error " + std::to_string(code));
  }
  MPI_Request m_request = MPI_REQUEST_NULL;
};

}  // namespace impl
#endif

/// Global sums over a Teuchos communicator: one all-reduce for the k values of a step, after a fence. A sum
/// that was started is an MPI_Iallreduce where the communicator is one of MPI's, and one that waits where it
/// is another. (Whether it goes on while nobody calls MPI is up to MPI.) The object is for one thread at a
/// time.
template <class Scalar, class Space>
class CommReducer : public Reducer<Scalar, Space> {
 public:
  explicit CommReducer(Teuchos::RCP<const Teuchos::Comm<int>> comm)
      : m_comm(std::move(comm)), m_buffers(std::make_unique<Buffers>()) {}
#ifdef HAVE_TEUCHOS_MPI
  /// A sum that was started and not finished, because something threw meanwhile, leaves its memory to MPI.
  ~CommReducer() override {
    if (m_pending.is_pending()) m_buffers.release();
  }
#endif
  CommReducer(const CommReducer&) = delete;
  CommReducer& operator=(const CommReducer&) = delete;

  void sum(const Space& space, VectorView<Scalar, Space> values) const override {
    if (m_comm->getSize() == 1 || values.extent(0) == 0) return;
    fetch(space, values);
    Teuchos::reduceAll(*m_comm, Teuchos::REDUCE_SUM, static_cast<int>(values.extent(0)),
                       m_buffers->mine.data(), m_buffers->all.data());
    put_back(space, values);
  }

#ifdef HAVE_TEUCHOS_MPI
  void start(const Space& space, VectorView<Scalar, Space> values) const override {
    const auto* mpi = dynamic_cast<const Teuchos::MpiComm<int>*>(m_comm.get());
    if (mpi == nullptr) return sum(space, values);
    if (m_comm->getSize() == 1 || values.extent(0) == 0) return;
    using Real = real_type_t<Scalar>;  // the parts of complex numbers are summed one by one
    fetch(space, values);
    m_started = values;
    m_pending.start(*mpi, reinterpret_cast<const Real*>(m_buffers->mine.data()),
                    reinterpret_cast<Real*>(m_buffers->all.data()),
                    static_cast<int>(values.extent(0) * (sizeof(Scalar) / sizeof(Real))));
  }

  void finish(const Space& space) const override {
    if (!m_pending.is_pending()) return;
    m_pending.wait();
    put_back(space, m_started);
  }
#endif

 private:
  struct Buffers {
    std::vector<Scalar> mine, all;
  };
  using Host =
      Kokkos::View<Scalar*, Kokkos::LayoutLeft, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  /// This rank's values on the host.
  void fetch(const Space& space, const VectorView<Scalar, Space>& values) const {
    const std::size_t count = values.extent(0);
    if (m_buffers->mine.size() < count) {
      m_buffers->mine.resize(count);
      m_buffers->all.resize(count);
    }
    Kokkos::deep_copy(space, Host(m_buffers->mine.data(), count), values);
    space.fence("prekond::tpetra::reducer::sum");
  }
  void put_back(const Space& space, const VectorView<Scalar, Space>& values) const {
    Kokkos::deep_copy(space, values, Host(m_buffers->all.data(), values.extent(0)));
    // The next sum overwrites the buffer.
    if constexpr (!is_host_space<Space>) space.fence("prekond::tpetra::reducer::copied");
  }

  Teuchos::RCP<const Teuchos::Comm<int>> m_comm;
  std::unique_ptr<Buffers> m_buffers;
#ifdef HAVE_TEUCHOS_MPI
  mutable VectorView<Scalar, Space> m_started;
  mutable impl::PendingSum m_pending;
#endif
};

}  // namespace prekond::tpetra
