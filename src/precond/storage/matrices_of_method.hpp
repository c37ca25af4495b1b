// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The matrices of a method whose setup is shared out over ranks or devices.
#include <prekond/core/registry.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/precond/impl/explicit_inverse.hpp>
#include <prekond/precond/impl/factored_inverse.hpp>
#include <prekond/precond/isai.hpp>

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace prekond::impl {

/// The matrices of a method that was set up for some rows. `rows` is G or M, by own rows;
/// `columns` is G^T or M, by own columns. A matrix that does not exist is null.
template <class Scalar, class Space>
struct FoundMatrices {
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  const Matrix* rows = nullptr;
  const Matrix* columns = nullptr;
  bool are_transposes = false;  ///< of each other
};

/// The method that keeps its matrices as they are found, and what its options `storage` and `storage_format`
/// say.
template <class Method>
std::pair<std::unique_ptr<Method>, StoredAs> without_storage(const Configurator<Method>& method) {
  std::unique_ptr<Configurator<Method>> plain = method.resolved();
  StoredAs as(Storage::full);
  const auto value_of = [](const auto& choices, const std::string& name) {
    for (const auto& [text, value] : choices)
      if (text == name) return value;
    throw std::logic_error("an option has the unknown value " + name);
  };
  for (const OptionField& field : plain->fields().list()) {
    if (field.name == "storage") as.storage = value_of(storage_choices(), to_string(field.get()));
    if (field.name == "storage_format") as.format = value_of(stored_format_choices(), to_string(field.get()));
  }
  for (const OptionField& field : plain->fields().list()) {
    if (field.name == "storage") plain->fields().set({{"storage", std::string("full")}}, "storage");
    if (field.name == "storage_format")
      plain->fields().set({{"storage_format", std::string("csr")}}, "storage_format");
  }
  return {plain->build(), as};
}

/// The matrices that a method with a reach has found, which it owns. \throws std::logic_error for a method
/// that is not known
template <class Scalar, class Space>
FoundMatrices<Scalar, Space> found_by(const MatrixPreconditioner<Scalar, Space>& method) {
  const MatrixPreconditioner<Scalar, Space>* kept = &method;
  if constexpr (!is_complex<Scalar>) {
    if (const auto* isai = dynamic_cast<const Isai<Scalar, Space>*>(kept)) {
      if (!isai->factored()) return {&isai->inverse(), nullptr, false};
      kept = isai->factored();
    }
  }
  if (const auto* factored = dynamic_cast<const FactoredInverse<Scalar, Space>*>(kept))
    return {&factored->factor(), &factored->factor_transposed(), factored->is_symmetric()};
  if (const auto* whole = dynamic_cast<const ExplicitInverse<Scalar, Space>*>(kept)) {
    if (method.reach().by_columns) return {nullptr, &whole->inverse(), false};
    return {&whole->inverse(), nullptr, false};
  }
  throw std::logic_error(method.name() + ": it has a reach, and no matrix that is known here");
}

/// Factors are not transposed from now on, see `FactoredInverse::keep_rows_only`.
template <class Scalar, class Space>
void keep_rows_only(MatrixPreconditioner<Scalar, Space>& method) {
  if constexpr (!is_complex<Scalar>)
    if (auto* isai = dynamic_cast<Isai<Scalar, Space>*>(&method); isai && isai->factored())
      return isai->factored()->keep_rows_only();
  if (auto* factored = dynamic_cast<FactoredInverse<Scalar, Space>*>(&method)) factored->keep_rows_only();
}

template <class Scalar, class Space>
struct DiagonalExtremes {
  CsrGraphView<Space> graph;
  VectorView<const Scalar, Space> values;
  KOKKOS_FUNCTION void operator()(std::int64_t i, double& least, double& largest) const {
    const std::size_t k = graph.first_from(i, i);
    if (k == graph.row_ptrs(i + 1) || graph.col_idxs(k) != i) return;
    const double size = Kokkos::abs(static_cast<double>(real_part(values(k))));
    least = size < least ? size : least;
    largest = size > largest ? size : largest;
  }
};

/// The least and the largest |a_ii| of own columns; of none, the largest number and 0. Fences.
template <class Scalar, class Space>
std::pair<double, double> range_of_diagonal(const Space& space, const CsrView<Scalar, Space>& a) {
  double least = std::numeric_limits<double>::max(), largest = 0;
  Kokkos::parallel_reduce("prekond::distributed::diagonals",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_rows),
                          DiagonalExtremes<Scalar, Space>{a, a.values}, Kokkos::Min<double>(least),
                          Kokkos::Max<double>(largest));
  return {least, largest};
}

}  // namespace prekond::impl
