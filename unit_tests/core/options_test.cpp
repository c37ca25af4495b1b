// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/options.hpp>
#include <prekond/core/registry.hpp>
#include <prekond/krylov/solver.hpp>
#include <prekond/precond/registry.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

enum class Mode { fast, safe, both };

struct InnermostOptions {
  double shift = 0;
  template <class Visitor>
  void describe(Visitor& visit) {
    visit("shift", shift, -1.0, 1.0, "added to the diagonal");
  }
};

struct LocalOptions {
  int fill = 2;
  bool exact = true;
  InnermostOptions inner;
  template <class Visitor>
  void describe(Visitor& visit) {
    visit("fill", fill, 0, 9, "levels of fill");
    visit.nested("inner", inner);
    visit("exact", exact, "no approximation");
  }
};

struct ToyOptions {
  static constexpr const char* name = "toy";
  static constexpr const char* summary = "a toy";
  static constexpr const char* paper = "Toymaker 1901";

  int steps = 30;
  std::int64_t bytes = std::int64_t(1) << 33;
  double tolerance = 1e-3;
  bool flag = false;
  Mode mode = Mode::safe;
  LocalOptions local;

  Properties properties() const { return {.needs_spd = true, .symmetry = Symmetry::symmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("steps", steps, 0, std::int64_t(1) << 40, "steps of a row");
    visit("bytes", bytes, 1, std::int64_t(1) << 40, "budget");
    visit("tolerance", tolerance, 0.0, 1.0, "where it stops");
    visit("flag", flag, "a switch");
    visit("mode", mode, {{"fast", Mode::fast}, {"safe", Mode::safe}, {"both", Mode::both}}, "how it works");
    visit.nested("local", local);
  }
};

bool same(const ToyOptions& a, const ToyOptions& b) {
  return a.steps == b.steps && a.bytes == b.bytes && a.tolerance == b.tolerance && a.flag == b.flag &&
         a.mode == b.mode && a.local.fill == b.local.fill && a.local.exact == b.local.exact &&
         a.local.inner.shift == b.local.inner.shift;
}

void set(ToyOptions& options, const OptionMap& values) {
  OptionFields::of(options).set(values, "toy");
}

/// The message of the error that these values cause; they must leave all options as they were.
std::string refused(const OptionMap& values) {
  ToyOptions options;
  const std::string message = message_of<OptionError>([&] { set(options, values); });
  EXPECT_TRUE(same(options, ToyOptions())) << "a part was committed: " << message;
  return message;
}

TEST(OptionsTest, FieldsAreListedInTheOrderOfTheirDescription) {
  ToyOptions options;
  const OptionFields fields = OptionFields::of(options);
  std::vector<std::string> names, kinds, ranges;
  for (const OptionField& field : fields.list()) {
    names.push_back(field.name);
    kinds.push_back(field.kind);
    ranges.push_back(field.range);
    EXPECT_FALSE(field.doc.empty()) << field.name;
  }
  EXPECT_THAT(names, ElementsAre("steps", "bytes", "tolerance", "flag", "mode", "local.fill",
                                 "local.inner.shift", "local.exact"));
  EXPECT_THAT(kinds, ElementsAre("int", "int", "real", "bool", "choice", "int", "real", "bool"));
  EXPECT_THAT(ranges, ElementsAre("0 .. 2147483647", "1 .. 1099511627776", "0 .. 1", "", "fast | safe | both",
                                  "0 .. 9", "-1 .. 1", ""));
  EXPECT_EQ(fields.list()[0].doc, "steps of a row");
}

TEST(OptionsTest, ValuesAreThoseInForce) {
  ToyOptions options;
  const OptionFields fields = OptionFields::of(options);
  EXPECT_THAT(
      fields.values(),
      UnorderedElementsAre(
          Pair("steps", OptionValue(std::int64_t(30))), Pair("bytes", OptionValue(std::int64_t(1) << 33)),
          Pair("tolerance", OptionValue(1e-3)), Pair("flag", OptionValue(false)),
          Pair("mode", OptionValue(std::string("safe"))), Pair("local.fill", OptionValue(std::int64_t(2))),
          Pair("local.inner.shift", OptionValue(0.0)), Pair("local.exact", OptionValue(true))));
  options.steps = 7;
  options.mode = Mode::both;
  EXPECT_EQ(fields.values().at("steps"), OptionValue(std::int64_t(7)));
  EXPECT_EQ(fields.values().at("mode"), OptionValue(std::string("both")));
}

TEST(OptionsTest, SetsTypedValuesAndLeavesTheOthers) {
  ToyOptions options;
  set(options, {{"steps", std::int64_t(3)},
                {"tolerance", 0.25},
                {"flag", true},
                {"mode", std::string("both")},
                {"local.fill", std::int64_t(9)},
                {"local.inner.shift", -1.0}});
  ToyOptions expected;
  expected.steps = 3;
  expected.tolerance = 0.25;
  expected.flag = true;
  expected.mode = Mode::both;
  expected.local.fill = 9;
  expected.local.inner.shift = -1;
  EXPECT_TRUE(same(options, expected));
  set(options, {});
  EXPECT_TRUE(same(options, expected));
}

TEST(OptionsTest, TextBecomesTheFieldsType) {
  const auto text = [](const char* value) { return OptionValue(std::string(value)); };
  ToyOptions options;
  set(options, {{"steps", text("12")}, {"bytes", text("+1099511627776")}, {"tolerance", text("2.5e-1")}});
  EXPECT_EQ(options.steps, 12);
  EXPECT_EQ(options.bytes, std::int64_t(1) << 40);
  EXPECT_EQ(options.tolerance, 0.25);
  set(options, {{"tolerance", text("1")}, {"local.inner.shift", text("-.5")}, {"local.fill", text("0")}});
  EXPECT_EQ(options.tolerance, 1);
  EXPECT_EQ(options.local.inner.shift, -0.5);
  EXPECT_EQ(options.local.fill, 0);
  for (const char* yes : {"true", "on", "1"}) {
    options.flag = false;
    set(options, {{"flag", text(yes)}});
    EXPECT_TRUE(options.flag) << yes;
  }
  for (const char* no : {"false", "off", "0"}) {
    options.flag = true;
    set(options, {{"flag", text(no)}});
    EXPECT_FALSE(options.flag) << no;
  }
}

TEST(OptionsTest, NumbersOfTheOtherKindAreTakenWhereNothingIsLost) {
  ToyOptions options;
  set(options, {{"steps", 4.0}, {"tolerance", std::int64_t(1)}});
  EXPECT_EQ(options.steps, 4);
  EXPECT_EQ(options.tolerance, 1);
}

TEST(OptionsTest, AnUnknownNameIsRefusedAndTheNearestNamed) {
  EXPECT_EQ(refused({{"step", std::int64_t(1)}}), "'toy' has no option 'step'; did you mean 'steps'?");
  EXPECT_EQ(refused({{"tolerence", 0.5}}), "'toy' has no option 'tolerence'; did you mean 'tolerance'?");
  EXPECT_EQ(refused({{"local.fil", std::int64_t(1)}}),
            "'toy' has no option 'local.fil'; did you mean 'local.fill'?");
  EXPECT_EQ(refused({{"inner.shift", 0.5}}),
            "'toy' has no option 'inner.shift'; did you mean 'local.inner.shift'?");
  EXPECT_THAT(refused({{"fill", std::int64_t(1)}}), HasSubstr("has no option 'fill'"));
  EXPECT_THAT(refused({{"", true}}), HasSubstr("has no option ''"));
  EXPECT_EQ(refused({{"local", std::int64_t(1)}}),
            "'toy' has no option 'local'; did you mean 'local.fill', 'local.inner.shift' or 'local.exact'?")
      << "all members of a group";
  EXPECT_EQ(refused({{"lokal", std::int64_t(1)}}),
            "'toy' has no option 'lokal'; did you mean 'local.fill', 'local.inner.shift' or 'local.exact'?");
}

TEST(OptionsTest, NamesAndWordsAreTakenWithoutRegardToCase) {
  ToyOptions options;
  set(options, {{"Steps", std::int64_t(1)},
                {"LOCAL.Inner.SHIFT", 0.5},
                {"mode", std::string("FAST")},
                {"Flag", std::string("True")}});
  EXPECT_EQ(options.steps, 1);
  EXPECT_EQ(options.mode, Mode::fast);
  EXPECT_TRUE(options.flag);
  EXPECT_EQ(options.local.inner.shift, 0.5);
  EXPECT_EQ(refused({{"steps", std::int64_t(1)}, {"STEPS", std::int64_t(2)}}),
            "options 'STEPS' and 'steps' are names of the option 'steps'; give one of them");
}

struct RenamedOptions {
  int budget = 3;
  LocalOptions local;
  template <class Visitor>
  void describe(Visitor& visit) {
    visit("budget", budget, 0, 9, "a number");
    visit.formerly("bytes");
    visit.formerly("memory");
    visit.nested("local", local);
  }
};

TEST(OptionsTest, AFormerNameSetsTheOptionAndIsNotListed) {
  RenamedOptions options;
  const auto fields = OptionFields::of(options);
  fields.set({{"memory", std::int64_t(5)}}, "toy");
  EXPECT_EQ(options.budget, 5);
  EXPECT_TRUE(fields.knows("bytes"));
  EXPECT_EQ(fields.values().count("memory"), 0u);
  EXPECT_EQ(fields.values().at("budget"), OptionValue(std::int64_t(5)));
  EXPECT_THAT(message_of<OptionError>([&] {
                fields.set({{"bytes", std::int64_t(10)}}, "toy");
              }),
              HasSubstr("'budget' = 10 is out of its range"));
  EXPECT_EQ(message_of<OptionError>([&] {
              fields.set({{"budget", std::int64_t(1)}, {"memory", std::int64_t(2)}}, "toy");
            }),
            "options 'budget' and 'memory' are names of the option 'budget'; give one of them");
  EXPECT_EQ(options.budget, 5);
}

TEST(OptionsTest, AWrongTypeIsRefused) {
  const auto text = [](const char* value) { return OptionValue(std::string(value)); };
  const std::vector<std::pair<OptionMap, std::string>> cases = {
      {{{"steps", true}}, "option 'steps' takes a whole number, not 'true'"},
      {{{"steps", 1.5}}, "option 'steps' takes a whole number, not '1.5'"},
      {{{"steps", 1e300}}, "option 'steps' takes a whole number, not '1e+300'"},
      {{{"steps", std::nan("")}}, "option 'steps' takes a whole number, not 'nan'"},
      {{{"steps", text("many")}}, "option 'steps' takes a whole number, not 'many'"},
      {{{"steps", text("12x")}}, "option 'steps' takes a whole number, not '12x'"},
      {{{"steps", text("")}}, "option 'steps' takes a whole number, not ''"},
      {{{"steps", text("+")}}, "option 'steps' takes a whole number, not '+'"},
      {{{"steps", text("+-5")}}, "option 'steps' takes a whole number, not '+-5'"},
      {{{"steps", text(" 5")}}, "option 'steps' takes a whole number, not ' 5'"},
      {{{"steps", text("99999999999999999999")}},
       "option 'steps' takes a whole number, not '99999999999999999999'"},
      {{{"tolerance", false}}, "option 'tolerance' takes a number, not 'false'"},
      {{{"tolerance", text("small")}}, "option 'tolerance' takes a number, not 'small'"},
      {{{"tolerance", text("0.5 ")}}, "option 'tolerance' takes a number, not '0.5 '"},
      {{{"flag", std::int64_t(1)}}, "option 'flag' takes true or false, not '1'"},
      {{{"flag", 0.0}}, "option 'flag' takes true or false, not '0'"},
      {{{"flag", text("yes")}}, "option 'flag' takes true or false, not 'yes'"},
      {{{"mode", std::int64_t(0)}}, "option 'mode' is one of fast | safe | both, not '0'"},
      {{{"mode", text("faster")}}, "option 'mode' is one of fast | safe | both, not 'faster'"},
      {{{"mode", text("")}}, "option 'mode' is one of fast | safe | both, not ''"},
      {{{"local.exact", text("maybe")}}, "option 'local.exact' takes true or false, not 'maybe'"},
  };
  for (const auto& [values, message] : cases) EXPECT_EQ(refused(values), message);
}

TEST(OptionsTest, RangesIncludeTheirEnds) {
  ToyOptions options;
  set(options, {{"steps", std::int64_t(0)}, {"bytes", std::int64_t(1)}, {"tolerance", 0.0}});
  EXPECT_EQ(options.steps, 0);
  EXPECT_EQ(options.bytes, 1);
  EXPECT_EQ(options.tolerance, 0);
  set(options, {{"steps", std::int64_t(2147483647)}, {"bytes", std::int64_t(1) << 40}, {"tolerance", 1.0}});
  EXPECT_EQ(options.steps, 2147483647);
  EXPECT_EQ(options.bytes, std::int64_t(1) << 40);
  EXPECT_EQ(options.tolerance, 1);
  EXPECT_EQ(refused({{"steps", std::int64_t(-1)}}),
            "option 'steps' = -1 is out of its range 0 .. 2147483647");
  EXPECT_EQ(refused({{"steps", std::int64_t(2147483648)}}),
            "option 'steps' = 2147483648 is out of its range 0 .. 2147483647");
  EXPECT_EQ(refused({{"bytes", std::string("0")}}),
            "option 'bytes' = 0 is out of its range 1 .. 1099511627776");
  EXPECT_EQ(refused({{"tolerance", 1.5}}), "option 'tolerance' = 1.5 is out of its range 0 .. 1");
  EXPECT_EQ(refused({{"local.inner.shift", -1.01}}),
            "option 'local.inner.shift' = -1.01 is out of its range -1 .. 1");
  for (const char* text : {"nan", "inf", "-inf"})
    EXPECT_THAT(refused({{"tolerance", std::string(text)}}), HasSubstr("option 'tolerance'"));
  EXPECT_THAT(refused({{"tolerance", std::nan("")}}), HasSubstr("out of its range"));
}

TEST(OptionsTest, NothingIsCommittedUnlessAllIsValid) {
  // The map hands the names over in alphabetical order: the valid ones come before, after and on both sides.
  refused({{"bytes", std::int64_t(5)}, {"flag", true}, {"tolerance", 2.0}});
  refused({{"bytes", std::int64_t(0)}, {"flag", true}, {"tolerance", 0.5}});
  refused({{"bytes", std::int64_t(5)}, {"mode", std::string("slow")}, {"tolerance", 0.5}});
  refused({{"flag", true}, {"local.fill", std::int64_t(3)}, {"nothing", true}, {"steps", std::int64_t(3)}});
}

/// Steps and a tolerance whose defaults depend on the mode.
struct DependentOptions {
  static constexpr const char* name = "dependent";
  Mode mode = Mode::safe;
  std::optional<int> steps = std::nullopt;
  std::optional<double> tolerance = std::nullopt;
  int again = 1;

  void resolve() {
    if (mode == Mode::both && again == 0) throw OptionError("dependent: both, but not again");
    if (!steps) steps = mode == Mode::fast ? 5 : 50;
    if (!tolerance) tolerance = steps < 10 ? 0.5 : 0.1;
  }
  template <class Visitor>
  void describe(Visitor& visit) {
    visit("again", again, 0, 9, "times");
    visit("mode", mode, {{"fast", Mode::fast}, {"safe", Mode::safe}, {"both", Mode::both}}, "how it works");
    visit("steps", steps, 0, 100, "steps of a row");
    visit("tolerance", tolerance, 0.0, 1.0, "where it stops");
  }
};

TEST(OptionsTest, WhatIsUnsetDependsOnTheOthersHoweverTheyAreSet) {
  const OptionValue automatic = std::string("auto");
  DependentOptions options;
  const OptionFields fields = OptionFields::of(options);
  EXPECT_EQ(fields.values().at("steps"), automatic);
  EXPECT_EQ(fields.values().at("tolerance"), automatic);
  EXPECT_EQ(*resolved(options).steps, 50);
  EXPECT_EQ(*resolved(options).tolerance, 0.1);
  EXPECT_FALSE(options.steps || options.tolerance) << "resolving is the constructor's, on its copy";

  // By name and in the struct, in one call and in several, in any order.
  fields.set({{"mode", std::string("fast")}}, "dependent");
  EXPECT_EQ(*resolved(options).steps, 5);
  EXPECT_EQ(*resolved(options).tolerance, 0.5);
  EXPECT_EQ(*resolved(DependentOptions{.mode = Mode::fast}).steps, 5);
  fields.set({{"steps", std::int64_t(20)}}, "dependent");
  EXPECT_EQ(*resolved(options).steps, 20);
  EXPECT_EQ(*resolved(options).tolerance, 0.1);
  fields.set({{"mode", std::string("safe")}}, "dependent");
  fields.set({{"mode", std::string("fast")}}, "dependent");
  EXPECT_EQ(*resolved(options).steps, 20) << "what was set stays";
  fields.set({{"steps", std::string("auto")}, {"tolerance", std::string("0.25")}}, "dependent");
  EXPECT_EQ(*resolved(options).steps, 5);
  EXPECT_EQ(*resolved(options).tolerance, 0.25);
  const DependentOptions once = resolved(options), twice = resolved(once);
  EXPECT_TRUE(once.steps == twice.steps && once.tolerance == twice.tolerance);

  EXPECT_EQ(message_of<OptionError>([&] {
              fields.set({{"steps", std::int64_t(101)}}, "dependent");
            }),
            "option 'steps' = 101 is out of its range 0 .. 100");
  EXPECT_THAT(message_of<OptionError>([&] {
                fields.set({{"steps", std::string("automatic")}}, "dependent");
              }),
              HasSubstr("takes a whole number"));
}

TEST(OptionsTest, AStructIsCheckedAsIfItWereSetByName) {
  const auto message = [](const DependentOptions& options) {
    return message_of<OptionError>([&] { (void)resolved(options); });
  };
  EXPECT_EQ(message({.steps = -1}), "dependent: option 'steps' = -1 is out of its range 0 .. 100");
  EXPECT_EQ(message({.tolerance = 1.5}), "dependent: option 'tolerance' = 1.5 is out of its range 0 .. 1");
  EXPECT_THAT(message({.tolerance = std::nan("")}), HasSubstr("'tolerance'"));
  EXPECT_EQ(message({.again = 10}), "dependent: option 'again' = 10 is out of its range 0 .. 9");
  EXPECT_THAT(message({.mode = static_cast<Mode>(7)}), HasSubstr("'mode' is one of fast | safe | both"));
  EXPECT_EQ(message({.mode = Mode::both, .again = 0}), "dependent: both, but not again");
  ToyOptions toy;
  toy.local.inner.shift = 2;
  EXPECT_EQ(message_of<OptionError>([&] { (void)resolved(toy); }),
            "toy: option 'local.inner.shift' = 2 is out of its range -1 .. 1");
}

TEST(OptionsTest, ValuesAsText) {
  EXPECT_EQ(to_string(OptionValue(true)), "true");
  EXPECT_EQ(to_string(OptionValue(false)), "false");
  EXPECT_EQ(to_string(OptionValue(std::int64_t(-7))), "-7");
  EXPECT_EQ(to_string(OptionValue(0.1)), "0.1");
  EXPECT_EQ(to_string(OptionValue(1e-30)), "1e-30");
  EXPECT_EQ(to_string(OptionValue(std::string("word"))), "word");
}

/// The name that a word means; empty where it is none.
std::string meant(const std::string& word, const std::vector<std::string>& names) {
  const std::string* found = find_name(word, names);
  return found ? *found : "";
}

TEST(NamesTest, AreFoundWithoutRegardToCaseAndToWhatStandsBetweenTheirParts) {
  const std::vector<std::string> names = {"jacobi", "ilu0", "adaptive_fsai", "JACOBI"};
  EXPECT_EQ(meant("jacobi", names), "jacobi");
  EXPECT_EQ(meant("JACOBI", names), "JACOBI") << "the same word comes first";
  EXPECT_EQ(meant("Jacobi", names), "jacobi");
  for (const char* word : {"ILU0", "ILU(0)", "ilu-0", "Ilu_0"}) EXPECT_EQ(meant(word, names), "ilu0") << word;
  for (const char* word : {"adaptive-fsai", "AdaptiveFSAI", "adaptive fsai"})
    EXPECT_EQ(meant(word, names), "adaptive_fsai") << word;
  for (const char* word : {"", "jacob", "ilu00", "adaptive.fsai"}) EXPECT_EQ(meant(word, names), "") << word;
  EXPECT_EQ(find_name("anything", {}), nullptr);
}

TEST(NamesTest, OtherWordsForTheSameAlgorithm) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  const auto names = registered_names(preconditioner_registry<double, Space>());
  for (const auto& [word, name] :
       std::vector<std::pair<std::string, std::string>>{{"multigrid", "amg"},
                                                        {"SA-AMG", "amg"},
                                                        {"gs", "multicolor_gs"},
                                                        {"Gauss-Seidel", "multicolor_gs"},
                                                        {"ssor", "multicolor_ssor"},
                                                        {"ilu", "ilu0"},
                                                        {"icc", "ic0"},
                                                        {"ICHOL", "ic0"},
                                                        {"bjacobi", "block_jacobi"},
                                                        {"asm", "schwarz"},
                                                        {"diagonal", "jacobi"},
                                                        {"identity", "none"}})
    EXPECT_EQ(meant(word, names), name) << word;
  const auto solvers = registered_names(solver_registry<double, Space>());
  EXPECT_EQ(meant("PCG", solvers), "cg");
  EXPECT_EQ(meant("bcgs", solvers), "bicgstab");
  EXPECT_EQ(meant("IDR(s)", solvers), "idr");
  EXPECT_EQ(meant("multigrid", {"jacobi"}), "") << "a name that is not there";
  EXPECT_THAT(synonyms_of("amg"), ::testing::Contains("multigrid"));
  EXPECT_TRUE(synonyms_of("multigrid").empty());
  EXPECT_EQ((create_preconditioner<double, Space>("Multigrid")->name()), "amg");
}

TEST(NamesTest, NoWordMeansTwoMethods) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  for (const auto& names : {registered_names(preconditioner_registry<double, Space>()),
                            registered_names(solver_registry<double, Space>())})
    for (const auto& name : names) {
      EXPECT_EQ(meant(name, names), name);
      for (const auto& word : synonyms_of(name)) EXPECT_EQ(meant(word, names), name) << word;
    }
}

TEST(NamesTest, AHintNamesTheNearest) {
  const std::vector<std::string> names = {"jacobi", "ilu0", "iluk", "ilut", "adaptive_fsai", "none"};
  EXPECT_EQ(did_you_mean("jakobi", names), "; did you mean 'jacobi'?");
  EXPECT_EQ(did_you_mean("ilux", names), "; did you mean 'ilu0', 'iluk' or 'ilut'?");
  EXPECT_EQ(did_you_mean("lu0", names), "; did you mean 'ilu0'?");
  EXPECT_EQ(did_you_mean("ilu", names), "; did you mean 'ilu0'?") << "another word for it";
  EXPECT_EQ(did_you_mean("FSAI", names), "; did you mean 'adaptive_fsai'?") << "a part of it";
  EXPECT_EQ(did_you_mean("none", {"none", "some"}), "; did you mean 'some'?") << "never the same word";
  EXPECT_EQ(did_you_mean("nine", {"none", "none", "nile"}), "; did you mean 'none' or 'nile'?");
  EXPECT_EQ(did_you_mean("superlu", names), "; did you mean 'ilut'?") << "kin";
  EXPECT_EQ(did_you_mean("solve", {"storage", "solve.method", "solve.sweeps", "solve.a", "solve.b"}),
            "; did you mean 'solve.method', 'solve.sweeps', 'solve.a' or 'solve.b'?");
  EXPECT_EQ(did_you_mean("anything", {}), "");
}

TEST(NamesTest, WordsOfPackagesAndOfMissingAlgorithmsHaveAHint) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  const auto names = registered_names(preconditioner_registry<double, Space>());
  for (const char* word : {"BoomerAMG", "gamg", "MueLu"})
    EXPECT_EQ(did_you_mean(word, names), "; did you mean 'amg'?") << word;
  EXPECT_EQ(did_you_mean("schur", names), "; did you mean 'schwarz'?");
  EXPECT_EQ(did_you_mean("SOR", names), "; did you mean 'multicolor_gs' or 'multicolor_ssor'?");
  EXPECT_EQ(did_you_mean("cholesky", names), "; did you mean 'ic0' or 'ict'?");
  const auto solvers = registered_names(solver_registry<double, Space>());
  EXPECT_EQ(did_you_mean("minres", solvers), "; did you mean 'cg' or 'gmres'?");
  EXPECT_EQ(did_you_mean("bicg", solvers), "; did you mean 'bicgstab' or 'idr'?");
}

/// The base of the classes that the toy registry builds.
struct Base {
  virtual ~Base() = default;
  virtual std::string text() const = 0;
};
struct Toy : Base {
  using options_type = ToyOptions;
  explicit Toy(const ToyOptions& o) : options(o) {}
  std::string text() const override { return "toy " + std::to_string(options.steps); }
  ToyOptions options;
};
struct PlainOptions {
  static constexpr const char* name = "plain";
  static constexpr const char* summary = "takes no options";
  static constexpr const char* paper = "";
  Properties properties() const { return {.symmetry = Symmetry::nonsymmetric}; }
  template <class Visitor>
  void describe(Visitor&) {}
};
struct Plain : Base {
  using options_type = PlainOptions;
  explicit Plain(const PlainOptions&) {}
  std::string text() const override { return "plain"; }
};

Registry<Base> toy_registry() {
  return {registry_entry<Base, Toy>(), registry_entry<Base, Plain>()};
}

TEST(RegistryTest, AnEntrySaysWhatItsOptionStructSays) {
  const Registry<Base> registry = toy_registry();
  EXPECT_EQ(registry[0].name, "toy");
  EXPECT_EQ(registry[0].summary, "a toy");
  EXPECT_EQ(registry[0].paper, "Toymaker 1901");
  EXPECT_TRUE(registry[0].properties.needs_spd);
  EXPECT_FALSE(registry[1].properties.needs_spd);
  EXPECT_EQ(registry[0].properties.symmetry, Symmetry::symmetric);
  EXPECT_EQ(registry[1].properties.symmetry, Symmetry::nonsymmetric);
  EXPECT_EQ(registry[1].configure()->properties().symmetry, Symmetry::nonsymmetric);
  EXPECT_EQ(&find_registered(registry, "plain", "toy"), &registry[1]);
}

TEST(RegistryTest, CreatesByNameWithOptions) {
  const Registry<Base> registry = toy_registry();
  EXPECT_EQ(create(registry, "toy", "toy", {{"steps", std::string("5")}})->text(), "toy 5");
  EXPECT_EQ(create(registry, "toy", "toy", {})->text(), "toy 30") << "options of one object reached the next";
  EXPECT_EQ(create(registry, "toy", "plain", {})->text(), "plain");
}

TEST(RegistryTest, ConfigureSetBuildKeepsWhatWasSet) {
  const Registry<Base> registry = toy_registry();
  const auto configurator = registry[0].configure();
  configurator->fields().set({{"steps", std::int64_t(6)}}, "toy");
  EXPECT_EQ(configurator->fields().values().at("steps"), OptionValue(std::int64_t(6)));
  EXPECT_EQ(configurator->build()->text(), "toy 6");
  EXPECT_EQ(registry[0].configure()->build()->text(), "toy 30");
}

TEST(RegistryTest, ErrorsNameTheNearestAndAll) {
  const Registry<Base> registry = toy_registry();
  const auto refuse = [&](const std::string& name, const OptionMap& options) {
    return message_of<OptionError>([&] { create(registry, "gadget", name, options); });
  };
  EXPECT_EQ(refuse("plane", {}), "there is no gadget 'plane'; did you mean 'plain'? (toy, plain)");
  EXPECT_EQ(refuse("toys", {}), "there is no gadget 'toys'; did you mean 'toy'? (toy, plain)");
  EXPECT_EQ(refuse("toy", {{"stepz", true}}), "'toy' has no option 'stepz'; did you mean 'steps'?");
  EXPECT_EQ(refuse("plain", {{"steps", true}}), "'plain' has no option 'steps'; it takes none");
  EXPECT_THAT(refuse("toy", {{"tolerance", 7.0}}), HasSubstr("out of its range 0 .. 1"));
  EXPECT_THAT(message_of<OptionError>([] { create(Registry<Base>(), "gadget", "toy", {}); }),
              HasSubstr("no gadget 'toy'"));
}

TEST(RegistryTest, AnAliasPresetsOptions) {
  Registry<Base> registry = toy_registry();
  registry.push_back(registry_alias<Base, Toy>("long_toy", "a toy of many steps", {{"steps", 90}}));
  const RegistryEntry<Base> alias = find_registered(registry, "long_toy", "toy");
  EXPECT_EQ(alias.alias_of, "toy");
  EXPECT_EQ(alias.summary, "a toy of many steps");
  EXPECT_EQ(alias.paper, "Toymaker 1901");
  EXPECT_TRUE(registry[0].alias_of.empty());
  EXPECT_EQ(create(registry, "toy", "long_toy", {})->text(), "toy 90");
  EXPECT_EQ(create(registry, "toy", "long_toy", {{"steps", 5}})->text(), "toy 5") << "a preset is a default";
  EXPECT_EQ(create(registry, "toy", "toy", {})->text(), "toy 30") << "the main name keeps its defaults";
  EXPECT_EQ(message_of<OptionError>([&] {
              create(registry, "toy", "long_toy", {{"stepz", 5}});
            }),
            "'long_toy' has no option 'stepz'; did you mean 'steps'?");
  EXPECT_EQ(method_table(registry, "toy").names, (std::vector<std::string>{"toy", "plain", "long_toy"}));
  EXPECT_EQ(message_of<OptionError>([] {
              registry_alias<Base, Toy>("bad", "", {{"stepz", 5}});
            }),
            "'bad' has no option 'stepz'; did you mean 'steps'?");
}

/// A method that has a toy in it, and another toy.
struct OuterOptions {
  static constexpr const char* name = "outer";
  static constexpr const char* summary = "has a method";
  static constexpr const char* paper = "";
  MethodChoice smoother = {"toy", {}};
  int sweeps = 1;
  Properties properties() const { return {}; }
  template <class Visitor>
  void describe(Visitor& visit) {
    visit.method("smoother", smoother, method_table(toy_registry(), "gadget"), "what smooths");
    visit("sweeps", sweeps, 1, 9, "how often");
  }
};
struct Outer : Base {
  using options_type = OuterOptions;
  explicit Outer(const OuterOptions& o) : options(resolved(o)) {}
  std::string text() const override {
    return create(toy_registry(), "gadget", options.smoother.name, options.smoother.options)->text();
  }
  OuterOptions options;
};

TEST(MethodOptionTest, TheMethodIsChosenFirstAndThenItsOptions) {
  const Registry<Base> registry = {registry_entry<Base, Outer>()};
  const auto made = [&](const OptionMap& options) {
    return create(registry, "thing", "outer", options)->text();
  };
  EXPECT_EQ(made({}), "toy 30");
  EXPECT_EQ(made({{"smoother.steps", std::string("4")}}), "toy 4");
  EXPECT_EQ(made({{"smoother", std::string("plain")}}), "plain");
  EXPECT_EQ(made({{"smoother.name", std::string("plain")}}), "plain") << "as a sublist says it";
  EXPECT_EQ(made({{"smoother", std::string("toy")}, {"smoother.steps", std::int64_t(7)}, {"sweeps", 2.0}}),
            "toy 7");
}

TEST(MethodOptionTest, ValuesInForceAreThoseOfTheMethodToo) {
  OuterOptions options;
  const OptionFields fields = OptionFields::of(options);
  EXPECT_EQ(fields.list()[0].kind, "method");
  EXPECT_EQ(fields.list()[0].range, "toy | plain");
  EXPECT_EQ(fields.values().at("smoother.local.fill"), OptionValue(std::int64_t(2)));
  fields.set({{"smoother.local.fill", std::int64_t(3)}}, "outer");
  fields.set({{"smoother.steps", std::int64_t(8)}}, "outer");
  EXPECT_EQ(fields.values().at("smoother.local.fill"), OptionValue(std::int64_t(3))) << "what was set stays";
  fields.set({{"smoother", std::string("toy")}}, "outer");
  EXPECT_EQ(fields.values().at("smoother.steps"), OptionValue(std::int64_t(8))) << "the same method";
  fields.set({{"smoother", std::string("plain")}}, "outer");
  EXPECT_THAT(fields.values(), UnorderedElementsAre(Pair("smoother", OptionValue(std::string("plain"))),
                                                    Pair("sweeps", OptionValue(std::int64_t(1)))));
  fields.set({{"smoother", std::string("toy")}}, "outer");
  EXPECT_EQ(fields.values().at("smoother.steps"), OptionValue(std::int64_t(30)))
      << "another method's options are dropped";
  EXPECT_TRUE(fields.knows("smoother.anything") && fields.knows("sweeps") && !fields.knows("smooth"));
  const OptionMap before = fields.values();
  fields.set(before, "outer");
  EXPECT_EQ(fields.values(), before);
}

TEST(MethodOptionTest, NamesOfMethodsAndOfTheirOptionsBecomeTheMainOnes) {
  OuterOptions options;
  const OptionFields fields = OptionFields::of(options);
  fields.set({{"Smoother", std::string("PLAIN")}}, "outer");
  EXPECT_EQ(options.smoother.name, "plain");
  fields.set({{"SMOOTHER.Name", std::string("Toy")}, {"Smoother.Steps", std::int64_t(8)}}, "outer");
  EXPECT_EQ(options.smoother.name, "toy");
  EXPECT_THAT(options.smoother.options, UnorderedElementsAre(Pair("steps", OptionValue(std::int64_t(8)))));
  fields.set({{"smoother", std::string("TOY")}}, "outer");
  EXPECT_EQ(options.smoother.options.size(), 1u) << "the same method";
}

/// Two options of which only one may be set.
struct ExclusiveOptions {
  static constexpr const char* name = "exclusive";
  static constexpr const char* summary = "refuses what does not go together";
  static constexpr const char* paper = "";
  Mode mode = Mode::fast;
  int of_fast = 0;
  int any = 0;
  void resolve() const {
    if (mode != Mode::fast && of_fast != 0) throw OptionError("of_fast is for mode = fast; leave it out");
  }
  Properties properties() const { return {}; }
  template <class Visitor>
  void describe(Visitor& visit) {
    visit("mode", mode, {{"fast", Mode::fast}, {"safe", Mode::safe}, {"both", Mode::both}}, "which");
    visit("of_fast", of_fast, 0, 9, "for fast only");
    visit("any", any, 0, 9, "for all");
  }
};
struct Exclusive : Base {
  using options_type = ExclusiveOptions;
  explicit Exclusive(const ExclusiveOptions& o) : options(resolved(o)) {}
  std::string text() const override {
    return std::to_string(options.of_fast) + " " + std::to_string(options.any);
  }
  ExclusiveOptions options;
};

TEST(MethodOptionTest, DefaultsOfTheNestingMethodGiveWayToWhatIsSet) {
  const Registry<Base> registry = {registry_entry<Base, Exclusive>()};
  MethodChoice choice = {"exclusive", {}, {{"of_fast", std::int64_t(7)}, {"any", std::int64_t(2)}}};
  const auto text = [&] { return configured(registry, choice, "gadget")->build()->text(); };
  EXPECT_EQ(text(), "7 2");
  choice.options = {{"any", std::int64_t(5)}};
  EXPECT_EQ(text(), "7 5");
  choice.options = {{"mode", std::string("safe")}};
  EXPECT_EQ(text(), "0 2") << "of_fast was not given, so that it is left out";
  const auto fields = [&] { return method_table(registry, "gadget").values(choice); };
  EXPECT_EQ(fields().at("of_fast"), OptionValue(std::int64_t(0)));
  choice.options["of_fast"] = std::int64_t(7);
  EXPECT_EQ(message_of<OptionError>(fields), "of_fast is for mode = fast; leave it out") << "it was given";
}

/// The message with which the options are refused; empty where they are not.
template <class Entry>
std::string refusal(const Entry& entry, const OptionMap& options) {
  try {
    const auto configurator = entry.configure();
    configurator->fields().set(options, entry.name);
    (void)configurator->resolved();
  } catch (const OptionError& error) {
    return error.what();
  }
  return "";
}

/// The values of a choice or a flag.
std::vector<std::string> words_of(const OptionField& field) {
  if (field.kind == "bool") return {"true", "false"};
  std::vector<std::string> words;
  std::istringstream range(field.kind == "choice" ? field.range : "");
  for (std::string word; range >> word;)
    if (word != "|") words.push_back(word);
  return words;
}

TEST(MethodOptionTest, EachChoiceOfANestedMethodGoesWithTheDefaultsOfTheNestingOne) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  const auto& registry = preconditioner_registry<double, Space>();
  int pairs = 0;
  for (const auto& outer : registry) {
    const auto configurator = outer.configure();
    for (const auto& nested : configurator->fields().list()) {
      if (nested.kind != "method") continue;
      const auto inner = std::find_if(registry.begin(), registry.end(), [&](const auto& entry) {
        return entry.name == to_string(nested.get());
      });
      if (inner == registry.end()) continue;  // the dense inverse, which has no defaults of the outer method
      for (const auto& option : inner->configure()->fields().list())
        for (const std::string& word : words_of(option)) {
          ++pairs;
          const std::string alone = refusal(*inner, {{option.name, word}});
          const std::string within = refusal(outer, {{nested.name + "." + option.name, word}});
          EXPECT_EQ(within.empty(), alone.empty())
              << outer.name << ' ' << nested.name << '.' << option.name << '=' << word << ": " << within;
        }
    }
  }
  EXPECT_GT(pairs, 20);
}

/// An alias is the method with other defaults: these must not exclude an option either.
TEST(RegistryTest, EachChoiceOfAnAliasGoesWithItsPreset) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  const auto& registry = preconditioner_registry<double, Space>();
  for (const auto& alias : registry) {
    if (alias.alias_of.empty()) continue;
    const auto original = find_registered(registry, alias.alias_of, "preconditioner");
    for (const auto& option : alias.configure()->fields().list())
      for (const std::string& word : words_of(option))
        EXPECT_EQ(refusal(alias, {{option.name, word}}).empty(),
                  refusal(original, {{option.name, word}}).empty())
            << alias.name << ' ' << option.name << '=' << word;
  }
}

TEST(MethodOptionTest, ErrorsNameTheNearestKeyOfTheRightMethod) {
  OuterOptions options;
  const OptionFields fields = OptionFields::of(options);
  const auto refuse = [&](const OptionMap& values) {
    const OptionMap before = fields.values();
    const std::string message = message_of<OptionError>([&] { fields.set(values, "outer"); });
    EXPECT_EQ(fields.values(), before) << message;
    return message;
  };
  EXPECT_EQ(refuse({{"smoother.stepz", std::int64_t(1)}, {"sweeps", std::int64_t(3)}}),
            "option 'smoother': 'toy' has no option 'stepz'; did you mean 'steps'?");
  EXPECT_EQ(refuse({{"smoother", std::string("plain")}, {"smoother.steps", std::int64_t(1)}}),
            "option 'smoother': 'plain' has no option 'steps'; it takes none");
  EXPECT_EQ(refuse({{"smoother", std::string("toi")}}),
            "option 'smoother': there is no gadget 'toi'; did you mean 'toy'? (toy, plain)");
  EXPECT_EQ(refuse({{"smoother.steps", std::int64_t(-1)}}),
            "option 'smoother': option 'steps' = -1 is out of its range 0 .. 2147483647");
  EXPECT_EQ(refuse({{"smoother", std::string("toy")}, {"smoother.name", std::string("plain")}}),
            "option 'smoother' is both 'toy' and 'plain'");
  EXPECT_EQ(refuse({{"smother", std::string("toy")}}),
            "'outer' has no option 'smother'; did you mean 'smoother'?");
  EXPECT_EQ(message_of<OptionError>([] {
              OuterOptions bad;
              bad.smoother.options["steps"] = std::int64_t(-5);
              Outer{bad};
            }),
            "outer: option 'smoother': option 'steps' = -5 is out of its range 0 .. 2147483647");
}

/// Names differ, every field is documented, and the defaults lie in their own ranges and survive as text.
template <class SomeRegistry>
void expect_sound(const SomeRegistry& registry) {
  ASSERT_FALSE(registry.empty());
  std::map<std::string, int> seen;
  for (const auto& line : registry) {
    EXPECT_EQ(++seen[line.name], 1) << line.name;
    EXPECT_FALSE(line.summary.empty()) << line.name;
    const auto configurator = line.configure();
    const OptionFields fields = configurator->fields();
    const OptionMap defaults = fields.values();
    const auto of_methods = std::count_if(defaults.begin(), defaults.end(), [&](const auto& value) {
      return std::none_of(fields.list().begin(), fields.list().end(),
                          [&](const OptionField& field) { return field.name == value.first; });
    });
    EXPECT_EQ(defaults.size() - of_methods, fields.list().size()) << line.name << " names two options alike";
    OptionMap texts;
    for (const auto& field : fields.list()) {
      EXPECT_FALSE(field.doc.empty()) << line.name << ' ' << field.name;
      texts[field.name] = to_string(field.get());
    }
    EXPECT_NO_THROW(fields.set(defaults, line.name)) << line.name;
    EXPECT_NO_THROW(fields.set(texts, line.name)) << line.name;
    EXPECT_EQ(fields.values(), defaults) << line.name;
    EXPECT_NE(configurator->build(), nullptr) << line.name;
    const auto resolved = configurator->resolved();
    const OptionFields in_force = resolved->fields();
    for (const auto& field : in_force.list()) {
      // The matrix decides: the first of some shifts with which no pivot breaks down; theta for systems.
      if (field.name == "shift" || field.name == "theta") continue;
      const bool is_number = field.kind == "int" || field.kind == "real";
      EXPECT_FALSE(is_number && to_string(field.get()) == "auto") << line.name << ' ' << field.name;
    }
  }
}

TEST(RegistryTest, DefaultsOfEveryAlgorithmAreValid) {
  expect_sound(preconditioner_registry<double, Kokkos::DefaultExecutionSpace>());
  expect_sound(preconditioner_registry<float, Kokkos::DefaultHostExecutionSpace>());
  expect_sound(solver_registry<double, Kokkos::DefaultExecutionSpace>());
  expect_sound(solver_registry<float, Kokkos::DefaultHostExecutionSpace>());
}

TEST(RegistryTest, ThePreconditionersAndSolversErrorsSayTheirKind) {
  using Space = Kokkos::DefaultExecutionSpace;
  EXPECT_THAT(message_of<OptionError>([] { create_preconditioner<double, Space>("jacobbi"); }),
              AllOf(HasSubstr("there is no preconditioner 'jacobbi'"), HasSubstr("did you mean 'jacobi'")));
  EXPECT_THAT(message_of<OptionError>([] { create_solver<double, Space>("gc"); }),
              AllOf(HasSubstr("there is no solver 'gc'"), HasSubstr("did you mean 'cg'")));
}

}  // namespace
}  // namespace prekond::testing
