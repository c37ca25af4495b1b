// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prekond/core/error.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace prekond {

/// A value as it comes from a command line, a JSON file or a ParameterList.
using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

/// One option of an algorithm: everything that help, printing, range checks and the readers need to know of
/// it.
struct OptionField {
  std::string name;
  std::string doc;
  std::string kind;   ///< "bool", "int", "real" or "choice"
  std::string range;  ///< "0 .. 1e+06", or "single | double"; empty for a bool
  std::function<OptionValue()> get;
  /// Checks the value and returns what commits it. \throws OptionError
  std::function<std::function<void()>(const OptionValue&)> prepare;
  bool is_preset = false;  ///< setting it sets other fields, so it comes before them
};

using OptionMap = std::map<std::string, OptionValue>;

/// The fields of one option struct, bound to one instance of it. An option struct declares its fields once,
/// in `template <class V> void describe(V& visit)`, and everything else is derived from that:
/// ```
/// visit("max_steps", max_steps, 0, 1000000, "k_max: growth steps of a row");
/// visit("setup_scalar", setup_scalar, {{"single", Precision::single}, ...}, "...");
/// visit.nested("local", local);
/// ```
class OptionFields {
 public:
  template <class Options>
  static OptionFields of(Options& options) {
    OptionFields fields;
    options.describe(fields);
    return fields;
  }

  void operator()(const std::string& name, bool& value, const std::string& doc);
  void operator()(const std::string& name, int& value, std::int64_t min, std::int64_t max,
                  const std::string& doc);
  void operator()(const std::string& name, std::int64_t& value, std::int64_t min, std::int64_t max,
                  const std::string& doc);
  void operator()(const std::string& name, double& value, double min, double max, const std::string& doc);

  template <class Enum>
  requires std::is_enum_v<Enum>
  void operator()(const std::string& name, Enum& value, std::vector<std::pair<std::string, Enum>> choices,
                  const std::string& doc) {
    std::vector<std::string> words;
    for (const auto& choice : choices) words.push_back(choice.first);
    add_choice(
        name, words, doc,
        [&value, choices] {
          std::size_t k = 0;
          while (choices[k].second != value) ++k;
          return k;
        },
        [&value, choices](std::size_t k) { value = choices[k].second; });
  }

  /// A choice that sets other fields by `apply(choice)`. Where it is set together with one of those, that
  /// one's own value holds.
  template <class Enum, class Apply>
  requires std::is_enum_v<Enum>
  void preset(const std::string& name, Enum& value, std::vector<std::pair<std::string, Enum>> choices,
              const std::string& doc, const Apply& apply) {
    (*this)(name, value, std::move(choices), doc);
    also([&value, apply] { apply(value); });
  }

  /// Where the field that was described last is set, `action` follows; other fields that it sets may be set
  /// along with this one, and then their own values hold.
  void also(std::function<void()> action) {
    OptionField& field = m_fields.back();
    field.is_preset = true;
    field.prepare = [action = std::move(action),
                     prepare = field.prepare](const OptionValue& v) -> std::function<void()> {
      return [action, commit = prepare(v)] {
        commit();
        action();
      };
    };
  }

  template <class Options>
  void nested(const std::string& prefix, Options& options) {
    const std::string outer = std::exchange(m_prefix, m_prefix + prefix + ".");
    options.describe(*this);
    m_prefix = outer;
  }

  /// Adds the fields of another struct, so that both are set together or not at all.
  void append(const OptionFields& other) {
    m_fields.insert(m_fields.end(), other.m_fields.begin(), other.m_fields.end());
  }

  const std::vector<OptionField>& list() const& { return m_fields; }
  std::vector<OptionField> list() && { return std::move(m_fields); }  // safe to iterate over a temporary's

  /// Sets all the named options, or none. Text is converted to the field's type.
  /// \throws OptionError for an unknown name (naming the nearest), a wrong type, or a value out of range
  void set(const OptionMap& values, const std::string& owner) const;

  /// The values in force, by name.
  OptionMap values() const;

 private:
  void add(const std::string& name, const std::string& kind, const std::string& range, const std::string& doc,
           std::function<OptionValue()> get,
           std::function<std::function<void()>(const OptionValue&)> prepare);
  void add_choice(const std::string& name, const std::vector<std::string>& words, const std::string& doc,
                  std::function<std::size_t()> get, std::function<void(std::size_t)> set);

  std::string m_prefix;
  std::vector<OptionField> m_fields;
};

/// An option value as text: what --help and the printed configuration show.
std::string to_string(const OptionValue& value);

/// The word of `words` with the smallest edit distance to `word`; empty where there is none.
std::string nearest_word(const std::string& word, const std::vector<std::string>& words);

}  // namespace prekond
