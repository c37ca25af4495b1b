// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The rows of a sequential AIJ matrix, and the two of which a parallel one is made on a rank.
#include <prekond/adapters/impl/petsc_objects.hpp>
#include <prekond/core/error.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

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

/// The host's pattern of a MATSEQAIJ: all row pointers, and the columns.
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
  check(MatGetRowIJ(a, 0, PETSC_FALSE, PETSC_FALSE, &pattern.num_rows, &pattern.row_ptrs, &pattern.col_idxs,
                    &done));
  const AijPattern found = pattern;  // PETSc's own memory, which outlives the loan
  check(MatRestoreRowIJ(a, 0, PETSC_FALSE, PETSC_FALSE, &pattern.num_rows, &pattern.row_ptrs,
                        &pattern.col_idxs, &done));
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

/// PETSc's own columns and values of a MATSEQAIJ.
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

/// The rows of a MATSEQAIJ as kernels take them. Its row pointers are copied, because they are of another
/// type, from the host, because PETSc has them all there; columns are where PetscInt has 64 bits; columns and
/// values are where PETSc has them in memory that `Space` does not reach. Everything else is PETSc's own
/// memory.
template <class Space>
class AijRows {
 public:
  using view_type = CsrView<PetscScalar, Space>;

  AijRows() = default;
  /// Looks at the pattern. Keeps the matrix. \throws InputError for 2^31 columns and more
  AijRows(const Space& space, Mat a) : m_a(keep(a)) {
    PetscInt rows = 0, cols = 0;
    check(MatGetSize(a, &rows, &cols));
    m_num_rows = rows;
    m_num_cols = cols;
    if (m_num_cols > std::numeric_limits<int>::max())
      throw InputError("the rank's part has " + std::to_string(m_num_cols) +
                       " columns; prekond takes up to 2147483647: use more ranks");
    const AijPattern pattern = pattern_of(a);
    m_nnz = pattern.nnz();
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

  /// With the values that the matrix has now. Copies them where PETSc has them in other memory and they are
  /// newer than the last copy. \pre the pattern is the same
  view_type view(const Space& space) const {
    const AijArrays arrays = arrays_of<Space>(m_a.get());
    return {m_num_rows, m_num_cols, m_row_ptrs, m_col_idxs,
            arrays.in_reach ? Vector<const PetscScalar, Space>(arrays.values, m_nnz)
                            : copied_values(space, arrays)};
  }

  Mat mat() const { return m_a.get(); }
  std::int64_t num_cols() const { return m_num_cols; }
  std::int64_t nnz() const { return m_nnz; }

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
    if (m_copy.extent(0) != static_cast<std::size_t>(m_nnz) || state != m_copied_state)
      m_copy = reached<Space>(space, arrays.values, static_cast<std::size_t>(m_nnz), false,
                              "prekond::petsc::rows::values");
    m_copied_state = state;
    return m_copy;
  }

  OwnedMat m_a;
  std::int64_t m_num_rows = 0;
  std::int64_t m_num_cols = 0;
  std::int64_t m_nnz = 0;
  Vector<const std::size_t, Space> m_row_ptrs;
  Vector<const int, Space> m_col_idxs;
  mutable Vector<const PetscScalar, Space> m_copy;
  mutable PetscObjectState m_copied_state = -1;
};

/// The part of an AIJ matrix that a rank has: its rows in its own columns, and in those of other ranks.
struct AijParts {
  Mat own = nullptr;
  Mat others = nullptr;                         ///< null for a MATSEQAIJ
  const PetscInt* numbers_of_others = nullptr;  ///< the global number of each column of `others`, ascending
};

/// \throws InputError for a matrix that is no AIJ, or not assembled
inline AijParts parts_of(Mat a) {
  PetscBool assembled = PETSC_FALSE, is_sequential = PETSC_FALSE, is_parallel = PETSC_FALSE;
  check(MatAssembled(a, &assembled));
  if (!assembled) throw InputError("the matrix is not assembled: call MatAssemblyBegin and MatAssemblyEnd");
  const auto object = reinterpret_cast<PetscObject>(a);
  check(PetscObjectBaseTypeCompare(object, MATSEQAIJ, &is_sequential));
  check(PetscObjectBaseTypeCompare(object, MATMPIAIJ, &is_parallel));
  AijParts parts;
  if (is_sequential) {
    parts.own = a;
    return parts;
  }
  if (!is_parallel) {
    MatType type = nullptr;
    check(MatGetType(a, &type));
    throw InputError("the matrix is of type " + std::string(type ? type : "none") +
                     ": prekond takes aij; MatConvert(a, MATAIJ, ...) makes one");
  }
  check(MatMPIAIJGetSeqAIJ(a, &parts.own, &parts.others, &parts.numbers_of_others));
  return parts;
}

}  // namespace prekond::petsc::impl
