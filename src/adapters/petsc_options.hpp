// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>

#include <petscsys.h>

#include <string>

namespace prekond::petsc {

/// The values that the options database has under -<prefix>pc_prekond_KEY, by KEY, as text; a key without a
/// value as "true". PETSc takes these options for used. \throws std::runtime_error for a value of 4096
/// characters and more
OptionMap database_options(PetscOptions database, const std::string& prefix);

/// The words that PETSc has for a bool (yes, 1, on, ...), where the field of that name is one.
void translate_bools(const OptionFields& fields, OptionMap& options);

}  // namespace prekond::petsc
