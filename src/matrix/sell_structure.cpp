// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_NestedSort.hpp>
#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>
#include <prekond/matrix/sell_matrix.hpp>

#include "core/instantiate.hpp"

#include <limits>
#include <string>
#include <tuple>

#include "matrix/format_layouts.hpp"

namespace prekond {
namespace impl::sell {

constexpr int automatic_sigma = 1024;
constexpr int chunk = 32;

template <class Space>
using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// A window's positions get its rows by length, the longest first, equals in their order.
template <class Space>
struct SortWindows {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using Key = unsigned long long;  ///< what is sorted: entries that the row lacks of 2^32, then its place
  using Keys =
      Kokkos::View<Key*, typename Space::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  CsrGraphView<Space> pattern;
  int sigma;
  VectorView<int, Space> rows;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t begin = std::int64_t(team.league_rank()) * sigma;
    const std::int64_t left = pattern.num_rows - begin;
    const int count = left < sigma ? static_cast<int>(left) : sigma;
    const Keys keys(team.team_scratch(0), count);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int k) {
      const Key length = pattern.row_ptrs(begin + k + 1) - pattern.row_ptrs(begin + k);
      keys(k) = (Key(0xffffffffu) - length) << 32 | Key(k);
    });
    team.team_barrier();
    Kokkos::Experimental::sort_team(team, keys);
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int k) {
      rows(begin + k) = static_cast<int>(begin + std::int64_t(keys(k) & 0xffffffffu));
    });
  }
};

template <class Space>
struct Positions {
  CsrGraphView<Space> pattern;
  VectorView<const int, Space> rows;  ///< empty: positions are rows

  KOKKOS_FUNCTION std::int64_t row(std::int64_t position) const {
    return rows.extent(0) > 0 ? rows(position) : position;
  }
  /// 0 after the last row.
  KOKKOS_FUNCTION int length(std::int64_t position) const {
    if (position >= pattern.num_rows) return 0;
    const std::int64_t i = row(position);
    return static_cast<int>(pattern.row_ptrs(i + 1) - pattern.row_ptrs(i));
  }
};

/// Chunk columns of each chunk: its longest row's length.
template <class Space>
struct ChunkWidths {
  Positions<Space> positions;
  VectorView<int, Space> widths;
  KOKKOS_FUNCTION void operator()(std::int64_t c) const {
    int width = 0;
    for (int r = 0; r < chunk; ++r) {
      const int length = positions.length(c * chunk + r);
      if (length > width) width = length;
    }
    widths(c) = width;
  }
};

/// The base of each chunk column, and the bytes that each of the chunk's deltas needs.
template <class Space>
struct ChunkBases {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr int chunks_per_team = is_host_space<Space> ? 16 : 8;
  static Policy policy(const Space& space, std::int64_t num_chunks) {
    const int teams = static_cast<int>((num_chunks + chunks_per_team - 1) / chunks_per_team);
    return is_host_space<Space> ? Policy(space, teams, 1, 1) : Policy(space, teams, chunks_per_team, chunk);
  }

  Positions<Space> positions;
  VectorView<const std::size_t, Space> chunk_ptrs;
  VectorView<int, Space> bases;
  VectorView<int, Space> delta_bytes;  ///< by chunk, of each delta
  std::int64_t num_chunks;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t begin = std::int64_t(team.league_rank()) * chunks_per_team;
    const std::int64_t end = begin + chunks_per_team < num_chunks ? begin + chunks_per_team : num_chunks;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end),
                         [&](std::int64_t c) { measure(team, c); });
  }

  KOKKOS_FUNCTION void measure(const Member& team, std::int64_t c) const {
    const std::size_t first = chunk_ptrs(c);
    const int width = static_cast<int>(chunk_ptrs(c + 1) - first);
    int widest = 0;
    for (int k = 0; k < width; ++k) {
      Kokkos::MinMaxScalar<int> range;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, chunk),
          [&](int r, Kokkos::MinMaxScalar<int>& part) {
            const std::int64_t position = c * chunk + r;
            if (k >= positions.length(position)) return;
            const int col =
                positions.pattern.col_idxs(positions.pattern.row_ptrs(positions.row(position)) + k);
            if (col < part.min_val) part.min_val = col;
            if (col > part.max_val) part.max_val = col;
          },
          Kokkos::MinMax<int>(range));
      Kokkos::single(Kokkos::PerThread(team), [&] { bases(first + k) = range.min_val; });
      if (range.max_val - range.min_val > widest) widest = range.max_val - range.min_val;
    }
    Kokkos::single(Kokkos::PerThread(team), [&] {
      delta_bytes(c) = widest < 256 ? 1 : widest < 65536 ? 2 : 4;
    });
  }
};

template <class Space>
struct ChunkBytes {
  VectorView<const std::size_t, Space> chunk_ptrs;
  VectorView<const int, Space> delta_bytes;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t c) const {
    return (chunk_ptrs(c + 1) - chunk_ptrs(c)) * chunk * delta_bytes(c);
  }
};

template <class Space>
struct FillDeltas {
  Positions<Space> positions;
  VectorView<const std::size_t, Space> chunk_ptrs;
  VectorView<const int, Space> bases;
  VectorView<const int, Space> delta_bytes;
  VectorView<std::size_t, Space> delta_ptrs;
  VectorView<unsigned char, Space> deltas;

  KOKKOS_FUNCTION void operator()(std::int64_t position) const {
    const std::int64_t c = position / chunk;
    const int lane = static_cast<int>(position % chunk);
    unsigned char* place = deltas.data() + delta_ptrs(c);
    if (delta_bytes(c) == 1) return fill(place, c, lane);
    if (delta_bytes(c) == 2) return fill(reinterpret_cast<unsigned short*>(place), c, lane);
    fill(reinterpret_cast<unsigned*>(place), c, lane);
  }

  template <class Delta>
  KOKKOS_FUNCTION void fill(Delta* of_chunk, std::int64_t c, int lane) const {
    const std::int64_t position = c * chunk + lane;
    const std::size_t first = chunk_ptrs(c);
    const int width = static_cast<int>(chunk_ptrs(c + 1) - first);
    const int length = positions.length(position);
    const std::size_t begin = length > 0 ? positions.pattern.row_ptrs(positions.row(position)) : 0;
    for (int k = 0; k < width; ++k)
      of_chunk[std::size_t(k) * chunk + lane] =
          k < length ? static_cast<Delta>(positions.pattern.col_idxs(begin + k) - bases(first + k))
                     : Delta(0);
  }
};

/// From now on the pointers say the bytes of a delta too.
template <class Space>
struct MarkPointers {
  VectorView<const int, Space> delta_bytes;
  VectorView<std::size_t, Space> delta_ptrs;
  KOKKOS_FUNCTION void operator()(std::int64_t c) const {
    delta_ptrs(c) += static_cast<std::size_t>(delta_bytes(c));
  }
};

using formats::Chunks;

template <class Space>
Chunks<Space> make_chunks(const Space& space, const CsrGraphView<Space>& pattern, int sigma) {
  Chunks<Space> result;
  result.sigma = sigma;
  if (sigma > 1) {
    result.rows = allocate<Vector<int, Space>>(space, "prekond::sell::rows", pattern.num_rows);
    const int windows = static_cast<int>((pattern.num_rows + sigma - 1) / sigma);
    using Sort = SortWindows<Space>;
    typename Sort::Policy policy(space, windows, is_host_space<Space> ? 1 : 256);
    if (windows > 0)
      Kokkos::parallel_for(
          "prekond::sell::sort_windows",
          policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Sort::Keys::shmem_size(sigma)))),
          Sort{pattern, sigma, result.rows});
  }
  const std::int64_t chunks = (pattern.num_rows + chunk - 1) / chunk;
  const auto widths = allocate<Vector<int, Space>>(space, "prekond::sell::widths", chunks);
  Kokkos::parallel_for("prekond::sell::widths", Range<Space>(space, 0, chunks),
                       ChunkWidths<Space>{{pattern, result.rows}, widths});
  std::tie(result.chunk_ptrs, result.columns) =
      scan_row_lengths(space, "prekond::sell::chunks", chunks, VectorView<const int, Space>(widths));
  return result;
}

inline void check_options(const SellOptions& options) {
  if (options.sigma < 0 || options.sigma > 4096)
    throw OptionError("make_sell: sigma = " + std::to_string(options.sigma) + "; it is in 0 .. 4096");
  if (!(options.max_padding >= 1))
    throw OptionError("make_sell: max_padding = " + to_string(OptionValue(options.max_padding)) +
                      "; it is at least 1");
}

}  // namespace impl::sell

namespace impl::formats {

template <class Space>
Chunks<Space> choose_chunks(const Space& space, const CsrGraphView<Space>& pattern,
                            const SellOptions& options) {
  sell::check_options(options);
  const Chunks<Space> as_given = sell::make_chunks(space, pattern, options.sigma == 0 ? 1 : options.sigma);
  if (options.sigma != 0 || as_given.places() <= 1.05 * double(pattern.nnz())) return as_given;
  const Chunks<Space> sorted = sell::make_chunks(space, pattern, sell::automatic_sigma);
  return sorted.places() < 0.95 * as_given.places() ? sorted : as_given;
}

template <class Space>
SellStructure<Space> make_sell_structure(const Space& space, const CsrGraphView<Space>& pattern,
                                         const SellOptions& options, const Chunks<Space>& chosen) {
  if (!fits_padding(chosen.places(), pattern.nnz(), pattern.num_rows, options.max_padding))
    throw InputError("make_sell: chunks of 32 rows, padded to their longest, have " +
                     to_string(OptionValue(chosen.places())) + " places for " +
                     std::to_string(pattern.nnz()) + " entries, " +
                     to_string(OptionValue(10 * chosen.places())) +
                     " bytes in double precision; take CSR, or raise max_padding (" +
                     to_string(OptionValue(options.max_padding)) + " places an entry and row)");
  SellStructure<Space> result;
  result.num_rows = pattern.num_rows;
  result.num_cols = pattern.num_cols;
  result.nnz = pattern.nnz();
  result.sigma = chosen.sigma;
  result.rows = chosen.rows;
  result.chunk_ptrs = chosen.chunk_ptrs;
  const std::int64_t chunks = result.num_chunks();
  result.bases = allocate<Vector<int, Space>>(space, "prekond::sell::bases", chosen.columns);
  const auto delta_bytes = allocate<Vector<int, Space>>(space, "prekond::sell::delta_bytes", chunks);
  const sell::Positions<Space> positions{pattern, result.rows};
  using Bases = sell::ChunkBases<Space>;
  if (chunks > 0)
    Kokkos::parallel_for("prekond::sell::bases", Bases::policy(space, chunks),
                         Bases{positions, result.chunk_ptrs, result.bases, delta_bytes, chunks});
  std::size_t bytes = 0;
  std::tie(result.delta_ptrs, bytes) = scan_row_lengths(
      space, "prekond::sell::deltas", chunks, sell::ChunkBytes<Space>{result.chunk_ptrs, delta_bytes});
  result.deltas = allocate<Vector<unsigned char, Space>>(space, "prekond::sell::deltas", bytes);
  Kokkos::parallel_for("prekond::sell::fill_deltas", sell::Range<Space>(space, 0, chunks * sell::chunk),
                       sell::FillDeltas<Space>{positions, result.chunk_ptrs, result.bases, delta_bytes,
                                               result.delta_ptrs, result.deltas});
  Kokkos::parallel_for("prekond::sell::mark_pointers", sell::Range<Space>(space, 0, chunks),
                       sell::MarkPointers<Space>{delta_bytes, result.delta_ptrs});
  space.fence("prekond::sell::structure");  // before delta_bytes goes away
  return result;
}

#define PREKOND_CHUNKS(Space)                                                                         \
  template Chunks<Space> choose_chunks(const Space&, const CsrGraphView<Space>&, const SellOptions&); \
  template SellStructure<Space> make_sell_structure(const Space&, const CsrGraphView<Space>&,         \
                                                    const SellOptions&, const Chunks<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_CHUNKS)

}  // namespace impl::formats

template <class Space>
std::int64_t count_sell_places(const Space& space, const CsrGraphView<Space>& pattern,
                               const SellOptions& options) {
  return static_cast<std::int64_t>(impl::formats::choose_chunks(space, pattern, options).places());
}

template <class Space>
SellStructure<Space> make_sell_structure(const Space& space, const CsrGraphView<Space>& pattern,
                                         const SellOptions& options) {
  return impl::formats::make_sell_structure(space, pattern, options,
                                            impl::formats::choose_chunks(space, pattern, options));
}

#define PREKOND_COUNT_SELL_PLACES(Space) \
  template std::int64_t count_sell_places(const Space&, const CsrGraphView<Space>&, const SellOptions&);
PREKOND_INSTANTIATE_SPACES(PREKOND_COUNT_SELL_PLACES)

#define PREKOND_SELL_STRUCTURE(Space)                                                         \
  template SellStructure<Space> make_sell_structure(const Space&, const CsrGraphView<Space>&, \
                                                    const SellOptions&);
PREKOND_INSTANTIATE_SPACES(PREKOND_SELL_STRUCTURE)

}  // namespace prekond
