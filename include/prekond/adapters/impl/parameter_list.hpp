// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Options from and to a Teuchos::ParameterList.
#include <prekond/core/options.hpp>

#include <Teuchos_ParameterList.hpp>

#include <string>

namespace prekond::tpetra {

/// Sets all options that the list names, or none. A sublist's entries are options nested by a dot. Taken are
/// bool, short to long long, unsigned int to unsigned long long, float, double, std::string, and text that is
/// a number, as XML files may have it. \throws Teuchos::Exceptions::InvalidParameter for an unknown key (it
/// names the nearest), a value of a wrong type or out of its range
void set_options(const OptionFields& fields, const std::string& owner, const Teuchos::ParameterList& list);

/// The options with their values in force as defaults, their documentation and ranges, and a validator where
/// a value is one of several words. Nested options stand in sublists.
Teuchos::ParameterList valid_parameters(const OptionFields& fields, const std::string& owner);

}  // namespace prekond::tpetra
