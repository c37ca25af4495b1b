// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/options.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

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
    if (*s == "true" || *s == "on" || *s == "1") return true;
    if (*s == "false" || *s == "off" || *s == "0") return false;
  }
  throw OptionError("option '" + name + "' takes true or false, not '" + to_string(value) + "'");
}

std::string out_of_range(const std::string& name, const std::string& value, const std::string& range) {
  return "option '" + name + "' = " + value + " is out of its range " + range;
}

template <class Int>
std::function<std::function<void()>(const OptionValue&)> prepare_int(std::string name, Int& target,
                                                                     std::int64_t min, std::int64_t max,
                                                                     std::string range) {
  return [=, &target](const OptionValue& value) -> std::function<void()> {
    const std::int64_t i = to_int(value, name);
    if (i < min || i > max) throw OptionError(out_of_range(name, std::to_string(i), range));
    return [&target, i] { target = static_cast<Int>(i); };
  };
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1] ? 1 : 0)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string to_string(const OptionValue& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* i = std::get_if<std::int64_t>(&value)) return std::to_string(*i);
  if (const auto* x = std::get_if<double>(&value)) return real_text(*x);
  return std::get<std::string>(value);
}

std::string nearest_word(const std::string& word, const std::vector<std::string>& words) {
  const auto best = std::min_element(words.begin(), words.end(), [&](const auto& a, const auto& b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
  return best == words.end() ? std::string() : *best;
}

void OptionFields::add(const std::string& name, const std::string& kind, const std::string& range,
                       const std::string& doc, std::function<OptionValue()> get,
                       std::function<std::function<void()>(const OptionValue&)> prepare) {
  m_fields.push_back({name, doc, kind, range, std::move(get), std::move(prepare)});
}

void OptionFields::operator()(const std::string& name, bool& value, const std::string& doc) {
  const std::string full = m_prefix + name;
  add(
      full, "bool", "", doc, [&value] { return OptionValue(value); },
      [&value, full](const OptionValue& v) -> std::function<void()> {
        const bool b = to_bool(v, full);
        return [&value, b] { value = b; };
      });
}

void OptionFields::operator()(const std::string& name, int& value, std::int64_t min, std::int64_t max,
                              const std::string& doc) {
  const std::string full = m_prefix + name;
  max = std::min<std::int64_t>(max, std::numeric_limits<int>::max());
  const std::string range = std::to_string(min) + " .. " + std::to_string(max);
  add(
      full, "int", range, doc, [&value] { return OptionValue(std::int64_t(value)); },
      prepare_int(full, value, min, max, range));
}

void OptionFields::operator()(const std::string& name, std::int64_t& value, std::int64_t min,
                              std::int64_t max, const std::string& doc) {
  const std::string full = m_prefix + name;
  const std::string range = std::to_string(min) + " .. " + std::to_string(max);
  add(
      full, "int", range, doc, [&value] { return OptionValue(value); },
      prepare_int(full, value, min, max, range));
}

void OptionFields::operator()(const std::string& name, double& value, double min, double max,
                              const std::string& doc) {
  const std::string full = m_prefix + name;
  const std::string range = real_text(min) + " .. " + real_text(max);
  add(
      full, "real", range, doc, [&value] { return OptionValue(value); },
      [&value, full, range, min, max](const OptionValue& v) -> std::function<void()> {
        const double x = to_real(v, full);
        if (!(x >= min && x <= max)) throw OptionError(out_of_range(full, real_text(x), range));
        return [&value, x] { value = x; };
      });
}

void OptionFields::add_choice(const std::string& name, const std::vector<std::string>& words,
                              const std::string& doc, std::function<std::size_t()> get,
                              std::function<void(std::size_t)> set) {
  const std::string full = m_prefix + name;
  std::string range;
  for (const auto& word : words) range += (range.empty() ? "" : " | ") + word;
  add(
      full, "choice", range, doc, [words, get] { return OptionValue(words[get()]); },
      [full, words, range, set](const OptionValue& v) -> std::function<void()> {
        const auto found = std::find(words.begin(), words.end(), to_string(v));
        if (found == words.end())
          throw OptionError("option '" + full + "' is one of " + range + ", not '" + to_string(v) + "'");
        const std::size_t k = static_cast<std::size_t>(found - words.begin());
        return [set, k] { set(k); };
      });
}

void OptionFields::set(const OptionMap& values, const std::string& owner) const {
  std::vector<std::function<void()>> presets, commits;
  for (const auto& [name, value] : values) {
    const auto field =
        std::find_if(m_fields.begin(), m_fields.end(), [&](const auto& f) { return f.name == name; });
    if (field == m_fields.end()) {
      std::vector<std::string> names;
      for (const auto& f : m_fields) names.push_back(f.name);
      const std::string nearest = nearest_word(name, names);
      throw OptionError("'" + owner + "' has no option '" + name + "'" +
                        (nearest.empty() ? "; it takes none" : "; did you mean '" + nearest + "'?"));
    }
    (field->is_preset ? presets : commits).push_back(field->prepare(value));
  }
  for (const auto& commit : presets) commit();
  for (const auto& commit : commits) commit();
}

OptionMap OptionFields::values() const {
  OptionMap map;
  for (const auto& field : m_fields) map[field.name] = field.get();
  return map;
}

}  // namespace prekond
