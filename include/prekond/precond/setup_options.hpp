// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Options that several preconditioners have.
#include <prekond/core/error.hpp>
#include <prekond/matrix/matrix_format.hpp>

#include <string>
#include <utility>
#include <vector>

namespace prekond {

enum class Precision { single_precision, double_precision };
/// What a later numeric phase does with the pattern that was found: finds it anew, keeps it, or grows on from
/// it. The last is for algorithms that grow patterns.
enum class Reuse { none, pattern, extend };
/// In what a factor's values are stored; `full`: in the matrix's precision.
enum class Storage { full, single_precision, half, bfloat16 };

inline std::vector<std::pair<std::string, Precision>> precision_choices() {
  return {{"single", Precision::single_precision}, {"double", Precision::double_precision}};
}
inline std::vector<std::pair<std::string, Reuse>> reuse_choices() {
  return {{"pattern", Reuse::pattern}, {"none", Reuse::none}};
}
inline std::vector<std::pair<std::string, Reuse>> growing_reuse_choices() {
  return {{"pattern", Reuse::pattern}, {"none", Reuse::none}, {"extend", Reuse::extend}};
}

/// \throws OptionError for `Reuse::extend`, of a preconditioner whose pattern is given in advance
inline void refuse_growing_pattern(const std::string& name, Reuse reuse) {
  if (reuse == Reuse::extend)
    throw OptionError(
        name + ": reuse = extend is for patterns that grow, those of adaptive_fsai; choose pattern or none");
}

inline std::vector<std::pair<std::string, Storage>> storage_choices() {
  return {{"full", Storage::full},
          {"single", Storage::single_precision},
          {"half", Storage::half},
          {"bfloat16", Storage::bfloat16}};
}

template <class Visitor>
void describe_storage_format(Visitor& visit, MatrixFormat& format) {
  visit("storage_format", format, stored_format_choices(),
        "format in which it is kept and applied; auto: by its pattern, which is read once more for that");
}

}  // namespace prekond
