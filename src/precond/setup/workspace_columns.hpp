// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

namespace prekond::impl {

/// The first columns of a workspace's block of vectors.
template <class Scalar, class Space>
MultiVectorView<Scalar, Space> first_columns(const MultiVector<Scalar, Space>& vectors, std::size_t count) {
  return MultiVectorView<Scalar, Space>(vectors.data(), vectors.extent(0), count);
}

}  // namespace prekond::impl
