// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/precond/impl/registered_methods.hpp>

#include "core/instantiate.hpp"
#include "precond/domain/local_method.hpp"

#include <stdexcept>

namespace prekond::impl::block {
namespace {

constexpr const char* kind = "local method";

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Scalar, class Space>
struct GatherRows {
  VectorView<const int, Space> from;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> places;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int row = from(k);
    for (std::size_t v = 0; v < x.extent(1); ++v) places(k, v) = x(row, v);
  }
};

template <class Scalar, class Space>
struct ScatterRows {
  VectorView<const int, Space> to;
  MultiVectorView<const Scalar, Space> places;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int row = to(k);
    if (row < 0) return;
    for (std::size_t v = 0; v < y.extent(1); ++v) y(row, v) = places(k, v);
  }
};

template <class Scalar, class Space>
struct VectorsOfPlaces : LayoutWorkspace {
  using LayoutWorkspace::LayoutWorkspace;
  std::unique_ptr<Workspace> inner;
  MultiVector<Scalar, Space> x;
  MultiVector<Scalar, Space> y;
};

/// A preconditioner of the block-diagonal matrix: one setup and one application for all blocks.
template <class Scalar, class Space>
class RegisteredMethod : public LocalMethod<Scalar, Space> {
 public:
  explicit RegisteredMethod(const MethodChoice& choice)
      : m_name(choice.name),
        m_budget(budget_of(choice)),
        m_method(make_registered_method<Scalar, Space>(choice, kind)) {}

  /// The arrays of the block-diagonal matrix, which are there before the method counts its own.
  void check_growth(const WantedSubdomains& wanted, const GrownSubdomains& grown) const override {
    const auto bytes_of = [](double rows, double entries) {
      return entries * double(sizeof(int) + sizeof(std::size_t) + sizeof(Scalar)) +
             rows * double(4 * sizeof(int) + sizeof(std::size_t));
    };
    const double bytes = bytes_of(grown.rows, grown.entries);
    const double entries_of_row = double(wanted.nnz) / double(wanted.num_rows);
    const double allowed =
        m_budget.given > 0
            ? double(m_budget.given)
            : bytes_allowed(wanted, [&](double rows) { return bytes_of(rows, rows * entries_of_row); });
    if (bytes <= allowed) return;
    throw InputError("local = " + m_name + ": the matrix of blocks of " + std::to_string(grown.largest) +
                     " rows and others takes about " + std::to_string(std::int64_t(bytes)) + " bytes; " +
                     std::to_string(std::int64_t(allowed)) +
                     " are allowed. A row with many entries has made the block so large: choose overlap = 0, "
                     "or fewer and larger blocks" +
                     (m_budget.is_option ? ", or set local.memory_budget" : ""));
  }

  void symbolic(const Space& space, const BlockValues<Scalar, Space>& values) override {
    const Matrix matrix = copy(space, values);
    m_rows = values.blocks.subdomains.rows;
    m_num_places = values.blocks.subdomains.num_places;
    m_largest = values.blocks.subdomains.largest;
    m_method->symbolic(space, matrix);
    space.fence("prekond::block::symbolic::registered");
  }

  void numeric(const Space& space, const BlockValues<Scalar, Space>& values, Report& report) override {
    const Matrix matrix = copy(space, values);
    try {
      m_method->numeric(space, matrix);
    } catch (const OptionError&) {
      throw;
    } catch (const InputError& error) {
      if (error.row() < 0) throw;
      const std::int64_t row = row_of(error.row());
      throw InputError(std::string(error.what()) + " (a row of the block-diagonal matrix; in A it is row " +
                           std::to_string(row + 1) + ")",
                       row);
    }
    const Report& own = m_method->report();
    report.nnz = own.nnz;
    report.bytes = own.bytes;
    report.host_seconds = own.host_seconds;
    report.numeric_flops = own.numeric_flops;
    report.apply_flops = own.apply_flops;
    report.pattern_kept = own.pattern_kept;
    report.breakdowns = own.breakdowns;
    if (own.breakdowns.first_row >= 0) report.breakdowns.first_row = row_of(own.breakdowns.first_row);
    report.notes.insert(report.notes.end(), own.notes.begin(), own.notes.end());
    space.fence("prekond::block::numeric::registered");  // the matrix goes away
  }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    using Vectors = MultiVector<Scalar, Space>;
    auto workspace = std::make_unique<VectorsOfPlaces<Scalar, Space>>(m_num_places, m_largest);
    workspace->inner = m_method->make_workspace(space, num_vectors);
    workspace->x = allocate<Vectors>(space, "prekond::block::apply::x", m_num_places, num_vectors);
    workspace->y = allocate<Vectors>(space, "prekond::block::apply::y", m_num_places, num_vectors);
    return workspace;
  }

  void apply(const Space& space, const Transfer<Space>& transfer, MultiVectorView<const Scalar, Space> x,
             MultiVectorView<Scalar, Space> y, Workspace& workspace) const override {
    auto& own =
        own_workspace<VectorsOfPlaces<Scalar, Space>>(workspace, m_num_places, m_largest, m_method->name());
    if (x.extent(1) > own.x.extent(1))
      throw std::logic_error(m_method->name() + ": the workspace was made for fewer vectors");
    const MultiVectorView<Scalar, Space> gathered(own.x.data(), own.x.extent(0), x.extent(1)),
        solution(own.y.data(), own.y.extent(0), x.extent(1));
    MultiVectorView<const Scalar, Space> of_blocks = x;
    if (transfer.from.extent(0) > 0) {
      Kokkos::parallel_for("prekond::block::apply::gather", Rows<Space>(space, 0, m_num_places),
                           GatherRows<Scalar, Space>{transfer.from, x, gathered});
      of_blocks = gathered;
    }
    if (transfer.to.extent(0) == 0) return m_method->apply(space, of_blocks, y, *own.inner);
    m_method->apply(space, of_blocks, solution, *own.inner);
    Kokkos::parallel_for("prekond::block::apply::scatter", Rows<Space>(space, 0, m_num_places),
                         ScatterRows<Scalar, Space>{transfer.to, solution, y});
  }

  Properties properties() const override {
    Properties properties = m_method->properties();
    properties.factors_in_order = false;  // a partition has chosen the order of the rows
    return properties;
  }
  void set_listener(const typename LocalMethod<Scalar, Space>::Listener& listener) override {
    m_method->set_listener(listener);
  }

 private:
  /// The option memory_budget of the method, where it has one; `given` is 0 where the user has not set it.
  struct Budget {
    bool is_option = false;
    std::int64_t given = 0;
  };
  static Budget budget_of(const MethodChoice& choice) {
    const std::string name = "memory_budget";
    const auto values_of = registered_method_table<Space>(kind).values;
    const OptionMap values = values_of(choice), defaults = values_of({choice.name, {}});
    const auto found = values.find(name);
    if (found == values.end()) return {};
    const bool is_given = choice.options.count(name) > 0 || !(found->second == defaults.at(name));
    const auto* const bytes = std::get_if<std::int64_t>(&found->second);  // none where it is auto
    return {true, is_given && bytes ? *bytes : 0};
  }

  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  static Matrix copy(const Space& space, const BlockValues<Scalar, Space>& values) {
    const CsrGraph<Space>& pattern = values.blocks.pattern;
    const Matrix matrix(
        pattern.num_rows, pattern.num_rows, pattern.row_ptrs, pattern.col_idxs,
        allocate<Vector<Scalar, Space>>(space, "prekond::block::numeric::values", pattern.nnz()));
    copy_values<Scalar, Space>(space, values.blocks.source, values.a, matrix.values);
    return matrix;
  }

  std::int64_t row_of(std::int64_t place) const {
    int row = 0;
    Kokkos::deep_copy(Kokkos::View<int, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&row),
                      Kokkos::subview(m_rows, static_cast<std::size_t>(place)));
    return row;
  }

  std::string m_name;
  Budget m_budget;
  std::unique_ptr<MatrixPreconditioner<Scalar, Space>> m_method;
  Vector<int, Space> m_rows;
  std::int64_t m_num_places = 0;
  int m_largest = 0;
};

}  // namespace

template <class Scalar, class Space>
std::unique_ptr<LocalMethod<Scalar, Space>> create_registered_method(const MethodChoice& choice) {
  return std::make_unique<RegisteredMethod<Scalar, Space>>(choice);
}

#define PREKOND_REGISTERED_METHOD(Scalar, Space)                                                \
  template std::unique_ptr<LocalMethod<Scalar, Space>> create_registered_method<Scalar, Space>( \
      const MethodChoice&);
PREKOND_INSTANTIATE(PREKOND_REGISTERED_METHOD)

}  // namespace prekond::impl::block
