// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Values of a solution that the rows of one launch wait for. A value says by itself that it is there, see
/// missing_word.
#include <prekond/core/preconditioner.hpp>
#include <prekond/core/views.hpp>

#include "core/concurrent_words.hpp"
#include "core/missing_value.hpp"
#include "core/packed.hpp"
#include "precond/triangular/row_launches.hpp"

#include <cstdint>
#include <thread>

namespace prekond::impl::triangular {

/// The data that the teams of a launch share.
struct SyncFreeProgress {
  int next_chunk;
  int gave_up;
};

template <class Scalar, class Space>
struct SyncFreeWorkspace : Workspace {
  MultiVector<WordOf<Scalar>, Space> x;  ///< by places; without rows where y itself is waited for
  Vector<SyncFreeProgress, Space> progress;
  std::int64_t num_rows = 0;
  std::size_t num_vectors = 0;

  SyncFreeWorkspace(const Space& space, std::int64_t rows, int vectors, bool by_places)
      : x(allocate<MultiVector<WordOf<Scalar>, Space>>(space, "prekond::triangular::apply::x",
                                                       by_places ? rows : 0, vectors)),
        progress(
            allocate_zero<Vector<SyncFreeProgress, Space>>(space, "prekond::triangular::apply::progress", 1)),
        num_rows(rows),
        num_vectors(static_cast<std::size_t>(vectors)) {}
};

/// y's values as words.
template <class Scalar>
PackedColumns<WordOf<Scalar>> words_of(const PackedColumns<Scalar>& y) {
  PackedColumns<WordOf<Scalar>> words;
  words.pointer = reinterpret_cast<WordOf<Scalar>*>(y.pointer);
  words.stride = y.stride;
  return words;
}

/// The values that a row needs of others. A row that gives up waiting raises the flag, and goes on with 0 for
/// the missing values; the result is not used.
template <class Scalar>
struct AwaitedWords {
  using Word = WordOf<Scalar>;
  static constexpr int looks_at_flag = 64;  ///< polls between two looks whether another one gave up

  PackedVector<SyncFreeProgress> progress;
  std::int64_t max_polls = -1;  ///< -1: all values that a row needs are there

  KOKKOS_FORCEINLINE_FUNCTION bool has_stalled() const { return concurrent_load(progress(0).gave_up) != 0; }

  /// Writes a value. A NaN that looks like a missing value is written as another one.
  KOKKOS_FORCEINLINE_FUNCTION static void keep(Word& to, const Scalar& value) {
    constexpr Word missing = missing_word<Scalar>;
    const Word word = Kokkos::bit_cast<Word>(value);
    concurrent_store(to, word == missing ? Word(missing - 1) : word);
  }

  /// word[p] = known[at[p]], or 0 where at[p] < 0. Asks for all values at once, and then again for those that
  /// were not there. With max_polls = 0 it asks for none.
  template <int N, class Index>
  KOKKOS_FORCEINLINE_FUNCTION void wait(const Word* known, const Index* at, Word* word) const {
    constexpr Word missing = missing_word<Scalar>;
#pragma unroll
    for (int p = 0; p < N; ++p) {
      word[p] = at[p] >= 0 ? missing : Word(0);
      if (at[p] >= 0 && max_polls != 0) word[p] = concurrent_load(known[at[p]]);
    }
    if (max_polls < 0) return;
    for (std::int64_t polls = 0;; ++polls) {
      bool all = true;
#pragma unroll
      for (int p = 0; p < N; ++p) all = all && word[p] != missing;
      if (all) return;
      if (gives_up(polls)) break;
#pragma unroll
      for (int p = 0; p < N; ++p)
        if (word[p] == missing) word[p] = concurrent_load(known[at[p]]);
    }
    raise_flag(progress(0).gave_up, 1);
#pragma unroll
    for (int p = 0; p < N; ++p)
      if (word[p] == missing) word[p] = Word(0);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION bool gives_up(std::int64_t polls) const {
    if (polls >= max_polls) return true;
    if (polls % looks_at_flag != looks_at_flag - 1) return false;
    KOKKOS_IF_ON_HOST((std::this_thread::yield();))  // whom it waits for may want this core
    return has_stalled();
  }
};

/// Before a solve: no value is there, no chunk taken.
template <class Scalar>
struct BeginSyncFree {
  PackedColumns<WordOf<Scalar>> x;
  PackedVector<SyncFreeProgress> progress;
  int num_columns;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (int v = 0; v < num_columns; ++v) x(i, v) = missing_word<Scalar>;
    if (i == 0) progress(0) = SyncFreeProgress{0, 0};
  }
};

/// Solves all rows in one launch, and by one team where a row gave up waiting. `x`: the words of `num_rows`
/// values that the rows wait for.
template <class Scalar, class Row, class Space>
void solve_in_one_launch(const Space& space, Row row, const PackedColumns<WordOf<Scalar>>& x,
                         std::int64_t num_rows, const RowSchedule<Space>& schedule) {
  const PackedVector<SyncFreeProgress> progress = row.others.progress;
  Kokkos::parallel_for("prekond::triangular::apply::begin",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, num_rows),
                       BeginSyncFree<Scalar>{x, progress, row.num_columns});
  row.others.max_polls = schedule.most_polls;
  Launcher<Row, Space>(space, row)
      .by_tickets("prekond::triangular::apply::chunks", schedule, &progress.data()->next_chunk);
  row.others.max_polls = -1;
  Launcher<Row, Space>(space, row).stalled("prekond::triangular::apply::alone", schedule);
}

}  // namespace prekond::impl::triangular
