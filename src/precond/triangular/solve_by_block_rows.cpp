// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/concurrency.hpp"

#include "core/instantiate.hpp"
#include "core/one_thread.hpp"
#include "matrix/block_sizes.hpp"
#include "precond/triangular/solve.hpp"
#include "precond/triangular/solve_block_row.hpp"

#include <algorithm>

namespace prekond::impl::triangular {
namespace {

/// visit<Row>() with the kind of rows: lanes of a device, block sizes of a host.
template <class Scalar, class Space, class Visit>
void with_row(int lanes, int block_size, const Visit& visit) {
  if constexpr (is_host_space<Space>) {
    blocks::with_block_size<Scalar>(
        block_size, [&]<int Size>() { visit.template operator()<SolveBlockRow<Scalar, Space, 1, Size>>(); });
  } else {
    switch (lanes) {
      case 8:
        return visit.template operator()<SolveBlockRow<Scalar, Space, 8, 0>>();
      case 16:
        return visit.template operator()<SolveBlockRow<Scalar, Space, 16, 0>>();
      default:
        return visit.template operator()<SolveBlockRow<Scalar, Space, 32, 0>>();
    }
  }
}

template <class Scalar, class Space>
class BlockRowSolve : public Solve<Scalar, Space> {
 public:
  BlockRowSolve(const Space& space, const Factor<Scalar, Space>& factor,
                const LevelOrderPointer<Space>& order)
      : m_one_thread(by_calling_thread(space)),
        m_factor(factor),
        m_order(order),
        m_lanes(BlockRowTuning::lanes_of(factor.graph, factor.blocks.size)) {}

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    return std::make_unique<SyncFreeWorkspace<Scalar, Space>>(space, m_factor.num_rows(), num_vectors, false);
  }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override {
    const auto& own = static_cast<const SyncFreeWorkspace<Scalar, Space>&>(workspace);
    check_workspace(own.num_rows, own.num_vectors, m_factor.num_rows(), x.extent(1), m_factor.owner);
    const RowSchedule<Space>& schedule = m_order->schedule;
    with_row<Scalar, Space>(m_lanes, m_factor.blocks.size, [&]<class Row>() {
      Row row = make_row<Row>(x, y);
      row.others.progress = own.progress;
      if constexpr (is_host_space<Space>)
        if (concurrency(space) <= m_order->threads_in_order)
          return Launcher<Row, Space>(m_one_thread, row)
              .in_order("prekond::triangular::apply::rows", m_factor.graph.num_rows,
                        m_factor.which == Triangle::upper);
      if (schedule.how == FactorSchedule::levels)
        return Launcher<Row, Space>(space, row)
            .by_levels("prekond::triangular::apply::level", "prekond::triangular::apply::small_levels",
                       schedule);
      solve_in_one_launch<Scalar>(space, row, row.y, m_factor.num_rows(), schedule);
    });
  }

  std::int64_t bytes() const override { return 0; }
  double flops() const override {
    return 2.0 * static_cast<double>(m_factor.values.extent(0) + m_factor.scale.extent(0));
  }

 private:
  template <class Row>
  Row make_row(MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y) const {
    Row row(m_factor.blocks.size);
    row.num_columns = static_cast<int>(y.extent(1));
    row.num_rows = m_factor.num_rows();
    row.row_ptrs = m_factor.graph.row_ptrs;
    row.cols = m_factor.graph.col_idxs;
    row.values = m_factor.values;
    row.scale = m_factor.scale;
    row.x = x;
    row.y = words_of<Scalar>(y);
    if (is_host_space<Space>) {
      const double bytes = double(m_factor.values.extent(0)) * sizeof(Scalar);
      const double of_a_row = bytes / double(std::max<std::int64_t>(1, m_factor.graph.num_rows));
      row.rows_ahead = static_cast<int>(std::clamp(BlockRowTuning::bytes_ahead / std::max(1.0, of_a_row), 2.0,
                                                   double(BlockRowTuning::most_rows_ahead)));
    }
    return row;
  }

  Space m_one_thread;  ///< of a host
  Factor<Scalar, Space> m_factor;
  LevelOrderPointer<Space> m_order;
  int m_lanes;  ///< of a device's row
};

}  // namespace

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_block_row_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                                 const LevelOrderPointer<Space>& order) {
  return std::make_shared<const BlockRowSolve<Scalar, Space>>(space, factor, order);
}

#define PREKOND_BLOCK_ROW_SOLVE(Scalar, Space)                              \
  template SolvePointer<Scalar, Space> make_block_row_solve<Scalar, Space>( \
      const Space&, const Factor<Scalar, Space>&, const LevelOrderPointer<Space>&);
PREKOND_INSTANTIATE(PREKOND_BLOCK_ROW_SOLVE)

}  // namespace prekond::impl::triangular
