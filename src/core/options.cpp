// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/options.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <type_traits>

namespace prekond {
namespace {

std::string real_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.12g", x);
  return text;
}

/// The number in `text`, all of it.
template <class Number>
bool parse(const std::string& text, Number& number) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (begin != end && *begin == '+' && text.find('-') != 1) ++begin;
  const auto [rest, error] = std::from_chars(begin, end, number);
  return error == std::errc() && rest == end && begin != end;
}

std::int64_t to_int(const OptionValue& value, const std::string& name) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return *i;
  if (const auto* x = std::get_if<double>(&value); x && std::floor(*x) == *x && std::abs(*x) < 9e18)
    return static_cast<std::int64_t>(*x);
  std::int64_t i = 0;
  if (const auto* s = std::get_if<std::string>(&value); s && parse(*s, i)) return i;
  throw OptionError("option '" + name + "' takes a whole number, not '" + to_string(value) + "'");
}

double to_real(const OptionValue& value, const std::string& name) {
  if (const auto* x = std::get_if<double>(&value)) return *x;
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
  double x = 0;
  if (const auto* s = std::get_if<std::string>(&value); s && parse(*s, x)) return x;
  throw OptionError("option '" + name + "' takes a number, not '" + to_string(value) + "'");
}

bool to_bool(const OptionValue& value, const std::string& name) {
  if (const auto* b = std::get_if<bool>(&value)) return *b;
  if (const auto* s = std::get_if<std::string>(&value)) {
    const std::vector<std::string> words = {"true", "on", "1", "false", "off", "0"};
    if (const auto* word = find_name(*s, words)) return word < &words[3];
  }
  throw OptionError("option '" + name + "' takes true or false, not '" + to_string(value) + "'");
}

std::string out_of_range(const std::string& name, const std::string& value, const std::string& range) {
  return "option '" + name + "' = " + value + " is out of its range " + range;
}

std::int64_t read_int(const OptionValue& value, const std::string& name, std::int64_t min, std::int64_t max,
                      const std::string& range) {
  const std::int64_t i = to_int(value, name);
  if (i < min || i > max) throw OptionError(out_of_range(name, std::to_string(i), range));
  return i;
}

double read_real(const OptionValue& value, const std::string& name, double min, double max,
                 const std::string& range) {
  const double x = to_real(value, name);
  if (!(x >= min && x <= max)) throw OptionError(out_of_range(name, real_text(x), range));
  return x;
}

std::string int_range(std::int64_t min, std::int64_t max) {
  return std::to_string(min) + " .. " + std::to_string(max);
}
std::int64_t at_most_int(std::int64_t max) {
  return std::min<std::int64_t>(max, std::numeric_limits<int>::max());
}

const char* const automatic = "auto";

template <class Number>
OptionValue value_of(const Number& number) {
  if constexpr (std::is_integral_v<Number> && !std::is_same_v<Number, bool>)
    return std::int64_t(number);
  else
    return number;
}
template <class Number>
OptionValue value_of(const std::optional<Number>& number) {
  return number ? value_of(*number) : OptionValue(std::string(automatic));
}

template <class Value>
constexpr bool is_optional = false;
template <class Number>
constexpr bool is_optional<std::optional<Number>> = true;

std::string joined(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

/// Does a word of the user's mean this one?
bool means(const std::string& given, const std::string& word) {
  return find_name(given, {word}) != nullptr;
}

/// The beginning of `name` up to its dot number `num_dots`, from 1; empty where it has no more dots than
/// that.
std::string_view up_to_dot(const std::string& name, std::ptrdiff_t num_dots) {
  for (std::size_t k = 0; k < name.size(); ++k)
    if (name[k] == '.' && --num_dots == 0) return std::string_view(name).substr(0, k);
  return {};
}

std::ptrdiff_t count_dots(const std::string& name) {
  return std::count(name.begin(), name.end(), '.');
}

/// The options, with the full names that `values` has for them.
OptionMap with_full_names(const OptionMap& options, const OptionMap& values) {
  std::vector<std::string> names;
  for (const auto& value : values) names.push_back(value.first);
  OptionMap result;
  for (const auto& [name, value] : options) {
    const std::string* full = find_name(name, names);
    result.emplace(full ? *full : name, value);
  }
  return result;
}

}  // namespace

std::string to_string(const OptionValue& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* i = std::get_if<std::int64_t>(&value)) return std::to_string(*i);
  if (const auto* x = std::get_if<double>(&value)) return real_text(*x);
  return std::get<std::string>(value);
}

void OptionFields::add(const std::string& name, const std::string& kind, const std::string& range,
                       const std::string& doc, std::function<OptionValue()> get,
                       std::function<Commit(const OptionValue&)> prepare) {
  m_fields.push_back({name, doc, kind, range, {}, std::move(get), std::move(prepare), {}, {}});
}

template <class Value, class Read>
void OptionFields::add_number(const std::string& name, const std::string& kind, const std::string& range,
                              const std::string& doc, Value& value, const Read& read) {
  add(
      name, kind, range, doc, [&value] { return value_of(value); },
      [&value, read](const OptionValue& v) -> Commit {
        if constexpr (is_optional<Value>) {
          if (means(to_string(v), automatic)) return [&value] { value.reset(); };
        }
        const auto number = read(v);
        return [&value, number] { value = number; };
      });
}

void OptionFields::operator()(const std::string& name, bool& value, const std::string& doc) {
  const std::string full = m_prefix + name;
  add_number(full, "bool", "", doc, value, [full](const OptionValue& v) { return to_bool(v, full); });
}

void OptionFields::operator()(const std::string& name, int& value, std::int64_t min, std::int64_t max,
                              const std::string& doc) {
  const std::string full = m_prefix + name, range = int_range(min, at_most_int(max));
  add_number(full, "int", range, doc, value, [=](const OptionValue& v) {
    return static_cast<int>(read_int(v, full, min, at_most_int(max), range));
  });
}

void OptionFields::operator()(const std::string& name, std::optional<int>& value, std::int64_t min,
                              std::int64_t max, const std::string& doc) {
  const std::string full = m_prefix + name, range = int_range(min, at_most_int(max));
  add_number(full, "int", range, doc, value, [=](const OptionValue& v) {
    return static_cast<int>(read_int(v, full, min, at_most_int(max), range));
  });
}

void OptionFields::operator()(const std::string& name, std::int64_t& value, std::int64_t min,
                              std::int64_t max, const std::string& doc) {
  const std::string full = m_prefix + name, range = int_range(min, max);
  add_number(full, "int", range, doc, value,
             [=](const OptionValue& v) { return read_int(v, full, min, max, range); });
}

void OptionFields::operator()(const std::string& name, double& value, double min, double max,
                              const std::string& doc) {
  const std::string full = m_prefix + name, range = real_text(min) + " .. " + real_text(max);
  add_number(full, "real", range, doc, value,
             [=](const OptionValue& v) { return read_real(v, full, min, max, range); });
}

void OptionFields::operator()(const std::string& name, std::optional<double>& value, double min, double max,
                              const std::string& doc) {
  const std::string full = m_prefix + name, range = real_text(min) + " .. " + real_text(max);
  add_number(full, "real", range, doc, value,
             [=](const OptionValue& v) { return read_real(v, full, min, max, range); });
}

void OptionFields::add_choice(const std::string& name, const std::vector<std::string>& words,
                              const std::string& doc, std::function<std::size_t()> get,
                              std::function<void(std::size_t)> set) {
  const std::string full = m_prefix + name;
  const std::string range = joined(words, " | ");
  add(
      full, "choice", range, doc,
      [words, get] {
        const std::size_t k = get();  // a struct may hold a value that is none of them
        return OptionValue(k < words.size() ? words[k] : std::string("a value without a name"));
      },
      [full, words, range, set](const OptionValue& v) -> Commit {
        const std::string* found = find_name(to_string(v), words);
        if (found == nullptr)
          throw OptionError("option '" + full + "' is one of " + range + ", not '" + to_string(v) + "'");
        const std::size_t k = static_cast<std::size_t>(found - words.data());
        return [set, k] { set(k); };
      });
}

void OptionFields::method(const std::string& name, MethodChoice& value, const MethodTable& table,
                          const std::string& doc) {
  const std::string full = m_prefix + name;
  const auto prepare = [&value, full, table](const std::string* chosen, const OptionMap& options) -> Commit {
    MethodChoice next = value;
    const std::string* known = chosen ? find_name(*chosen, table.names) : nullptr;
    if (known == nullptr) known = chosen;
    if (known != nullptr && *known != value.name) next = {*known, {}};
    for (const auto& [key, option] : options)  // in place of an earlier one, however it is written
      std::erase_if(next.options, [&key = key](const auto& earlier) { return means(key, earlier.first); });
    next.options.insert(options.begin(), options.end());
    try {
      next.options = with_full_names(next.options, table.values(next));
    } catch (const OptionError& error) {
      throw OptionError("option '" + full + "': " + error.what());
    }
    return [&value, next] { value = next; };
  };
  add(
      full, "method", joined(table.names, " | "), doc, [&value] { return OptionValue(value.name); },
      [prepare](const OptionValue& v) {
        const std::string chosen = to_string(v);
        return prepare(&chosen, {});
      });
  m_fields.back().prepare_method = prepare;
  m_fields.back().method_options = [&value, table] { return table.values(value); };
}

const OptionField* OptionFields::find(const std::string& name) const {
  std::vector<std::string> names;
  std::vector<const OptionField*> fields;
  const auto add_name = [&](const std::string& known, const OptionField& field) {
    names.push_back(known);
    fields.push_back(&field);
  };
  for (const auto& field : m_fields) add_name(field.name, field);
  for (const auto& field : m_fields)
    for (const auto& former : field.former_names) add_name(former, field);
  const std::string* found = find_name(name, names);
  return found == nullptr ? nullptr : fields[static_cast<std::size_t>(found - names.data())];
}

/// The field of the method that "smoother.max_steps" is an option of.
const OptionField* OptionFields::method_of(const std::string& name) const {
  for (const auto& field : m_fields)
    if (field.kind == "method" && means(std::string(up_to_dot(name, count_dots(field.name) + 1)), field.name))
      return &field;
  return nullptr;
}

bool OptionFields::knows(const std::string& name) const {
  return find(name) != nullptr || method_of(name) != nullptr;
}

void OptionFields::set(const OptionMap& values, const std::string& owner) const {
  struct Method {
    std::optional<std::string> name;
    OptionMap options;
  };
  std::map<const OptionField*, Method> methods;
  std::map<const OptionField*, std::string> names_given;
  std::vector<Commit> commits;
  const auto choose = [&](const OptionField* field, const std::string& name) {
    auto& chosen = methods[field].name;
    if (chosen && !means(name, *chosen))
      throw OptionError("option '" + field->name + "' is both '" + *chosen + "' and '" + name + "'");
    chosen = name;
  };
  for (const auto& [name, value] : values) {
    if (const OptionField* field = find(name)) {
      if (const auto [given, is_first] = names_given.emplace(field, name); !is_first)
        throw OptionError("options '" + given->second + "' and '" + name + "' are names of the option '" +
                          field->name + "'; give one of them");
      if (field->kind == "method")
        choose(field, to_string(value));
      else
        commits.push_back(field->prepare(value));
    } else if (const OptionField* of_method = method_of(name)) {
      const auto method = up_to_dot(name, count_dots(of_method->name) + 1);
      const std::string key = name.substr(method.size() + 1);
      if (means(key, "name"))
        choose(of_method, to_string(value));
      else
        methods[of_method].options[key] = value;
    } else {
      std::vector<std::string> names;
      for (const auto& known : m_fields) names.push_back(known.name);
      throw OptionError("'" + owner + "' has no option '" + name + "'" +
                        (m_fields.empty() ? "; it takes none" : did_you_mean(name, names)));
    }
  }
  for (const auto& [field, method] : methods)
    commits.push_back(field->prepare_method(method.name ? &*method.name : nullptr, method.options));
  for (const auto& commit : commits) commit();
}

void OptionFields::check(const std::string& owner) const {
  for (const auto& field : m_fields) {
    try {
      field.prepare(field.get());
    } catch (const OptionError& error) {
      throw OptionError(owner + ": " + error.what());
    }
  }
}

OptionMap OptionFields::values() const {
  OptionMap map;
  for (const auto& field : m_fields) {
    map[field.name] = field.get();
    if (field.kind != "method") continue;
    for (const auto& [key, value] : field.method_options()) map[field.name + "." + key] = value;
  }
  return map;
}

}  // namespace prekond
