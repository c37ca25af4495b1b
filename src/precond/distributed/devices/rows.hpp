// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The rows that each device sets up, those that it reads, and their copies: of A to a device, of G back to
/// the first one. Copies between devices are contiguous.
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <cstdint>
#include <vector>

namespace prekond::impl::devices {

/// Rows begin .. end - 1.
struct RowRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const RowRange& other) const { return begin == other.begin && end == other.end; }
};

/// All rows in ranges, in their order, whose work is in proportion to the speeds; whole blocks of
/// `block_rows` rows. Ranges may be empty. The work of a row with m entries is taken to be 1 + m, which is an
/// integer: the same ranges every time. Fences.
///
/// For four ranges of a matrix whose first half has 7 entries a row and whose second half has 40, the slowest
/// takes on one thread of a host, over their mean, for fsai, adaptive_fsai, nonsymmetric_fsai and isai:
/// 1.05 to 1.47 by 1 + m, 1.2 to 3.0 by 1 + m^2, 1.25 to 3.0 by 1 + m^3, 1.1 to 2.9 by the number of rows
/// (poisson3d:26 before elasticity3d:14, convection_diffusion3d:24 before irregular3d:16,mean=40,longest=80).
///
/// \pre the speeds are positive, and their sum is below 2^31
template <class Space>
std::vector<RowRange> ranges_of_work(const Space& space, const CsrGraphView<Space>& a,
                                     const std::vector<std::int64_t>& speeds, int block_rows);

/// For each range one of whole blocks that has the rows which its own depend on: `reach.levels` bandwidths
/// around it. Empty where the range is. Cost: a reading of each row's first and last entry. Fences.
template <class Space>
std::vector<RowRange> ranges_read(const Space& space, const CsrGraphView<Space>& a,
                                  const std::vector<RowRange>& own, const RowReach& reach);

template <class Scalar, class Space>
using MatrixOn = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

/// A copy of A[R, R] for a range of rows R on the device of `space`. A is on the first device, which
/// `on_first` says is this one. Fences.
template <class Scalar, class Space>
MatrixOn<Scalar, Space> rows_on_device(const Space& space, const CsrView<Scalar, Space>& a, RowRange range,
                                       bool on_first);

/// Rows of G that a device has found. G[R, R] is on it.
template <class Scalar, class Space>
struct FoundRows {
  MatrixOn<Scalar, Space> matrix;   ///< G[R, R]
  RowRange read;                    ///< R
  RowRange own;                     ///< the rows that are meant
  std::size_t first = 0, last = 0;  ///< their entries: first .. last - 1
};

/// With their entries' places. Fences.
template <class Scalar, class Space>
FoundRows<Scalar, Space> found_rows(const Space& space, const MatrixOn<Scalar, Space>& matrix, RowRange read,
                                    RowRange own);

/// G, n x n, on the first device, whose space is given. The ranges are those of all rows, in their order; no
/// kernel of another device may still write what they have. Fences. \pre n > 0
template <class Scalar, class Space>
MatrixOn<Scalar, Space> gathered(const Space& space, std::int64_t n,
                                 const std::vector<FoundRows<Scalar, Space>>& parts);

/// Marks of the rows of `read` that are `own`, by 1, the others by 0.
template <class Space>
Vector<unsigned char, Space> marks_of(const Space& space, RowRange read, RowRange own);

}  // namespace prekond::impl::devices
