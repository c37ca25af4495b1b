// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/over_ranks/products.hpp"

#include "distributed/select_entries.hpp"
#include "pattern/block_rows.hpp"
#include "precond/distributed/overlap.hpp"
#include "precond/multigrid/strength.hpp"
#include "sparse_product/transpose.hpp"

#include "core/concurrent_words.hpp"
#include "core/instantiate.hpp"

namespace prekond::impl::amg {
namespace {

using distributed::ColumnNumbers;
using distributed::FlatPolicy;
using distributed::vector_of;

/// The numbers of the columns after the own ones in which the first `num_rows` rows have entries.
template <class Scalar, class Space>
Numbers<Space> used_numbers(const Space& space, const Matrix<Scalar, Space>& a, std::int64_t num_rows,
                            const ColumnNumbers<Space>& columns) {
  const auto used = allocate_zero<Vector<int, Space>>(space, "prekond::amg::used", a.num_cols);
  Kokkos::parallel_for(
      "prekond::amg::mark_columns", FlatPolicy<Space>(space, 0, num_rows), KOKKOS_LAMBDA(std::int64_t i) {
        for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k) raise_flag(used(a.col_idxs(k)), 1);
      });
  const std::size_t num_own = columns.own.extent(0);
  return distributed::numbers_where(
      space, distributed::NumbersView<Space>(columns.others),
      KOKKOS_LAMBDA(std::int64_t k) { return used(num_own + k) != 0; });
}

/// The matrix that sums the own rows, and then those given, where `given` says.
template <class Scalar, class Space>
Matrix<Scalar, Space> sum_of_rows(const Space& space, std::int64_t num_own, const Vector<int, Space>& given) {
  const std::int64_t size = num_own + static_cast<std::int64_t>(given.extent(0));
  const auto row_ptrs = vector_of<std::size_t>(
      space, "prekond::amg::sum_of_rows::row_ptrs", size + 1, KOKKOS_LAMBDA(std::int64_t r) { return r; });
  const auto col_idxs = vector_of<int>(
      space, "prekond::amg::sum_of_rows::col_idxs", size,
      KOKKOS_LAMBDA(std::int64_t r) { return r < num_own ? r : std::int64_t(given(r - num_own)); });
  const auto values = allocate<Vector<Scalar, Space>>(space, "prekond::amg::sum_of_rows::values", size);
  Kokkos::deep_copy(space, values, Scalar(1));
  return transpose<Scalar, Space>(space, Matrix<Scalar, Space>(size, num_own, row_ptrs, col_idxs, values));
}

}  // namespace

template <class Scalar, class Space>
void RankProduct<Scalar, Space>::multiply(const Space& space, const CsrView<Scalar, Space>& a,
                                          const CsrView<Scalar, Space>& b) {
  if (a.nnz() == 0 || b.nnz() == 0) {
    c = {a.num_rows, b.num_cols,
         allocate_zero<Vector<std::size_t, Space>>(space, "prekond::amg::product::row_ptrs", a.num_rows + 1),
         Vector<int, Space>(), Vector<Scalar, Space>()};
    return;
  }
  if (c.row_ptrs.extent(0) == 0) {
    find_pattern(space, a, b);
    if (!m_is_by_blocks) {
      c = spgemm<Scalar, Space>(space, a, b);
      return;
    }
  }
  if (c.values.extent(0) == 0)
    c.values = allocate<Vector<Scalar, Space>>(space, "prekond::amg::product::values", c.nnz());
  spgemm_values<Scalar, Space>(space, a, b, c, m_is_by_blocks ? blocks : ProductBlocks());
}

/// By blocks, where there are larger ones than entries.
template <class Scalar, class Space>
void RankProduct<Scalar, Space>::find_pattern(const Space& space, const CsrView<Scalar, Space>& a,
                                              const CsrView<Scalar, Space>& b) {
  if (blocks.rows * blocks.inner == 1 || blocks.inner * blocks.cols == 1) return;
  const CsrGraph<Space> left = whole_blocks<Space>(space, a, blocks.rows, blocks.inner);
  if (left.num_rows == 0) return;
  const CsrGraph<Space> right = whole_blocks<Space>(space, b, blocks.inner, blocks.cols);
  if (right.num_rows == 0) return;
  const SpgemmOptions budget;
  const auto found = product_pattern<Space>(space, left, right, budget.max_bytes, budget.slab_bytes);
  const auto pattern = rows_of_blocks<Space>(space, found, blocks.rows, blocks.cols, budget.max_bytes);
  space.fence("prekond::amg::product::pattern");  // the patterns by blocks go away
  c = {pattern.num_rows, pattern.num_cols, pattern.row_ptrs, pattern.col_idxs, {}};
  m_is_by_blocks = true;
}

template <class Space>
Vector<int, Space> own_then_others(const Space& space, std::int64_t num_own, std::int64_t num_others) {
  return vector_of<int>(
      space, "prekond::amg::own_then_others", num_own + num_others,
      KOKKOS_LAMBDA(std::int64_t k) { return k < num_own ? k : ~(k - num_own); });
}

template <class Scalar, class Space>
Matrix<Scalar, Space> joined_rows(const Space& space, const Vector<int, Space>& sources,
                                  const NumberedRows<Scalar, Space>& own,
                                  const RemoteRows<Scalar, Space>& others,
                                  const ColumnNumbers<Space>& columns) {
  return distributed::rows_at_places<Scalar, Space>(
      space, sources, own.rows, columns.places_of(space, own.numbers),
      own_then_others<Space>(space, others.num_rows, 0), others, columns.places_of(space, others.col_idxs),
      columns.count());
}

namespace {

/// The first `num_own` rows of `part`, whose columns have these numbers, with what was given added.
template <class Scalar, class Space>
Matrix<Scalar, Space> with_given(const Space& space, const Matrix<Scalar, Space>& part, std::int64_t num_own,
                                 const Numbers<Space>& numbers, const GivenRows<Scalar, Space>& given,
                                 const ColumnNumbers<Space>& columns) {
  const auto owners = given.own;
  const auto owners_by_number = vector_of<std::int64_t>(
      space, "prekond::amg::rows_of_given", owners.extent(0),
      KOKKOS_LAMBDA(std::int64_t r) { return owners(r); });
  const auto list = distributed::new_numbers<Space>(space, owners_by_number, {});
  const auto size = static_cast<std::int64_t>(list.extent(0));
  const distributed::FindNumber<Space> find{list};
  const auto summands = vector_of<int>(
      space, "prekond::amg::summands", size + given.rows.num_rows,
      KOKKOS_LAMBDA(std::int64_t k) { return k < size ? list(k) : ~(k - size); });
  const auto places = distributed::places_by<Space>(space, owners_by_number, find);
  RankProduct<Scalar, Space> product;
  const auto sum = sum_of_rows<Scalar, Space>(space, size, places);
  const auto terms = joined_rows<Scalar, Space>(space, summands, {part, numbers}, given.rows, columns);
  product.multiply(space, sum, terms);
  const Matrix<Scalar, Space>& sums = product.c;
  // Other rows stay as they are.
  const auto sources = vector_of<int>(
      space, "prekond::amg::sources", num_own, KOKKOS_LAMBDA(std::int64_t i) {
        const int place = find(i);
        return place >= 0 ? ~place : static_cast<int>(i);
      });
  return distributed::rows_at_places<Scalar, Space>(
      space, sources, part, columns.places_of(space, numbers), own_then_others<Space>(space, size, 0),
      {size, sums.row_ptrs, {}, sums.values}, sums.col_idxs, columns.count());
}

}  // namespace

template <class Scalar, class Space>
CoarseProduct<Scalar, Space>::CoarseProduct(const Space& space, const Distributed& a,
                                            const Distributed& coarse, const ColumnNumbers<Space>& columns,
                                            int unknowns, int vectors)
    : m_of_p(columns) {
  m_times_p.blocks = {unknowns, unknowns, vectors};
  m_part.blocks = {vectors, unknowns, vectors};
  const auto numbers = a.global_numbers(space);
  m_rows_of_p =
      a.make_row_exchange(space, Kokkos::subview(numbers, std::make_pair(a.num_rows(), a.num_cols())));
  m_contributions = coarse.make_row_exchange(space, columns.others);
}

template <class Scalar, class Space>
void CoarseProduct<Scalar, Space>::multiply(const Space& space, const Distributed& a,
                                            const Distributed& coarse, const CsrView<Scalar, Space>& p,
                                            const CsrView<Scalar, Space>& r) {
  const Numbers<Space> numbers = m_of_p.all(space);
  const NumberedRows<Scalar, Space> own{p, numbers};
  m_fetched = m_rows_of_p->fetch(space, own, {}, m_matrix ? &m_fetched : nullptr);
  const RemoteRows<Scalar, Space>& fetched = m_fetched;
  const auto num_own = static_cast<std::int64_t>(m_of_p.own.extent(0));
  a.together([&] {
    m_of_product = m_of_p.with(space, fetched.col_idxs);
    const auto rows = joined_rows<Scalar, Space>(
        space, own_then_others<Space>(space, p.num_rows, fetched.num_rows), own, fetched, m_of_product);
    m_times_p.multiply(space, a.own_rows(), rows);
    m_part.multiply(space, r, m_times_p.c);
    space.fence("prekond::amg::coarse_product");  // P's rows go away
    m_times_p.c.values = {};
  });
  m_fetched.values = {};
  Matrix<Scalar, Space>& part = m_part.c;
  const auto row_ptrs = Kokkos::subview(part.row_ptrs, std::make_pair(num_own, part.num_rows + 1));
  const CsrView<Scalar, Space> for_others(part.num_rows - num_own, part.num_cols, row_ptrs, part.col_idxs,
                                          part.values);
  m_given =
      m_contributions->give(space, {for_others, m_of_product.all(space)}, m_matrix ? &m_given : nullptr);
  a.together([&] { add_given(space, m_given); });
  m_given.rows.values = {};
  part.values = {};
  if (!m_matrix)
    m_matrix =
        std::make_unique<distributed::RowsOfRanks<Scalar, Space>>(space, coarse, m_rows, m_of_coarse.others);
}

/// The rows of A_c: the own contributions, and those that were given.
template <class Scalar, class Space>
void CoarseProduct<Scalar, Space>::add_given(const Space& space, const GivenRows<Scalar, Space>& given) {
  const auto num_own = static_cast<std::int64_t>(m_of_p.own.extent(0));
  m_of_coarse =
      ColumnNumbers<Space>{m_of_p.own, used_numbers<Scalar, Space>(space, m_part.c, num_own, m_of_product)}
          .with(space, given.rows.col_idxs);
  const auto rows =
      with_given<Scalar, Space>(space, m_part.c, num_own, m_of_product.all(space), given, m_of_coarse);
  if (m_matrix)
    Kokkos::deep_copy(space, m_rows.values, rows.values);
  else
    m_rows = rows;
  space.fence("prekond::amg::coarse_product");  // the contributions go away
}

#define PREKOND_AMG_PRODUCTS_OF_SPACE(Space) \
  template Vector<int, Space> own_then_others(const Space&, std::int64_t, std::int64_t);
PREKOND_INSTANTIATE_SPACES(PREKOND_AMG_PRODUCTS_OF_SPACE)

#define PREKOND_AMG_PRODUCTS(Scalar, Space)                                                                  \
  template Matrix<Scalar, Space> joined_rows(const Space&, const Vector<int, Space>&,                        \
                                             const NumberedRows<Scalar, Space>&,                             \
                                             const RemoteRows<Scalar, Space>&, const ColumnNumbers<Space>&); \
  template struct RankProduct<Scalar, Space>;                                                                \
  template class CoarseProduct<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_AMG_PRODUCTS)

}  // namespace prekond::impl::amg
