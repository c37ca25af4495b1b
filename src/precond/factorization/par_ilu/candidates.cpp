// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/factorization/par_ilu/candidates.hpp"

#include <prekond/core/error.hpp>
#include <prekond/matrix/sort_rows.hpp>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "sparse_product/lengths_of_rows.hpp"

#include <string>

namespace prekond::impl::par_ilu {
namespace {

/// The number of columns that row i lists: each k of L_i and the columns of U_k, those of U_i, and A's below
/// num_rows.
template <class Space>
struct ListLength {
  CsrGraphView<Space> a, lower, upper;
  KOKKOS_FUNCTION static std::size_t length(const CsrGraphView<Space>& of, std::int64_t i) {
    return of.row_ptrs(i + 1) - of.row_ptrs(i);
  }
  KOKKOS_FUNCTION std::size_t of_a(std::int64_t i) const {
    return a.first_from(i, lower.num_rows) - a.row_ptrs(i);
  }
};

template <class Space>
struct CountListed {
  using Rows = RowTeams<Space>;
  ListLength<Space> list;
  VectorView<std::size_t, Space> lengths;
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    const CsrGraphView<Space>&lower = list.lower, &upper = list.upper;
    Rows{lower.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t rows =
          lengths_of_rows<Space>(team, lower, lower.row_ptrs(i), lower.row_ptrs(i + 1), upper);
      Kokkos::single(Kokkos::PerThread(team), [&] {
        lengths(i) = rows + list.length(lower, i) + list.length(upper, i) + list.of_a(i);
      });
    });
  }
};

template <class Space>
struct ListColumns {
  using Rows = RowTeams<Space>;
  ListLength<Space> list;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> cols;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{list.lower.num_rows}.for_each_row(team, [&](std::int64_t i) {
      std::size_t to = copy(team, list.a, list.a.row_ptrs(i), list.of_a(i), row_ptrs(i));
      const std::size_t first = list.lower.row_ptrs(i), end = list.lower.row_ptrs(i + 1);
      to = copy(team, list.lower, first, end - first, to);
      to = copy_row(team, i, to);
      for (std::size_t k = first; k < end; ++k) to = copy_row(team, list.lower.col_idxs(k), to);
    });
  }
  KOKKOS_FUNCTION std::size_t copy_row(const typename Rows::Member& team, std::int64_t i,
                                       std::size_t to) const {
    return copy(team, list.upper, list.upper.row_ptrs(i), list.length(list.upper, i), to);
  }
  KOKKOS_FUNCTION std::size_t copy(const typename Rows::Member& team, const CsrGraphView<Space>& of,
                                   std::size_t from, std::size_t count, std::size_t to) const {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(count)),
                         [&](int k) { cols(to + k) = of.col_idxs(from + k); });
    return to + count;
  }
};

/// Counts the columns of each sorted list left of the diagonal, or right of it, once each, or writes them.
template <class Space>
struct TakeOnce {
  using Rows = RowTeams<Space>;
  std::int64_t num_rows;
  VectorView<const std::size_t, Space> list_ptrs;
  VectorView<const int, Space> list;
  bool right;
  VectorView<int, Space> length;                  ///< of a count
  VectorView<const std::size_t, Space> row_ptrs;  ///< of a result
  VectorView<int, Space> col_idxs;

  KOKKOS_FUNCTION bool takes(std::int64_t i, std::size_t first, int k) const {
    const int col = list(first + k);
    return (right ? col > i : col < i) && (k == 0 || list(first + k - 1) != col);
  }
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = list_ptrs(i);
      const int count = static_cast<int>(list_ptrs(i + 1) - first);
      if (row_ptrs.extent(0) == 0) {
        int taken = 0;
        Kokkos::parallel_reduce(
            Kokkos::ThreadVectorRange(team, count), [&](int k, int& sum) { sum += takes(i, first, k); },
            taken);
        Kokkos::single(Kokkos::PerThread(team), [&] { length(i) = taken; });
        return;
      }
      const std::size_t to = row_ptrs(i);
      Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, count), [&](int k, int& rank, bool final) {
        if (!takes(i, first, k)) return;
        if (final) col_idxs(to + rank) = list(first + k);
        ++rank;
      });
    });
  }
};

/// The place of each entry in the row of another pattern, or -1.
template <class Space>
struct LookUp {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> triangle, other;
  VectorView<int, Space> place;
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{triangle.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = triangle.row_ptrs(i);
      const std::size_t begin = other.row_ptrs(i), end = other.row_ptrs(i + 1);
      Kokkos::parallel_for(
          Kokkos::ThreadVectorRange(team, static_cast<int>(triangle.row_ptrs(i + 1) - first)), [&](int k) {
            const int col = triangle.col_idxs(first + k);
            const std::size_t at = other.first_from(i, col);
            place(first + k) = at < end && other.col_idxs(at) == col ? static_cast<int>(at - begin) : -1;
          });
    });
  }
};

template <class Space>
Vector<int, Space> look_up(const Space& space, const char* label, const CsrGraph<Space>& triangle,
                           const CsrGraphView<Space>& other) {
  const auto place = allocate<Vector<int, Space>>(space, label, triangle.nnz());
  Kokkos::parallel_for("prekond::par_ilut::look_up",
                       RowTeams<Space>::policy(space, triangle.num_rows, triangle.nnz()),
                       LookUp<Space>{triangle, other, place});
  return place;
}

void check_bytes(const std::string& what, std::size_t nnz, std::size_t bytes, std::int64_t most_bytes) {
  if (bytes <= static_cast<std::size_t>(most_bytes)) return;
  throw InputError("par_ilut: " + what + " would have " + std::to_string(nnz) + " entries and take " +
                   std::to_string(bytes) + " bytes, more than the " + std::to_string(most_bytes) +
                   " allowed, as a few rows and columns with many entries do: "
                   "lower fill_factor or raise memory_budget, or take ilut");
}

/// Keeps the entries with a flag.
template <class Space>
struct CutRows {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> triangle;
  VectorView<const int, Space> source;
  VectorView<const char, Space> keep;
  VectorView<int, Space> length;                  ///< of a count
  VectorView<const std::size_t, Space> row_ptrs;  ///< of a result
  VectorView<int, Space> col_idxs, new_source, origin;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{triangle.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = triangle.row_ptrs(i);
      const int count = static_cast<int>(triangle.row_ptrs(i + 1) - first);
      if (row_ptrs.extent(0) == 0) {
        int kept = 0;
        Kokkos::parallel_reduce(
            Kokkos::ThreadVectorRange(team, count), [&](int k, int& sum) { sum += keep(first + k); }, kept);
        Kokkos::single(Kokkos::PerThread(team), [&] { length(i) = kept; });
        return;
      }
      const std::size_t to = row_ptrs(i);
      Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, count), [&](int k, int& rank, bool final) {
        if (keep(first + k) == 0) return;
        if (final) {
          col_idxs(to + rank) = triangle.col_idxs(first + k);
          new_source(to + rank) = source(first + k);
          origin(to + rank) = k;
        }
        ++rank;
      });
    });
  }
};

template <class Space>
class Union {
 public:
  Union(const Space& space, std::int64_t num_rows, const Vector<std::size_t, Space>& list_ptrs,
        const Vector<int, Space>& list)
      : m_space(space),
        m_take{num_rows, list_ptrs, list, false, {}, {}, {}},
        m_list_ptrs(list_ptrs),
        m_list(list) {}

  std::size_t count(bool right) {
    const auto length = allocate<Vector<int, Space>>(m_space, "prekond::par_ilut::length", m_take.num_rows);
    TakeOnce<Space> take = m_take;
    take.right = right;
    take.length = length;
    run("prekond::par_ilut::count_once", take);
    const auto [row_ptrs, nnz] = scan_row_lengths(m_space, "prekond::par_ilut::candidates", m_take.num_rows,
                                                  VectorView<const int, Space>(length));
    (right ? m_upper_ptrs : m_lower_ptrs) = row_ptrs;
    return nnz;
  }
  CsrGraph<Space> take(bool right, std::size_t nnz) {
    const auto col_idxs = allocate<Vector<int, Space>>(m_space, "prekond::par_ilut::col_idxs", nnz);
    TakeOnce<Space> take = m_take;
    take.right = right;
    take.row_ptrs = right ? m_upper_ptrs : m_lower_ptrs;
    take.col_idxs = col_idxs;
    run("prekond::par_ilut::take_once", take);
    return {m_take.num_rows, m_take.num_rows, right ? m_upper_ptrs : m_lower_ptrs, col_idxs};
  }

 private:
  void run(const char* label, const TakeOnce<Space>& take) const {
    Kokkos::parallel_for(
        label, RowTeams<Space>::policy(m_space, m_take.num_rows, static_cast<std::int64_t>(m_list.extent(0))),
        take);
  }

  Space m_space;
  TakeOnce<Space> m_take;
  Vector<std::size_t, Space> m_list_ptrs;
  Vector<int, Space> m_list;
  Vector<std::size_t, Space> m_lower_ptrs, m_upper_ptrs;
};

}  // namespace

template <class Space>
GrownPattern<Space> add_candidates(const Space& space, const CsrGraphView<Space>& a,
                                   const FillPattern<Space>& known, const FillPattern<Space>& s,
                                   std::int64_t most_bytes) {
  const std::int64_t n = s.num_rows();
  const ListLength<Space> list{a, s.lower, s.upper};
  const auto policy = RowTeams<Space>::policy(space, n, s.upper.nnz());
  const auto lengths = allocate<Vector<std::size_t, Space>>(space, "prekond::par_ilut::list_lengths", n);
  Kokkos::parallel_for("prekond::par_ilut::count_listed", policy, CountListed<Space>{list, lengths});
  const auto [list_ptrs, listed] =
      scan_row_lengths(space, "prekond::par_ilut::list", n, VectorView<const std::size_t, Space>(lengths));
  check_bytes("the list of candidates", listed, listed * sizeof(int), most_bytes);
  const auto cols = allocate<Vector<int, Space>>(space, "prekond::par_ilut::list", listed);
  Kokkos::parallel_for("prekond::par_ilut::list_columns", policy, ListColumns<Space>{list, list_ptrs, cols});
  sort_columns<Space>(space, n, list_ptrs, cols);
  Union<Space> rows(space, n, list_ptrs, cols);
  const std::size_t of_lower = rows.count(false), of_upper = rows.count(true);
  const std::size_t nnz = of_lower + of_upper;
  check_bytes("the factors with all candidates", nnz, nnz * 3 * sizeof(int), most_bytes);
  GrownPattern<Space> result;
  FillPattern<Space>& pattern = result.pattern;
  pattern.lower = rows.take(false, of_lower);
  pattern.upper = rows.take(true, of_upper);
  pattern.lower_source = look_up<Space>(space, "prekond::par_ilut::lower_source", pattern.lower, a);
  pattern.upper_source = look_up<Space>(space, "prekond::par_ilut::upper_source", pattern.upper, a);
  pattern.diagonal = known.diagonal;
  pattern.foreign = known.foreign;
  pattern.nnz_of_a = known.nnz_of_a;
  pattern.added = pattern.lower.nnz() + pattern.upper.nnz() - known.lower.nnz() - known.upper.nnz();
  result.lower_origin = look_up<Space>(space, "prekond::par_ilut::lower_origin", pattern.lower, s.lower);
  result.upper_origin = look_up<Space>(space, "prekond::par_ilut::upper_origin", pattern.upper, s.upper);
  space.fence("prekond::par_ilut::candidates");  // temporaries are freed
  return result;
}

template <class Space>
CutTriangle<Space> cut_triangle(const Space& space, const CsrGraph<Space>& triangle,
                                const Vector<int, Space>& source, const Vector<char, Space>& keep) {
  const std::int64_t n = triangle.num_rows;
  const auto policy = RowTeams<Space>::policy(space, n, triangle.nnz());
  const auto length = allocate<Vector<int, Space>>(space, "prekond::par_ilut::length", n);
  CutRows<Space> cut{triangle, source, keep, length, {}, {}, {}, {}};
  Kokkos::parallel_for("prekond::par_ilut::count_kept", policy, cut);
  const auto [row_ptrs, nnz] =
      scan_row_lengths(space, "prekond::par_ilut::kept", n, VectorView<const int, Space>(length));
  const auto list = [&, size = nnz](const char* label) {
    return allocate<Vector<int, Space>>(space, label, size);
  };
  CutTriangle<Space> result{{n, n, row_ptrs, list("prekond::par_ilut::col_idxs")},
                            list("prekond::par_ilut::source"),
                            list("prekond::par_ilut::origin")};
  cut.row_ptrs = row_ptrs;
  cut.col_idxs = result.graph.col_idxs;
  cut.new_source = result.source;
  cut.origin = result.origin;
  Kokkos::parallel_for("prekond::par_ilut::take_kept", policy, cut);
  space.fence("prekond::par_ilut::cut");  // temporaries are freed
  return result;
}

#define PREKOND_CANDIDATES(Space)                                                                          \
  template GrownPattern<Space> add_candidates<Space>(const Space&, const CsrGraphView<Space>&,             \
                                                     const FillPattern<Space>&, const FillPattern<Space>&, \
                                                     std::int64_t);                                        \
  template CutTriangle<Space> cut_triangle<Space>(const Space&, const CsrGraph<Space>&,                    \
                                                  const Vector<int, Space>&, const Vector<char, Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_CANDIDATES)

}  // namespace prekond::impl::par_ilu
