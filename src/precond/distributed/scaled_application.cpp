// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdexcept>
#include <utility>

#include "core/instantiate.hpp"
#include "precond/distributed/application.hpp"
#include "precond/scaling/scaling.hpp"

namespace prekond::impl::distributed {
namespace {

template <class Scalar, class Space>
using Block = MultiVectorView<Scalar, Space>;

template <class Scalar, class Space>
struct ScaledWorkspace : Workspace {
  MultiVector<Scalar, Space> scaled;
  std::unique_ptr<Workspace> inner;
};

template <class Scalar, class Space>
class ScaledApplication : public Application<Scalar, Space> {
 public:
  using Real = real_type_t<Scalar>;
  using Inner = std::unique_ptr<const Application<Scalar, Space>>;

  ScaledApplication(Inner inner, const MatrixPreconditioner<Scalar, Space>& method,
                    const Vector<Real, Space>& row_scale, const Vector<Real, Space>& column_scale)
      : m_inner(std::move(inner)), m_method(method), m_row_scale(row_scale), m_column_scale(column_scale) {}

  void apply(const Space& space, Block<const Scalar, Space> x, Block<Scalar, Space> y,
             Workspace& workspace) const override {
    auto& work = static_cast<ScaledWorkspace<Scalar, Space>&>(workspace);
    if (x.extent(1) > work.scaled.extent(1))
      throw std::logic_error("the workspace was made for fewer vectors");
    const Block<Scalar, Space> scaled =
        Kokkos::subview(work.scaled, Kokkos::ALL, std::make_pair(std::size_t(0), x.extent(1)));
    multiply(space, "prekond::distributed::apply::scale_rows", m_row_scale, x, scaled);
    if (m_inner)
      m_inner->apply(space, scaled, y, *work.inner);
    else
      m_method.apply(space, scaled, y, *work.inner);
    multiply(space, "prekond::distributed::apply::scale_columns", m_column_scale, y, y);
  }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    auto work = std::make_unique<ScaledWorkspace<Scalar, Space>>();
    work->scaled = allocate<MultiVector<Scalar, Space>>(space, "prekond::distributed::apply::scaled",
                                                        m_row_scale.extent(0), num_vectors);
    work->inner =
        m_inner ? m_inner->make_workspace(space, num_vectors) : m_method.make_workspace(space, num_vectors);
    return work;
  }

  void report_to(Report& report) const override {
    if (m_inner) m_inner->report_to(report);
    report.bytes += static_cast<std::int64_t>((m_row_scale.span() + m_column_scale.span()) * sizeof(Real));
  }
  RankRows<Scalar, Space> rows() const override {
    return m_inner ? m_inner->rows() : RankRows<Scalar, Space>{};
  }
  bool exchanges() const override { return m_inner && m_inner->exchanges(); }

 private:
  static void multiply(const Space& space, const char* label, const Vector<Real, Space>& scale,
                       Block<const Scalar, Space> x, Block<Scalar, Space> y) {
    Kokkos::parallel_for(label, FlatPolicy<Space>(space, 0, scale.extent(0)),
                         scaled::ScaleVectors<Scalar, Space>{scale, x, y});
  }

  Inner m_inner;
  const MatrixPreconditioner<Scalar, Space>& m_method;
  Vector<Real, Space> m_row_scale, m_column_scale;
};

}  // namespace

template <class Scalar, class Space>
std::unique_ptr<const Application<Scalar, Space>> make_scaled_application(
    std::unique_ptr<const Application<Scalar, Space>> inner,
    const MatrixPreconditioner<Scalar, Space>& method, const Vector<real_type_t<Scalar>, Space>& row_scale,
    const Vector<real_type_t<Scalar>, Space>& column_scale) {
  return std::make_unique<ScaledApplication<Scalar, Space>>(std::move(inner), method, row_scale,
                                                            column_scale);
}

#define PREKOND_SCALED_APPLICATION(Scalar, Space)                                                    \
  template std::unique_ptr<const Application<Scalar, Space>> make_scaled_application(                \
      std::unique_ptr<const Application<Scalar, Space>>, const MatrixPreconditioner<Scalar, Space>&, \
      const Vector<real_type_t<Scalar>, Space>&, const Vector<real_type_t<Scalar>, Space>&);
PREKOND_INSTANTIATE(PREKOND_SCALED_APPLICATION)

}  // namespace prekond::impl::distributed
