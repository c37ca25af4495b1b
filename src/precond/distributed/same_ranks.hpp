// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/distributed/distributed_matrix.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace prekond::impl::distributed {

/// A matrix whose rows are distributed as those of another one, A, which has to outlive it: what ranks do
/// together is A's.
template <class Scalar, class Space>
class SameRanks : public DistributedMatrix<Scalar, Space> {
 public:
  using Distributed = DistributedMatrix<Scalar, Space>;

  std::int64_t num_global_rows() const override { return m_a.num_global_rows(); }
  const Reducer<Scalar, Space>& reducer() const override { return m_a.reducer(); }
  std::unique_ptr<const VectorImport<Scalar, Space>> make_import(
      const Space& space, VectorView<const std::int64_t, Space> global) const override {
    return m_a.make_import(space, global);
  }
  std::unique_ptr<const RowExchange<Scalar, Space>> make_row_exchange(
      const Space& space, VectorView<const std::int64_t, Space> global) const override {
    return m_a.make_row_exchange(space, global);
  }
  void together(const std::function<void()>& work) const override { m_a.together(work); }
  double largest(double value) const override { return m_a.largest(value); }
  bool redistributes() const override { return m_a.redistributes(); }
  std::unique_ptr<const Distributed> with_rows(const Space& space,
                                               VectorView<const std::int64_t, Space> own) const override {
    return m_a.with_rows(space, own);
  }
  std::int64_t sum_before(std::int64_t mine) const override { return m_a.sum_before(mine); }
  void scatter(const Space& space, VectorView<const Scalar, Space> whole,
               VectorView<Scalar, Space> own) const override {
    m_a.scatter(space, whole, own);
  }
  void gather(const Space& space, VectorView<const Scalar, Space> own,
              VectorView<Scalar, Space> whole) const override {
    m_a.gather(space, own, whole);
  }

 protected:
  explicit SameRanks(const Distributed& a) : m_a(a) {}

  const Distributed& m_a;
};

}  // namespace prekond::impl::distributed
