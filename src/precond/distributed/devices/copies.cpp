// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/distributed/devices/copies.hpp"

#include <utility>

#include "core/copy_rows.hpp"
#include "core/instantiate.hpp"

namespace prekond::impl::devices {
namespace {

template <class Space>
using Places = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// Rows with columns of A, whose place 0 is A's place `first`.
template <class Space>
struct Slice {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const int, Space> col_idxs;
  std::size_t first;
  RowRange columns;  ///< those that are kept
  VectorView<std::size_t, Space> starts;

  KOKKOS_FUNCTION std::size_t operator()(std::int64_t i) const {  ///< the row's length
    return from(i, columns.end) - from(i, columns.begin);
  }
  /// Where the row's columns >= `col` begin.
  KOKKOS_FUNCTION std::size_t from(std::int64_t i, std::int64_t col) const {
    std::size_t low = row_ptrs(i) - first, high = row_ptrs(i + 1) - first;
    if (low == high || col_idxs(low) >= col) return low;  // of most rows all columns are kept
    if (col_idxs(high - 1) < col) return high;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (col_idxs(middle) < col)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

/// A row by a vector of lanes: col_idxs, which count from the first that is kept, and starts.
template <class Space>
struct CopyColumns {
  Slice<Space> slice;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  RowTeams<Space> rows;
  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    rows.for_each_row(team, [&](std::int64_t i) {
      const std::size_t from = slice.from(i, slice.columns.begin), begin = row_ptrs(i);
      Kokkos::single(Kokkos::PerThread(team), [&] { slice.starts(i) = from; });
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, begin, row_ptrs(i + 1)), [&](std::size_t to) {
        col_idxs(to) = static_cast<int>(slice.col_idxs(from + (to - begin)) - slice.columns.begin);
      });
    });
  }
};

/// target(i) = source(i) + to - from, for the rows of a part.
template <class Space>
struct MoveRowPtrs {
  VectorView<const std::size_t, Space> source;
  std::size_t from, to;
  VectorView<std::size_t, Space> target;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { target(i) = source(i) - from + to; }
};

template <class Space>
struct MoveColumns {
  VectorView<int, Space> col_idxs;
  int by;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { col_idxs(k) += by; }
};

template <class Space>
struct MarkOwn {
  RowRange own;
  VectorView<unsigned char, Space> marks;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { marks(i) = i >= own.begin && i < own.end; }
};

/// Elements begin .. end - 1 of a vector.
template <class T, class Space, class Index>
VectorView<T, Space> part_of(const VectorView<T, Space>& vector, Index begin, Index end) {
  return Kokkos::subview(vector,
                         std::make_pair(static_cast<std::size_t>(begin), static_cast<std::size_t>(end)));
}

template <class Space>
std::size_t element(const Space& space, const VectorView<const std::size_t, Space>& vector,
                    std::int64_t place) {
  std::size_t result = 0;
  Kokkos::deep_copy(
      space, Kokkos::View<std::size_t, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&result),
      Kokkos::subview(vector, static_cast<std::size_t>(place)));
  space.fence("prekond::devices::element");
  return result;
}

/// A copy of a vector, or of a part of it, on the device of `space`.
template <class T, class Space>
Vector<T, Space> copied(const Space& space, const char* label, const VectorView<const T, Space>& from) {
  const auto to = allocate<Vector<T, Space>>(space, label, from.extent(0));
  Kokkos::deep_copy(space, to, from);
  return to;
}

}  // namespace

template <class Scalar, class Space>
RowsOnDevice<Scalar, Space> pattern_on_device(const Space& space, const CsrView<Scalar, Space>& a,
                                              RowRange range, bool on_first) {
  RowsOnDevice<Scalar, Space> result;
  result.range = range;
  result.on_first = on_first;
  const std::int64_t n = range.size();
  const bool is_all = n == a.num_rows && n == a.num_cols;
  result.is_a = is_all && on_first;
  result.view = a;
  if (result.is_a) return result;
  VectorView<const std::size_t, Space> row_ptrs =
      part_of<const std::size_t, Space>(a.row_ptrs, range.begin, range.end + 1);
  Vector<std::size_t, Space> own_row_ptrs;
  if (!on_first)
    row_ptrs = own_row_ptrs = copied<std::size_t, Space>(space, "prekond::devices::row_ptrs", row_ptrs);
  result.first = element<Space>(space, row_ptrs, 0);
  result.last = element<Space>(space, row_ptrs, n);
  VectorView<const int, Space> col_idxs = part_of<const int, Space>(a.col_idxs, result.first, result.last);
  Vector<int, Space> own_col_idxs;
  if (!on_first) col_idxs = own_col_idxs = copied<int, Space>(space, "prekond::devices::col_idxs", col_idxs);
  const auto room = [&](std::size_t nnz) {
    return allocate<Vector<Scalar, Space>>(space, "prekond::devices::values", nnz);
  };
  if (is_all) {
    result.owned = {n, n, own_row_ptrs, own_col_idxs, room(result.last)};
  } else {
    result.starts = allocate<Vector<std::size_t, Space>>(space, "prekond::devices::starts", n);
    const Slice<Space> slice{row_ptrs, col_idxs, result.first, range, result.starts};
    const auto [ptrs, nnz] = scan_row_lengths(space, "prekond::devices::own_columns", n, slice);
    result.owned = {n, n, ptrs, allocate<Vector<int, Space>>(space, "prekond::devices::own_col_idxs", nnz),
                    room(nnz)};
    Kokkos::parallel_for("prekond::devices::copy_columns",
                         RowTeams<Space>::policy(space, n, static_cast<std::int64_t>(nnz)),
                         CopyColumns<Space>{slice, result.owned.row_ptrs, result.owned.col_idxs, {n}});
  }
  space.fence("prekond::devices::pattern");
  result.view = result.owned;
  return result;
}

template <class Scalar, class Space>
void copy_values(const Space& space, const CsrView<Scalar, Space>& a, RowsOnDevice<Scalar, Space>& rows) {
  if (rows.is_a) {
    rows.view = a;
    return;
  }
  const auto& owned = rows.owned;
  VectorView<const Scalar, Space> values = part_of<const Scalar, Space>(a.values, rows.first, rows.last);
  Vector<Scalar, Space> own_values;
  if (rows.starts.extent(0) == 0) {
    Kokkos::deep_copy(space, owned.values, values);
  } else {
    if (!rows.on_first)
      values = own_values = copied<Scalar, Space>(space, "prekond::devices::all_values", values);
    Kokkos::parallel_for(
        "prekond::devices::copy_values",
        RowTeams<Space>::policy(space, owned.num_rows, static_cast<std::int64_t>(owned.nnz())),
        CopyRows<Scalar, Space>{rows.starts, owned.row_ptrs, values, owned.values, {owned.num_rows}});
  }
  space.fence("prekond::devices::values");
}

template <class Scalar, class Space>
FoundRows<Scalar, Space> found_rows(
    const Space& space, const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& matrix,
    RowRange read, RowRange own) {
  return {matrix, read, own, element<Space>(space, matrix.row_ptrs, own.begin - read.begin),
          element<Space>(space, matrix.row_ptrs, own.end - read.begin)};
}

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> gathered(
    const Space& space, std::int64_t n, const std::vector<FoundRows<Scalar, Space>>& parts) {
  std::size_t nnz = 0;
  for (const auto& part : parts) nnz += part.last - part.first;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> whole(
      n, n, allocate_zero<Vector<std::size_t, Space>>(space, "prekond::devices::gathered_row_ptrs", n + 1),
      allocate<Vector<int, Space>>(space, "prekond::devices::gathered_col_idxs", nnz),
      allocate<Vector<Scalar, Space>>(space, "prekond::devices::gathered_values", nnz));
  std::size_t to = 0;
  for (const auto& part : parts) {
    if (part.own.size() == 0) continue;
    const std::int64_t first_row = part.own.begin - part.read.begin, rows = part.own.size();
    const std::size_t count = part.last - part.first;
    const auto ptrs = copied<std::size_t, Space>(
        space, "prekond::devices::part_row_ptrs",
        part_of<const std::size_t, Space>(part.matrix.row_ptrs, first_row, first_row + rows + 1));
    const VectorView<int, Space> cols = part_of<int, Space>(whole.col_idxs, to, to + count);
    Kokkos::parallel_for(
        "prekond::devices::move_row_ptrs", Places<Space>(space, 0, rows + 1),
        MoveRowPtrs<Space>{ptrs, part.first, to,
                           part_of<std::size_t, Space>(whole.row_ptrs, part.own.begin, part.own.end + 1)});
    Kokkos::deep_copy(space, cols, part_of<const int, Space>(part.matrix.col_idxs, part.first, part.last));
    Kokkos::deep_copy(space, part_of<Scalar, Space>(whole.values, to, to + count),
                      part_of<const Scalar, Space>(part.matrix.values, part.first, part.last));
    if (part.read.begin > 0)
      Kokkos::parallel_for("prekond::devices::move_columns", Places<Space>(space, 0, count),
                           MoveColumns<Space>{cols, static_cast<int>(part.read.begin)});
    space.fence("prekond::devices::gathered");  // ptrs goes away
    to += count;
  }
  return whole;
}

template <class Space>
Vector<unsigned char, Space> marks_of(const Space& space, RowRange read, RowRange own) {
  const auto marks = allocate<Vector<unsigned char, Space>>(space, "prekond::devices::marks", read.size());
  Kokkos::parallel_for("prekond::devices::mark_own", Places<Space>(space, 0, read.size()),
                       MarkOwn<Space>{{own.begin - read.begin, own.end - read.begin}, marks});
  space.fence("prekond::devices::marks");
  return marks;
}

#define PREKOND_DEVICE_COPIES(Scalar, Space)                                                              \
  template RowsOnDevice<Scalar, Space> pattern_on_device(const Space&, const CsrView<Scalar, Space>&,     \
                                                         RowRange, bool);                                 \
  template void copy_values(const Space&, const CsrView<Scalar, Space>&, RowsOnDevice<Scalar, Space>&);   \
  template FoundRows<Scalar, Space> found_rows(                                                           \
      const Space&, const CsrMatrix<Scalar, int, std::size_t, Space::memory_space>&, RowRange, RowRange); \
  template CsrMatrix<Scalar, int, std::size_t, Space::memory_space> gathered(                             \
      const Space&, std::int64_t, const std::vector<FoundRows<Scalar, Space>>&);
PREKOND_INSTANTIATE(PREKOND_DEVICE_COPIES)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_DEVICE_COPIES)
#define PREKOND_DEVICE_MARKS(Space) \
  template Vector<unsigned char, Space> marks_of(const Space&, RowRange, RowRange);
PREKOND_INSTANTIATE_SPACES(PREKOND_DEVICE_MARKS)

}  // namespace prekond::impl::devices
