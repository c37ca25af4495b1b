// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The rounds of a maximal independent set on a host: lists by chunks of vertices, which nothing has to be
/// scanned for.
#include "pattern/aggregate/words.hpp"
#include "pattern/host_rows.hpp"

namespace prekond::impl::aggregation {

template <class Space>
class HostRounds {
 public:
  HostRounds(const Space& space, const Words<Space>& words, const VectorView<int, Space>& vertices,
             const VectorView<int, Space>& neighbourhoods)
      : m_words(words),
        m_chunks{words.graph.num_rows},
        m_vertices(vertices),
        m_neighbourhoods(neighbourhoods) {
    m_waiting = allocate<Vector<int, Space>>(space, label("waiting"), m_chunks.count());
    m_open = allocate<Vector<int, Space>>(space, label("open"), m_chunks.count());
  }

  /// Begins with the vertices in no part. \returns how many are undecided
  std::int64_t begin(const Space& space, const VectorView<const int, Space>& part) {
    for_chunks(space, label("begin"), m_chunks, [this, part](int, std::int64_t chunk) {
      int count = 0;
      for (std::int64_t i = m_chunks.begin(chunk); i < m_chunks.end(chunk); ++i) {
        const int v = static_cast<int>(i);
        const bool present = part(v) < 0;
        m_words.own(v) = present ? undecided(0, v) : absent;
        m_words.least(v) = present ? in_set : absent;
        if (!present) continue;
        m_vertices(m_chunks.begin(chunk) + count) = v;
        m_neighbourhoods(m_chunks.begin(chunk) + count++) = v;
      }
      m_waiting(chunk) = m_open(chunk) = count;
    });
    return undecided_vertices();
  }

  /// Round number `next` - 1. \returns how many are undecided still
  std::int64_t round(const Space& space, int next) {
    for_chunks(space, label("least"), m_chunks, [this](int, std::int64_t chunk) {
      for (std::int64_t k = m_chunks.begin(chunk), end = k + m_open(chunk); k < end; ++k)
        find_least(m_neighbourhoods(k));
    });
    for_chunks(space, label("decide"), m_chunks, [this, next](int, std::int64_t chunk) {
      for (std::int64_t k = m_chunks.begin(chunk), end = k + m_waiting(chunk); k < end; ++k)
        decide(m_vertices(k));
      list_again(chunk, next);
    });
    return undecided_vertices();
  }

 private:
  static std::string label(const char* what) {
    return std::string("prekond::maximal_independent_set2::") + what;
  }
  std::int64_t undecided_vertices() const {
    std::int64_t sum = 0;
    for (std::int64_t chunk = 0; chunk < m_chunks.count(); ++chunk) sum += m_waiting(chunk);
    return sum;
  }
  void find_least(int v) const {
    const CsrGraphView<Space>& graph = m_words.graph;
    Word least = m_words.own(v);
    for (std::size_t k = graph.row_ptrs(v); k < graph.row_ptrs(v + 1); ++k) {
      const int w = graph.col_idxs(k);
      if (w < graph.num_rows && m_words.own(w) < least) least = m_words.own(w);
    }
    m_words.least(v) = is_undecided(least) ? least : out;
  }
  void decide(int v) const {
    const CsrGraphView<Space>& graph = m_words.graph;
    const Word own = m_words.own(v);
    Verdict verdict = verdict_of(m_words.least(v), own);
    for (std::size_t k = graph.row_ptrs(v); k < graph.row_ptrs(v + 1) && verdict != is_out; ++k) {
      const int w = graph.col_idxs(k);
      if (w < graph.num_rows) verdict = std::max(verdict, verdict_of(m_words.least(w), own));
    }
    if (verdict != waits) m_words.own(v) = verdict == enters ? in_set : out;
  }
  /// What the next round looks at: others read the words of neighbourhoods alone while this is written.
  void list_again(std::int64_t chunk, int next) const {
    const std::int64_t first = m_chunks.begin(chunk);
    int waiting = 0, open = 0;
    for (std::int64_t k = first; k < first + m_open(chunk); ++k) {
      const int v = m_neighbourhoods(k);
      if (m_words.least(v) < absent) m_neighbourhoods(first + open++) = v;
      if (!is_undecided(m_words.own(v))) continue;
      m_vertices(first + waiting++) = v;
      m_words.own(v) = undecided(next, v);
    }
    m_waiting(chunk) = waiting;
    m_open(chunk) = open;
  }

  Words<Space> m_words;
  HostChunks<Space> m_chunks;
  VectorView<int, Space> m_vertices, m_neighbourhoods;  ///< those of a chunk from its first vertex's place on
  Vector<int, Space> m_waiting, m_open;                 ///< how many, by chunk
};

}  // namespace prekond::impl::aggregation
