// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "row_blocks.hpp"

#include "spmv_choice.hpp"

namespace prekond::driver {
namespace {

template <class Scalar>
class OneBlock : public RowBlocks<Scalar> {
 public:
  OneBlock(const Matrix<Scalar>& whole, const std::string& spmv)
      : m_a(whole), m_product(make_product<Scalar>(spmv, whole)) {}

  CsrView<Scalar, Space> rows() const override { return m_a; }
  const Operator<Scalar, Space>& product() const override { return *m_product; }
  const Reducer<Scalar, Space>& reducer() const override { return m_reducer; }
  Vector<Scalar, Space> scatter(const Space& /*space*/, const Vector<Scalar, Space>& whole) const override {
    return whole;
  }
  Vector<Scalar, Space> gather(const Space& /*space*/, const Vector<Scalar, Space>& own) const override {
    return own;
  }
  Report merged(const Space& /*space*/, Report own) const override { return own; }

 private:
  Matrix<Scalar> m_a;
  std::unique_ptr<Operator<Scalar, Space>> m_product;
  Reducer<Scalar, Space> m_reducer;
};

}  // namespace

template <class Scalar>
std::unique_ptr<RowBlocks<Scalar>> one_block(const Matrix<Scalar>& whole, const std::string& spmv) {
  return std::make_unique<OneBlock<Scalar>>(whole, spmv);
}

template std::unique_ptr<RowBlocks<double>> one_block<double>(const Matrix<double>&, const std::string&);
template std::unique_ptr<RowBlocks<Complex>> one_block<Complex>(const Matrix<Complex>&, const std::string&);

}  // namespace prekond::driver
