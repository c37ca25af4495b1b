// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/precond/registry.hpp>

#include <cstdio>

#include "commands.hpp"
#include "kokkos_session.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

/// The description of an algorithm or a generator.
struct Entry {
  std::string name;
  std::string summary;
  std::vector<std::string> notes = {};  ///< the paper, the matrices it is for, other names
  std::string aliases = {};             ///< "aliases: ick (level=1), mic_robert (kind=mic_robert)"
  bool is_alias = false;                ///< of another entry
  std::vector<OptionField> fields;
  std::shared_ptr<void> keeper;  ///< the object that the fields refer to
};

struct Section {
  std::string kind;      ///< "preconditioners"
  std::string singular;  ///< "preconditioner"
  std::vector<Entry> entries;
};

/// "level=1, kind=ic"
std::string preset_text(const OptionMap& preset) {
  std::string text;
  for (const auto& [name, value] : preset) text += (text.empty() ? "" : ", ") + name + "=" + to_string(value);
  return text;
}

/// "gs, gauss_seidel"
std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

template <class Base>
std::vector<Entry> entries_of(const Registry<Base>& registry) {
  std::vector<Entry> entries;
  for (const auto& known : registry) {
    const std::shared_ptr<Configurator<Base>> configurator = known.configure()->resolved();
    Entry entry{.name = known.name,
                .summary = known.summary,
                .is_alias = !known.alias_of.empty(),
                .fields = configurator->fields().list(),
                .keeper = configurator};
    for (const auto& other : registry)
      if (other.alias_of == known.name)
        entry.aliases += (entry.aliases.empty() ? "aliases: " : ", ") + other.name + " (" +
                         preset_text(other.preset) + ")";
    if (!known.paper.empty()) entry.notes.push_back("paper: " + known.paper);
    if (entry.is_alias)
      entry.notes.push_back("an alias of " + known.alias_of + " with " + preset_text(known.preset));
    if (known.properties.needs_spd)
      entry.notes.emplace_back("for symmetric positive definite matrices");
    else if (known.properties.symmetry == Symmetry::nonsymmetric)
      entry.notes.emplace_back("for general matrices; it is not symmetric, which conjugate gradients need");
    if (!entry.aliases.empty()) entry.notes.push_back(entry.aliases);
    if (const auto words = synonyms_of(known.name); !words.empty())
      entry.notes.push_back("also called " + names_text(words));
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<Entry> generator_entries() {
  std::vector<Entry> entries;
  for (const auto& info : generator_list())
    entries.push_back({.name = info.name,
                       .summary = info.summary,
                       .notes = {"written " + info.name + ":SIZE[,key=value...]"},
                       .fields = info.options.list(),
                       .keeper = info.defaults});
  return entries;
}

std::vector<Section> sections() {
  return {{"preconditioners", "preconditioner", entries_of(preconditioner_registry<double, Space>())},
          {"solvers", "solver", entries_of(solver_registry<double, Space>())},
          {"generators", "generator", generator_entries()}};
}

void print_names(const Section& section, const std::string& margin) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& entry : section.entries)
    if (!entry.is_alias)
      rows.push_back(
          {margin + entry.name, entry.summary + (entry.aliases.empty() ? "" : "; " + entry.aliases)});
  print_table(rows);
}

void print_entry(const Entry& entry) {
  std::printf("%s: %s\n", entry.name.c_str(), entry.summary.c_str());
  for (const std::string& note : entry.notes) std::printf("%s\n", note.c_str());
  std::printf(entry.fields.empty() ? "no options\n" : "options, their defaults and ranges:\n");
  for (const auto& field : entry.fields) {
    const std::string range = field.kind == "bool" ? "true | false" : field.range;
    std::printf("  %s=%s  (%s)\n      %s\n", field.name.c_str(), to_string(field.get()).c_str(),
                range.c_str(), field.doc.c_str());
  }
}

/// The one of that name, found as by `find_name`. \throws OptionError that begins with `unknown` and names
/// the nearest
template <class Thing>
Thing find(const std::vector<Thing>& things, std::string Thing::*name, const std::string& wanted,
           const std::string& unknown) {
  std::vector<std::string> names;
  for (const auto& thing : things) names.push_back(thing.*name);
  if (const std::string* found = find_name(wanted, names))
    return things[static_cast<std::size_t>(found - names.data())];
  throw OptionError(unknown + " '" + wanted + "'" + did_you_mean(wanted, names) +
                    " ('prekond list' has them all)");
}

}  // namespace

void list_command(const CommandLine& line) {
  const auto all = sections();
  if (line.kind.empty()) {
    for (const auto& section : all) {
      std::printf("%s:\n", section.kind.c_str());
      print_names(section, "  ");
    }
    return;
  }
  const Section section =
      find(all, &Section::kind, line.kind, "'list' knows preconditioners, solvers and generators, not");
  if (line.name.empty())
    print_names(section, "");
  else
    print_entry(find(section.entries, &Entry::name, line.name, "there is no " + section.singular));
}

}  // namespace prekond::driver
