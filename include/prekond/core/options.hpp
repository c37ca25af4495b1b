// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prekond/core/error.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace prekond {

/// A value as it comes from a command line, a JSON file or a ParameterList.
using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

using OptionMap = std::map<std::string, OptionValue>;

/// The members of a JSON object, those of inner objects by names with dots. `Json` is nlohmann::json, or a
/// class with its members, so that the library needs none. \throws OptionError for an array or a null
template <class Json>
OptionMap options_from_json(const Json& object, const std::string& prefix = "") {
  OptionMap options;
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    if (value.is_object())
      options.merge(options_from_json(value, name + "."));
    else if (value.is_boolean())
      options[name] = value.template get<bool>();
    else if (value.is_number_integer())
      options[name] = value.template get<std::int64_t>();
    else if (value.is_number())
      options[name] = value.template get<double>();
    else if (value.is_string())
      options[name] = value.template get<std::string>();
    else
      throw OptionError("'" + name + "' takes true, false, a number, a text or an object");
  }
  return options;
}

/// One option of an algorithm: everything that help, printing, range checks and the readers need to know of
/// it.
struct OptionField {
  using Commit = std::function<void()>;

  std::string name;
  std::string doc;
  std::string kind;                       ///< "bool", "int", "real", "choice" or "method"
  std::string range;                      ///< "0 .. 1e+06", or "single | double"; empty for a bool
  std::vector<std::string> former_names;  ///< names that set it too, and that no list shows
  std::function<OptionValue()> get;
  /// Checks the value and returns the function that commits it. \throws OptionError
  std::function<Commit(const OptionValue&)> prepare;
  /// For the kind "method", the values in force of the method's own options.
  std::function<OptionMap()> method_options;
  /// For the kind "method", the same as `prepare` for the name, where there is one, and options of the
  /// method.
  std::function<Commit(const std::string* name, const OptionMap& options)> prepare_method;
};

/// A method that is chosen by name, with options of its own: the smoother of a multigrid method, say.
struct MethodChoice {
  std::string name;
  OptionMap options;
  /// Options of this method that the user has not set, each in force where it goes with those that are.
  OptionMap defaults = {};
};

/// The methods that an option may name. `method_table` (core/registry.hpp) makes it from a registry.
struct MethodTable {
  std::vector<std::string> names;
  /// The values in force of a method's options, where these are set. \throws OptionError for an unknown name
  /// or option (naming the nearest), or a value out of range
  std::function<OptionMap(const MethodChoice& choice)> values;
};

/// The fields of one option struct, bound to one instance of it. An option struct declares its fields once,
/// in `template <class V> void describe(V& visit)`, and everything else is derived from that:
/// ```
/// visit("max_steps", max_steps, 0, 1000000, "k_max: growth steps of a row");
/// visit("setup_scalar", setup_scalar, {{"single", Precision::single}, ...}, "...");
/// visit.formerly("precision");
/// visit.nested("local", local);
/// visit.method("smoother", smoother, method_table(...), "...");
/// ```
/// A `std::optional` number is one whose default depends on other options: it is "auto" until it is set, and
/// the struct's `resolve()` gives it its value.
///
/// Describing has no effects: what an option means does not depend on how it was set, nor on the order.
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
  void operator()(const std::string& name, std::optional<int>& value, std::int64_t min, std::int64_t max,
                  const std::string& doc);
  void operator()(const std::string& name, std::optional<double>& value, double min, double max,
                  const std::string& doc);

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
          while (k < choices.size() && choices[k].second != value) ++k;
          return k;
        },
        [&value, choices](std::size_t k) { value = choices[k].second; });
  }

  /// Lets the field that was described last be set by a name that it had before.
  void formerly(const std::string& name) { m_fields.back().former_names.push_back(m_prefix + name); }

  template <class Options>
  void nested(const std::string& prefix, Options& options) {
    const std::string outer = std::exchange(m_prefix, m_prefix + prefix + ".");
    options.describe(*this);
    m_prefix = outer;
  }

  /// A method with options of its own: NAME sets which, NAME.KEY an option of it. As a sublist or JSON object
  /// it is {"name": which, KEY: ...}. Where the name changes, the options and defaults of the one before are
  /// dropped.
  void method(const std::string& name, MethodChoice& value, const MethodTable& table, const std::string& doc);

  /// Adds the fields of another struct, so that both are set together or not at all.
  void append(const OptionFields& other) {
    m_fields.insert(m_fields.end(), other.m_fields.begin(), other.m_fields.end());
  }

  const std::vector<OptionField>& list() const& { return m_fields; }
  std::vector<OptionField> list() && { return std::move(m_fields); }  // safe to iterate over a temporary's

  /// Is there an option of this name, or may there be one, of a method that is chosen by name?
  bool knows(const std::string& name) const;

  /// Sets all the named options, or none. Text is converted to the field's type. First the methods are
  /// chosen, then their options are looked up. Names, and values that are words, are found as by `find_name`.
  /// \throws OptionError for an unknown name (naming the nearest), a wrong type, a value out of range, or two
  /// names of the same option
  void set(const OptionMap& values, const std::string& owner) const;

  /// Are all values in their ranges? Sets nothing. \throws OptionError for the first that is not
  void check(const std::string& owner) const;

  /// The values in force, by name.
  OptionMap values() const;

 private:
  using Commit = OptionField::Commit;

  void add(const std::string& name, const std::string& kind, const std::string& range, const std::string& doc,
           std::function<OptionValue()> get, std::function<Commit(const OptionValue&)> prepare);
  template <class Value, class Read>
  void add_number(const std::string& name, const std::string& kind, const std::string& range,
                  const std::string& doc, Value& value, const Read& read);
  void add_choice(const std::string& name, const std::vector<std::string>& words, const std::string& doc,
                  std::function<std::size_t()> get, std::function<void(std::size_t)> set);
  const OptionField* find(const std::string& name) const;
  const OptionField* method_of(const std::string& name) const;

  std::string m_prefix;
  std::vector<OptionField> m_fields;
};

/// The options of an algorithm as its constructor keeps them: checked as if each had been set by name, and
/// with a value for each that depends on others (by `resolve()`, where the struct has one).
/// \throws OptionError that names the algorithm and the option
template <class Options>
Options resolved(Options options) {
  OptionFields::of(options).check(Options::name);
  if constexpr (requires { options.resolve(); }) options.resolve();
  return options;
}

/// An option value as text: what --help and the printed configuration show.
std::string to_string(const OptionValue& value);

/// The one of `names` that `word` means: the same word, the same but for case and for '-', '_', blanks and
/// parentheses ("ILU(0)" is ilu0), or another word for the same algorithm (src/core/synonyms.cpp). Null where
/// there is none. `names` has to outlive the result.
const std::string* find_name(const std::string& word, const std::vector<std::string>& names);

/// Other words for the algorithm of this name, which `find_name` takes for it.
std::vector<std::string> synonyms_of(const std::string& name);

/// "; did you mean 'a', 'b' or 'c'?" with the names nearest to a word that is none of them, by kin or by
/// letters; empty where there are no names.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& names);

}  // namespace prekond
