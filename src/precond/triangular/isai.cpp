// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"
#include "precond/common/breakdown_counter.hpp"
#include "precond/triangular/solve.hpp"

namespace prekond::impl::triangular {
namespace {

template <class Scalar, class Space>
struct IsaiWorkspace : Workspace {
  std::unique_ptr<Workspace> inner;
  MultiVector<Scalar, Space> source;  ///< S x; without rows where S = I
};

template <class Scalar, class Space>
class IsaiSolve : public Solve<Scalar, Space> {
 public:
  IsaiSolve(const std::string& owner, std::shared_ptr<const Isai<Scalar, Space>> isai,
            const Vector<Scalar, Space>& scale)
      : m_owner(owner), m_isai(std::move(isai)), m_scale(scale) {}

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    auto workspace = std::make_unique<IsaiWorkspace<Scalar, Space>>();
    workspace->inner = m_isai->make_workspace(space, num_vectors);
    workspace->source = allocate<MultiVector<Scalar, Space>>(space, "prekond::triangular::apply::source",
                                                             m_scale.extent(0), num_vectors);
    return workspace;
  }
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override {
    const auto& own = static_cast<const IsaiWorkspace<Scalar, Space>&>(workspace);
    const auto source = columns_of<Scalar, Space>(own.source, static_cast<std::int64_t>(m_scale.extent(0)),
                                                  x.extent(1), m_owner);
    if (m_scale.extent(0) > 0) {
      scale_vectors<Scalar, Space>(space, m_scale, x, source);
      m_isai->apply(space, source, y, *own.inner);
    } else {
      m_isai->apply(space, x, y, *own.inner);
    }
  }
  std::int64_t bytes() const override {
    return m_isai->report().bytes + static_cast<std::int64_t>(m_scale.span() * sizeof(Scalar));
  }
  double flops() const override {
    return m_isai->report().apply_flops + static_cast<double>(m_scale.extent(0));
  }

 private:
  std::string m_owner;
  std::shared_ptr<const Isai<Scalar, Space>> m_isai;
  Vector<Scalar, Space> m_scale;
};

}  // namespace

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_isai_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                            const std::shared_ptr<Isai<Scalar, Space>>& isai,
                                            Report& report) {
  const typename Isai<Scalar, Space>::matrix_type n(factor.graph.num_rows, factor.graph.num_cols,
                                                    factor.graph.row_ptrs, factor.graph.col_idxs,
                                                    factor.values);
  isai->numeric(space, n);
  for (const std::string& note : isai->report().notes) report.notes.push_back(factor.owner + ": " + note);
  add_breakdowns(isai->report().breakdowns, report.breakdowns);
  return std::make_shared<const IsaiSolve<Scalar, Space>>(factor.owner, isai, factor.scale);
}

#define PREKOND_ISAI_SOLVE(Scalar, Space)                              \
  template SolvePointer<Scalar, Space> make_isai_solve<Scalar, Space>( \
      const Space&, const Factor<Scalar, Space>&, const std::shared_ptr<Isai<Scalar, Space>>&, Report&);
PREKOND_INSTANTIATE(PREKOND_ISAI_SOLVE)

}  // namespace prekond::impl::triangular
