// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/distributed/scaled_matrix.hpp"

#include <prekond/precond/distributed_transpose.hpp>

#include <utility>
#include <vector>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"

namespace prekond::impl::distributed {
namespace {

template <class Scalar, class Space>
struct ToNumbers {
  VectorView<const int, Space> exponent;
  VectorView<Scalar, Space> number;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { number(i) = Scalar(exponent(i)); }
};

/// exponent(first + i) of numbers that are whole.
template <class Scalar, class Space>
struct ToExponents {
  VectorView<const Scalar, Space> number;
  std::int64_t first;
  VectorView<int, Space> exponent;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { exponent(first + i) = static_cast<int>(number(i)); }
};

/// Collective. Each list, followed by the entries of other ranks, by one exchange.
template <class Scalar, class Space>
std::vector<Vector<int, Space>> with_imported(const Space& space, const VectorImport<Scalar, Space>& others,
                                              const std::vector<Vector<int, Space>>& lists) {
  const auto k = lists.size();
  const auto own = allocate<MultiVector<Scalar, Space>>(space, "prekond::scaled_matrix::sent",
                                                        others.num_rows(), k),
             remote = allocate<MultiVector<Scalar, Space>>(space, "prekond::scaled_matrix::received",
                                                           others.num_remote(), k);
  for (std::size_t v = 0; v < k; ++v)
    Kokkos::parallel_for("prekond::scaled_matrix::to_numbers", FlatPolicy<Space>(space, 0, own.extent(0)),
                         ToNumbers<Scalar, Space>{lists[v], column(own, v)});
  others.start(space, own);
  others.finish(space, remote);
  std::vector<Vector<int, Space>> all;
  for (std::size_t v = 0; v < k; ++v) {
    all.push_back(
        allocate<Vector<int, Space>>(space, "prekond::scaled_matrix::exponents", others.num_cols()));
    Kokkos::deep_copy(space, Kokkos::subview(all[v], std::make_pair(std::int64_t(0), others.num_rows())),
                      lists[v]);
    Kokkos::parallel_for("prekond::scaled_matrix::to_exponents",
                         FlatPolicy<Space>(space, 0, remote.extent(0)),
                         ToExponents<Scalar, Space>{column(remote, v), others.num_rows(), all[v]});
  }
  space.fence("prekond::scaled_matrix::imported");  // the vectors go away
  return all;
}

/// of_row(i) = the largest exponent of row i of R A C, for own rows.
template <class Scalar, class Space>
void largest_of_rows(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                     const Vector<int, Space>& row, const Vector<int, Space>& column,
                     const Vector<int, Space>& of_row) {
  const auto columns = with_imported<Scalar, Space>(space, a.column_import(), {column}).front();
  const CsrView<Scalar, Space> rows = a.own_rows();
  if (rows.num_rows > 0)
    Kokkos::parallel_for("prekond::scaled_matrix::largest_entries",
                         RowTeams<Space>::policy(space, rows.num_rows, rows.nnz()),
                         scaled::LargestEntries<Scalar, Space>{rows, row, columns, of_row, {}});
}

/// Ruiz's iteration, the columns of A by the rows of A^T.
template <class Scalar, class Space>
scaled::Exponents<Space> equilibrated(const Space& space, const DistributedMatrix<Scalar, Space>& a) {
  const std::int64_t n = a.num_rows();
  const auto vector = [&](const char* label) { return allocate_zero<Vector<int, Space>>(space, label, n); };
  const scaled::Exponents<Space> scale{vector("prekond::scaled_matrix::row"),
                                       vector("prekond::scaled_matrix::column")};
  const auto of_row = vector("prekond::scaled_matrix::of_row");
  const auto of_column = vector("prekond::scaled_matrix::of_column");
  const auto transposed = distributed_transpose<Scalar, Space>(space, a);
  double changes = 1;
  for (int sweep = 0; sweep < scaled::most_sweeps && changes > 0; ++sweep) {
    largest_of_rows<Scalar, Space>(space, a, scale.row, scale.column, of_row);
    largest_of_rows<Scalar, Space>(space, *transposed, scale.column, scale.row, of_column);
    changes = a.largest(scaled::halve<Scalar, Space>(space, scale, of_row, of_column));
  }
  return scale;
}

template <class Space>
struct ByPlace {
  VectorView<const int, Space> from;
  VectorView<const int, Space> places;  ///< of from's entries
  std::int64_t first;                   ///< the first one that is meant
  VectorView<int, Space> to;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { to(places(i)) = from(first + i); }
};

/// values(k) of row i times 2^(row(row_places(i)) + column(column_places(k)))
template <class Scalar, class Space>
struct ScaleRemoteRows {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const int, Space> row_places, column_places;
  VectorView<const int, Space> row, column;
  VectorView<Scalar, Space> values;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int of_row = row(row_places(i));
    for (std::size_t k = row_ptrs(i); k < row_ptrs(i + 1); ++k)
      values(k) = scaled::times_power(values(k), of_row + column(column_places(k)));
  }
};

/// y = alpha 2^exponent_i z + beta y, by rows
template <class Scalar, class Space>
struct AddScaled {
  VectorView<const int, Space> exponent;
  MultiVectorView<const Scalar, Space> z;
  MultiVectorView<Scalar, Space> y;
  Scalar alpha, beta;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t v = 0; v < y.extent(1); ++v) {
      const Scalar sum = alpha * scaled::times_power(z(i, v), exponent(i));
      y(i, v) = beta == Scalar(0) ? sum : sum + beta * y(i, v);
    }
  }
};

}  // namespace

template <class Scalar, class Space>
scaled::Exponents<Space> scaling_of(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                                    const Scaling<Space>& scaling) {
  scaled::Exponents<Space> own;
  const ScalingKind kind = scaling.options.kind;
  const bool alone = a.largest(a.num_rows() == a.num_global_rows() ? 0 : 1) == 0;
  if (kind == ScalingKind::equilibrate && !alone) return equilibrated<Scalar, Space>(space, a);
  a.together([&] {
    if (kind == ScalingKind::given)
      own = scaled::of_given<real_type_t<Scalar>, Space>(space, a.num_rows(), scaling.row, scaling.column);
    else if (kind == ScalingKind::diagonal)
      own = scaled::of_diagonal<Scalar, Space>(space, a.own_rows());
    else
      own = scaled::equilibrated<Scalar, Space>(space, a.own_rows());
  });
  return own;
}

template <class Scalar, class Space>
void ScaledMatrix<Scalar, Space>::Product::apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                                                 MultiVectorView<Scalar, Space> y, Scalar alpha,
                                                 Scalar beta) const {
  const auto block = [&] {
    return allocate<MultiVector<Scalar, Space>>(space, "prekond::scaled_matrix::vectors", y.extent(0),
                                                y.extent(1));
  };
  const auto from = block(), to = block();
  const FlatPolicy<Space> rows(space, 0, y.extent(0));
  Kokkos::parallel_for("prekond::scaled_matrix::scale_columns", rows,
                       AddScaled<Scalar, Space>{m_exponents.column, x, from, 1, 0});
  m_a.apply(space, from, to);
  Kokkos::parallel_for("prekond::scaled_matrix::scale_rows", rows,
                       AddScaled<Scalar, Space>{m_exponents.row, to, y, alpha, beta});
  space.fence("prekond::scaled_matrix::product");  // the vectors go away
}

template <class Scalar, class Space>
ScaledMatrix<Scalar, Space>::ScaledMatrix(const Space& space, const Distributed& a, const Exponents& own)
    : SameRanks<Scalar, Space>(a), m_own(own), m_product(a.product(), own) {
  const auto columns = with_imported<Scalar, Space>(space, a.column_import(), {own.column}).front();
  a.together([&] {
    const CsrView<Scalar, Space> rows = a.own_rows();
    m_values = scaled::scaled_values<Scalar, Space>(space, rows, own.row, columns);
    m_rows = {rows.num_rows, rows.num_cols, rows.row_ptrs, rows.col_idxs, m_values};
    space.fence("prekond::scaled_matrix::rows");  // the columns' scales go away
  });
}

template <class Scalar, class Space>
RemoteRows<Scalar, Space> ScaledMatrix<Scalar, Space>::remote_rows(
    const Space& space, VectorView<const std::int64_t, Space> global) const {
  const RemoteRows<Scalar, Space> rows = m_a.remote_rows(space, global);
  const std::pair<std::int64_t, std::int64_t> part(0, num_rows());
  Numbers<Space> sorted, own, others;
  m_a.together([&] {
    own = allocate<Numbers<Space>>(space, "prekond::scaled_matrix::own", num_rows());
    Kokkos::deep_copy(space, own, Kokkos::subview(m_a.global_numbers(space), part));
    sorted = allocate<Numbers<Space>>(space, "prekond::scaled_matrix::sorted", num_rows());
    Kokkos::deep_copy(space, sorted, own);
    sort_numbers(space, sorted);
    const auto rows_of_others = new_numbers<Space>(space, global, sorted);
    const auto known = united<Space>(space, sorted, rows_of_others);
    others = united<Space>(space, rows_of_others, new_numbers<Space>(space, rows.col_idxs, known));
  });
  const auto import = m_a.make_import(space, others);
  const auto exponents = with_imported<Scalar, Space>(space, *import, {m_own.row, m_own.column});
  m_a.together([&] {
    const auto all = united<Space>(space, sorted, others);
    const auto own_places = places_of<Space>(space, own, all),
               other_places = places_of<Space>(space, others, all);
    std::vector<Vector<int, Space>> by_place;
    for (const auto& list : exponents) {
      by_place.push_back(
          allocate<Vector<int, Space>>(space, "prekond::scaled_matrix::by_place", all.extent(0)));
      for (const bool is_own : {true, false}) {
        const auto& places = is_own ? own_places : other_places;
        Kokkos::parallel_for("prekond::scaled_matrix::by_place",
                             FlatPolicy<Space>(space, 0, places.extent(0)),
                             ByPlace<Space>{list, places, is_own ? 0 : num_rows(), by_place.back()});
      }
    }
    Kokkos::parallel_for("prekond::scaled_matrix::scale_remote", FlatPolicy<Space>(space, 0, rows.num_rows),
                         ScaleRemoteRows<Scalar, Space>{rows.row_ptrs, places_of<Space>(space, global, all),
                                                        places_of<Space>(space, rows.col_idxs, all),
                                                        by_place[0], by_place[1], rows.values});
    space.fence("prekond::scaled_matrix::remote_rows");  // the lists go away
  });
  return rows;
}

#define PREKOND_SCALED_MATRIX(Scalar, Space)                                                          \
  template scaled::Exponents<Space> scaling_of(const Space&, const DistributedMatrix<Scalar, Space>&, \
                                               const Scaling<Space>&);                                \
  template class ScaledMatrix<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_SCALED_MATRIX)

}  // namespace prekond::impl::distributed
