// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The result of a setup over ranks, as it is applied.
#include <prekond/distributed/impl/remote_part.hpp>
#include <prekond/precond/distributed_preconditioner.hpp>
#include <prekond/precond/over_ranks.hpp>

#include <memory>

#include "precond/distributed/overlap.hpp"
#include "precond/storage/matrices_of_method.hpp"

namespace prekond::impl::distributed {

/// y = M^-1 x by messages.
template <class Scalar, class Space>
class Application {
 public:
  virtual ~Application() = default;
  virtual void apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                     MultiVectorView<Scalar, Space> y, Workspace& workspace) const = 0;
  virtual std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const = 0;
  /// Entries, bytes and operations on this rank, where they are not the method's.
  virtual void report_to(Report&) const {}
  virtual RankRows<Scalar, Space> rows() const { return {}; }
  virtual bool exchanges() const { return true; }
};

/// Collective. The application of what was found.
template <class Scalar, class Space>
std::unique_ptr<const Application<Scalar, Space>> make_product_application(
    const Space& space, const DistributedMatrix<Scalar, Space>& a, const Overlap<Scalar, Space>& overlap,
    const FoundMatrices<Scalar, Space>& found, StoredAs as);

/// Collective. Restricted additive Schwarz by a method that was set up on the overlap.
template <class Scalar, class Space>
std::unique_ptr<const Application<Scalar, Space>> make_schwarz_application(
    const Space& space, const DistributedMatrix<Scalar, Space>& a, const Overlap<Scalar, Space>& overlap,
    const MatrixPreconditioner<Scalar, Space>& method);

/// Collective. Vectors over the rank's rows become vectors over those of the overlap.
template <class Scalar, class Space>
MultiVector<Scalar, Space> over_overlap(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                                        const Overlap<Scalar, Space>& overlap,
                                        const MultiVectorView<const Scalar, Space>& x);

/// y = C M^-1 R x for diagonal matrices R and C. `inner` is M^-1; null: that is the method on the rank's own
/// rows, which has to outlive this.
template <class Scalar, class Space>
std::unique_ptr<const Application<Scalar, Space>> make_scaled_application(
    std::unique_ptr<const Application<Scalar, Space>> inner,
    const MatrixPreconditioner<Scalar, Space>& method, const Vector<real_type_t<Scalar>, Space>& row_scale,
    const Vector<real_type_t<Scalar>, Space>& column_scale);

/// The application of a method that sends its messages itself. It has to outlive this.
template <class Scalar, class Space>
class ApplicationOverRanks : public Application<Scalar, Space> {
 public:
  ApplicationOverRanks(const MatrixPreconditioner<Scalar, Space>& method,
                       const OverRanks<Scalar, Space>& over_ranks)
      : m_method(method), m_over_ranks(over_ranks) {}

  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override {
    m_over_ranks.apply_over_ranks(space, x, y, workspace);
  }
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    return m_method.make_workspace(space, num_vectors);
  }

 private:
  const MatrixPreconditioner<Scalar, Space>& m_method;
  const OverRanks<Scalar, Space>& m_over_ranks;
};

}  // namespace prekond::impl::distributed
