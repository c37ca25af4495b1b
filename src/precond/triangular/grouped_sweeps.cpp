// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/concurrency.hpp"

#include "precond/triangular/grouped_sweeps.hpp"

#include "core/instantiate.hpp"
#include "core/one_thread.hpp"
#include "precond/triangular/stored_values.hpp"
#include "precond/triangular/sweep_kernels.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace prekond::impl::sweeps {
namespace {

template <class Scalar, class Space>
struct SweepWorkspace : Workspace {
  MultiVector<Scalar, Space> x;
  MultiVector<Scalar, Space> t;  ///< without rows where no half sweep keeps it
};

/// The sweeps of values in one precision.
template <class Value, class Scalar, class Space>
class StoredSweeps : public GroupedSweeps<Scalar, Space> {
 public:
  StoredSweeps(const Space& space, const std::string& name,
               std::shared_ptr<const GroupedTriangles<Space>> pattern, const Factors<Scalar, Space>& factors,
               const std::vector<HalfSweep>& half_sweeps)
      : m_name(name),
        m_label("prekond::" + name + "::apply::color"),
        m_merged_label("prekond::" + name + "::apply::small_colors"),
        m_pattern(std::move(pattern)),
        m_groups(group_launches(*m_pattern)),
        m_one_thread(by_calling_thread(space)),
        m_is_narrow(is_narrow(*m_pattern, m_groups.size())),
        m_half_sweeps(half_sweeps),
        m_lower(stored<Value>(space, factors.lower, m_lost)),
        m_upper(stored<Value>(space, factors.upper, m_lost)),
        m_row_scale(factors.row_scale),
        m_pivots(factors.pivots),
        m_inverse_factor(Scalar(1) / factors.factor) {
    for (const HalfSweep& half : m_half_sweeps)
      m_keeps_t = m_keeps_t || half.keeps_t || (half.lower && half.upper);
  }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    using Owned = MultiVector<Scalar, Space>;
    auto workspace = std::make_unique<SweepWorkspace<Scalar, Space>>();
    const std::int64_t n = m_pattern->num_rows();
    workspace->x = allocate<Owned>(space, "prekond::relaxation::apply::x", n, num_vectors);
    workspace->t = allocate<Owned>(space, "prekond::relaxation::apply::t", m_keeps_t ? n : 0, num_vectors);
    return workspace;
  }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> b, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override {
    const auto* found = dynamic_cast<const SweepWorkspace<Scalar, Space>*>(&workspace);
    if (found == nullptr) throw std::logic_error(m_name + ": the workspace is another method's");
    const SweepWorkspace<Scalar, Space>& own = *found;
    const std::size_t count = b.extent(1);
    if (count > own.x.extent(1))
      throw std::logic_error(m_name + ": the workspace was made for fewer vectors");
    if (own.x.extent(0) != b.extent(0) || (m_keeps_t && own.t.extent(0) != b.extent(0)))
      throw std::logic_error(m_name + ": the workspace was made for " + std::to_string(own.x.extent(0)) +
                             " rows, and there are " + std::to_string(b.extent(0)));
    const auto columns = [&](const MultiVector<Scalar, Space>& vectors) {
      return MultiVectorView<Scalar, Space>(vectors.data(), vectors.extent(0), count);
    };
    const Vectors vectors{b, y, columns(own.x), columns(own.t)};
    const Space& one_thread = is_host_space<Space> ? m_one_thread : space;
    const bool in_order = m_is_narrow && concurrency(space) <= SweepTuning::threads_in_order;
    for (const HalfSweep& half : m_half_sweeps) run(in_order ? one_thread : space, one_thread, half, vectors);
  }

  std::int64_t bytes() const override {
    return static_cast<std::int64_t>((m_lower.span() + m_upper.span()) * sizeof(Value) +
                                     (m_row_scale.span() + m_pivots.span()) * sizeof(Scalar));
  }

  std::int64_t cut() const override { return m_lost.cut; }
  std::int64_t vanished() const override { return m_lost.vanished; }

  double flops() const override {
    double sum = 0;
    for (const HalfSweep& half : m_half_sweeps)
      sum += 2.0 * double((half.lower ? m_lower.extent(0) : 0) + (half.upper ? m_upper.extent(0) : 0)) +
             2.0 * double(m_pattern->num_rows());
    return sum;
  }

 private:
  struct Vectors {
    MultiVectorView<const Scalar, Space> b;
    MultiVectorView<Scalar, Space> y, x, t;
  };

  void run(const Space& space, const Space& one_thread, const HalfSweep& half, const Vectors& vectors) const {
    const int count = static_cast<int>(m_groups.size());
    for (int k = 0; k < count; ++k) {
      const LevelGroup& group = m_groups[half.forward ? k : count - 1 - k];
      if (m_pattern->group_ptrs[group.first] == m_pattern->group_ptrs[group.last]) continue;
      if (group.merged)
        sweep_small_groups(one_thread, half, vectors, group);
      else
        sweep_group(space, half, vectors, group.first);
    }
  }

  SweepUpdate<Scalar, Space> update_of(const HalfSweep& half, const Vectors& vectors) const {
    SweepUpdate<Scalar, Space> update{};
    update.permutation = m_pattern->permutation;
    update.row_scale = m_row_scale;
    update.pivots = m_pivots;
    update.b = vectors.b;
    update.y = vectors.y;
    update.x = vectors.x;
    update.t = vectors.t;
    update.of_x = static_cast<Scalar>(half.of_x);
    update.inverse_factor = m_inverse_factor;
    update.by_pivot = half.by_pivot;
    update.adds_t = half.adds_t;
    update.adds_b = half.adds_b;
    update.keeps_t = half.keeps_t;
    update.ends = half.ends;
    update.scales_result = half.scales_result;
    update.keeps_x = true;
    return update;
  }

  /// By one triangle, or by both: b less the product with the lower one goes to t first.
  void sweep_group(const Space& space, const HalfSweep& half, const Vectors& vectors, int group) const {
    SweepUpdate<Scalar, Space> update = update_of(half, vectors);
    update.begin = m_pattern->group_ptrs[group];
    const bool both = half.lower && half.upper;
    if (both) {
      SweepUpdate<Scalar, Space> first = update;
      first.keeps_t = true;
      first.keeps_x = false;
      multiply(space, group, m_pattern->lower_row_ptrs, m_pattern->lower_ptrs, m_pattern->lower.col_idxs,
               m_lower, first);
      update.adds_b = false;
      update.adds_t = true;
    }
    if (half.lower && !both)
      multiply(space, group, m_pattern->lower_row_ptrs, m_pattern->lower_ptrs, m_pattern->lower.col_idxs,
               m_lower, update);
    else
      multiply(space, group, m_pattern->upper_row_ptrs, m_pattern->upper_ptrs, m_pattern->upper.col_idxs,
               m_upper, update);
  }

  /// The product with a colour's rows of a triangle.
  void multiply(const Space& space, int group, const Vector<std::size_t, Space>& row_ptrs,
                const std::vector<std::size_t>& ptrs, const Vector<int, Space>& cols,
                const Vector<Value, Space>& values, const SweepUpdate<Scalar, Space>& update) const {
    const int begin = m_pattern->group_ptrs[group], rows = m_pattern->group_ptrs[group + 1] - begin;
    const std::size_t first = ptrs[group], nnz = ptrs[group + 1] - first;
    CsrView<Value, Space> a;
    a.num_rows = rows;
    a.num_cols = m_pattern->num_rows();
    a.row_ptrs = VectorView<const std::size_t, Space>(row_ptrs.data() + begin + group, rows + 1);
    a.col_idxs = VectorView<const int, Space>(cols.data() + first, nnz);
    a.values = VectorView<const Value, Space>(values.data() + first, nnz);
    std::int64_t rows_per_team = 0;  // the product's own choice
    if constexpr (is_host_space<Space>) {
      const std::int64_t teams = std::int64_t(SweepTuning::teams_of_host_thread) * concurrency(space);
      rows_per_team =
          std::clamp<std::int64_t>((rows + teams - 1) / teams, 1, products::SpmvTuning::host_rows);
    }
    products::dispatch<false>(space, m_label.c_str(), a, update, rows_per_team);
  }

  void sweep_small_groups(const Space& space, const HalfSweep& half, const Vectors& vectors,
                          const LevelGroup& group) const {
    using Kernel = SweepSmallGroups<Value, Scalar, Space>;
    Kernel kernel{};
    const GroupedTriangles<Space>& pattern = *m_pattern;
    if (half.lower) kernel.lower = {pattern.lower.row_ptrs, pattern.lower.col_idxs, m_lower};
    if (half.upper) kernel.upper = {pattern.upper.row_ptrs, pattern.upper.col_idxs, m_upper};
    kernel.update = update_of(half, vectors);
    kernel.group_ptrs = pattern.device_group_ptrs;
    kernel.first = group.first;
    kernel.last = group.last;
    kernel.forward = half.forward;
    const int threads = is_host_space<Space> ? 1 : SweepTuning::merged_team_threads / Kernel::lanes;
    Kokkos::parallel_for(m_merged_label, Kokkos::TeamPolicy<Space>(space, 1, threads, Kernel::lanes), kernel);
  }

  Lost m_lost;  ///< before the values, which add to it
  std::string m_name, m_label, m_merged_label;
  std::shared_ptr<const GroupedTriangles<Space>> m_pattern;
  std::vector<LevelGroup> m_groups;
  Space m_one_thread;  ///< of a host
  bool m_is_narrow;
  std::vector<HalfSweep> m_half_sweeps;
  Vector<Value, Space> m_lower, m_upper;
  Vector<Scalar, Space> m_row_scale, m_pivots;
  Scalar m_inverse_factor;
  bool m_keeps_t = false;
};

}  // namespace

template <class Scalar, class Space>
std::shared_ptr<const GroupedSweeps<Scalar, Space>> make_grouped_sweeps(
    const Space& space, const std::string& name, std::shared_ptr<const GroupedTriangles<Space>> pattern,
    const Factors<Scalar, Space>& factors, const std::vector<HalfSweep>& half_sweeps, Storage storage) {
  using Result = std::shared_ptr<const GroupedSweeps<Scalar, Space>>;
  return with_stored_type<Scalar>(storage, [&]<class Value>(std::type_identity<Value>) -> Result {
    return std::make_shared<const StoredSweeps<Value, Scalar, Space>>(space, name, pattern, factors,
                                                                      half_sweeps);
  });
}

#define PREKOND_COLOR_SWEEPS(Scalar, Space)                                             \
  template std::shared_ptr<const GroupedSweeps<Scalar, Space>> make_grouped_sweeps(     \
      const Space&, const std::string&, std::shared_ptr<const GroupedTriangles<Space>>, \
      const Factors<Scalar, Space>&, const std::vector<HalfSweep>&, Storage);
PREKOND_INSTANTIATE(PREKOND_COLOR_SWEEPS)

}  // namespace prekond::impl::sweeps
