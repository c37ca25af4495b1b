// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "core/norm.hpp"

#include "device_scalars.hpp"

namespace prekond::krylov {

/// Norms of a solve's columns, `places` of them a column, which are read together: one message and one wait.
template <class Scalar, class Space>
class ColumnNorms {
 public:
  ColumnNorms(const Space& space, int columns, int places)
      : m_sums(space, "prekond::krylov::norms", sums * places, columns) {}

  /// Starts norm `place` of column c, which is that of v.
  void start(const Space& space, int c, int place, VectorView<const Scalar, Space> v,
             const ReduceWorkspace<Scalar, Space>& workspace) {
    start_norm<Scalar, Space>(space, "prekond::krylov::norm", v, m_sums.now(group(place), c), workspace);
  }
  /// Reads the first `places` norms of all columns.
  void read(const Space& space, int places, const Reducer<Scalar, Space>& reducer) {
    reducer.sum(space, m_sums.message({0, sums * places}));
    m_sums.read(space, "prekond::krylov::norms");
  }
  ExtendedNumber of(int c, int place) const {
    const auto sum = [&](int k) { return m_sums.real_now(group(place), c, k); };
    return norm_of_sums<real_type_t<Scalar>>(sum(0), sum(1), sum(2), sum(3));
  }

 private:
  static constexpr int sums = 4;
  static Group group(int place) { return {sums * place, sums}; }
  DeviceScalars<Scalar, Space> m_sums;
};

}  // namespace prekond::krylov
