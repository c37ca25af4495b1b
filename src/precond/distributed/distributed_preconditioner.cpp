// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/precond/distributed_preconditioner.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "core/instantiate.hpp"
#include "precond/distributed/application.hpp"
#include "precond/distributed/overlap.hpp"
#include "precond/distributed/scaled_matrix.hpp"
#include "precond/setup/source_blocks.hpp"
#include "precond/storage/matrices_of_method.hpp"

namespace prekond {
namespace {

/// Levels of an adaptive method's rows where nothing was said: with 2 G has as many entries, and CG takes as
/// many iterations, as on one rank (298; with 1 299 to 331, with 0 307 to 313: elasticity3d:30, 2 and 7
/// ranks).
constexpr int adaptive_levels = 2;

}  // namespace

template <class Scalar, class Space>
DistributedPreconditioner<Scalar, Space>::DistributedPreconditioner(std::unique_ptr<Method> method,
                                                                    const DistributedOptions& options)
    : m_method(std::move(method)), m_as(Storage::full), m_options(options) {}

template <class Scalar, class Space>
DistributedPreconditioner<Scalar, Space>::DistributedPreconditioner(const Configurator<Method>& method,
                                                                    const DistributedOptions& options)
    : m_options_of_method(method.resolved()),
      m_method(m_options_of_method->build()),
      m_as(Storage::full),
      m_options(options) {}

template <class Scalar, class Space>
DistributedPreconditioner<Scalar, Space>::~DistributedPreconditioner() = default;

template <class Scalar, class Space>
void DistributedPreconditioner<Scalar, Space>::set_scaling(const ScaledOptions& options) {
  if (options.kind == ScalingKind::given)
    throw std::logic_error(name() + ": no scales were given; call set_scaling with two vectors");
  m_scaling =
      std::make_shared<impl::distributed::Scaling<Space>>(impl::distributed::Scaling<Space>{options, {}, {}});
}

template <class Scalar, class Space>
void DistributedPreconditioner<Scalar, Space>::set_scaling(const Vector<double, Space>& row_scale,
                                                           const Vector<double, Space>& column_scale) {
  m_scaling = std::make_shared<impl::distributed::Scaling<Space>>(
      impl::distributed::Scaling<Space>{{ScalingKind::given}, row_scale, column_scale});
}

template <class Scalar, class Space>
bool DistributedPreconditioner<Scalar, Space>::exchanges() const {
  return m_application && m_application->exchanges();
}

template <class Scalar, class Space>
int DistributedPreconditioner<Scalar, Space>::levels(const RowReach& reach) const {
  const int asked = m_options.rank_overlap;
  if (reach.levels < 0) return std::max(asked, 0);
  if (asked >= 0) return std::min(asked, reach.levels);
  return reach.adaptive ? std::min(adaptive_levels, reach.levels) : reach.levels;
}

template <class Scalar, class Space>
bool DistributedPreconditioner<Scalar, Space>::is_over_ranks() const {
  if (m_options.rank_overlap >= 0) return m_options.rank_overlap > 0;
  const auto* gathering = dynamic_cast<const GathersRows*>(m_method.get());
  return m_method->reach().levels >= 0 || (gathering && gathering->most_gathered_rows(true) > 0) ||
         dynamic_cast<const OverRanks<Scalar, Space>*>(m_method.get());
}

template <class Scalar, class Space>
MatrixSource<Scalar, Space> DistributedPreconditioner<Scalar, Space>::source(const Space& space) const {
  if (m_overlap->block_size() > 1) return {space, m_overlap->blocks()};
  MatrixSource<Scalar, Space> source(m_overlap->matrix());
  if (m_method->reach().levels >= 0) source.set_wanted_rows(m_overlap->is_wanted());
  if (m_least <= m_largest) source.set_diagonals(m_least, m_largest);
  if (!m_is_gathered) return source;
  source.set_unknowns_per_node(m_near_of_all.unknowns_per_node);
  if (m_near_of_all.vectors.extent(1) > 0) source.set_near_null_space(m_near_of_all.vectors);
  return source;
}

/// Is the method given blocks? Scaled rows are single ones.
template <class Scalar, class Space>
bool DistributedPreconditioner<Scalar, Space>::is_by_blocks(const Distributed& a) const {
  return a.block_size() > 1 && !m_scaling;
}

/// A rank's own rows, and what is known of them; of those that are scaled, the unknowns of a node.
template <class Scalar, class Space>
MatrixSource<Scalar, Space> DistributedPreconditioner<Scalar, Space>::own_source(const Space& space,
                                                                                 const Distributed& a) const {
  const int unknowns = m_near_null_space.unknowns_per_node;
  if (is_by_blocks(a) && (unknowns == 1 || unknowns == a.block_size()))
    return m_near_null_space.source({space, a.own_blocks()});
  NearNullSpace<Scalar, Space> known = m_near_null_space;
  if (m_scaling) known.vectors = {};
  return known.source(a.own_rows());
}

/// Collective. A phase of the method on each rank. Rows of messages and errors are those of the overlap
/// there.
template <class Scalar, class Space>
void DistributedPreconditioner<Scalar, Space>::set_up(const Distributed& a,
                                                      const std::function<void()>& phase) const {
  a.together([&] {
    try {
      phase();
    } catch (const InputError& error) {
      if (!m_overlap || error.row() < 0) throw;
      const auto [row, number] = m_overlap->row_at(error.row());
      throw InputError(std::string(error.what()) + " (rows are counted in this rank's and those that it " +
                           "imported; of all rows it is row " + std::to_string(number + 1) + ")",
                       row >= 0 ? row : -1);
    }
  });
}

template <class Scalar, class Space>
void DistributedPreconditioner<Scalar, Space>::find_overlap(const Space& space, const Distributed& a) {
  const RowReach reach = m_method->reach();
  const int depth = levels(reach);
  const bool alone = a.largest(a.num_rows() == a.num_global_rows() ? 0 : 1) == 0;
  m_is_schwarz = !alone && reach.levels < 0 && depth > 0;
  m_is_gathered = false;
  m_over_ranks = nullptr;
  m_overlap = nullptr;
  m_is_fetched = m_is_kept = false;
  const bool reads_others = !alone && (depth > 0 || (reach.levels >= 0 && m_options.rank_overlap != 0));
  if (m_options_of_method) {
    // Products over ranks are stored here, in their parts.
    if (reads_others && reach.levels >= 0)
      std::tie(m_method, m_as) = impl::without_storage(*m_options_of_method);
    else
      m_method = m_options_of_method->build();
    if (m_listener) m_method->set_listener(m_listener);
  }
  m_is_gathered = !alone && gathers(space, a);
  auto* over_ranks = dynamic_cast<OverRanks<Scalar, Space>*>(m_method.get());
  if (!alone && !m_is_gathered && m_options.rank_overlap < 0 && over_ranks &&
      over_ranks->is_possible_over_ranks(space, a))
    m_over_ranks = over_ranks;
  if (m_is_gathered) {
    m_overlap = std::make_unique<Overlap>(space, a);
    m_is_fetched = true;
    gather_near_null_space(space, a);
  }
  if (!reads_others) return;
  RowReach around = reach;
  if (reach.levels < 0) around = {.levels = depth};
  m_overlap = std::make_unique<Overlap>(space, a, around, depth, m_is_schwarz && is_by_blocks(a));
  m_is_fetched = true;
}

/// Collective. Does every rank have all rows?
template <class Scalar, class Space>
bool DistributedPreconditioner<Scalar, Space>::gathers(const Space& space, const Distributed& a) const {
  const auto* gathering = dynamic_cast<const GathersRows*>(m_method.get());
  return m_options.rank_overlap < 0 && gathering &&
         a.num_global_rows() <= gathering->most_gathered_rows(a.redistributes()) &&
         impl::distributed::numbers_from_zero<Scalar, Space>(space, a);
}

/// Collective. Ranks without rows need not know it.
template <class Scalar, class Space>
NearNullSpace<Scalar, Space> DistributedPreconditioner<Scalar, Space>::agreed_near_null_space(
    const Distributed& a) const {
  NearNullSpace<Scalar, Space> own = m_near_null_space;
  if (m_scaling) own.vectors = {};
  if (own.unknowns_per_node == 1) own.unknowns_per_node = a.block_size();
  const auto count = static_cast<std::size_t>(a.largest(double(own.vectors.extent(1))));
  const auto unknowns = static_cast<int>(a.largest(own.unknowns_per_node));
  a.together([&] {
    const bool fits =
        own.vectors.extent(1) == count && static_cast<std::int64_t>(own.vectors.extent(0)) == a.num_rows();
    if (count > 0 && a.num_rows() > 0 && !fits)
      throw InputError(name() + ": the near null space has " + std::to_string(own.vectors.extent(1)) +
                       " vectors of " + std::to_string(own.vectors.extent(0)) + " entries on this rank of " +
                       std::to_string(a.num_rows()) + " rows; another rank has " + std::to_string(count) +
                       " vectors");
    if (a.num_rows() > 0 && own.unknowns_per_node != unknowns)
      throw InputError(name() + ": nodes have " + std::to_string(own.unknowns_per_node) +
                       " unknowns on this rank, and " + std::to_string(unknowns) + " on another");
  });
  if (a.num_rows() == 0) own = {MultiVector<Scalar, Space>("prekond::distributed::near", 0, count), unknowns};
  return own;
}

template <class Scalar, class Space>
void DistributedPreconditioner<Scalar, Space>::gather_near_null_space(const Space& space,
                                                                      const Distributed& a) {
  m_near_of_all = agreed_near_null_space(a);
  if (m_near_of_all.vectors.extent(1) > 0)
    m_near_of_all.vectors =
        impl::distributed::over_overlap<Scalar, Space>(space, a, *m_overlap, m_near_of_all.vectors);
}

template <class Scalar, class Space>
void DistributedPreconditioner<Scalar, Space>::run_symbolic(const Space& space, const Distributed& a) {
  // Where this fails there is nothing to apply: what was applied may look at the method.
  m_application = nullptr;
  m_is_symbolic = false;
  find_overlap(space, a);
  if (m_over_ranks) {
    m_over_ranks->set_facts_of_own_rows(agreed_near_null_space(a));
    m_over_ranks->symbolic_over_ranks(space, a);
  } else {
    set_up(a, [&] {
      if (m_is_schwarz && !m_scaling && m_near_null_space.vectors.extent(1) > 0)
        throw InputError(name() +
                         ": a near null space is one of a rank's own rows; leave it out, or take "
                         "rank_overlap = 0");
      if (m_overlap)
        m_method->symbolic(space, source(space));
      else
        m_method->symbolic(space, own_source(space, a));
    });
  }
  m_num_rows = a.num_rows();
  m_is_symbolic = true;
  m_foreign_columns = m_overlap || m_over_ranks ? 0 : a.num_cols() - a.num_rows();
  m_foreign_entries = m_foreign_columns > 0
                          ? impl::foreign_entries<Scalar, Space>(space, own_source(space, a))
                      : m_overlap ? m_overlap->num_cut()
                                  : 0;
}

template <class Scalar, class Space>
void DistributedPreconditioner<Scalar, Space>::symbolic(const Space& space, const Distributed& a) {
  const impl::SetupMemory memory(space);
  run_symbolic(space, a);
  m_is_kept = std::exchange(m_is_fetched, false);  // the values may change until numeric
  m_report = m_method->report();
}

/// A decision of a setup by the range of the whole diagonal is the same on all ranks.
template <class Scalar, class Space>
void DistributedPreconditioner<Scalar, Space>::find_diagonals(const Space& space, const Distributed& a) {
  const auto [least, most] = impl::range_of_diagonal<Scalar, Space>(space, a.own_rows());
  m_least = -a.largest(-least);
  m_largest = a.largest(most);
  const bool usable = m_least > 0 && std::isfinite(m_largest);
  if (!usable) m_least = 1, m_largest = 0;
}

template <class Scalar, class Space>
auto DistributedPreconditioner<Scalar, Space>::make_application(const Space& space,
                                                                const Distributed& a) const
    -> std::unique_ptr<const Application> {
  if (m_over_ranks)
    return std::make_unique<impl::distributed::ApplicationOverRanks<Scalar, Space>>(*m_method, *m_over_ranks);
  if (!m_overlap) return nullptr;
  if (m_is_schwarz || m_is_gathered)
    return impl::distributed::make_schwarz_application<Scalar, Space>(space, a, *m_overlap, *m_method);
  return impl::distributed::make_product_application<Scalar, Space>(
      space, a, *m_overlap, impl::found_by<Scalar, Space>(*m_method), m_as);
}

/// Collective. The numeric phase of the method for A, or for the scaled matrix.
template <class Scalar, class Space>
void DistributedPreconditioner<Scalar, Space>::numeric_of_method(const Space& space, const Distributed& a) {
  if (m_over_ranks) {
    m_over_ranks->set_facts_of_own_rows(agreed_near_null_space(a));
    return m_over_ranks->numeric_over_ranks(space, a);
  }
  if (m_overlap) {
    // The next values are other ones, also where this phase fails.
    const bool is_fetched = std::exchange(m_is_fetched, false), is_kept = std::exchange(m_is_kept, false);
    if (!is_fetched && !(is_kept && m_overlap->is_up_to_date(space, a))) m_overlap->fetch(space, a);
    if (m_is_gathered && !is_fetched) gather_near_null_space(space, a);  // else symbolic has just done it
    if (m_method->properties().needs_spd && m_overlap->block_size() == 1) find_diagonals(space, a);
  }
  set_up(a, [&] {
    if (m_overlap)
      m_method->numeric(space, source(space));
    else
      m_method->numeric(space, own_source(space, a));
  });
}

template <class Scalar, class Space>
void DistributedPreconditioner<Scalar, Space>::run_numeric(const Space& space, const Distributed& a) {
  if (!m_scaling) {
    numeric_of_method(space, a);
    m_application = make_application(space, a);
    return;
  }
  using Real = real_type_t<Scalar>;
  const auto exponents = impl::distributed::scaling_of<Scalar, Space>(space, a, *m_scaling);
  const impl::distributed::ScaledMatrix<Scalar, Space> scaled(space, a, exponents);
  numeric_of_method(space, scaled);
  const auto scale = [&](const Vector<int, Space>& exponent) {
    return impl::scaled::scale_of<Real, Space>(space, "prekond::distributed::scale", exponent);
  };
  m_application = impl::distributed::make_scaled_application<Scalar, Space>(
      make_application(space, scaled), *m_method, scale(exponents.row), scale(exponents.column));
  space.fence("prekond::distributed::scaled");  // the exponents go away
}

template <class Scalar, class Space>
void DistributedPreconditioner<Scalar, Space>::numeric(const Space& space, const Distributed& a) {
  const impl::SetupMemory memory(space);
  double symbolic_seconds = m_report.symbolic_seconds;
  if (!m_is_symbolic) {
    const Kokkos::Timer timer;
    run_symbolic(space, a);
    // A symbolic phase looks at the pattern: its rows are those of A.
    if (m_scaling) m_is_fetched = false;
    symbolic_seconds = timer.seconds();
  }
  const Kokkos::Timer timer;
  run_numeric(space, a);
  m_report = finished_report();
  m_report.symbolic_seconds = symbolic_seconds;
  m_report.numeric_seconds = timer.seconds();
  if (m_overlap) m_overlap->forget_matrix();
}

template <class Scalar, class Space>
Report DistributedPreconditioner<Scalar, Space>::finished_report() const {
  Report report = m_method->report();
  report.foreign_columns = m_foreign_columns;
  report.foreign_entries = 0;
  if (m_application) m_application->report_to(report);
  if (!m_overlap) {
    report.foreign_entries = m_foreign_entries;
    return report;
  }
  std::int64_t& first = report.breakdowns.first_row;
  if (first >= 0) {
    const std::int64_t row = m_overlap->row_at(first).first;
    first = row >= 0 ? row : -1;
  }
  if (m_is_gathered) {
    report.notes.push_back("on several ranks: every rank has all " + std::to_string(m_overlap->num_rows()) +
                           " rows, as one rank has them (gather_rows)");
    return report;
  }
  const RowReach reach = m_method->reach();
  report.notes.push_back("on several ranks: a rank's setup reads " + std::to_string(levels(reach)) +
                         " levels of other ranks' rows");
  if (reach.levels > levels(reach) || m_is_schwarz) {
    report.foreign_entries = m_foreign_entries;
    if (m_foreign_entries > 0) report.notes.push_back("entries beyond these levels were left out");
  }
  return report;
}

template <class Scalar, class Space>
void DistributedPreconditioner<Scalar, Space>::apply(const Space& space,
                                                     MultiVectorView<const Scalar, Space> x,
                                                     MultiVectorView<Scalar, Space> y,
                                                     Workspace& workspace) const {
  if ((m_overlap || m_over_ranks) && !m_application)
    throw std::logic_error(name() + ": apply before numeric");
  if (!m_application) return m_method->apply(space, x, y, workspace);
  impl::check_vectors<Scalar, Space>(m_num_rows, x, y, *this);
  if (x.extent(1) > 0) m_application->apply(space, x, y, workspace);
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> DistributedPreconditioner<Scalar, Space>::make_workspace(const Space& space,
                                                                                    int num_vectors) const {
  return m_application ? m_application->make_workspace(space, num_vectors)
                       : m_method->make_workspace(space, num_vectors);
}

template <class Scalar, class Space>
RankRows<Scalar, Space> DistributedPreconditioner<Scalar, Space>::rows() const {
  return m_application ? m_application->rows() : RankRows<Scalar, Space>{};
}

#define PREKOND_DISTRIBUTED_PRECONDITIONER(Scalar, Space) \
  template class DistributedPreconditioner<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_DISTRIBUTED_PRECONDITIONER)

}  // namespace prekond
