// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "row_blocks.hpp"

#include "spmv_choice.hpp"

namespace prekond::driver {
namespace {

class OneBlock : public RowBlocks {
 public:
  OneBlock(const Matrix& whole, const std::string& spmv) : m_a(whole), m_product(make_product(spmv, whole)) {}

  CsrView<double, Space> rows() const override { return m_a; }
  const Operator<double, Space>& product() const override { return *m_product; }
  const Reducer<double, Space>& reducer() const override { return m_reducer; }
  Vector<double, Space> scatter(const Space& /*space*/, const Vector<double, Space>& whole) const override {
    return whole;
  }
  Vector<double, Space> gather(const Space& /*space*/, const Vector<double, Space>& own) const override {
    return own;
  }
  Report merged(const Space& /*space*/, Report own) const override { return own; }

 private:
  Matrix m_a;
  std::unique_ptr<Operator<double, Space>> m_product;
  Reducer<double, Space> m_reducer;
};

}  // namespace

std::unique_ptr<RowBlocks> one_block(const Matrix& whole, const std::string& spmv) {
  return std::make_unique<OneBlock>(whole, spmv);
}

}  // namespace prekond::driver
