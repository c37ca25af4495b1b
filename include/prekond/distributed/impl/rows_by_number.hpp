// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/row_numbers.hpp>
#include <prekond/distributed/remote_rows.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>

namespace prekond {

/// The global numbers of a rank's columns: its own `num_rows`, numbered as its rows are, and after them
/// those of other ranks, `remote`. Cost: one pass over the result.
template <class Space>
Vector<std::int64_t, Space> column_numbers(const Space& space, const RowNumbers<Space>& own,
                                           std::int64_t num_rows,
                                           VectorView<const std::int64_t, Space> remote);

/// Rows for other ranks: row r of the result is row list(r) of `a` and, after it, that of `other`, which may
/// have no rows at all. Columns are global numbers, ascending.
///
/// Cost: of these rows two readings, a sort of their columns' numbers and one of each row; nothing depends on
/// the rows that are not asked for. Memory: the result, and 12 bytes an entry meanwhile. Fences.
///
/// \pre a row has no two columns with one number; fewer than 2^31 columns
template <class Scalar, class Space>
RemoteRows<Scalar, Space> rows_by_number(const Space& space, VectorView<const int, Space> list,
                                         const NumberedRows<Scalar, Space>& a,
                                         const NumberedRows<Scalar, Space>& other = {});

/// Row r of the result is row slots(r) of `rows`, whose values may be gone. Cost: one reading and one
/// writing. Fences.
template <class Scalar, class Space>
RemoteRows<Scalar, Space> reordered_rows(const Space& space, const RemoteRows<Scalar, Space>& rows,
                                         VectorView<const int, Space> slots);

}  // namespace prekond
