// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/impl/stored_matrix.hpp>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "precond/setup/breakdown_counter.hpp"
#include "precond/triangular/solve.hpp"
#include "sparse_product/transpose_graph.hpp"

namespace prekond::impl::triangular {
namespace {

template <class Scalar, class Space>
struct IsaiWorkspace : Workspace {
  std::unique_ptr<Workspace> inner;
  MultiVector<Scalar, Space> source;  ///< S x; without rows where S = I
};

/// M S x for an M that derived classes have.
template <class Scalar, class Space>
class ProductSolve : public Solve<Scalar, Space> {
 public:
  using Const = MultiVectorView<const Scalar, Space>;
  using Vectors = MultiVectorView<Scalar, Space>;

  ProductSolve(const std::string& owner, const Vector<Scalar, Space>& scale)
      : m_owner(owner), m_scale(scale) {}

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    auto workspace = std::make_unique<IsaiWorkspace<Scalar, Space>>();
    workspace->inner = inner_workspace(space, num_vectors);
    workspace->source = allocate<MultiVector<Scalar, Space>>(space, "prekond::triangular::apply::source",
                                                             m_scale.extent(0), num_vectors);
    return workspace;
  }
  void apply(const Space& space, Const x, Vectors y, Workspace& workspace) const override {
    const auto& own = static_cast<const IsaiWorkspace<Scalar, Space>&>(workspace);
    const auto source = columns_of<Scalar, Space>(own.source, static_cast<std::int64_t>(m_scale.extent(0)),
                                                  x.extent(1), m_owner);
    if (m_scale.extent(0) > 0) {
      scale_vectors<Scalar, Space>(space, m_scale, x, source);
      multiply(space, source, y, *own.inner);
    } else {
      multiply(space, x, y, *own.inner);
    }
  }
  std::int64_t bytes() const override {
    return bytes_of_inverse() + static_cast<std::int64_t>(m_scale.span() * sizeof(Scalar));
  }
  double flops() const override { return flops_of_inverse() + static_cast<double>(m_scale.extent(0)); }

 private:
  virtual std::unique_ptr<Workspace> inner_workspace(const Space& space, int num_vectors) const = 0;
  virtual void multiply(const Space& space, Const x, Vectors y, Workspace& inner) const = 0;
  virtual std::int64_t bytes_of_inverse() const = 0;
  virtual double flops_of_inverse() const = 0;

  std::string m_owner;
  Vector<Scalar, Space> m_scale;
};

template <class Scalar, class Space>
class IsaiSolve : public ProductSolve<Scalar, Space> {
 public:
  using Base = ProductSolve<Scalar, Space>;
  using typename Base::Const;
  using typename Base::Vectors;

  IsaiSolve(const std::string& owner, std::shared_ptr<const Isai<Scalar, Space>> isai,
            const Vector<Scalar, Space>& scale)
      : Base(owner, scale), m_isai(std::move(isai)) {}

 private:
  std::unique_ptr<Workspace> inner_workspace(const Space& space, int num_vectors) const override {
    return m_isai->make_workspace(space, num_vectors);
  }
  void multiply(const Space& space, Const x, Vectors y, Workspace& inner) const override {
    m_isai->apply(space, x, y, inner);
  }
  std::int64_t bytes_of_inverse() const override { return m_isai->report().bytes; }
  double flops_of_inverse() const override { return m_isai->report().apply_flops; }

  std::shared_ptr<const Isai<Scalar, Space>> m_isai;
};

template <class Scalar, class Space>
class StoredSolve : public ProductSolve<Scalar, Space> {
 public:
  using Base = ProductSolve<Scalar, Space>;
  using typename Base::Const;
  using typename Base::Vectors;

  StoredSolve(const std::string& owner, const StoredMatrix<Scalar, Space>& m,
              const Vector<Scalar, Space>& scale)
      : Base(owner, scale), m_inverse(m) {}

 private:
  std::unique_ptr<Workspace> inner_workspace(const Space&, int) const override {
    return std::make_unique<Workspace>();
  }
  void multiply(const Space& space, Const x, Vectors y, Workspace&) const override {
    m_inverse.multiply(space, x, y);
  }
  std::int64_t bytes_of_inverse() const override { return m_inverse.bytes(); }
  double flops_of_inverse() const override { return 2 * static_cast<double>(m_inverse.nnz()); }

  StoredMatrix<Scalar, Space> m_inverse;
};

/// Values of M^T, on its pattern.
template <class Scalar, class Space>
struct TransposeValues {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> m, transposed;
  VectorView<const Scalar, Space> values;
  VectorView<Scalar, Space> result;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{transposed.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = transposed.row_ptrs(i);
      Kokkos::parallel_for(
          Kokkos::ThreadVectorRange(team, static_cast<int>(transposed.row_ptrs(i + 1) - first)), [&](int k) {
            const int row = transposed.col_idxs(first + k);
            result(first + k) = values(m.first_from(row, static_cast<int>(i)));
          });
    });
  }
};

/// S D, or D where S = I.
template <class Scalar, class Space>
Vector<Scalar, Space> product_of_scales(const Space& space, const Vector<Scalar, Space>& s,
                                        VectorView<const Scalar, Space> d) {
  if (d.extent(0) == 0) return s;
  const auto result = allocate<Vector<Scalar, Space>>(space, "prekond::triangular::scales", d.extent(0));
  if (s.extent(0) > 0)
    scale_vectors<Scalar, Space>(space, s, as_multivector(d), as_multivector(result));
  else
    Kokkos::deep_copy(space, result, d);
  return result;
}

template <class Scalar, class Space>
using OwnMatrix = typename Isai<Scalar, Space>::matrix_type;

template <class Scalar, class Space>
OwnMatrix<Scalar, Space> matrix_of(const Factor<Scalar, Space>& factor) {
  return OwnMatrix<Scalar, Space>(factor.graph.num_rows, factor.graph.num_cols, factor.graph.row_ptrs,
                                  factor.graph.col_idxs, factor.values);
}

template <class Scalar, class Space>
void add_report(const std::string& owner, const Isai<Scalar, Space>& isai, Report& report) {
  for (const std::string& note : isai.report().notes) report.notes.push_back(owner + ": " + note);
  add_breakdowns(isai.report().breakdowns, report.breakdowns);
}

/// M in full, by rows.
template <class Scalar, class Space>
OwnMatrix<Scalar, Space> find_inverse(const Space& space, const Factor<Scalar, Space>& factor,
                                      IsaiOptions options, InversePatterns<Space>& patterns, Report& report) {
  options.storage = Storage::full;
  options.storage_format = MatrixFormat::csr;
  Isai<Scalar, Space> isai(options);
  if (patterns.inverse.num_rows > 0) isai.set_pattern(space, patterns.inverse);
  isai.numeric(space, matrix_of(factor));
  add_report(factor.owner, isai, report);
  return isai.inverse();
}

}  // namespace

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_isai_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                            const std::shared_ptr<Isai<Scalar, Space>>& isai,
                                            Report& report) {
  isai->numeric(space, matrix_of(factor));
  add_report(factor.owner, *isai, report);
  return std::make_shared<const IsaiSolve<Scalar, Space>>(factor.owner, isai, factor.scale);
}

template <class Scalar, class Space>
std::pair<SolvePointer<Scalar, Space>, SolvePointer<Scalar, Space>> make_isai_pair(
    const Space& space, const Factor<Scalar, Space>& factor, const Vector<Scalar, Space>& transposed_scale,
    const IsaiOptions& options, InversePatterns<Space>& patterns, Report& report) {
  using Stored = StoredMatrix<Scalar, Space>;
  const auto m = find_inverse<Scalar, Space>(space, factor, options, patterns, report);
  if (patterns.inverse.num_rows == 0) {
    patterns.inverse = {m.num_rows, m.num_rows, m.row_ptrs, m.col_idxs};
    patterns.transposed = transpose_graph<Space>(space, patterns.inverse);
  }
  const CsrGraph<Space>& graph = patterns.transposed;
  const auto values = allocate<Vector<Scalar, Space>>(space, "prekond::triangular::transposed", m.nnz());
  Kokkos::parallel_for("prekond::triangular::numeric::transpose",
                       RowTeams<Space>::policy(space, m.num_rows, m.nnz()),
                       TransposeValues<Scalar, Space>{patterns.inverse, graph, m.values, values});
  const OwnMatrix<Scalar, Space> transposed(m.num_rows, m.num_rows, graph.row_ptrs, graph.col_idxs, values);
  // M = D H by rows, and M^T = H^T D: the same roundings.
  const bool is_lower = factor.which == Triangle::lower;
  const StoredAs as(options.storage, options.storage_format);
  const Stored own(space, m, as, is_lower ? Nonzero::last : Nonzero::first);
  const auto other = Stored::with_columns_divided(space, transposed, as, own.row_scale(),
                                                  is_lower ? Nonzero::first : Nonzero::last);
  const auto scale = product_of_scales<Scalar, Space>(space, transposed_scale, own.row_scale());
  space.fence("prekond::triangular::numeric::isai_pair");  // M's values are freed
  return {std::make_shared<const StoredSolve<Scalar, Space>>(factor.owner, own, factor.scale),
          std::make_shared<const StoredSolve<Scalar, Space>>(factor.owner, other, scale)};
}

#define PREKOND_ISAI_SOLVE(Scalar, Space)                                                                 \
  template SolvePointer<Scalar, Space> make_isai_solve<Scalar, Space>(                                    \
      const Space&, const Factor<Scalar, Space>&, const std::shared_ptr<Isai<Scalar, Space>>&, Report&);  \
  template std::pair<SolvePointer<Scalar, Space>, SolvePointer<Scalar, Space>>                            \
  make_isai_pair<Scalar, Space>(const Space&, const Factor<Scalar, Space>&, const Vector<Scalar, Space>&, \
                                const IsaiOptions&, InversePatterns<Space>&, Report&);
PREKOND_INSTANTIATE(PREKOND_ISAI_SOLVE)

}  // namespace prekond::impl::triangular
