// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/registry.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

namespace prekond {

/// Every preconditioner there is, in the order of `prekond list`.
template <class Scalar, class Space>
const Registry<MatrixPreconditioner<Scalar, Space>>& preconditioner_registry();

/// A preconditioner by name, with options by name. \throws OptionError
template <class Scalar, class Space>
std::unique_ptr<MatrixPreconditioner<Scalar, Space>> create_preconditioner(const std::string& name,
                                                                           const OptionMap& options = {}) {
  return create(preconditioner_registry<Scalar, Space>(), "preconditioner", name, options);
}

}  // namespace prekond
