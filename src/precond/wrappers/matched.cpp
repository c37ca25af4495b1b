// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/pattern/permute.hpp>
#include <prekond/precond/matched.hpp>
#include <prekond/precond/scaled.hpp>

#include "core/instantiate.hpp"
#include "precond/setup/host_text.hpp"

#include <algorithm>
#include <stdexcept>

namespace prekond {
namespace impl::matched {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// y = R Q x.
template <class Scalar, class Space>
struct TakeRows {
  VectorView<const int, Space> rows;
  VectorView<const real_type_t<Scalar>, Space> scale;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int row = rows(i);
    for (std::size_t v = 0; v < x.extent(1); ++v) y(i, v) = scale(i) * x(row, v);
  }
};

/// y = C y.
template <class Scalar, class Space>
struct ScaleRows {
  VectorView<const real_type_t<Scalar>, Space> scale;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t v = 0; v < y.extent(1); ++v) y(i, v) = scale(i) * y(i, v);
  }
};

/// The scale of a row of A, by rows of Q A.
template <class Space>
struct TakeScales {
  VectorView<const int, Space> rows;
  VectorView<const double, Space> scale;
  VectorView<double, Space> taken;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { taken(i) = scale(rows(i)); }
};

template <class Space>
struct CountMoved {
  VectorView<const int, Space> rows;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& moved) const { moved += rows(i) != i; }
};

template <class Scalar, class Space>
struct MatchedWorkspace : Workspace {
  std::unique_ptr<Workspace> inner;
  MultiVector<Scalar, Space> taken;
};

template <class Space>
std::int64_t row_of(const Vector<int, Space>& rows, std::int64_t place) {
  if (place < 0) return place;
  int row = 0;
  Kokkos::deep_copy(Kokkos::View<int, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&row),
                    Kokkos::subview(rows, static_cast<std::size_t>(place)));
  return row;
}

inline std::string note_of(std::int64_t num_rows, std::int64_t rank, std::int64_t rows_moved) {
  const std::string text =
      "the matching moved " + std::to_string(rows_moved) + " of " + std::to_string(num_rows) + " rows";
  if (rank == num_rows) return text;
  return text + "; STRUCTURALLY SINGULAR: only " + std::to_string(rank) + " rows can be matched";
}

}  // namespace impl::matched

template <class Scalar, class Space>
MatchedRows<Space> match_rows(const Space& space, const CsrView<Scalar, Space>& a,
                              const MatchingOptions& options) {
  namespace kernels = impl::matched;
  const kernels::Rows<Space> all(space, 0, a.num_rows);
  MatchedRows<Space> result;
  result.matching = maximum_product_matching<Scalar, Space>(space, a, options);
  result.rows = make_ordering<Space>(space, result.matching.column_of_row).inverse;
  result.row_scale = allocate<Vector<double, Space>>(space, "prekond::matched::row_scale", a.num_rows);
  Kokkos::parallel_for("prekond::matched::take_scales", all,
                       kernels::TakeScales<Space>{result.rows, result.matching.row_scale, result.row_scale});
  Kokkos::parallel_reduce("prekond::matched::count_moved", all, kernels::CountMoved<Space>{result.rows},
                          result.rows_moved);
  return result;
}

template <class Scalar, class Space>
Matched<Scalar, Space>::Matched(const MatchedOptions& options)
    : m_options(resolved(options)),
      m_make([choice = m_options.inner] {
        return impl::make_registered_method<Scalar, Space>(choice, "preconditioner");
      }),
      m_inner_properties(m_options.inner_properties()) {}

template <class Scalar, class Space>
Matched<Scalar, Space>::Matched(MakeInner make, const MatchedOptions& options)
    : m_options(options), m_make(std::move(make)) {
  if (!m_make) throw std::logic_error("prekond::Matched: there is nothing that makes M");
  OptionFields::of(m_options).check(MatchedOptions::name);
  const auto made = m_make();
  if (!made) throw std::logic_error("prekond::Matched: what should make M has made none");
  m_inner_properties = made->properties();
  MatchedOptions::refuse_spd(m_inner_properties, made->name());
}

template <class Scalar, class Space>
Matched<Scalar, Space>::~Matched() = default;

template <class Scalar, class Space>
void Matched<Scalar, Space>::set_listener(const typename Inner::Listener& listener) {
  Inner::set_listener(listener);
  m_inner_listener = listener;
  if (m_scaled) m_scaled->set_listener(listener);
}

template <class Scalar, class Space>
const Scaled<Scalar, Space>& Matched<Scalar, Space>::scaled() const {
  if (!m_scaled) throw std::logic_error("matched: there is no M before numeric");
  return *m_scaled;
}
template <class Scalar, class Space>
auto Matched<Scalar, Space>::inner() const -> const Inner& {
  return scaled().inner();
}
template <class Scalar, class Space>
auto Matched<Scalar, Space>::row_scale() const -> const Vector<Real, Space>& {
  return scaled().row_scale();
}
template <class Scalar, class Space>
auto Matched<Scalar, Space>::column_scale() const -> const Vector<Real, Space>& {
  return scaled().column_scale();
}

template <class Scalar, class Space>
void Matched<Scalar, Space>::forget() {
  m_scaled = nullptr;
  m_rows = {};
  m_rank = m_rows_moved = 0;
  m_found = false;
}

template <class Scalar, class Space>
void Matched<Scalar, Space>::symbolic_step(const Space&, const matrix_source&) {
  forget();
}

template <class Scalar, class Space>
void Matched<Scalar, Space>::numeric_without_rows(const Space&, const matrix_source&, Report& report) {
  report.pattern_kept = m_found && m_options.reuse == Reuse::pattern;
  m_found = true;
}

template <class Scalar, class Space>
auto Matched<Scalar, Space>::find(const Space& space, const matrix_view& a) const -> State {
  const MatchedRows<Space> found = match_rows<Scalar, Space>(space, a);
  State state;
  state.rank = found.matching.rank;
  state.rows = found.rows;
  state.rows_moved = found.rows_moved;
  state.rows_on_host = found.matching.rows_on_host;
  state.host_seconds = found.matching.host_seconds;
  state.scaled =
      std::make_shared<Scaled<Scalar, Space>>(m_make(), found.row_scale, found.matching.column_scale);
  state.scaled->set_listener(m_inner_listener);
  return state;
}

/// An error that names a row counts it as in A.
template <class Scalar, class Space>
void Matched<Scalar, Space>::set_up(const Space& space, const Matrix& matrix, const State& state) const {
  try {
    state.scaled->numeric(space, matrix);
  } catch (const OptionError&) {
    throw;
  } catch (const InputError& error) {
    if (error.row() < 0) throw;
    const std::int64_t row = impl::matched::row_of<Space>(state.rows, error.row());
    throw InputError(std::string(error.what()) + " (a row of the matching; in the matrix it is row " +
                         std::to_string(row + 1) + ")",
                     row);
  }
}

template <class Scalar, class Space>
Report Matched<Scalar, Space>::report_of(const Matrix& matrix, const State& state, bool kept) const {
  Report report = state.scaled->report();
  const std::int64_t n = matrix.num_rows, nnz = static_cast<std::int64_t>(matrix.nnz());
  constexpr std::int64_t row_and_given_scales = sizeof(int) + 2 * sizeof(double);
  report.bytes += n * row_and_given_scales;
  report.host_seconds += state.host_seconds;
  if (!kept)
    report.setup_bytes = std::max(report.setup_bytes, 12 * nnz + 64 * n);  // of the matching, on the host
  report.pattern_kept = kept;
  report.breakdowns.first_row = impl::matched::row_of<Space>(state.rows, report.breakdowns.first_row);
  report.notes.insert(
      report.notes.begin(),
      impl::matched::note_of(n, state.rank, state.rows_moved) +
          impl::host_text("matched " + std::to_string(state.rows_on_host) + " rows", state.host_seconds));
  return report;
}

template <class Scalar, class Space>
void Matched<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source, Report& report) {
  const matrix_view& a = source.csr();
  const bool keep = m_scaled && m_options.reuse == Reuse::pattern;
  const State state = keep ? State{m_scaled, m_rows, m_rank, m_rows_moved} : find(space, a);
  const Matrix matrix = permute_rows<Scalar, Space>(space, a, state.rows);
  set_up(space, matrix, state);
  report = report_of(matrix, state, keep);
  m_scaled = state.scaled;
  m_rows = state.rows;
  m_rank = state.rank;
  m_rows_moved = state.rows_moved;
  m_found = true;
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> Matched<Scalar, Space>::make_workspace(const Space& space, int num_vectors) const {
  if (!m_scaled) return std::make_unique<Workspace>();
  auto workspace = std::make_unique<impl::matched::MatchedWorkspace<Scalar, Space>>();
  workspace->inner = inner().make_workspace(space, num_vectors);
  workspace->taken = allocate<MultiVector<Scalar, Space>>(space, "prekond::matched::apply::taken",
                                                          this->num_rows(), num_vectors);
  return workspace;
}

template <class Scalar, class Space>
void Matched<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                        MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  namespace kernels = impl::matched;
  const auto* const own = dynamic_cast<kernels::MatchedWorkspace<Scalar, Space>*>(&workspace);
  if (own == nullptr || x.extent(1) > own->taken.extent(1) ||
      own->taken.extent(0) != static_cast<std::size_t>(this->num_rows()))
    throw std::logic_error(name() + ": the workspace was made for fewer vectors, or for another matrix");
  const MultiVectorView<Scalar, Space> taken(own->taken.data(), own->taken.extent(0), x.extent(1));
  const kernels::Rows<Space> rows(space, 0, this->num_rows());
  Kokkos::parallel_for("prekond::matched::apply::take_rows", rows,
                       kernels::TakeRows<Scalar, Space>{m_rows, m_scaled->row_scale(), x, taken});
  this->apply_step_of(m_scaled->inner(), space, taken, y, *own->inner);
  Kokkos::parallel_for("prekond::matched::apply::scale_rows", rows,
                       kernels::ScaleRows<Scalar, Space>{m_scaled->column_scale(), y});
}

#define PREKOND_MATCHED(Scalar, Space)                                                               \
  template MatchedRows<Space> match_rows<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&, \
                                                        const MatchingOptions&);                     \
  template class Matched<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_MATCHED)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_MATCHED)

}  // namespace prekond
