// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Copies of a rank's rows, and views of Tpetra's objects.
#include <prekond/adapters/impl/renumbered_copy.hpp>
#include <prekond/core/impl/row_numbers.hpp>
#include <prekond/matrix/validate.hpp>

#include <Tpetra_Map.hpp>
#include <Tpetra_RowMatrix.hpp>

#include <type_traits>
#include <utility>
#include <vector>

namespace prekond::tpetra::impl {

/// The local matrix of a CrsMatrix (a KokkosSparse::CrsMatrix) as our kernels take it.
template <class Scalar, class Space, class LocalCrsMatrix>
CsrView<Scalar, Space> view_of(const LocalCrsMatrix& local) {
  return {local.numRows(), local.numCols(), local.graph.row_map, local.graph.entries, local.values};
}

/// Are the rank's rows its first columns, in the same order?
template <class Map>
bool begins_with(const Map& cols, const Map& rows) {
  return rows.getLocalNumElements() == 0 || cols.isLocallyFitted(rows);
}

/// Vectors in memory that is not Tpetra's, at any stride, to be read or written.
template <class MultiVector, class ViewType>
MultiVector wrap(const Teuchos::RCP<const typename MultiVector::map_type>& map, const ViewType& x) {
  using View = typename MultiVector::dual_view_type::t_dev;
  using Data = typename View::pointer_type;
  const std::size_t rows = map->getLocalNumElements();
  // Column by column at the stride of x, which a single vector need not have.
  const std::size_t stride = x.extent(1) > 1 ? x.stride(1) : rows;
  const auto data = reinterpret_cast<Data>(const_cast<typename ViewType::non_const_value_type*>(x.data()));
  return MultiVector(map, View(Kokkos::subview(View(data, stride, x.extent(1)),
                                               std::make_pair(std::size_t(0), rows), Kokkos::ALL)));
}

/// The row of this rank that a column corresponds to, or -1.
template <class LocalMap>
struct OwnRow {
  LocalMap cols;
  LocalMap rows;
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t c) const {
    const auto row = rows.getLocalElement(cols.getGlobalElement(static_cast<int>(c)));
    return row == Tpetra::Details::OrdinalTraits<decltype(row)>::invalid() ? -1
                                                                           : static_cast<std::int64_t>(row);
  }
};

/// Refuses a copy with a column twice in a row; values are not looked at. \throws InputError
template <class Scalar, class Space>
void check_columns(const Space& space, const CsrView<Scalar, Space>& copy) {
  if (!rows_ascend<Scalar, Space>(space, copy)) validate<Scalar, Space>(space, copy);
}

/// A copy of a rank's rows with its own columns first.
template <class Scalar, class Space, class Map>
auto renumber_columns(const Space& space, const CsrView<Scalar, Space>& a, const Map& rows, const Map& cols) {
  using LocalMap = typename Map::local_map_type;
  const auto new_index =
      allocate<Vector<int, Space>>(space, "prekond::tpetra::local_matrix::new_index", a.num_cols);
  const std::int64_t foreign = prekond::impl::number_columns(
      space, a.num_rows, new_index, OwnRow<LocalMap>{cols.getLocalMap(), rows.getLocalMap()});
  return prekond::impl::renumbered_copy<Scalar, Space>(space, a, new_index, a.num_rows + foreign);
}

/// A copy of `x` where `Space` computes.
template <class Space, class T>
Vector<T, Space> copied_to(const std::vector<T>& x) {
  const Vector<T, Space> copy(Kokkos::view_alloc(Kokkos::WithoutInitializing, "prekond::tpetra::copy"),
                              x.size());
  Kokkos::deep_copy(
      copy,
      Kokkos::View<const T*, Kokkos::LayoutLeft, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
          x.data(), x.size()));
  return copy;
}

/// The global indices of a map. Where they are not contiguous a list is made, on the host.
template <class Space, class Map>
RowNumbers<Space> row_numbers(const Map& map) {
  const auto all = static_cast<std::int64_t>(map.getGlobalNumElements());
  if (map.isContiguous()) return {all, static_cast<std::int64_t>(map.getMinGlobalIndex()), {}};
  std::vector<std::int64_t> numbers(map.getLocalNumElements());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = map.getGlobalElement(static_cast<typename Map::local_ordinal_type>(i));
  return {all, 0, copied_to<Space>(numbers)};
}

/// The global indices of the columns that are no rows of this rank; of meshes, those of the b unknowns of
/// each point, as Tpetra's BlockCrsMatrix numbers them.
template <class Map>
std::vector<typename Map::global_ordinal_type> numbers_of_others(const Map& cols, const Map& rows, int b) {
  std::vector<typename Map::global_ordinal_type> others;
  const auto base = rows.getIndexBase();
  for (const auto number : cols.getLocalElementList())
    for (int p = 0; p < b && !rows.isNodeGlobalElement(number); ++p)
      others.push_back(base + (number - base) * b + p);
  return others;
}

/// A copy of a rank's rows of any RowMatrix, by the only access that its interface has: a row at a time, on
/// the host.
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
auto copy_rows(const typename Node::execution_space& space,
               const Tpetra::RowMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>& a) {
  using Space = typename Node::execution_space;
  using RowMatrix = Tpetra::RowMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  const auto num_rows = static_cast<std::int64_t>(a.getLocalNumRows());
  const std::size_t longest = a.getLocalMaxNumRowEntries();
  typename RowMatrix::nonconst_local_inds_host_view_type row_cols("prekond::tpetra::local_matrix::row_cols",
                                                                  longest);
  typename RowMatrix::nonconst_values_host_view_type row_values("prekond::tpetra::local_matrix::row_values",
                                                                longest);
  std::vector<std::size_t> row_ptrs(1, 0);
  std::vector<int> cols;
  std::vector<Scalar> values;
  cols.reserve(a.getLocalNumEntries());
  values.reserve(a.getLocalNumEntries());
  for (std::int64_t i = 0; i < num_rows; ++i) {
    std::size_t length = 0;  // a filter may give fewer entries than its counts say
    a.getLocalRowCopy(static_cast<LocalOrdinal>(i), row_cols, row_values, length);
    cols.insert(cols.end(), row_cols.data(), row_cols.data() + length);
    values.insert(values.end(), row_values.data(), row_values.data() + length);
    row_ptrs.push_back(cols.size());
  }
  const auto device_ptrs = copied_to<Space>(row_ptrs);
  const auto device_cols = copied_to<Space>(cols);
  const auto device_values = copied_to<Space>(values);
  const CsrView<Scalar, Space> all(num_rows, a.getColMap()->getLocalNumElements(), device_ptrs, device_cols,
                                   device_values);
  auto copy = renumber_columns<Scalar>(space, all, *a.getRowMap(), *a.getColMap());
  check_columns<Scalar, Space>(space, copy);
  return copy;
}

}  // namespace prekond::tpetra::impl
