// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/operator.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/distributed/impl/part_of_columns.hpp>
#include <prekond/distributed/impl/remote_part.hpp>
#include <prekond/matrix/spmv.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace prekond {

/// y = A x for a distributed matrix, with the messages under way while the rank multiplies its own columns:
///
///   start the exchange of x;  y = D x;  finish;  y = y + O x_remote,
///
/// for this rank's rows [D O]. Holds a copy of both parts, the values that the matrix has now, and as many
/// remote vectors as it was applied to at once; the matrix itself has to outlive it. Not to be applied by two
/// threads at once. D in any format, by `make_own`, O by blocks where its entries stand in full ones.
///
/// Source: Ma, Hu, Yuan, Liu, Math. Probl. Eng. 2021, 6613230, section 3.2, the products MDP and ODP.
template <class Scalar, class Space>
class SplitOperator : public CompensatedOperator<Scalar, Space> {
 public:
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  using MakeOperator = std::function<std::unique_ptr<Operator<Scalar, Space>>(const matrix_type&)>;

  /// Not collective. Fences.
  SplitOperator(const Space& space, const DistributedMatrix<Scalar, Space>& a, const MakeOperator& make_own)
      : m_a(a) {
    const CsrView<Scalar, Space> rows = a.own_rows();
    const auto part = [&](bool own) {
      return impl::part_of_columns<Scalar, Space>(space, "prekond::split_operator", rows, rows.num_rows, own);
    };
    m_remote = RemotePart<Scalar, Space>(space, part(false));
    m_remote.find_blocks(space);
    m_own = make_own(part(true));
    m_own_compensated = dynamic_cast<const CompensatedOperator<Scalar, Space>*>(m_own.get());
    space.fence("prekond::split_operator::made");
    reserve(space, 1);
  }

  std::int64_t num_rows() const override { return m_a.num_rows(); }
  std::int64_t num_cols() const override { return m_a.num_rows(); }

  RowNumbers<Space> row_numbers(const Space& space) const override {
    const std::pair<std::int64_t, std::int64_t> own(0, m_a.num_rows());
    return {m_a.num_global_rows(), 0, Kokkos::subview(m_a.global_numbers(space), own)};
  }

  /// Collective.
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar alpha = 1, Scalar beta = 0) const override {
    exchange(
        space, x, [&] { m_own->apply(space, x, y, alpha, beta); },
        [&](const auto& received) { m_remote.add_product(space, alpha, received, y); });
  }
  /// Collective. D x is an ordinary product where D is no CompensatedOperator.
  void apply_compensated(const Space& space, real_type_t<Scalar> alpha,
                         MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                         MultiVectorView<Scalar, Space> y_low) const override {
    exchange(
        space, x,
        [&] {
          if (m_own_compensated != nullptr)
            m_own_compensated->apply_compensated(space, alpha, x, y, y_low);
          else
            m_own->apply(space, x, y, Scalar(alpha), Scalar(1));
        },
        [&](const auto& received) {
          spmv_compensated<Scalar, Space>(space, alpha, m_remote.matrix(), received, y, y_low);
        });
  }

 private:
  /// own(), then remote(the entries of x of other ranks), which are under way meanwhile.
  template <class Own, class Remote>
  void exchange(const Space& space, MultiVectorView<const Scalar, Space> x, const Own& own,
                const Remote& remote) const {
    if (x.extent(1) == 0) return;
    if (x.extent(1) > m_received.extent(1)) reserve(space, x.extent(1));
    const MultiVectorView<Scalar, Space> received =
        Kokkos::subview(m_received, Kokkos::ALL, std::make_pair(std::size_t(0), x.extent(1)));
    const VectorImport<Scalar, Space>& columns = m_a.column_import();
    columns.start(space, x);
    own();
    columns.finish(space, received);
    remote(received);
  }

  void reserve(const Space& space, std::size_t k) const {
    m_received = allocate<MultiVector<Scalar, Space>>(space, "prekond::split_operator::received",
                                                      m_a.num_cols() - m_a.num_rows(), k);
  }

  const DistributedMatrix<Scalar, Space>& m_a;
  std::unique_ptr<Operator<Scalar, Space>> m_own;
  const CompensatedOperator<Scalar, Space>* m_own_compensated = nullptr;  ///< m_own, where it is one
  RemotePart<Scalar, Space> m_remote;
  mutable MultiVector<Scalar, Space> m_received;
};

}  // namespace prekond
