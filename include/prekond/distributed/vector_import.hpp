// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <cstdint>

namespace prekond {

/// Brings entries of distributed vectors to a rank that needs them: a fixed choice of rows of other ranks,
/// for any vectors (see DistributedMatrix).
template <class Scalar, class Space>
class VectorImport {
 public:
  virtual ~VectorImport() = default;

  virtual std::int64_t num_rows() const = 0;  ///< the rank's own entries
  virtual std::int64_t num_cols() const = 0;  ///< these and the imported ones

  /// Collective. `all`, num_cols() x k: first x, num_rows() x k, then the entries of other ranks. One message
  /// a neighbour, whatever k; none where k = 0. k is the same on all ranks.
  ///
  /// \pre x and all share no memory
  virtual void apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                     MultiVectorView<Scalar, Space> all) const = 0;
};

}  // namespace prekond
