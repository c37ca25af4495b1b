// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "adapters/petsc_options.hpp"

#include <prekond/adapters/impl/petsc_objects.hpp>

#include <array>
#include <set>
#include <sstream>

namespace prekond::petsc {
namespace {

/// KEY of all options -PREFIXpc_prekond_KEY, whatever the prefix.
std::set<std::string> keys_of(PetscOptions database) {
  const std::string name = "pc_prekond_";
  char* text = nullptr;
  check(PetscOptionsGetAll(database, &text));
  std::istringstream words(text ? text : "");
  check(PetscFree(text));
  std::set<std::string> keys;
  for (std::string word; words >> word;) {
    const std::size_t found = word.find(name);
    if (word.front() == '-' && found != std::string::npos) keys.insert(word.substr(found + name.size()));
  }
  return keys;
}

}  // namespace

OptionMap database_options(PetscOptions database, const std::string& prefix) {
  OptionMap options;
  for (const std::string& key : keys_of(database)) {
    if (key.empty()) continue;
    std::array<char, 4096> value{};
    PetscBool found = PETSC_FALSE;
    const std::string name = "-pc_prekond_" + key;
    check(PetscOptionsGetString(database, prefix.empty() ? nullptr : prefix.c_str(), name.c_str(),
                                value.data(), value.size(), &found));
    // PETSc knows which are those of this prefix: -mg_levels_pc_... is one for mg_levels_1_.
    if (!found) continue;
    const std::string text = value.data();
    if (text.size() + 1 == value.size()) throw std::runtime_error("the value of " + name + " is too long");
    options[key] = text.empty() ? std::string("true") : text;
  }
  return options;
}

void translate_bools(const OptionFields& fields, OptionMap& options) {
  for (const OptionField& field : fields.list()) {
    const auto found = options.find(field.name);
    if (field.kind != "bool" || found == options.end()) continue;
    const auto* text = std::get_if<std::string>(&found->second);
    for (const char* word : {"true", "yes", "1", "on"})
      if (text && *text == word) found->second = true;
    text = std::get_if<std::string>(&found->second);
    for (const char* word : {"false", "no", "0", "off"})
      if (text && *text == word) found->second = false;
  }
}

}  // namespace prekond::petsc
