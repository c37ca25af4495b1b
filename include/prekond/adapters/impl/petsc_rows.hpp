// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The rows of a sequential AIJ or BAIJ matrix, and the two of which a parallel one is made on a rank.
#include <prekond/adapters/impl/petsc_objects.hpp>
#include <prekond/core/error.hpp>
#include <prekond/matrix/impl/block_rows.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace prekond::petsc::impl {

template <class To, class From, class Space>
struct ConvertEntries {
  VectorView<const From, Space> from;
  VectorView<To, Space> to;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { to(k) = static_cast<To>(from(k)); }
};

template <class To, class From, class Space>
Vector<To, Space> converted(const Space& space, const Vector<const From, Space>& from,
                            const std::string& label) {
  const auto to = allocate<Vector<To, Space>>(space, label, from.extent(0));
  Kokkos::parallel_for("prekond::petsc::convert",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, from.extent(0)),
                       ConvertEntries<To, From, Space>{from, to});
  return to;
}

/// Is it a matrix of this type, or of one that derives from it?
inline bool has_type(Mat a, MatType type) {
  PetscBool is = PETSC_FALSE;
  check(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(a), type, &is));
  return is == PETSC_TRUE;
}

/// The host's pattern of a MATSEQAIJ, or of the blocks of a MATSEQBAIJ: all row pointers, and the columns.
struct AijPattern {
  PetscInt num_rows = 0;
  const PetscInt* row_ptrs = nullptr;
  const PetscInt* col_idxs = nullptr;

  PetscInt nnz() const { return num_rows > 0 ? row_ptrs[num_rows] : 0; }
};

/// PETSc keeps it whatever the matrix's type is.
inline AijPattern pattern_of(Mat a) {
  AijPattern pattern;
  PetscBool done = PETSC_FALSE;
  const PetscBool of_blocks = has_type(a, MATSEQBAIJ) ? PETSC_TRUE : PETSC_FALSE;
  check(MatGetRowIJ(a, 0, PETSC_FALSE, of_blocks, &pattern.num_rows, &pattern.row_ptrs, &pattern.col_idxs,
                    &done));
  const AijPattern found = pattern;  // PETSc's own memory, which outlives the loan
  check(MatRestoreRowIJ(a, 0, PETSC_FALSE, of_blocks, &pattern.num_rows, &pattern.row_ptrs, &pattern.col_idxs,
                        &done));
  if (!done) throw InputError("PETSc has no rows of this matrix by columns");
  return found;
}

/// A number that PETSc raises when it changes the matrix. `get` is MatGetState, which gives a struct
/// from 3.26 on.
template <class State>
PetscObjectState state_of(Mat a, PetscErrorCode (*get)(Mat, State*)) {
  State state{};
  check(get(a, &state));
  if constexpr (std::is_same_v<State, PetscObjectState>)
    return state;
  else
    return state.state;
}

/// PETSc's own columns and values of a MATSEQAIJ or MATSEQBAIJ.
struct AijArrays {
  const PetscInt* col_idxs = nullptr;
  const PetscScalar* values = nullptr;
  bool in_reach = true;  ///< of the kernels that they were asked for
};

/// For kernels of `Space`: in their memory where PETSc has them there, else the host's. PETSc copies what is
/// newer in the other memory. Row pointers are not asked for: those on a device leave out the rows without
/// entries where these are many.
template <class Space>
AijArrays arrays_of(Mat a) {
  AijArrays arrays;
  const AijPattern pattern = pattern_of(a);
  if (pattern.nnz() == 0) return arrays;
  if (has_type(a, MATSEQBAIJ)) {  // PETSc has them on the host only
    PetscScalar* values = nullptr;
    check(MatSeqBAIJGetArray(a, &values));
    // Restoring them would raise the matrix's state, and whoever watches it would copy it or set up again.
    arrays = {pattern.col_idxs, values, is_host_space<Space>};
    return arrays;
  }
  if constexpr (is_host_space<Space>) {
    arrays.col_idxs = pattern.col_idxs;
    check(MatSeqAIJGetArrayRead(a, &arrays.values));
    const PetscScalar* values = arrays.values;
    check(MatSeqAIJRestoreArrayRead(a, &values));
  } else {
    PetscScalar* values = nullptr;
    PetscMemType type = PETSC_MEMTYPE_HOST;
    check(MatSeqAIJGetCSRAndMemType(a, nullptr, &arrays.col_idxs, &values, &type));
    arrays.values = values;
    arrays.in_reach = is_in_reach<Space>(type);
    if (arrays.in_reach) {
      check_device<Space>();
      wait_for_petsc<Space>();
    }
  }
  return arrays;
}

/// The rows of a MATSEQAIJ, or the block rows of a MATSEQBAIJ, as kernels take them. Its row pointers are
/// copied, because they are of another type, from the host, because PETSc has them all there; columns are
/// where PetscInt has 64 bits; columns and values are where PETSc has them in memory that `Space` does not
/// reach. Everything else is PETSc's own memory.
template <class Space>
class AijRows {
 public:
  using view_type = CsrView<PetscScalar, Space>;

  AijRows() = default;
  /// Looks at the pattern. Keeps the matrix. \throws InputError for 2^31 columns and more
  AijRows(const Space& space, Mat a) : m_a(keep(a)) {
    PetscInt rows = 0, cols = 0;
    check(MatGetSize(a, &rows, &cols));
    if (has_type(a, MATSEQBAIJ)) {
      PetscInt size = 1;
      check(MatGetBlockSize(a, &size));
      m_block_size = static_cast<int>(size);
    }
    rows /= m_block_size;
    m_num_rows = rows;
    m_num_cols = cols / m_block_size;
    if (cols > std::numeric_limits<int>::max())
      throw InputError("the rank's part has " + std::to_string(cols) +
                       " columns; prekond takes up to 2147483647: use more ranks");
    const AijPattern pattern = pattern_of(a);
    m_nnz = pattern.nnz();
    for (PetscInt i = 0; i < rows; ++i)
      m_longest_row = std::max<std::int64_t>(m_longest_row, pattern.row_ptrs[i + 1] - pattern.row_ptrs[i]);
    if (rows > 0)
      m_row_ptrs = converted<std::size_t, PetscInt>(
          space,
          reached<Space>(space, pattern.row_ptrs, static_cast<std::size_t>(rows) + 1, is_host_space<Space>,
                         "prekond::petsc::rows::row_ptrs"),
          "prekond::petsc::rows::row_ptrs");
    else
      m_row_ptrs = allocate_zero<Vector<std::size_t, Space>>(space, "prekond::petsc::rows::row_ptrs", 1);
    const AijArrays arrays = arrays_of<Space>(a);
    m_col_idxs = columns(space, arrays);
  }

  /// With the values that the matrix has now; of blocks, b^2 an entry, by columns. Copies them where PETSc
  /// has them in other memory and they are newer than the last copy. \pre the pattern is the same
  view_type view(const Space& space) const {
    const AijArrays arrays = arrays_of<Space>(m_a.get());
    return {m_num_rows, m_num_cols, m_row_ptrs, m_col_idxs,
            arrays.in_reach ? Vector<const PetscScalar, Space>(arrays.values, num_values())
                            : copied_values(space, arrays)};
  }
  /// The same; of an AIJ blocks of one number.
  BcsrView<PetscScalar, Space> blocks(const Space& space) const {
    auto blocks =
        prekond::impl::as_blocks<PetscScalar, Space>(view(space), m_block_size, BlockOrder::by_columns);
    blocks.longest_row = m_longest_row;
    return blocks;
  }

  Mat mat() const { return m_a.get(); }
  int block_size() const { return m_block_size; }
  std::int64_t num_cols() const { return m_num_cols; }  ///< of blocks, as nnz
  std::int64_t nnz() const { return m_nnz; }
  std::int64_t num_values() const { return m_nnz * m_block_size * m_block_size; }

  /// Why PETSc's entries were copied; empty where they were not.
  std::string copied() const {
    if (!arrays_of<Space>(m_a.get()).in_reach)
      return "the matrix was copied: PETSc has it on the host, and " + std::string(Space::name()) +
             " computes on a device";
    if (sizeof(PetscInt) != sizeof(int)) return "the columns were copied: PetscInt has 64 bits";
    return {};
  }

 private:
  Vector<const int, Space> columns(const Space& space, const AijArrays& arrays) const {
    const auto reach = reached<Space>(space, arrays.col_idxs, static_cast<std::size_t>(m_nnz),
                                      arrays.in_reach, "prekond::petsc::rows::col_idxs");
    if constexpr (std::is_same_v<PetscInt, int>)
      return reach;
    else
      return converted<int, PetscInt>(space, reach, "prekond::petsc::rows::col_idxs");
  }

  Vector<const PetscScalar, Space> copied_values(const Space& space, const AijArrays& arrays) const {
    const PetscObjectState state = state_of(m_a.get(), MatGetState);
    if (m_copy.extent(0) != static_cast<std::size_t>(num_values()) || state != m_copied_state)
      m_copy = reached<Space>(space, arrays.values, static_cast<std::size_t>(num_values()), false,
                              "prekond::petsc::rows::values");
    m_copied_state = state;
    return m_copy;
  }

  OwnedMat m_a;
  int m_block_size = 1;
  std::int64_t m_num_rows = 0;
  std::int64_t m_num_cols = 0;
  std::int64_t m_nnz = 0;
  std::int64_t m_longest_row = 0;
  Vector<const std::size_t, Space> m_row_ptrs;
  Vector<const int, Space> m_col_idxs;
  mutable Vector<const PetscScalar, Space> m_copy;
  mutable PetscObjectState m_copied_state = -1;
};

/// The part of an AIJ or BAIJ matrix that a rank has: its rows in its own columns, and in those of others.
struct AijParts {
  Mat own = nullptr;
  Mat others = nullptr;                         ///< null for a sequential one
  const PetscInt* numbers_of_others = nullptr;  ///< of each column of `others`, or of blocks, ascending
  int block_size = 1;                           ///< of a BAIJ

  /// The global number of each column of `others`.
  std::vector<PetscInt> numbers() const {
    PetscInt columns = 0;
    if (others) check(MatGetSize(others, nullptr, &columns));
    std::vector<PetscInt> all(columns);
    for (PetscInt c = 0; c < columns; ++c)
      all[c] = numbers_of_others[c / block_size] * block_size + c % block_size;
    return all;
  }
};

/// \throws InputError for a matrix that is no AIJ and no BAIJ, or not assembled
inline AijParts parts_of(Mat a) {
  PetscBool assembled = PETSC_FALSE;
  check(MatAssembled(a, &assembled));
  if (!assembled) throw InputError("the matrix is not assembled: call MatAssemblyBegin and MatAssemblyEnd");
  AijParts parts;
  if (has_type(a, MATSEQBAIJ) || has_type(a, MATMPIBAIJ)) {
    PetscInt size = 1;
    check(MatGetBlockSize(a, &size));
    parts.block_size = static_cast<int>(size);
    if (size > largest_block_size)
      throw InputError("the matrix has blocks of " + std::to_string(size) + "; prekond takes up to " +
                       std::to_string(largest_block_size) +
                       ": MatConvert(a, MATAIJ, ...) makes rows of them");
  }
  if (has_type(a, MATSEQAIJ) || has_type(a, MATSEQBAIJ)) {
    parts.own = a;
  } else if (has_type(a, MATMPIAIJ)) {
    check(MatMPIAIJGetSeqAIJ(a, &parts.own, &parts.others, &parts.numbers_of_others));
  } else if (has_type(a, MATMPIBAIJ)) {
    check(MatMPIBAIJGetSeqBAIJ(a, &parts.own, &parts.others, &parts.numbers_of_others));
  } else {
    MatType type = nullptr;
    check(MatGetType(a, &type));
    throw InputError("the matrix is of type " + std::string(type ? type : "none") +
                     ": prekond takes aij and baij; MatConvert(a, MATAIJ, ...) makes one");
  }
  return parts;
}

}  // namespace prekond::petsc::impl
