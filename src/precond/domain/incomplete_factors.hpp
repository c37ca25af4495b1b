// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/local_methods.hpp>

#include "precond/domain/incomplete_kernels.hpp"
#include "precond/domain/local_method.hpp"

namespace prekond::impl::block {

/// Incomplete factors of the blocks, and the solves by them: ILU(0), IC(0) or ILUT, as the options' type
/// says. A vector of lanes does a block, its rows in order: one launch for all blocks in a setup, and one in
/// an application.
///
/// A row whose pivot is not above 16 eps times its largest entry (IC: times the diagonal entry), or which has
/// an entry that is not finite, falls back to its diagonal entry alone, to 1 where that has no inverse.
template <class Scalar, class Space, class Options>
class IncompleteFactors : public LocalMethod<Scalar, Space> {
 public:
  using options_type = Options;
  explicit IncompleteFactors(const Options& options = {});
  ~IncompleteFactors() override;

  void symbolic(const Space& space, const BlockValues<Scalar, Space>& values) override;
  void numeric(const Space& space, const BlockValues<Scalar, Space>& values, Report& report) override;
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;
  void apply(const Space& space, const Transfer<Space>& transfer, MultiVectorView<const Scalar, Space> x,
             MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;
  Properties properties() const override { return m_options.properties(); }

 private:
  struct State {
    Vector<std::size_t, Space> row_ptrs;
    Vector<std::size_t, Space> middle;
    Vector<int, Space> col_idxs;
    Vector<Scalar, Space> values;
    Vector<Scalar, Space> pivots;
  };

  /// \returns the bytes that were held for it
  std::int64_t factor(const Space& space, const BlockValues<Scalar, Space>& values, State& state,
                      VectorView<BreakdownCounter, Space> outcome) const;
  template <int Width>
  void solve(const Space& space, const Transfer<Space>& transfer, MultiVectorView<const Scalar, Space> x,
             MultiVectorView<Scalar, Space> y, VectorView<Scalar, Space> work) const;

  Options m_options;
  Subdomains<Space> m_subdomains;
  State m_pattern;  ///< of ILU(0) and IC(0), without values
  Vector<std::size_t, Space> m_source;
  State m_state;
};

}  // namespace prekond::impl::block
