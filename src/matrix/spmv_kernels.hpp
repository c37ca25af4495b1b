// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Products with a matrix by rows, for the units that instantiate them.
#include <prekond/matrix/spmv.hpp>
#include "core/concurrency.hpp"
#include "core/half.hpp"

#include <stdexcept>
#include <type_traits>

#include "core/load_once.hpp"
#include "core/packed.hpp"
#include "core/resident_bounds.hpp"
#include "matrix/host_row_sum.hpp"
#include "matrix/product_teams.hpp"
#include "matrix/row_update.hpp"

namespace prekond {
namespace impl::products {

// Chosen on an H200 (perf_tests/results/h200/toolbox/results.md).
struct SpmvTuning {
  // On a device, rows of up to this number of entries in the mean go to a thread each, longer ones to
  // streams.
  static constexpr int mean_of_thread = 8;
  static constexpr int thread_team = 128;
  // A stream: a team reads the entries of this number of rows, and adds each row's products after.
  static constexpr int stream_team = 128;
  static constexpr int stream_entries = 2048;
  static constexpr int batch = 4;  // entries that a thread asks for at a time
  // What is longer is added by the whole team.
  static constexpr int longest_of_thread = 64;
  static constexpr int longest_of_stream = 1024;
  // Threads of a multiprocessor that a kernel's registers have to leave room for.
  static constexpr int resident_threads = 1024;
  static constexpr int host_rows = 512;  // of a team, where no sum over blocks depends on it
};

/// Who adds a row.
enum class RowOwner { host_thread, thread, stream };

template <class Value>
struct PackedCsr {
  std::int64_t num_rows;
  PackedVector<const std::size_t> row_ptrs;
  PackedVector<const int> col_idxs;
  PackedVector<const Value> values;
};

/// Rows in a block of `rows_per_team`. Every instantiation for the same owner gives (A x)_i the same bits:
/// the order of the sum depends only on the row.
///
/// `Update` has x and what is done with a row's sum: RowUpdate, or another one of its shape.
template <class Value, class Scalar, class Space, RowOwner Owner, bool WithDot,
          template <class, class> class Update = RowUpdate>
struct SpmvKernel {
  using Tuning = SpmvTuning;
  /// On a host the device's kernels run only in tests, by teams of two.
  static constexpr int team_threads = Owner == RowOwner::host_thread ? 1
                                      : is_host_space<Space>         ? 2
                                      : Owner == RowOwner::stream    ? Tuning::stream_team
                                                                     : Tuning::thread_team;
  static constexpr int longest =
      Owner == RowOwner::stream ? Tuning::longest_of_stream : Tuning::longest_of_thread;
  static_assert(is_host_space<Space> || !WithDot || Owner == RowOwner::thread,
                "a stream's teams have too few rows for sums of their own");

  using Bounds = ResidentBounds<team_threads, Tuning::resident_threads, Scalar>;
  using Policy = std::conditional_t<Owner == RowOwner::host_thread, Kokkos::TeamPolicy<Space>,
                                    Kokkos::TeamPolicy<Space, Bounds>>;
  using Member = typename Policy::member_type;
  using Scratch = typename Space::scratch_memory_space;
  using Products = Kokkos::View<Scalar*, Scratch, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Finish = FinishDot<Scalar, Space>;

  PackedCsr<Value> a;
  typename Update<Scalar, Space>::Packed update;
  std::int64_t rows_per_team;
  Finish finish;

  static std::size_t scratch_bytes() {
    if (Owner == RowOwner::host_thread) return 0;
    return team_sum_bytes<1, Scalar, Space>() +
           (Owner == RowOwner::stream ? Products::shmem_size(Tuning::stream_entries) : 0);
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const RowRange rows = products::rows_of_team(team.league_rank(), rows_per_team, a.num_rows);
    Scalar* scratch = nullptr;
    Scalar dot = 0;
    if constexpr (Owner == RowOwner::host_thread) {
      for (std::int64_t i = rows.begin; i < rows.end; ++i)
        for (int v = 0; v < num_vectors(); ++v) end_row(i, v, host_sum(i, v), dot);
    } else {
      scratch = team_sum_memory<1, Scalar, Space>(team);
      if (team_any(team, add_rows(team, rows, dot))) add_long_rows(team, rows, scratch, dot);
    }
    if constexpr (WithDot) finish_dot<Space>(team, team_threads, finish, dot, scratch);
  }

 private:
  KOKKOS_FUNCTION int num_vectors() const { return update.num_columns; }
  KOKKOS_FUNCTION const Scalar* column_of_x(int v) const { return update.x.column(v); }

  KOKKOS_FUNCTION void end_row(std::int64_t i, int v, const Scalar& sum, Scalar& dot) const {
    update(i, v, sum);
    if constexpr (WithDot) dot += conjugate(update.x(i, v)) * sum;
  }

  KOKKOS_FUNCTION Scalar host_sum(std::int64_t i, int v) const {
    const std::size_t begin = a.row_ptrs(i);
    return host_row_sum<Value, Scalar>(a.values.data() + begin, a.col_idxs.data() + begin,
                                       static_cast<int>(a.row_ptrs(i + 1) - begin), column_of_x(v));
  }

  /// True for threads whose row is too long for one, and is left out.
  KOKKOS_FUNCTION bool add_rows(const Member& team, const RowRange& rows, Scalar& dot) const {
    if constexpr (Owner == RowOwner::thread)
      return add_by_threads(team, rows, dot);
    else
      return add_by_stream(team, rows, dot);
  }

  /// A thread a row.
  KOKKOS_FUNCTION bool add_by_threads(const Member& team, const RowRange& rows, Scalar& dot) const {
    const std::int64_t i = rows.begin + team.team_rank();
    if (i >= rows.end) return false;
    const std::size_t first = a.row_ptrs(i);
    const int length = static_cast<int>(a.row_ptrs(i + 1) - first);
    if (length > longest) return true;
    for (int v = 0; v < num_vectors(); ++v)
      end_row(i, v, batched_sum<1>(0, first, length, column_of_x(v)), dot);
    return false;
  }

  /// The products of all entries, coalesced, by panels in scratch; then each thread adds its row's.
  KOKKOS_FUNCTION bool add_by_stream(const Member& team, const RowRange& rows, Scalar& dot) const {
    const Products products(team.team_scratch(0), Tuning::stream_entries);
    const std::size_t first = a.row_ptrs(rows.begin);
    const std::size_t last = a.row_ptrs(rows.end);
    const std::int64_t i = rows.begin + team.team_rank();
    const std::size_t mine = i < rows.end ? a.row_ptrs(i) : last;
    const std::size_t next = i < rows.end ? a.row_ptrs(i + 1) : last;
    const bool is_long = next - mine > longest;
    for (int v = 0; v < num_vectors(); ++v) {
      Scalar sum = 0;
      for (std::size_t from = first; from < last; from += Tuning::stream_entries) {
        const int count = within_panel(last, from);
        multiply_entries(team, from, count, column_of_x(v), products.data());
        team.team_barrier();
        const int end = is_long ? 0 : within_panel(next, from);
        for (int k = within_panel(mine, from); k < end; ++k) sum += products(k);
        team.team_barrier();
      }
      if (i < rows.end && !is_long) end_row(i, v, sum, dot);
    }
    return is_long;
  }

  /// Where entry k is in the panel that begins with entry `from`, or its end that is nearest.
  KOKKOS_FORCEINLINE_FUNCTION static int within_panel(std::size_t k, std::size_t from) {
    if (k <= from) return 0;
    return k - from < Tuning::stream_entries ? static_cast<int>(k - from) : Tuning::stream_entries;
  }

  /// products[k] = a_k x_(column of k), k < count, of the entries from `first` on
  KOKKOS_FUNCTION void multiply_entries(const Member& team, std::size_t first, int count, const Scalar* xv,
                                        Scalar* products) const {
    constexpr int batch = Tuning::batch;
    constexpr int threads = team_threads;
    for (int k = team.team_rank(); k < count; k += batch * threads) {
      int col[batch];
      Value value[batch];
      load<threads>(first, k, count, col, value);
      Scalar factor[batch];
#pragma unroll
      for (int p = 0; p < batch; ++p)
        if (col[p] >= 0) factor[p] = xv[col[p]];
#pragma unroll
      for (int p = 0; p < batch; ++p)
        if (col[p] >= 0) products[k + p * threads] = static_cast<Scalar>(value[p]) * factor[p];
    }
  }

  /// A batch's columns and values are all in flight before the first is needed: x waits for memory once a
  /// batch, also in the last, of which a row has a part (columns -1 where there is none). Streams, which have
  /// many entries for each of x, leave the caches to x.
  template <int Stride>
  KOKKOS_FORCEINLINE_FUNCTION void load(std::size_t first, int k, int count, int* col, Value* value) const {
    const auto get = [](const auto* from) {
      if constexpr (Owner == RowOwner::stream)
        return load_once(from);
      else
        return *from;
    };
    const int* cols = a.col_idxs.data() + first;
    const Value* values = a.values.data() + first;
#pragma unroll
    for (int p = 0; p < Tuning::batch; ++p) {
      const int place = k + p * Stride;
      col[p] = place < count ? get(cols + place) : -1;
      if (place < count) value[p] = get(values + place);
    }
  }

  /// Every `Stride`th product from number k on, of `count` from entry `first` on.
  template <int Stride>
  KOKKOS_FUNCTION Scalar batched_sum(int k, std::size_t first, int count, const Scalar* xv) const {
    Scalar sum = 0;
    for (; k < count; k += Tuning::batch * Stride) {
      int col[Tuning::batch];
      Value value[Tuning::batch];
      load<Stride>(first, k, count, col, value);
      Scalar factor[Tuning::batch];
#pragma unroll
      for (int p = 0; p < Tuning::batch; ++p)
        if (col[p] >= 0) factor[p] = xv[col[p]];
#pragma unroll
      for (int p = 0; p < Tuning::batch; ++p)
        // Not multiply_add: here nothing is promised between two kernels, and a call leaves branches where
        // this is a selection.
        if (col[p] >= 0) sum += static_cast<Scalar>(value[p]) * factor[p];
    }
    return sum;
  }

  /// The rows that are too long, one after the other, by the whole team.
  KOKKOS_FUNCTION void add_long_rows(const Member& team, const RowRange& rows, Scalar* scratch,
                                     Scalar& dot) const {
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const std::size_t first = a.row_ptrs(i);
      const int length = static_cast<int>(a.row_ptrs(i + 1) - first);
      if (length <= longest) continue;
      for (int v = 0; v < num_vectors(); ++v) {
        const Scalar of_thread = batched_sum<team_threads>(team.team_rank(), first, length, column_of_x(v));
        const auto sum = team_sum<1>(team, team_threads, Sums<Scalar, 1>{{of_thread}}, scratch);
        Kokkos::single(Kokkos::PerTeam(team), [&] { end_row(i, v, sum.value[0], dot); });
        team.team_barrier();
      }
    }
  }
};

/// Threads of a device that run at a time, with the registers that the kernels leave room for.
template <class Space>
std::int64_t threads_at_once(const Space& space) {
  return std::max<std::int64_t>(1, concurrency(space) / 2);
}

/// Does a thread add a row, on a device? Where rows are short, and enough for all threads: the long rows
/// among fewer would keep a few teams busy after all others.
template <class Matrix, class Space>
bool a_thread_adds_a_row(const Space& space, const Matrix& a) {
  return a.nnz() <= SpmvTuning::mean_of_thread * a.num_rows && a.num_rows >= threads_at_once(space);
}

/// rows_per_block: what a host's sum over blocks depends on; 0 where there is none. Returns the number of
/// teams.
template <RowOwner Owner, bool WithDot, class Value, class Scalar, class Space,
          template <class, class> class Update>
int launch(const Space& space, const char* label, const CsrView<Value, Space>& a,
           const Update<Scalar, Space>& update, std::int64_t rows_per_block,
           const FinishDot<Scalar, Space>& finish) {
  using Kernel = SpmvKernel<Value, Scalar, Space, Owner, WithDot, Update>;
  std::int64_t rows_per_team = Kernel::team_threads;  // a thread adds a row
  if constexpr (Owner == RowOwner::host_thread) {
    rows_per_team = rows_per_block > 0 ? rows_per_block : SpmvTuning::host_rows;
  } else if constexpr (Owner == RowOwner::stream) {
    const std::int64_t mean = a.num_rows > 0 ? a.nnz() / a.num_rows : 0;
    const std::int64_t fit = SpmvTuning::stream_entries * 19 / 20 / std::max<std::int64_t>(1, mean);
    // A small matrix has a share for each team that runs at the same time.
    const std::int64_t share = (a.num_rows * Kernel::team_threads - 1) / threads_at_once(space) + 1;
    rows_per_team = std::clamp<std::int64_t>(std::min(fit, share), 1, Kernel::team_threads);
  }
  const int teams = num_teams(a.num_rows, rows_per_team);
  auto policy = typename Kernel::Policy(space, teams, Kernel::team_threads, 1);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes())));
  Kokkos::parallel_for(label, policy,
                       Kernel{{a.num_rows, a.row_ptrs, a.col_idxs, a.values}, update, rows_per_team, finish});
  return teams;
}

template <bool WithDot, class Value, class Scalar, class Space, template <class, class> class Update>
int dispatch(const Space& space, const char* label, const CsrView<Value, Space>& a,
             const Update<Scalar, Space>& update, std::int64_t rows_per_block = 0,
             const FinishDot<Scalar, Space>& finish = {}) {
  if constexpr (is_host_space<Space>) {
    return launch<RowOwner::host_thread, WithDot>(space, label, a, update, rows_per_block, finish);
  } else {
    if (WithDot || a_thread_adds_a_row(space, a))
      return launch<RowOwner::thread, WithDot>(space, label, a, update, rows_per_block, finish);
    return launch<RowOwner::stream, false>(space, label, a, update, rows_per_block, {});
  }
}

}  // namespace impl::products

template <class Scalar, class Space>
void spmv(const Space& space, Scalar alpha, const CsrView<Scalar, Space>& a,
          MultiVectorView<const Scalar, Space> x, Scalar beta, MultiVectorView<Scalar, Space> y) {
  impl::products::multiply(space, "prekond::spmv::apply", a,
                           impl::products::RowUpdate<Scalar, Space>{
                               RecurrenceStep<Scalar>{.product = alpha, .previous = beta}, x, y});
}

template <class Scalar, class Space>
void spmv_dot(const Space& space, const CsrView<Scalar, Space>& a, VectorView<const Scalar, Space> x,
              VectorView<Scalar, Space> y, VectorView<Scalar, Space> dot,
              const ReduceWorkspace<Scalar, Space>& workspace) {
  namespace products = impl::products;
  products::check_dot<CsrView<Scalar, Space>, Scalar, Space>(a, x, y, workspace);
  if (is_host_space<Space> || products::a_thread_adds_a_row(space, a))
    return products::multiply_dot<Scalar, Space>(space, "prekond::spmv::apply_dot", a, x, y, dot, workspace);
  // A stream's teams are too many for a sum of each: they have a few rows.
  spmv<Scalar, Space>(space, Scalar(1), a, as_multivector(x), Scalar(0), as_multivector(y));
  products::dot_of_product<Scalar, Space>(space, "prekond::spmv::apply_dot", a.num_rows, x, y, dot,
                                          workspace);
}

template <class Value, class Scalar, class Space>
void spmv_stored(const Space& space, VectorView<const real_type_t<Scalar>, Space> row_scale,
                 const CsrView<Value, Space>& a, MultiVectorView<const Scalar, Space> x,
                 MultiVectorView<Scalar, Space> y, Scalar beta) {
  impl::products::multiply(space, "prekond::spmv::apply_stored", a,
                           impl::products::RowUpdate<Scalar, Space>{
                               RecurrenceStep<Scalar>{.previous = beta}, x, y, {}, row_scale});
}

template <class Value, class Scalar, class Space>
void spmv_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                     VectorView<const real_type_t<Scalar>, Space> row_scale, const CsrView<Value, Space>& a,
                     MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                     MultiVectorView<Scalar, Space> y) {
  impl::products::multiply(space, "prekond::spmv::apply_recurrence", a,
                           impl::products::RowUpdate<Scalar, Space>{step, x, y, b, row_scale});
}

#define PREKOND_SPMV_STORED(Value, Scalar, Space)                                               \
  template void spmv_stored<Value, Scalar, Space>(                                              \
      const Space&, VectorView<const real_type_t<Scalar>, Space>, const CsrView<Value, Space>&, \
      MultiVectorView<const Scalar, Space>, MultiVectorView<Scalar, Space>, Scalar);            \
  PREKOND_SPMV_RECURRENCE(Value, Scalar, Space)

#define PREKOND_SPMV_RECURRENCE(Value, Scalar, Space)                                            \
  template void spmv_recurrence<Value, Scalar, Space>(                                           \
      const Space&, const RecurrenceStep<Scalar>&, VectorView<const real_type_t<Scalar>, Space>, \
      const CsrView<Value, Space>&, MultiVectorView<const Scalar, Space>,                        \
      MultiVectorView<const Scalar, Space>, MultiVectorView<Scalar, Space>);

#define PREKOND_SPMV(Scalar, Space)                                                                 \
  template void spmv<Scalar, Space>(const Space&, Scalar, const CsrView<Scalar, Space>&,            \
                                    MultiVectorView<const Scalar, Space>, Scalar,                   \
                                    MultiVectorView<Scalar, Space>);                                \
  template void spmv_dot<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&,                \
                                        VectorView<const Scalar, Space>, VectorView<Scalar, Space>, \
                                        VectorView<Scalar, Space>, const ReduceWorkspace<Scalar, Space>&);

}  // namespace prekond
