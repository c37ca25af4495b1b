// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "adapters/petsc_options.hpp"

#include <prekond/adapters/impl/petsc_objects.hpp>

#include <array>
#include <sstream>
#include <vector>

namespace prekond::petsc {
namespace {

/// All keys of the database that begin with `begin`, without it.
std::vector<std::string> keys_of(PetscOptions database, const std::string& begin) {
  char* text = nullptr;
  check(PetscOptionsGetAll(database, &text));
  std::istringstream words(text ? text : "");
  check(PetscFree(text));
  std::vector<std::string> keys;
  for (std::string word; words >> word;)
    if (word.size() > begin.size() && word.starts_with(begin)) keys.push_back(word.substr(begin.size()));
  return keys;
}

}  // namespace

OptionMap database_options(PetscOptions database, const std::string& prefix) {
  OptionMap options;
  for (const std::string& key : keys_of(database, "-" + prefix + "pc_prekond_")) {
    std::array<char, 4096> value{};
    PetscBool found = PETSC_FALSE;
    const std::string name = "-pc_prekond_" + key;
    check(PetscOptionsGetString(database, prefix.empty() ? nullptr : prefix.c_str(), name.c_str(),
                                value.data(), value.size(), &found));
    // A word of another option's value may look like a key.
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
