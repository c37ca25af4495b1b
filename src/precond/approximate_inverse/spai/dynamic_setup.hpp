// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The launches of the dynamic SPAI's setup.
#include <prekond/core/error.hpp>
#include <prekond/precond/dynamic_spai.hpp>
#include "core/concurrency.hpp"
#include "matrix/longest_row.hpp"

#include "precond/approximate_inverse/spai/dynamic_column.hpp"
#include "precond/approximate_inverse/spai/kernels.hpp"
#include "precond/setup/append_rows.hpp"
#include "precond/setup/breakdown_counter.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace prekond::impl::dynamic_spai {

using spai::Unit;

/// How a column ended, or what has to come first.
struct Status {
  enum : unsigned char {
    reached = 0,     ///< epsilon
    again = 1,       ///< in double
    overflowed = 2,  ///< in a larger workspace
    stopped = 3      ///< by another limit
  };
};

/// Grows the columns first + k of a chunk, each by a vector of lanes with a workspace in a slab.
template <class Scalar, class Real, class Space>
struct GrowColumns : spai::ColumnKernel<Space, Unit::slab> {
  using Base = spai::ColumnKernel<Space, Unit::slab>;
  using typename Base::Member;
  using LaneGroup = NativeLaneGroup<Space, Member, Base::width>;  // a team has one vector
  using GrownColumn = Column<Scalar, Real, Space, LaneGroup>;

  CsrView<Scalar, Space> b;
  CsrView<Scalar, Space> b_transposed;
  VectorView<const double, Space> col_scale;
  CsrGraphView<Space> start;
  Limits limits;
  Real floor;
  bool last_try;
  std::int64_t first;
  VectorView<int, Space> cols;  ///< limits.entries of each column of the chunk
  VectorView<Scalar, Space> values;
  VectorView<int, Space> lengths;
  VectorView<int, Space> rows;  ///< n1
  VectorView<unsigned char, Space> status;
  VectorView<BreakdownCounter, Space> outcome;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_columns(team, [&](char* near, char*, int k) { do_column(team, near, k); });
  }

  KOKKOS_FUNCTION void do_column(const Member& team, char* near, int in_chunk) const {
    const LaneGroup lane_group(team);
    const int k = static_cast<int>(first) + in_chunk;
    const std::size_t begin = start.row_ptrs(k);
    const int length = static_cast<int>(start.row_ptrs(k + 1) - begin);
    const typename GrownColumn::Arrays arrays(near, limits);
    GrownColumn column(lane_group, b, b_transposed, col_scale, arrays, limits);
    const Growth growth = column.grow(k, start.col_idxs.data() + begin, length, floor);
    const bool sound = !growth.dropped && !growth.nothing;
    const bool finished = !growth.overflowed && (sound || last_try);
    if (!finished) {
      lane_group.once([&] { status(in_chunk) = growth.overflowed ? Status::overflowed : Status::again; });
      return;
    }
    const Scalar alone = growth.nothing ? spai::diagonal_entry<Scalar, Space>(b, k) : Scalar(0);
    const std::size_t to = static_cast<std::size_t>(in_chunk) * limits.entries;
    lane_group.region([&](int lane) {
      for (int c = lane; c < growth.length; c += lane_group.size()) {
        cols(to + c) = column.col(c);
        values(to + c) =
            growth.nothing ? (column.col(c) == k ? alone : Scalar(0)) : static_cast<Scalar>(column.value(c));
      }
    });
    lane_group.once([&] {
      status(in_chunk) = growth.reached && !growth.nothing ? Status::reached : Status::stopped;
      lengths(in_chunk) = growth.length;
      rows(in_chunk) = growth.rows;
      if (!sound) BreakdownCounter::count(outcome(0), k, growth.nothing, growth.pivot);
    });
  }
};

/// The columns of a chunk with a status, ascending.
template <class Space>
struct ListColumns {
  VectorView<const unsigned char, Space> status;
  unsigned char wanted;
  VectorView<int, Space> columns;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& position, bool final) const {
    if (status(k) != wanted) return;
    if (final) columns(position) = static_cast<int>(k);
    ++position;
  }
};

/// n1 n2^2 and how many reached epsilon.
template <class Space>
struct SumColumns {
  VectorView<const int, Space> lengths;
  VectorView<const int, Space> rows;
  VectorView<const unsigned char, Space> status;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& n1_n2_n2, std::int64_t& reached) const {
    n1_n2_n2 += std::int64_t(rows(k)) * lengths(k) * lengths(k);
    reached += status(k) == Status::reached;
  }
};

template <class Space>
struct ShiftPointers {
  VectorView<const std::size_t, Space> ptrs;
  std::size_t shift;
  VectorView<std::size_t, Space> to;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { to(k) = ptrs(k) + shift; }
};

/// The setup's launches.
template <class Scalar, class Space>
class Setup {
 public:
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  static constexpr bool host = is_host_space<Space>;
  static constexpr int first_rows = 256;  ///< of the smallest workspace

  Setup(const Space& space, const CsrView<Scalar, Space>& b, const CsrView<Scalar, Space>& b_transposed,
        const CsrGraphView<Space>& start, const DynamicSpaiOptions& options)
      : m_space(space),
        m_b(b),
        m_bt(b_transposed),
        m_start(start),
        m_options(options),
        m_scale(allocate<Vector<double, Space>>(space, "prekond::dynamic_spai::numeric::col_scale",
                                                start.num_rows)),
        m_outcome(make_breakdown_counter(space, "prekond::dynamic_spai::numeric::outcome")),
        m_next(allocate<Vector<int, Space>>(space, "prekond::dynamic_spai::numeric::next", 1)) {
    Kokkos::parallel_for("prekond::dynamic_spai::numeric::scale_rows",
                         RowTeams<Space>::policy(space, start.num_rows, b.nnz()),
                         spai::ScaleRow<Scalar, Space>{b, m_scale});
    m_longest_start = static_cast<int>(longest_row<Space>(space, start.row_ptrs).length);
  }

  /// The columns of the problem, as rows that are not sorted.
  Matrix grow() {
    const std::int64_t n = m_start.num_rows;
    const std::int64_t entries = limits_for(1).entries;
    const auto bytes = entries * static_cast<std::int64_t>(sizeof(int) + sizeof(Scalar));
    const std::int64_t rows = std::clamp<std::int64_t>(m_options.workspace_budget / bytes, 1, n);
    std::vector<Matrix> chunks;
    {
      const Chunk chunk(m_space, rows, entries);
      for (std::int64_t first = 0; first < n; first += rows) {
        chunks.push_back(grow_chunk(chunk, first, std::min(rows, n - first)));
      }
      m_space.fence("prekond::dynamic_spai::numeric::chunks");
    }
    m_slab = {};
    return chunks.size() == 1 ? chunks[0] : joined(chunks);
  }

  /// 2 n1 n2^2 of the final sizes.
  double flops() const { return 2 * static_cast<double>(m_work); }
  /// Columns that reached epsilon.
  std::int64_t reached() const { return m_reached; }
  BreakdownCounter outcome() const { return fetch(m_space, m_outcome); }

 private:
  using RowsPolicy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

  /// Results of some columns before they are appended, each with room for the longest.
  struct Chunk {
    Vector<int, Space> cols;
    Vector<Scalar, Space> values;
    Vector<int, Space> lengths;
    Vector<int, Space> rows;
    Vector<unsigned char, Space> status;
    Vector<int, Space> columns;
    Chunk(const Space& space, std::int64_t num_rows, std::int64_t entries)
        : cols(allocate<Vector<int, Space>>(space, "prekond::dynamic_spai::numeric::chunk_cols",
                                            num_rows * entries)),
          values(allocate<Vector<Scalar, Space>>(space, "prekond::dynamic_spai::numeric::chunk_values",
                                                 num_rows * entries)),
          lengths(
              allocate<Vector<int, Space>>(space, "prekond::dynamic_spai::numeric::chunk_lengths", num_rows)),
          rows(allocate<Vector<int, Space>>(space, "prekond::dynamic_spai::numeric::chunk_rows", num_rows)),
          status(allocate<Vector<unsigned char, Space>>(space, "prekond::dynamic_spai::numeric::chunk_status",
                                                        num_rows)),
          columns(allocate<Vector<int, Space>>(space, "prekond::dynamic_spai::numeric::chunk_columns",
                                               num_rows)) {}
  };

  RowsPolicy policy(std::int64_t n) const { return RowsPolicy(m_space, 0, n); }

  Limits limits_for(std::int64_t rows) const {
    const std::int64_t n = m_start.num_rows, panel = PanelQr<double>::panel;
    Limits limits{};
    limits.rows = static_cast<int>(std::min(rows, n));
    limits.candidates = static_cast<int>(std::min(4 * rows, n));
    limits.entries =
        static_cast<int>(std::min<std::int64_t>(n, std::max(m_options.max_fill, m_longest_start)));
    const std::int64_t growths = std::min<std::int64_t>(m_options.max_steps, limits.entries);
    limits.panels = static_cast<int>(std::min<std::int64_t>(
        limits.entries,
        (m_longest_start + panel - 1) / panel + growths * ((m_options.step_size + panel - 1) / panel)));
    limits.max_fill = std::min<int>(m_options.max_fill, static_cast<int>(n));
    limits.max_steps = m_options.max_steps;
    limits.step_size = m_options.step_size;
    limits.epsilon = m_options.epsilon;
    return limits;
  }

  Matrix grow_chunk(const Chunk& chunk, std::int64_t first, std::int64_t count) {
    Kokkos::deep_copy(m_space, chunk.status, static_cast<unsigned char>(Status::again));
    if (m_options.setup_scalar == Precision::single_precision)
      grow_all<float>(chunk, first, count, 16 * 0x1p-23f, false);
    grow_all<double>(chunk, first, count, 16 * 0x1p-52, true);
    std::int64_t work = 0, reached = 0;
    Kokkos::parallel_reduce("prekond::dynamic_spai::numeric::count_flops", policy(count),
                            SumColumns<Space>{chunk.lengths, chunk.rows, chunk.status}, work, reached);
    m_work += work;
    m_reached += reached;
    const VectorView<const int, Space> lengths = chunk.lengths;
    const auto [ptrs, nnz] =
        scan_row_lengths(m_space, "prekond::dynamic_spai::numeric::append", count, lengths);
    Matrix result(count, m_start.num_rows, ptrs,
                  allocate<Vector<int, Space>>(m_space, "prekond::dynamic_spai::numeric::col_idxs", nnz),
                  allocate<Vector<Scalar, Space>>(m_space, "prekond::dynamic_spai::numeric::values", nnz));
    append_rows<Scalar, Space>(m_space, "prekond::dynamic_spai::numeric::append",
                               {0, limits_for(1).entries, chunk.cols, chunk.values, chunk.lengths}, count,
                               ptrs, 0, result.col_idxs, result.values);
    return result;
  }

  /// The columns that wait for another try, in workspaces that grow until none overflows.
  template <class Real>
  void grow_all(const Chunk& chunk, std::int64_t first, std::int64_t count, Real floor, bool last_try) {
    unsigned char wanted = Status::again;
    for (std::int64_t rows = first_rows;; rows *= 4) {
      std::int64_t total = 0;
      Kokkos::parallel_scan("prekond::dynamic_spai::numeric::list_columns", policy(count),
                            ListColumns<Space>{chunk.status, wanted, chunk.columns}, total);
      if (total == 0) return;
      launch<Real>(chunk, first, total, limits_for(rows), floor, last_try);
      wanted = Status::overflowed;
    }
  }

  template <class Real>
  void launch(const Chunk& chunk, std::int64_t first, std::int64_t count, const Limits& limits, Real floor,
              bool last_try) {
    using Kernel = GrowColumns<Scalar, Real, Space>;
    using Arrays = typename Kernel::GrownColumn::Arrays;
    const std::size_t bytes = Arrays(nullptr, limits).bytes;
    if (bytes > static_cast<std::size_t>(m_options.memory_budget))
      throw InputError("dynamic_spai: a column whose local system has more than " +
                       std::to_string(limits.rows / 4) + " rows needs a workspace of " +
                       std::to_string(bytes) +
                       " bytes; memory_budget = " + std::to_string(m_options.memory_budget) +
                       " are allowed. Choose a smaller max_fill or max_steps, or more");
    const auto affordable =
        std::max<std::int64_t>(1, m_options.workspace_budget / static_cast<std::int64_t>(bytes));
    const std::int64_t useful = std::max(1, concurrency(m_space) / Kernel::width);
    const auto units = static_cast<int>(std::min({count, useful, affordable}));
    Kernel kernel{{VectorView<const int, Space>(chunk.columns.data(), count), bytes, 0,
                   slab_of(bytes * static_cast<std::size_t>(units)), m_next},
                  m_b,
                  m_bt,
                  m_scale,
                  m_start,
                  limits,
                  floor,
                  last_try,
                  first,
                  chunk.cols,
                  chunk.values,
                  chunk.lengths,
                  chunk.rows,
                  chunk.status,
                  m_outcome};
    set_zero(m_space, m_next);
    Kokkos::parallel_for("prekond::dynamic_spai::numeric::grow_columns",
                         typename Kernel::Policy(m_space, units, 1, Kernel::width), kernel);
  }

  VectorView<char, Space> slab_of(std::size_t bytes) {
    if (m_slab.extent(0) < bytes) {
      m_space.fence("prekond::dynamic_spai::numeric::slab");
      m_slab = {};
      m_slab = allocate<Vector<char, Space>>(m_space, "prekond::dynamic_spai::numeric::slab", bytes);
    }
    return m_slab;
  }

  Matrix joined(const std::vector<Matrix>& chunks) {
    const std::int64_t n = m_start.num_rows;
    std::int64_t nnz = 0;
    for (const Matrix& chunk : chunks) nnz += chunk.nnz();
    Matrix result(
        n, n,
        allocate<Vector<std::size_t, Space>>(m_space, "prekond::dynamic_spai::numeric::row_ptrs", n + 1),
        allocate<Vector<int, Space>>(m_space, "prekond::dynamic_spai::numeric::col_idxs", nnz),
        allocate<Vector<Scalar, Space>>(m_space, "prekond::dynamic_spai::numeric::values", nnz));
    std::int64_t row = 0, entry = 0;
    for (const Matrix& chunk : chunks) {
      Kokkos::parallel_for("prekond::dynamic_spai::numeric::join", policy(chunk.num_rows + 1),
                           ShiftPointers<Space>{chunk.row_ptrs, static_cast<std::size_t>(entry),
                                                VectorView<std::size_t, Space>(result.row_ptrs.data() + row,
                                                                               chunk.num_rows + 1)});
      const auto part = std::make_pair(entry, entry + chunk.nnz());
      Kokkos::deep_copy(m_space, Kokkos::subview(result.col_idxs, part), chunk.col_idxs);
      Kokkos::deep_copy(m_space, Kokkos::subview(result.values, part), chunk.values);
      row += chunk.num_rows;
      entry += chunk.nnz();
    }
    m_space.fence("prekond::dynamic_spai::numeric::join");
    return result;
  }

  Space m_space;
  CsrView<Scalar, Space> m_b;
  CsrView<Scalar, Space> m_bt;
  CsrGraphView<Space> m_start;
  DynamicSpaiOptions m_options;
  Vector<double, Space> m_scale;
  Vector<BreakdownCounter, Space> m_outcome;
  Vector<int, Space> m_next;
  Vector<char, Space> m_slab;
  std::int64_t m_work = 0;
  std::int64_t m_reached = 0;
  int m_longest_start = 0;
};

}  // namespace prekond::impl::dynamic_spai
