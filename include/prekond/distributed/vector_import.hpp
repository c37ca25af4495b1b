// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <cstdint>
#include <utility>

namespace prekond {

/// Brings entries of distributed vectors to a rank that needs them, and sums back what such a rank adds to
/// them: a fixed choice of rows of other ranks, for any vectors (see DistributedMatrix). With R the matrix
/// that picks the chosen entries of the whole vector, `start` and `finish` are R x, `start_reverse` and
/// `finish_reverse` are y = y + R^T r over all ranks.
///
/// All members but the sizes are collective, with the same k on all ranks: one message a neighbour, whatever
/// k; none where k = 0. One exchange is under way at a time; between its start and its finish the rank may
/// compute. The arguments of a start may be changed when the call returns, by kernels of the same instance;
/// by anyone where the start fences. An exchange with another instance than the one before needs a fence of
/// that one first: both use the same buffers.
template <class Scalar, class Space>
class VectorImport {
 public:
  virtual ~VectorImport() = default;

  virtual std::int64_t num_rows() const = 0;  ///< the rank's own entries
  virtual std::int64_t num_cols() const = 0;  ///< these and the imported ones
  std::int64_t num_remote() const { return num_cols() - num_rows(); }

  /// Makes room for k vectors at once, so that later exchanges of as many allocate nothing. Not collective.
  virtual void reserve(const Space& /*space*/, int /*k*/) const {}

  /// Sends the entries of x, num_rows() x k, that other ranks need. Fences, unless messages go in the order
  /// of the stream.
  virtual void start(const Space& space, MultiVectorView<const Scalar, Space> x) const = 0;
  /// `remote`, num_remote() x k: the chosen entries, in the order of the choice. k is that of the start.
  virtual void finish(const Space& space, MultiVectorView<Scalar, Space> remote) const = 0;

  /// Sends `remote`, num_remote() x k, to the ranks that own these entries. Fences as `start`.
  virtual void start_reverse(const Space& space, MultiVectorView<const Scalar, Space> remote) const = 0;
  /// y = y + what the other ranks sent, num_rows() x k, summed in the order of the ranks: the same bits every
  /// time. k is that of the start.
  virtual void finish_reverse(const Space& space, MultiVectorView<Scalar, Space> y) const = 0;

  /// `all`, num_cols() x k: first x, num_rows() x k, then the entries of other ranks.
  ///
  /// \pre x and all share no memory
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x,
             MultiVectorView<Scalar, Space> all) const {
    if (all.extent(1) == 0) return;
    start(space, x);
    Kokkos::deep_copy(space, part(all, 0, num_rows()), x);
    finish(space, part(all, num_rows(), num_cols()));
  }

 private:
  static MultiVectorView<Scalar, Space> part(const MultiVectorView<Scalar, Space>& all, std::int64_t begin,
                                             std::int64_t end) {
    return Kokkos::subview(all, std::make_pair(begin, end), Kokkos::ALL);
  }
};

}  // namespace prekond
