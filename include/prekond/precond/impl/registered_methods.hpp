// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The registered preconditioners as a method sees them that is composed of others: a smoother, a local
/// method or an inner method is found by its name. The functions are declared here, below the composed
/// methods, and the registry, which has the composed methods among its entries, defines them.
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/core/registry.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <memory>
#include <string>
#include <vector>

namespace prekond::impl {

/// All registered preconditioners, for an option that chooses one of them. `kind`: the word for them in
/// messages, such as "smoother".
template <class Space = Kokkos::DefaultExecutionSpace>
MethodTable registered_method_table(const std::string& kind);

/// The properties that follow from the options of a registered preconditioner.
/// \throws OptionError for an unknown name or option, or a value out of range
template <class Space = Kokkos::DefaultExecutionSpace>
Properties registered_method_properties(const MethodChoice& choice, const std::string& kind);

/// A registered preconditioner with these options.
/// \throws OptionError for an unknown name or option, or a value out of range
template <class Scalar, class Space>
std::unique_ptr<MatrixPreconditioner<Scalar, Space>> make_registered_method(const MethodChoice& choice,
                                                                            const std::string& kind);

/// The same with its options, for setups over ranks.
template <class Scalar, class Space>
std::unique_ptr<Configurator<MatrixPreconditioner<Scalar, Space>>> configured_registered_method(
    const MethodChoice& choice, const std::string& kind);

}  // namespace prekond::impl
