// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Prekond's product with a matrix of PETSc's, as a MATSHELL.
#include "adapters/petsc_errors.hpp"
#include "adapters/petsc_kokkos.hpp"

#include <prekond_petsc.h>
#include <prekond/adapters/impl/petsc_vectors.hpp>
#include <prekond/adapters/petsc_distributed.hpp>
#include <prekond/adapters/transport.hpp>

#include <petsc/private/petscimpl.h>

#include <array>
#include <memory>
#include <string>

namespace prekond::petsc {
namespace {

using Space = Kokkos::DefaultExecutionSpace;

/// The data of the MATSHELL.
class Product {
 public:
  Product(Mat a, mpi::Transport transport) : m_a(impl::keep(a)), m_transport(transport) { make(); }

  Mat a() const { return m_a.get(); }

  void apply(const Columns<const PetscScalar>& x, const Columns<PetscScalar>& y) {
    if (impl::state_of(m_a.get(), MatGetNonzeroState) != m_pattern) make();
    const auto from = m_x.read(m_space, x);
    const auto to = m_y.write(m_space, y);
    m_product->apply(m_space, from, to);
    m_y.finish(m_space, to, y);
    if constexpr (!is_host_space<Space>)
      m_space.fence("prekond::petsc::product");  // PETSc has its own streams
  }

 private:
  /// Collective: a matrix has another pattern on all ranks where it has on one.
  void make() {
    m_product = nullptr;
    m_product = impl::make_product<Space>(m_space, m_a.get(), m_transport);
    m_pattern = impl::state_of(m_a.get(), MatGetNonzeroState);
  }

  impl::OwnedMat m_a;
  mpi::Transport m_transport;
  Space m_space;
  std::unique_ptr<const impl::AijProduct<Space>> m_product;
  PetscObjectState m_pattern = -1;
  ColumnsBuffer<Space> m_x, m_y;
};

PetscErrorCode data_of(Mat shell, Product** data) {
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(shell, data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode multiply(Mat shell, Vec x, Vec y) {
  Product* data = nullptr;
  PetscFunctionBegin;
  PetscCall(data_of(shell, &data));
  PetscCall(guarded(PETSC_COMM_SELF, [&] {
    const ReadVec<Space> from(x);
    const WriteVec<Space> to(y);
    data->apply(from.columns(), to.columns());
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode multiply_transpose(Mat shell, Vec x, Vec y) {
  Product* data = nullptr;
  PetscFunctionBegin;
  PetscCall(data_of(shell, &data));
  PetscCall(MatMultTranspose(data->a(), x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode diagonal(Mat shell, Vec d) {
  Product* data = nullptr;
  PetscFunctionBegin;
  PetscCall(data_of(shell, &data));
  PetscCall(MatGetDiagonal(data->a(), d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/// Freed with the last matrix that has it: MatDuplicate's copies share it. `Place` points to the pointer; it
/// is void* in newer releases and void** in older ones.
template <class Place>
PetscErrorCode destroy(Place place) {
  PetscFunctionBegin;
  void*& data = *static_cast<void**>(place);
  delete static_cast<Product*>(data);
  data = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}
template <class Place>
PetscErrorCode set_destroy(PetscErrorCode (*set)(Mat, PetscErrorCode (*)(Place)), Mat shell) {
  PetscFunctionBegin;
  PetscCall(set(shell, destroy<Place>));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/// -mat_prekond_transport, with A's prefix.
PetscErrorCode transport_of(Mat a, std::string* name) {
  const char* prefix = nullptr;
  std::array<char, 64> value{};
  PetscBool found = PETSC_FALSE;
  PetscFunctionBegin;
  *name = "auto";
  PetscCall(PetscObjectGetOptionsPrefix(reinterpret_cast<PetscObject>(a), &prefix));
  PetscCall(
      PetscOptionsGetString(nullptr, prefix, "-mat_prekond_transport", value.data(), value.size(), &found));
  if (found) *name = value.data();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/// MatShellSetOperation, which takes pointers of another kind in older releases.
template <class Pointer, class Function>
PetscErrorCode set_operation(PetscErrorCode (*set)(Mat, MatOperation, Pointer), Mat shell,
                             MatOperation operation, Function* function) {
  PetscFunctionBegin;
  PetscCall(set(shell, operation, reinterpret_cast<Pointer>(function)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace
}  // namespace prekond::petsc

PetscErrorCode MatCreatePrekondProduct(Mat a, Mat* product) {
  using namespace prekond::petsc;
  std::unique_ptr<Product> data;
  std::string transport;
  VecType vectors = nullptr;
  PetscInt rows = 0, all = 0;
  MatNullSpace null_space = nullptr;
  PetscFunctionBegin;
  PetscValidHeaderSpecific(a, MAT_CLASSID, 1);
  const MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(a));
  PetscCheck(product, comm, PETSC_ERR_ARG_NULL, "Prekond: no place for the product");
  PetscCall(initialize_kokkos());
  PetscCall(transport_of(a, &transport));
  PetscCall(guarded(comm, [&] {
    prekond::mpi::Transport wanted{};
    prekond::mpi::together(comm, [&] { wanted = prekond::mpi::transport_named(transport); });
    data = std::make_unique<Product>(a, wanted);
  }));
  PetscCall(MatGetLocalSize(a, &rows, nullptr));
  PetscCall(MatGetSize(a, &all, nullptr));
  PetscCall(MatCreateShell(comm, rows, rows, all, all, data.get(), product));
  PetscCall(set_destroy(MatShellSetContextDestroy, *product));
  data.release();
  PetscCall(set_operation(MatShellSetOperation, *product, MATOP_MULT, multiply));
  PetscCall(set_operation(MatShellSetOperation, *product, MATOP_MULT_TRANSPOSE, multiply_transpose));
  PetscCall(set_operation(MatShellSetOperation, *product, MATOP_GET_DIAGONAL, diagonal));
  PetscCall(MatGetVecType(a, &vectors));
  PetscCall(MatShellSetVecType(*product, vectors));
  PetscCall(MatSetBlockSizesFromMats(*product, a, a));
  PetscCall(MatGetNullSpace(a, &null_space));
  if (null_space) PetscCall(MatSetNullSpace(*product, null_space));
  PetscCall(MatGetTransposeNullSpace(a, &null_space));
  if (null_space) PetscCall(MatSetTransposeNullSpace(*product, null_space));
  PetscFunctionReturn(PETSC_SUCCESS);
}
