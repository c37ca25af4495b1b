// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The library that distributes the matrix and sends the messages: Tpetra with PREKOND_PERF_TPETRA, else
/// PETSc.
#include "rows_of_rank.hpp"

#include <prekond/distributed/distributed_matrix.hpp>

#include <mpi.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#ifdef PREKOND_PERF_TPETRA
#include <prekond/adapters/tpetra_distributed.hpp>

#include <Tpetra_Core.hpp>
#else
#include <prekond/adapters/petsc_distributed.hpp>

#include <petscmat.h>

#include <stdexcept>
#endif

namespace prekond::perf {

#ifdef PREKOND_PERF_TPETRA
/// MPI and Kokkos, from here to its end.
using EngineScope = Tpetra::ScopeGuard;
using EngineMap = Tpetra::Map<>;
using EngineSpace = EngineMap::node_type::execution_space;
inline const std::string engine_name = "Tpetra";

/// Collective.
inline std::unique_ptr<DistributedMatrix<double, EngineSpace>> distribute(const RowsOfRank& mine) {
  using Matrix = Tpetra::CrsMatrix<double>;
  using Global = EngineMap::global_ordinal_type;
  const auto& rows = mine.rows;
  const auto map = Teuchos::rcp(new const EngineMap(static_cast<Tpetra::global_size_t>(mine.num_global_rows),
                                                    static_cast<std::size_t>(mine.num_rows()), 0,
                                                    Tpetra::getDefaultComm()));
  const std::size_t n = static_cast<std::size_t>(mine.num_rows());
  Teuchos::Array<std::size_t> lengths(mine.num_rows());
  for (std::size_t i = 0; i < n; ++i)
    lengths[static_cast<Teuchos::Ordinal>(i)] = rows.row_ptrs(i + 1) - rows.row_ptrs(i);
  const auto a = Teuchos::rcp(new Matrix(map, lengths()));
  std::vector<Global> cols;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t begin = rows.row_ptrs(i), end = rows.row_ptrs(i + 1);
    cols.assign(rows.col_idxs.data() + begin, rows.col_idxs.data() + end);
    a->insertGlobalValues(static_cast<Global>(mine.first) + static_cast<Global>(i),
                          Teuchos::arrayViewFromVector(cols),
                          Teuchos::ArrayView<const double>(rows.values.data() + begin, end - begin));
  }
  a->fillComplete();
  return std::make_unique<tpetra::DistributedCrsMatrix<double, int, Global, EngineMap::node_type>>(
      EngineSpace(), a);
}
#else
/// MPI, PETSc and Kokkos, from here to its end. PETSc takes options from the environment (PETSC_OPTIONS): the
/// program's are not its own.
class EngineScope {
 public:
  EngineScope(int* argc, char*** argv) {
    if (PetscInitializeNoArguments()) throw std::runtime_error("PETSc does not start");
    m_kokkos = std::make_unique<Kokkos::ScopeGuard>(*argc, *argv);
  }
  ~EngineScope() {
    m_kokkos = nullptr;
    static_cast<void>(PetscFinalize());
  }
  EngineScope(const EngineScope&) = delete;
  EngineScope& operator=(const EngineScope&) = delete;

 private:
  std::unique_ptr<Kokkos::ScopeGuard> m_kokkos;
};
using EngineSpace = Kokkos::DefaultExecutionSpace;
inline const std::string engine_name = "PETSc";

/// A matrix type whose memory is where the kernels compute, where this PETSc has one.
inline MatType matrix_type() {
  const std::string space = EngineSpace::name();
  if (PetscDefined(HAVE_CUDA) && space == "Cuda") return "aijcusparse";
  if (PetscDefined(HAVE_HIP) && space == "HIP") return "aijhipsparse";
  return MATAIJ;
}

/// A matrix of the type above, or of that of the options -mat_type and -mat_block_size. Collective.
inline std::unique_ptr<DistributedMatrix<double, EngineSpace>> distribute(const RowsOfRank& mine) {
  const auto& rows = mine.rows;
  if (rows.nnz() > std::numeric_limits<PetscInt>::max())
    throw InputError("a rank has more entries than PetscInt counts: use more ranks");
  const std::vector<PetscInt> row_ptrs(rows.row_ptrs.data(), rows.row_ptrs.data() + mine.num_rows() + 1),
      cols(rows.col_idxs.data(), rows.col_idxs.data() + rows.nnz());
  const auto n = static_cast<PetscInt>(mine.num_rows()), all = static_cast<PetscInt>(mine.num_global_rows);
  petsc::impl::OwnedMat a;
  petsc::check(MatCreate(PETSC_COMM_WORLD, a.receive()));
  petsc::check(MatSetSizes(a.get(), n, n, all, all));
  petsc::check(MatSetType(a.get(), matrix_type()));
  petsc::check(MatSetFromOptions(a.get()));
  PetscBool is_baij = PETSC_FALSE;
  petsc::check(PetscObjectBaseTypeCompareAny(reinterpret_cast<PetscObject>(a.get()), &is_baij, MATSEQBAIJ,
                                             MATMPIBAIJ, ""));
  if (is_baij) {
    petsc::check(MatSetUp(a.get()));
    for (PetscInt i = 0; i < n; ++i) {
      const auto row = static_cast<PetscInt>(mine.first) + i;
      petsc::check(MatSetValues(a.get(), 1, &row, row_ptrs[i + 1] - row_ptrs[i], cols.data() + row_ptrs[i],
                                rows.values.data() + row_ptrs[i], INSERT_VALUES));
    }
    petsc::check(MatAssemblyBegin(a.get(), MAT_FINAL_ASSEMBLY));
    petsc::check(MatAssemblyEnd(a.get(), MAT_FINAL_ASSEMBLY));
  }
  // Each does nothing for other types.
  petsc::check(MatSeqAIJSetPreallocationCSR(a.get(), row_ptrs.data(), cols.data(), rows.values.data()));
  petsc::check(MatMPIAIJSetPreallocationCSR(a.get(), row_ptrs.data(), cols.data(), rows.values.data()));
  return std::make_unique<petsc::DistributedAijMatrix<EngineSpace>>(EngineSpace(), a.get());
}
#endif

/// The transport of this engine's messages. Collective.
inline mpi::MessageComm message_comm() {
#ifdef PREKOND_PERF_TPETRA
  return tpetra::impl::message_comm<EngineSpace>(*Tpetra::getDefaultComm());
#else
  return petsc::impl::message_comm<EngineSpace>(PETSC_COMM_WORLD, mpi::transport());
#endif
}

/// How the messages go: what sends them, and the memory that they are sent from. Collective.
inline std::string transport() {
  const mpi::MessageComm comm = message_comm();
  if (comm.device.transport)
    return engine_name + ", " + comm.device.transport->name() + ", from device memory";
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string library(text, static_cast<std::size_t>(length));
  library = library.substr(0, library.find_first_of(",\n"));
  return engine_name + ", " + library + ", from " +
         (is_host_space<EngineSpace> ? "host memory"
          : comm.takes_device_memory ? "device memory"
                                     : "pinned host memory");
}

}  // namespace prekond::perf
