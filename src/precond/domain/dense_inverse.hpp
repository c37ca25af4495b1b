// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/impl/local_methods.hpp>

#include "precond/domain/local_method.hpp"
#include "precond/setup/breakdown_counter.hpp"

namespace prekond::impl::block {

/// The entries (i, j) of an inverse are 2^(row of i + column of j) times what is stored.
struct ScaleExponents {
  short row, column;
};

/// The inverses of the blocks, dense: applied as products, which have no order among their rows.
///
/// A symmetric block (to the tolerance of `validate`) with positive pivots is inverted without exchanges, any
/// other with row pivoting; the inverse of a symmetric one, whatever its pivots, is made symmetric to the
/// last bit. Where a pivot is too small, the block is inverted once more with row pivoting, its rows and
/// columns scaled by powers of two: scales do not make it singular. One that is singular falls back to the
/// inverse of its diagonal, with ones where that has none. All its rows count as breakdowns; the first one is
/// that of the pivot.
///
/// Stored in slices of rows, see SlicedRows; in a lower precision with a power of two for each row and
/// column of a block, which brings their largest entries near the top of the type's range: rows of any scale
/// keep their digits, and symmetric inverses stay symmetric to the last bit. A diagonal entry that would be
/// rounded to zero all the same becomes the type's least normal number.
template <class Scalar, class Space>
class DenseInverse : public LocalMethod<Scalar, Space> {
 public:
  using options_type = DenseBlockOptions;
  explicit DenseInverse(const DenseBlockOptions& options = {});
  ~DenseInverse() override;

  void check_growth(const WantedSubdomains& wanted, const GrownSubdomains& grown) const override;
  void symbolic(const Space& space, const BlockValues<Scalar, Space>& values) override;
  void numeric(const Space& space, const BlockValues<Scalar, Space>& values, Report& report) override;
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;
  void apply(const Space& space, const Transfer<Space>& transfer, MultiVectorView<const Scalar, Space> x,
             MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;
  Properties properties() const override;
  using Listener = typename LocalMethod<Scalar, Space>::Listener;
  void set_listener(const Listener& listener) override { m_listener = listener; }

 private:
  struct State {
    Vector<unsigned char, Space> values;
    Vector<ScaleExponents, Space> exponents;
    bool is_symmetric = true;
  };

  template <int Panel>
  void invert(const Space& space, const BlockValues<Scalar, Space>& values, State& next,
              VectorView<BreakdownCounter, Space> outcome, VectorView<int, Space> blocks) const;
  template <class Value>
  void apply_as(const Space& space, const Transfer<Space>& transfer, MultiVectorView<const Scalar, Space> x,
                MultiVectorView<Scalar, Space> y) const;

  DenseBlockOptions m_options;
  Listener m_listener;
  Subdomains<Space> m_subdomains;
  Vector<std::size_t, Space> m_slice_ptrs;
  std::size_t m_bytes = 0;
  double m_squares = 0;
  double m_cubes = 0;
  State m_state;
};

}  // namespace prekond::impl::block
