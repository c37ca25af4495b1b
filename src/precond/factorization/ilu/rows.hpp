// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows of incomplete factorisations on a given pattern, each by a lane group. A row needs those of the
/// columns of its part of L: they are done, or it waits for their values.
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include "core/lane_group.hpp"
#include "core/pivot_policy.hpp"

#include <type_traits>

#include "precond/factorization/ilu/column_table.hpp"
#include "precond/factorization/ilu/lane_steps.hpp"
#include "precond/factorization/ilu/other_rows.hpp"
#include "precond/factorization/ilu/row_memory.hpp"
#include "precond/factorization/ilu/triangles.hpp"
#include "precond/setup/breakdown_counter.hpp"

namespace prekond::impl::ilu {

struct FactorTuning {
  static constexpr int lanes_of_long_rows = 32;
  static constexpr int short_rows = 6;  ///< mean length up to which one thread works on a triangle's row
  static constexpr int resident_threads = 1024, resident_lanes = 512;
  static constexpr int small_team_lanes = 256;  ///< whose scratch fits 48 kB
  /// Up to two threads of a host leave all rows to one, in their own order, where a launch of levels has this
  /// many products in the mean, or fewer, see SweepTuning::narrow_on_host.
  static constexpr double narrow_on_host = 1 << 17;
  static constexpr int threads_in_order = 2;
  /// Levels of a host with fewer products are small, see ScheduleTuning::small_on_host.
  static constexpr double small_products = 1 << 14;
  /// Another row of at least this length, which is longer than the row in work by this factor, is not gone
  /// through: the columns of the row in work are looked up in it. A full row then costs the others little.
  static constexpr int searched_length = 64, searched_ratio = 4;

  KOKKOS_FORCEINLINE_FUNCTION static constexpr bool searches(int length, int own) {
    return length >= searched_length && length / searched_ratio > own;
  }

  static constexpr int longest_of_lane = 1024;  ///< a longer row holds up all others where one lane has it

  static constexpr int lanes(std::int64_t entries, std::int64_t rows, std::int64_t longest) {
    return entries <= short_rows * rows && longest <= longest_of_lane ? 1 : lanes_of_long_rows;
  }
};

/// The base of all kinds of rows: the row in work, the rows of the factors before it, and the end of a row.
/// A row is worked on in scratch, if it has room there and lanes keep registers, or in place, where it is
/// stored. In scratch a lane reads values of other rows several at a time, which matters on a device; a host
/// works in place, where it can with a table of the row's columns. With `lumps`, entries outside of the
/// pattern are added to the diagonal, see lumped(). Without `looks_up` no finished row is long: kernels that
/// never look up a row take fewer registers.
template <class Scalar, class Space, class LaneGroup, bool lumps, bool looks_up>
struct FactorRow {
  using scalar_type = Scalar;
  using lane_group_type = LaneGroup;
  static constexpr bool is_lane = LaneGroup::width == 1;
  static constexpr bool has_table = is_host_space<Space> && !LaneGroup::keeps_registers;
  using Memory = std::conditional_t<has_table, ColumnTable<Scalar>,
                                    std::conditional_t<is_lane, LaneMemory<Scalar>, RowMemory<Scalar>>>;
  using Triangle = FactorTriangle<Scalar, Space>;
  static constexpr int batch = RowMemoryTuning::batch;

  Triangle lower, upper;        ///< A's values; rows in work are changed in place, L's stay there
  Triangle finished;            ///< U of ILU, L of IC, of the rows that are done; may be the same values
  PackedVector<Scalar> pivots;  ///< D^-1 of the rows that are done
  PackedVector<const int> permutation;  ///< the numbers by which rows are reported; empty: their own
  PackedVector<BreakdownCounter> outcome;
  Scalar diagonal = 1;                   ///< of the matrix
  bool positive = false;                 ///< pivots have to be
  bool by_size = false;                  ///< `lumps` by size: with both rows' part, no pivot breaks down
  PackedVector<const Scalar> row_scale;  ///< of `lumps`, unless by size: R's diagonal
  ColumnTables tables;                   ///< of a host
  PackedVector<Scalar> row_sums;  ///< of `lumps`, of long rows that are done: sum_j |u_ij|, or u_ij / |r_j|

  /// Whether the columns of the row in work, of which `own` are left, are looked up in a row of this length.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr bool searches(int length, int own) {
    return looks_up && FactorTuning::searches(length, own);
  }

  /// The part of an entry of the scaled matrix in column `col`, outside of the pattern, that is taken from
  /// the diagonal: so that the row sums of the matrix itself are kept, or minus its size. Row `col` meets it
  /// too.
  KOKKOS_FUNCTION Scalar lumped(Scalar entry, std::int64_t i, int col) const {
    return by_size ? -Kokkos::abs(entry) : entry * (Kokkos::abs(row_scale(i)) / Kokkos::abs(row_scale(col)));
  }

  /// All that w U_row takes from the diagonal of row i, if no column of row i is in it.
  KOKKOS_FUNCTION Scalar lumped_row(Scalar w, std::int64_t i, int row, const auto& others) const {
    const Scalar sum = others.read(row_sums(row));
    return by_size ? -Kokkos::abs(w) * sum : w * sum * Kokkos::abs(row_scale(i));
  }
  /// Keeps the row sum of U's row i, value_of(k) being its k-th entry.
  KOKKOS_FUNCTION void sum_row(const LaneGroup& lane_group, std::int64_t i, const auto& value_of) const {
    const std::size_t first = finished.begin(i);
    const int length = finished.length(i);
    if (!lumps || !looks_up || length < FactorTuning::searched_length) return;
    const Scalar sum = lane_group.template sum<Scalar>([&](int lane) {
      Scalar mine = 0;
      for (int k = lane; k < length; k += lane_group.size())
        mine += by_size ? Kokkos::abs(value_of(k))
                        : value_of(k) / Kokkos::abs(row_scale(finished.col_idxs(first + k)));
      return mine;
    });
    lane_group.once([&] { finish(row_sums(i), sum); });
  }

  KOKKOS_FORCEINLINE_FUNCTION PivotPolicy<Scalar> policy() const {
    return PivotPolicy<Scalar>::with_shifts(positive);
  }
  KOKKOS_FUNCTION void count_breakdown(std::int64_t i, Scalar pivot) const {
    const float reported = is_finite(pivot) ? static_cast<float>(pivot) : 0.0f;
    const int row = permutation.is_empty() ? static_cast<int>(i) : permutation(i);
    BreakdownCounter::count(outcome(0), row, true, reported);
  }

  /// Ends a row in place: L_i = w_i D^-1, D_ii = `pivot`, and of ILU U_i = D_ii^-1 w_i. A row that breaks
  /// down keeps only D_ii = 1: with its L and U the factors of later rows could grow without bound.
  template <bool is_ilu, class Values>
  KOKKOS_FUNCTION void end(const LaneGroup& lane_group, std::int64_t i, Scalar pivot,
                           const Values& others) const {
    const bool sound = policy().accepts(pivot);
    const Scalar inverse = sound ? Scalar(1) / pivot : Scalar(1);
    const std::size_t first = lower.begin(i), first_upper = is_ilu ? upper.begin(i) : 0;
    const int length = lower.length(i), length_upper = is_ilu ? upper.length(i) : 0;
    const int broken = lane_group.template max<int>([&](int lane) {
      int bad = 0;
      for (int k = lane; k < length; k += lane_group.size()) {
        const Scalar w = lower.values(first + k);
        lower.values(first + k) = w * others.read(pivots(lower.col_idxs(first + k)));
        if (!policy().keeps_finite(w)) bad = 1;
      }
      for (int k = lane; k < length_upper; k += lane_group.size()) {
        upper.values(first_upper + k) *= inverse;
        if (!is_finite(upper.values(first_upper + k))) bad = 1;
      }
      return bad;
    });
    const bool keeps = broken == 0 && sound;
    if constexpr (is_ilu)
      sum_row(lane_group, i, [&](int k) { return keeps ? upper.values(first_upper + k) : Scalar(0); });
    lane_group.region([&](int lane) {
      for (int k = lane; k < length_upper; k += lane_group.size())
        finish(finished.values(first_upper + k), keeps ? upper.values(first_upper + k) : Scalar(0));
      for (int k = lane; k < length; k += lane_group.size()) {
        if (!keeps) lower.values(first + k) = 0;
        if (!is_ilu) finish(finished.values(first + k), lower.values(first + k));
      }
      if (lane == 0) end_pivot(i, pivot, keeps, inverse);
    });
  }

 protected:
  KOKKOS_FORCEINLINE_FUNCTION void end_pivot(std::int64_t i, Scalar pivot, bool keeps, Scalar inverse) const {
    finish(pivots(i), keeps ? inverse : Scalar(1));
    if (!keeps) count_breakdown(i, pivot);
  }
  /// Stores a value that others may read from now on.
  KOKKOS_FORCEINLINE_FUNCTION static void finish(Scalar& to, Scalar value) { concurrent_store(to, value); }

  /// Is there room in scratch for a row of this length? The steps of a thread know entries of other rows by
  /// 32 bits, counted from the first one that the row may need.
  KOKKOS_FORCEINLINE_FUNCTION bool fits(const Memory& memory, std::int64_t i, int length) const {
    if (memory.capacity == 0 || length > memory.capacity) return false;
    return !is_lane || lower.length(i) == 0 ||
           finished.begin(i) - finished.begin(lower.col_idxs(lower.begin(i))) < (1ull << 32);
  }
  /// Copies a row of a triangle to scratch, from place `at` on.
  KOKKOS_FORCEINLINE_FUNCTION void load(const LaneGroup& lane_group, const Memory& memory,
                                        const Triangle& triangle, std::int64_t i, int at, int length) const {
    const std::size_t first = triangle.begin(i);
    for (int k = lane_group.lane(); k < length; k += LaneGroup::width)
      memory.put(at + k, triangle.col_idxs(first + k), triangle.values(first + k));
  }
  /// In scratch w_ik becomes l_ik = w_ik D_kk^-1 for the lane's k < own. `bad` becomes 1 where an l_ik could
  /// be infinite. \returns the lane's part of sum_k w_ik l_ik
  KOKKOS_FUNCTION Scalar scale_lower(int lane, const Memory& memory, int own, const auto& others,
                                     int& bad) const {
    Scalar square = 0;
    for (int first = lane; first < own; first += batch * LaneGroup::width) {
      const auto address = [&](int p) -> const Scalar* {
        const int k = first + p * LaneGroup::width;
        return k < own ? &pivots(memory.col(k)) : nullptr;
      };
      Scalar inverses[batch];
      others.begin(inverses, address);
      others.finish(inverses, address);
#pragma unroll
      for (int p = 0; p < batch; ++p) {
        const int k = first + p * LaneGroup::width;
        if (k >= own) break;
        const Scalar w = memory.value(k), scaled = w * inverses[p];
        square += w * scaled;
        if (!policy().keeps_finite(w)) bad = 1;
        memory.value(k) = scaled;
      }
    }
    return square;
  }

  /// Finds the places in the row in work of the entries of the finished rows of L's columns [begin, end), one
  /// entry of each row a lane, before any value is waited for.
  KOKKOS_FUNCTION void find_places(const LaneGroup& lane_group, const Memory& memory, int begin,
                                   int end) const {
    const int lane = lane_group.lane(), count = end - begin;
    for (int k = lane; k < count; k += LaneGroup::width) {
      const int row = memory.cols[begin + k];
      memory.begins[k] = finished.begin(row);
      memory.lengths[k] = finished.length(row);
    }
    lane_group.barrier();
    for (int k = 0; k < count; k += batch) {
      int col[batch];
#pragma unroll
      for (int p = 0; p < batch; ++p)
        col[p] = k + p < count && lane < memory.lengths[k + p]
                     ? finished.col_idxs(memory.begins[k + p] + lane)
                     : -1;
#pragma unroll
      for (int p = 0; p < batch; ++p)
        if (k + p < count)
          memory.places[(k + p) * LaneGroup::width + lane] =
              static_cast<unsigned char>(col[p] < 0 ? Memory::nothing : memory.place_of(col[p]));
    }
  }

  /// The entry of the k-th row of the chunk that the lane uses, or null.
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* entry(const Memory& memory, int lane, int k, int count) const {
    if (k >= count) return nullptr;
    const int place = memory.places[k * LaneGroup::width + lane];
    if (place == Memory::nothing || (place == Memory::dropped && !lumps)) return nullptr;
    return &finished.values(memory.begins[k] + lane);
  }

  /// Calls step(k, k in the chunk, value) for the k-th column of L_i and the lane's entry of that column's
  /// row, row after row; the entries of the next rows are loaded meanwhile.
  template <class Values, class Step>
  KOKKOS_FUNCTION void for_each_row(const LaneGroup& lane_group, const Memory& memory, int own,
                                    const Values& others, const Step& step) const {
    const int lane = lane_group.lane();
    for (int begin = 0; begin < own; begin += memory.chunk) {
      const int end = begin + memory.chunk < own ? begin + memory.chunk : own, count = end - begin;
      if (begin > 0) find_places(lane_group, memory, begin, end);
      // The entries of a batch are asked for before the steps of the batch before.
      for (int k = 0; k < count + batch; k += batch) {
        Scalar values[batch];
        const auto address = [&](int p) { return entry(memory, lane, k + p, count); };
        others.begin(values, address);
#pragma unroll 1
        for (int p = k > 0 ? k - batch : 0; p < k && p < count; ++p)
          step(begin + p, p, memory.steps[p % batch * LaneGroup::width + lane]);
        others.finish(values, address);
#pragma unroll
        for (int p = 0; p < batch; ++p) memory.steps[p * LaneGroup::width + lane] = values[p];
        lane_group.barrier();  // lanes that waited come together again
      }
    }
  }

  /// The steps of a row that one thread works on.
  KOKKOS_FORCEINLINE_FUNCTION auto lane_steps(const Memory& memory, int own, const auto& others) const {
    return LaneSteps<Scalar, Space, std::decay_t<decltype(others)>>(
        memory, finished.values, others, own > 0 ? finished.begin(memory.col(0)) : 0);
  }
};

}  // namespace prekond::impl::ilu
