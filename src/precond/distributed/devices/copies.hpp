// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Copies of rows to a device, and back to the first one. Copies between devices are contiguous.
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>
#include <vector>

#include "precond/distributed/devices/row_ranges.hpp"

namespace prekond::impl::devices {

/// A[R, R] for a range of rows R, on a device. Its pattern is copied first, its values then.
template <class Scalar, class Space>
struct RowsOnDevice {
  CsrView<Scalar, Space> view;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> owned;  ///< nothing where `is_a`
  RowRange range;                                                           ///< R
  bool is_a = false;                  ///< `view` is the user's own matrix
  bool on_first = false;              ///< A is on this device
  std::size_t first = 0, last = 0;    ///< R's entries in A: first .. last - 1
  Vector<std::size_t, Space> starts;  ///< where in these a row of A[R, R] begins; none where R is all of A

  std::int64_t bytes() const {
    return owned.bytes() + static_cast<std::int64_t>(starts.extent(0) * sizeof(std::size_t));
  }
};

/// With room for values, which are not written. A is on the first device, which `on_first` says is this one:
/// then all of A is A itself. Fences.
template <class Scalar, class Space>
RowsOnDevice<Scalar, Space> pattern_on_device(const Space& space, const CsrView<Scalar, Space>& a,
                                              RowRange range, bool on_first);

/// Copies the values of an A with the same pattern. Fences.
template <class Scalar, class Space>
void copy_values(const Space& space, const CsrView<Scalar, Space>& a, RowsOnDevice<Scalar, Space>& rows);

/// Rows of G that a device has found. G[R, R] is on it.
template <class Scalar, class Space>
struct FoundRows {
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> matrix;  ///< G[R, R]
  RowRange read;                                                             ///< R
  RowRange own;                                                              ///< the rows that are meant
  std::size_t first = 0, last = 0;  ///< their entries: first .. last - 1
};

/// With their entries' places. Fences.
template <class Scalar, class Space>
FoundRows<Scalar, Space> found_rows(
    const Space& space, const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& matrix,
    RowRange read, RowRange own);

/// G, n x n, on the first device, whose space is given. The ranges are those of all rows, in their order; no
/// kernel of another device may still write what they have. Fences.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> gathered(
    const Space& space, std::int64_t n, const std::vector<FoundRows<Scalar, Space>>& parts);

/// Marks of the rows of `read` that are `own`, by 1, the others by 0.
template <class Space>
Vector<unsigned char, Space> marks_of(const Space& space, RowRange read, RowRange own);

}  // namespace prekond::impl::devices
