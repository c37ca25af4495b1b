// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/pattern/fill.hpp>

#include "core/concurrent_words.hpp"
#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "sparse_product/row_search.hpp"
#include "sparse_product/transpose_graph.hpp"

#include <algorithm>
#include <string>

namespace prekond {
namespace {

/// Sums over A's rows.
struct Split {
  std::int64_t foreign = 0;        ///< entries of other ranks
  std::int64_t more_in_upper = 0;  ///< than in the lower triangle
  KOKKOS_FUNCTION Split& operator+=(const Split& other) {
    foreign += other.foreign;
    more_in_upper += other.more_in_upper;
    return *this;
  }
};

/// The lengths of A's own strict triangles, and where its diagonal stands.
template <class Space>
struct SplitLengths {
  CsrGraphView<Space> a;
  VectorView<int, Space> lower_length, upper_length, diagonal;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Split& sum) const {
    const std::size_t begin = a.row_ptrs(i), middle = a.first_from(i, i), end = a.first_from(i, a.num_rows);
    const bool stored = middle < end && a.col_idxs(middle) == i;
    lower_length(i) = static_cast<int>(middle - begin);
    diagonal(i) = stored ? static_cast<int>(middle - begin) : -1;
    upper_length(i) = static_cast<int>(end - middle) - (stored ? 1 : 0);
    sum.foreign += static_cast<std::int64_t>(a.row_ptrs(i + 1) - end);
    sum.more_in_upper += upper_length(i) - lower_length(i);
  }
};

/// Sets the flag for an entry (i, j) of the lower triangle without (j, i).
template <class Space>
struct LookForMirrors {
  using Rows = impl::RowTeams<Space>;
  CsrGraphView<Space> a;
  VectorView<const int, Space> lower_length;
  VectorView<int, Space> missing;
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = a.row_ptrs(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, lower_length(i)), [&](int k) {
        const int j = a.col_idxs(begin + k);
        const std::size_t place = a.first_from(j, i);
        if (place == a.row_ptrs(j + 1) || a.col_idxs(place) != i) impl::raise_flag(missing(0), 1);
      });
    });
  }
};

/// Copies a triangle of A: entry k of a row is A's `skip + k`.
template <class Space>
struct CopyTriangle {
  using Rows = impl::RowTeams<Space>;
  CsrGraphView<Space> a;
  VectorView<const int, Space> lower_length, diagonal;
  bool upper;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = row_ptrs(i), begin = a.row_ptrs(i);
      const int skip = upper ? lower_length(i) + (diagonal(i) < 0 ? 0 : 1) : 0;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(row_ptrs(i + 1) - first)),
                           [&](int k) { col_idxs(first + k) = a.col_idxs(begin + skip + k); });
    });
  }
};

/// Looks each entry of a triangle up in A.
template <class Space>
struct LookUpSources {
  using Rows = impl::RowTeams<Space>;
  CsrGraphView<Space> a, triangle;
  VectorView<int, Space> source;
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = triangle.row_ptrs(i);
      Kokkos::parallel_for(
          Kokkos::ThreadVectorRange(team, static_cast<int>(triangle.row_ptrs(i + 1) - first)), [&](int k) {
            const int col = triangle.col_idxs(first + k);
            const std::size_t place = a.first_from(i, col);
            const bool stored = place < a.row_ptrs(i + 1) && a.col_idxs(place) == col;
            source(first + k) = stored ? static_cast<int>(place - a.row_ptrs(i)) : -1;
          });
    });
  }
};

template <class Space>
struct CountStored {
  VectorView<const int, Space> diagonal;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& sum) const { sum += diagonal(i) < 0 ? 0 : 1; }
};

/// The limits that a result has to fit.
struct Budget {
  int level;
  std::int64_t num_rows, most_bytes;

  std::size_t bytes_of_entry() const { return (level > 0 ? 2 : 1) * sizeof(int); }
  std::int64_t bytes(std::size_t nnz) const {
    return static_cast<std::int64_t>(2 * (num_rows + 1) * sizeof(std::size_t) + num_rows * sizeof(int) +
                                     nnz * bytes_of_entry());
  }
  /// Entries up to which they are counted: where they are more than twice as many as there is room for, their
  /// number does not matter.
  std::size_t most_counted() const {
    return 2 * static_cast<std::size_t>(std::max<std::int64_t>(0, most_bytes - bytes(0))) / bytes_of_entry();
  }
  void check(std::size_t nnz, bool is_all = true) const {
    if (is_all && bytes(nnz) <= most_bytes) return;
    const std::string least = is_all ? "" : "more than ";
    throw InputError("the pattern of the factors of level " + std::to_string(level) + " would have " + least +
                     std::to_string(nnz) + " entries and take " + least + std::to_string(bytes(nnz)) +
                     " bytes, more than the " + std::to_string(most_bytes) +
                     " allowed; lower the level or raise memory_budget");
  }
};

template <class Space>
class Fill {
 public:
  using RowList = VectorView<const int, Space>;

  Fill(const Space& space, const CsrGraphView<Space>& a, const Budget& budget)
      : m_space(space),
        m_a(a),
        m_budget(budget),
        m_policy(impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz())) {}

  FillPattern<Space> run(bool looks_at_symmetry, std::int64_t slab_bytes) {
    const std::int64_t n = m_a.num_rows;
    m_result.nnz_of_a = m_a.nnz();
    m_result.diagonal = list("prekond::fill::diagonal", n);
    const auto lower_length = list("prekond::fill::lower_length", n);
    const auto upper_length = list("prekond::fill::upper_length", n);
    Split sum;
    Kokkos::parallel_reduce("prekond::fill::split_lengths",
                            Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(m_space, 0, n),
                            SplitLengths<Space>{m_a, lower_length, upper_length, m_result.diagonal}, sum);
    m_result.foreign = sum.foreign;
    if (looks_at_symmetry || m_budget.level > 0)
      m_result.is_symmetric = sum.more_in_upper == 0 && has_mirrors(lower_length);
    if (m_budget.level == 0 || n == 0)
      split(lower_length, upper_length);
    else
      search(slab_bytes);
    return m_result;
  }

 private:
  Vector<int, Space> list(const char* label, std::int64_t size) const {
    return allocate<Vector<int, Space>>(m_space, label, size);
  }

  /// \pre the triangles have as many entries
  bool has_mirrors(const Vector<int, Space>& lower_length) const {
    const auto missing = allocate_zero<Vector<int, Space>>(m_space, "prekond::fill::missing", 1);
    Kokkos::parallel_for("prekond::fill::look_for_mirrors", m_policy,
                         LookForMirrors<Space>{m_a, lower_length, missing});
    int flag = 0;
    Kokkos::deep_copy(m_space, Kokkos::View<int, Kokkos::HostSpace>(&flag), Kokkos::subview(missing, 0));
    m_space.fence("prekond::fill::is_symmetric");
    return flag == 0;
  }

  void split(const Vector<int, Space>& lower_length, const Vector<int, Space>& upper_length) {
    const std::int64_t n = m_a.num_rows;
    const auto [lower_ptrs, lower_nnz] =
        impl::scan_row_lengths(m_space, "prekond::fill::lower", n, RowList(lower_length));
    const auto [upper_ptrs, upper_nnz] =
        impl::scan_row_lengths(m_space, "prekond::fill::upper", n, RowList(upper_length));
    m_budget.check(lower_nnz + upper_nnz);
    m_result.lower = {n, n, lower_ptrs, list("prekond::fill::lower", std::int64_t(lower_nnz))};
    m_result.upper = {n, n, upper_ptrs, list("prekond::fill::upper", std::int64_t(upper_nnz))};
    Kokkos::parallel_for("prekond::fill::copy_lower", m_policy,
                         CopyTriangle<Space>{m_a, lower_length, m_result.diagonal, false, lower_ptrs,
                                             m_result.lower.col_idxs});
    Kokkos::parallel_for(
        "prekond::fill::copy_upper", m_policy,
        CopyTriangle<Space>{m_a, lower_length, m_result.diagonal, true, upper_ptrs, m_result.upper.col_idxs});
  }

  CsrGraph<Space> rows_of_upper(const CsrGraphView<Space>& a, std::int64_t slab_bytes, std::size_t factor,
                                std::size_t others) const {
    return impl::row_search::search_rows<Space>(
        m_space, "prekond::fill", a, impl::row_search::Part::fill, m_budget.level + 1, slab_bytes,
        m_budget.most_counted(),
        [&](std::size_t nnz, bool is_all) { m_budget.check(factor * nnz + others, is_all); });
  }

  void search(std::int64_t slab_bytes) {
    m_result.upper = rows_of_upper(m_a, slab_bytes, m_result.is_symmetric ? 2 : 1, 0);
    if (m_result.is_symmetric) {
      m_result.lower = impl::transpose_graph<Space>(m_space, m_result.upper);
    } else {
      const CsrGraph<Space> transposed = impl::transpose_graph<Space>(m_space, m_a);
      const CsrGraph<Space> columns =
          rows_of_upper(transposed, slab_bytes, 1, static_cast<std::size_t>(m_result.upper.nnz()));
      m_result.lower = impl::transpose_graph<Space>(m_space, columns);
      m_space.fence("prekond::fill::transposed");  // temporaries are freed
    }
    m_result.lower_source = sources(m_result.lower, "prekond::fill::lower_source");
    m_result.upper_source = sources(m_result.upper, "prekond::fill::upper_source");
    std::int64_t stored = 0;
    Kokkos::parallel_reduce(
        "prekond::fill::count_stored",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(m_space, 0, m_a.num_rows),
        CountStored<Space>{m_result.diagonal}, stored);
    m_result.added =
        m_result.lower.nnz() + m_result.upper.nnz() + stored + m_result.foreign - m_result.nnz_of_a;
  }

  Vector<int, Space> sources(const CsrGraph<Space>& triangle, const char* label) const {
    const auto source = list(label, triangle.nnz());
    Kokkos::parallel_for("prekond::fill::look_up_sources",
                         impl::RowTeams<Space>::policy(m_space, m_a.num_rows, triangle.nnz()),
                         LookUpSources<Space>{m_a, triangle, source});
    return source;
  }

  Space m_space;
  CsrGraphView<Space> m_a;
  Budget m_budget;
  typename impl::RowTeams<Space>::Policy m_policy;
  FillPattern<Space> m_result;
};

}  // namespace

template <class Space>
std::int64_t FillPattern<Space>::bytes() const {
  const auto ints = lower_source.span() + upper_source.span() + diagonal.span();
  return lower.bytes() + upper.bytes() + static_cast<std::int64_t>(ints * sizeof(int));
}

template <class Space>
FillPattern<Space> fill_pattern(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a,
                                int level, std::int64_t most_bytes, bool looks_at_symmetry,
                                std::int64_t slab_bytes) {
  if (level < 0)
    throw InputError("the level of fill is " + std::to_string(level) + "; it must be 0 or larger");
  return Fill<Space>(space, a, {level, a.num_rows, most_bytes}).run(looks_at_symmetry, slab_bytes);
}

#define PREKOND_FILL_PATTERN(Space)                                                              \
  template struct FillPattern<Space>;                                                            \
  template FillPattern<Space> fill_pattern<Space>(const Space&, const CsrGraphView<Space>&, int, \
                                                  std::int64_t, bool, std::int64_t);
PREKOND_INSTANTIATE_SPACES(PREKOND_FILL_PATTERN)

}  // namespace prekond
