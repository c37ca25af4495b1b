// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Properties of every preconditioner are tested on all lines of the registry. The references are sequential:
/// the preconditioner of core, built from the rank's own block, which was taken out of the whole matrix by
/// hand.
#include "testing/tpetra_matrices.hpp"

#include <gtest/gtest.h>
#include <prekond/adapters/ifpack2.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace prekond::testing {

using Space = TpetraSpace;
using RowMatrix = Tpetra::RowMatrix<double>;
using Adapter = ifpack2::Preconditioner<RowMatrix>;
using AdapterPointer = Teuchos::RCP<Adapter>;
using Local = MatrixPreconditioner<double, Space>;
using Columns = std::vector<std::vector<double>>;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

inline const Registry<Local>& registry() {
  return preconditioner_registry<double, Space>();
}

/// Is it no preconditioner for CG, by its default options? The registry's line says it of those that never
/// are.
inline bool is_nonsymmetric(const RegistryEntry<Local>& line) {
  return line.configure()->build()->is_nonsymmetric();
}

inline Teuchos::ParameterList list_of(const OptionMap& options) {
  Teuchos::ParameterList list;
  for (const auto& [name, value] : options)
    std::visit(
        [&list, &name = name](const auto& v) {
          if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::int64_t>)
            list.set(name, static_cast<int>(v));
          else
            list.set(name, v);
        },
        value);
  return list;
}

inline AdapterPointer computed(const std::string& name, const Teuchos::RCP<TpetraMatrix>& matrix,
                               const OptionMap& options = {}) {
  const AdapterPointer m = ifpack2::create(name, matrix);
  m->setParameters(list_of(options));
  m->initialize();
  m->compute();
  return m;
}

// ------------------------------------------------------------------------------------------ references

/// A sequential preconditioner of this rank's own block.
inline std::unique_ptr<Local> reference(const std::string& name, const HostMatrix<double>& a,
                                        const TpetraMap& map, const OptionMap& options = {}) {
  auto m = create_preconditioner<double, Space>(name, options);
  const auto own = to_device<Space>(local_reference(a, map).own);
  m->symbolic(Space(), own);
  m->numeric(Space(), own);
  return m;
}

/// The same of a matrix by blocks.
inline std::unique_ptr<Local> reference_by_blocks(const std::string& name, const HostMatrix<double>& a,
                                                  const TpetraMap& map, int block_size,
                                                  const OptionMap& options = {}) {
  auto m = create_preconditioner<double, Space>(name, options);
  const auto own = to_device<Space>(local_reference(a, map).own);
  const auto blocks = to_bcsr<double, Space>(Space(), own, block_size, BlockOrder::by_rows);
  const MatrixSource<double, Space> source(Space(), blocks);
  m->symbolic(Space(), source);
  m->numeric(Space(), source);
  return m;
}

/// Known to all ranks.
inline Columns random_columns(std::int64_t n, int k, unsigned seed) {
  Columns x;
  for (int v = 0; v < k; ++v)
    x.push_back(random_vector(static_cast<std::size_t>(n), seed + 100 * static_cast<unsigned>(v)));
  return x;
}

/// The entries that `map` gives this rank.
inline Columns own_part(const Columns& whole, const TpetraMap& map) {
  Columns mine;
  for (const auto& x : whole) mine.push_back(part_of(x, map));
  return mine;
}

/// This rank's values.
inline Columns values_of(const TpetraMultiVector& x) {
  Columns mine;
  for (std::size_t k = 0; k < x.getNumVectors(); ++k) {
    const auto values = x.getData(k);
    mine.emplace_back(values.begin(), values.end());
  }
  return mine;
}

inline Columns applied(const Local& m, const Columns& x) {
  const std::size_t n = static_cast<std::size_t>(m.num_rows());
  MultiVector<double, Space> from("from", n, x.size()), to("to", n, x.size());
  const auto host = Kokkos::create_mirror_view(from);
  for (std::size_t v = 0; v < x.size(); ++v)
    for (std::size_t i = 0; i < n; ++i) host(i, v) = x[v][i];
  Kokkos::deep_copy(from, host);
  const auto workspace = m.make_workspace(Space(), static_cast<int>(x.size()));
  m.apply(Space(), from, to, *workspace);
  Space().fence();
  Columns y;
  for (std::size_t v = 0; v < x.size(); ++v) y.push_back(to_vector(column(to, v)));
  return y;
}

/// M^-1 x by an adapter or what has one inside, into a Y that held NaN.
inline Columns applied(const Tpetra::Operator<>& m, const Columns& whole,
                       const Teuchos::RCP<const TpetraMap>& map) {
  const TpetraMultiVector x = distribute(whole, map);
  TpetraMultiVector y(map, whole.size());
  y.putScalar(not_a_number);
  m.apply(x, y);
  return values_of(y);
}

/// Equal but for the rounding of one product and one sum.
inline void expect_near(const Columns& actual, const Columns& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    ASSERT_EQ(actual[k].size(), expected[k].size());
    for (std::size_t i = 0; i < expected[k].size(); ++i)
      ASSERT_NEAR(actual[k][i], expected[k][i], 1e-14 * (1 + std::abs(expected[k][i])))
          << "vector " << k << ", row " << i;
  }
}

template <class T>
T over_all_ranks(Teuchos::EReductionType type, T mine) {
  T all{};
  Teuchos::reduceAll(*world(), type, 1, &mine, &all);
  return all;
}

// -------------------------------------------------------------------------------------------- matrices

inline double& entry(HostMatrix<double>& a, std::int64_t i, std::int64_t j) {
  for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
    if (a.col_idxs[k] == j) return a.values[k];
  throw std::logic_error("no such entry");
}

/// Row and column i hold stored zeros.
inline HostMatrix<double> with_zero_row(HostMatrix<double> a, std::int64_t i) {
  for (std::int64_t row = 0; row < a.num_rows; ++row)
    for (std::size_t k = a.row_ptrs[row]; k < a.row_ptrs[row + 1]; ++k)
      if (row == i || a.col_idxs[k] == i) a.values[k] = 0;
  return a;
}

/// Puts the values of `a` into a fill-complete matrix of the same pattern.
inline void replace_values(TpetraMatrix& matrix, const HostMatrix<double>& a) {
  matrix.resumeFill();
  for (const GlobalIndex row : own_indices(*matrix.getRowMap())) {
    const std::size_t begin = a.row_ptrs[row], length = a.row_ptrs[row + 1] - begin;
    const std::vector<GlobalIndex> cols(a.col_idxs.data() + begin, a.col_idxs.data() + begin + length);
    matrix.replaceGlobalValues(row, static_cast<int>(length), a.values.data() + begin, cols.data());
  }
  matrix.fillComplete(matrix.getDomainMap(), matrix.getRangeMap());
}

}  // namespace prekond::testing
