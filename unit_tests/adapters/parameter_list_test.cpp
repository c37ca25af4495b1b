// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/impl/parameter_list.hpp>

#include <Teuchos_Array.hpp>
#include <Teuchos_XMLParameterListHelpers.hpp>

#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <typeinfo>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum class Shape { square, round, oblong };

struct InnerOptions {
  double drop = 0.125;
  Shape shape = Shape::round;
  int level = 1;
  template <class Visitor>
  void describe(Visitor& visit) {
    visit("drop", drop, 0, 1, "entries below are left out");
    visit("shape", shape, {{"square", Shape::square}, {"round", Shape::round}, {"oblong", Shape::oblong}},
          "of a block");
    visit("level", level, 0, 9, "of fill");
  }
};

struct OuterOptions {
  bool scaled = false;
  int steps = 3;
  std::int64_t seed = std::int64_t(1) << 40;
  double epsilon = 1e-3;
  InnerOptions local;
  template <class Visitor>
  void describe(Visitor& visit) {
    visit("scaled", scaled, "scale first");
    visit("steps", steps, -5, 100, "of growth");
    visit("seed", seed, 0, std::numeric_limits<std::int64_t>::max(), "of random numbers");
    visit("epsilon", epsilon, 0, 10, "to stop at");
    visit.nested("local", local);
  }
};

struct Target {
  OuterOptions options;
  OptionMap values() { return OptionFields::of(options).values(); }
  void set(const Teuchos::ParameterList& list) {
    tpetra::set_options(OptionFields::of(options), "target", list);
  }
  std::string refusal(const Teuchos::ParameterList& list) {
    const OptionMap before = values();
    const std::string text = message_of<Teuchos::Exceptions::InvalidParameter>([&] { set(list); });
    EXPECT_EQ(values(), before) << "something was changed in spite of: " << text;
    return text;
  }
};

template <class T>
Teuchos::ParameterList one(const std::string& name, const T& value) {
  Teuchos::ParameterList list;
  list.set(name, value);
  return list;
}

template <class T>
void expect_steps(const T& value) {
  Target target;
  target.set(one("steps", value));
  EXPECT_EQ(target.options.steps, 42) << typeid(T).name();
}

TEST(TpetraParameterList, EveryTypeOfANumber) {
  expect_steps<int>(42);
  expect_steps<short>(42);
  expect_steps<long>(42);
  expect_steps<long long>(42);
  expect_steps<unsigned>(42u);
  expect_steps<std::size_t>(42u);
  expect_steps<unsigned long long>(42u);
  expect_steps<double>(42.0);
  expect_steps<float>(42.0f);
  expect_steps<std::string>("42");
  Target target;
  target.set(one("epsilon", 0.25));
  EXPECT_EQ(target.options.epsilon, 0.25);
  target.set(one("epsilon", 0.5f));
  EXPECT_EQ(target.options.epsilon, 0.5);
  target.set(one("epsilon", 2));
  EXPECT_EQ(target.options.epsilon, 2.0);
  target.set(one("epsilon", std::string("1e-7")));
  EXPECT_EQ(target.options.epsilon, 1e-7);
  target.set(one("scaled", true));
  EXPECT_TRUE(target.options.scaled);
  target.set(one("scaled", std::string("false")));
  EXPECT_FALSE(target.options.scaled);
  target.set(one("seed", std::int64_t(1) << 50));
  EXPECT_EQ(target.options.seed, std::int64_t(1) << 50);
}

TEST(TpetraParameterList, SublistsAreNestedOptions) {
  Target target;
  Teuchos::ParameterList list;
  list.set("steps", 7);
  list.sublist("local").set("drop", 0.5).set("shape", std::string("oblong"));
  target.set(list);
  EXPECT_EQ(target.options.steps, 7);
  EXPECT_EQ(target.options.local.drop, 0.5);
  EXPECT_EQ(target.options.local.shape, Shape::oblong);
  EXPECT_EQ(target.options.local.level, 1) << "not named, not changed";
  EXPECT_EQ(target.options.epsilon, 1e-3);
  target.set(one("local.level", 4));
  EXPECT_EQ(target.options.local.level, 4);
  const OptionMap before = target.values();
  target.set(Teuchos::ParameterList());
  EXPECT_EQ(target.values(), before);
}

TEST(TpetraParameterList, UnknownKeysNameTheNearest) {
  Target target;
  EXPECT_THAT(target.refusal(one("step", 1)),
              AllOf(HasSubstr("'target' has no option 'step'"), HasSubstr("did you mean 'steps'?")));
  Teuchos::ParameterList list;
  list.sublist("local").set("shap", std::string("round"));
  EXPECT_THAT(target.refusal(list),
              AllOf(HasSubstr("'local.shap'"), HasSubstr("did you mean 'local.shape'?")));
  Teuchos::ParameterList other;
  other.sublist("lokal").set("drop", 0.5);
  EXPECT_THAT(target.refusal(other), HasSubstr("did you mean 'local.drop'?"));
  Teuchos::ParameterList below;
  below.sublist("steps").set("drop", 0.5);
  EXPECT_THAT(target.refusal(below), HasSubstr("'steps.drop'"));
}

TEST(TpetraParameterList, WrongTypesAreRefused) {
  Target target;
  const Teuchos::Array<int> array(2, 1);
  EXPECT_THAT(target.refusal(one("steps", array)),
              AllOf(HasSubstr("'target'"), HasSubstr("'steps'"), HasSubstr("Array")));
  Teuchos::ParameterList nested;
  nested.sublist("local").set("drop", array);
  EXPECT_THAT(target.refusal(nested), HasSubstr("'local.drop'"));
  EXPECT_THAT(target.refusal(one("steps", std::string("many"))),
              AllOf(HasSubstr("'steps'"), HasSubstr("'many'")));
  EXPECT_THAT(target.refusal(one("steps", 2.5)), AllOf(HasSubstr("'steps'"), HasSubstr("2.5")));
  EXPECT_THAT(target.refusal(one("steps", true)), HasSubstr("'steps'"));
  EXPECT_THAT(target.refusal(one("epsilon", std::string("small"))),
              AllOf(HasSubstr("'epsilon'"), HasSubstr("'small'")));
  EXPECT_THAT(target.refusal(one("scaled", std::string("maybe"))),
              AllOf(HasSubstr("'scaled'"), HasSubstr("'maybe'")));
  EXPECT_THAT(target.refusal(one("scaled", 3)), HasSubstr("'scaled'"));
  EXPECT_THAT(target.refusal(one("local.shape", std::string("flat"))),
              AllOf(HasSubstr("'local.shape'"), HasSubstr("square | round | oblong"), HasSubstr("'flat'")));
}

TEST(TpetraParameterList, AnUnknownKeyIsRefusedForItsNameWhateverItsType) {
  Target target;
  EXPECT_THAT(target.refusal(one("step", Teuchos::Array<int>(2, 1))), HasSubstr("did you mean 'steps'?"));
}

TEST(TpetraParameterList, TheValidParametersTakeNumbersOfAnyType) {
  Target target;
  const Teuchos::ParameterList valid = tpetra::valid_parameters(OptionFields::of(target.options), "target");
  for (const Teuchos::ParameterList& list :
       {one("steps", 5), one("steps", 5ll), one("steps", std::string("5")), one("steps", 5.0),
        one("epsilon", 1), one("epsilon", 0.5), one("epsilon", std::string("0.5"))})
    EXPECT_NO_THROW(list.validateParameters(valid)) << list;
  EXPECT_THROW(one("steps", Teuchos::Array<int>(2, 1)).validateParameters(valid),
               Teuchos::Exceptions::InvalidParameter);
}

TEST(TpetraParameterList, ValuesOutOfRangeAreRefused) {
  Target target;
  EXPECT_THAT(target.refusal(one("steps", 101)), AllOf(HasSubstr("'steps' = 101"), HasSubstr("-5 .. 100")));
  EXPECT_THAT(target.refusal(one("steps", -6)), HasSubstr("'steps' = -6"));
  EXPECT_THAT(target.refusal(one("steps", (1LL << 32) + 7)), HasSubstr("'steps' = 4294967303"));
  EXPECT_THAT(target.refusal(one("steps", std::numeric_limits<unsigned>::max())), HasSubstr("4294967295"));
  EXPECT_THAT(target.refusal(one("epsilon", 10.5)), HasSubstr("0 .. 10"));
  EXPECT_THAT(target.refusal(one("epsilon", std::numeric_limits<double>::quiet_NaN())),
              HasSubstr("'epsilon'"));
  EXPECT_THAT(target.refusal(one("seed", std::numeric_limits<std::size_t>::max())),
              AllOf(HasSubstr("'seed' = 18446744073709551615"), HasSubstr("does not fit")));
  EXPECT_THAT(target.refusal(one("seed", std::numeric_limits<unsigned long long>::max())),
              HasSubstr("does not fit"));
  target.set(one("steps", -5));
  EXPECT_EQ(target.options.steps, -5);
  target.set(one("seed", std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(target.options.seed, std::numeric_limits<std::int64_t>::max());
}

TEST(TpetraParameterList, AllOrNothing) {
  Target target;
  Teuchos::ParameterList list;
  list.set("scaled", true).set("steps", 9).set("epsilon", 0.5);
  list.sublist("local").set("drop", 0.25).set("level", 10);  // out of range, and the last
  EXPECT_THAT(target.refusal(list), HasSubstr("'local.level' = 10"));
  list.sublist("local").set("level", 9);
  target.set(list);
  EXPECT_TRUE(target.options.scaled);
  EXPECT_EQ(target.options.steps, 9);
  EXPECT_EQ(target.options.local.drop, 0.25);
  EXPECT_EQ(target.options.local.level, 9);
}

Teuchos::ParameterList valid(OuterOptions& options) {
  return tpetra::valid_parameters(OptionFields::of(options), "target");
}

TEST(TpetraParameterList, ValidParametersHaveDefaultsAndDocumentation) {
  OuterOptions options;
  Teuchos::ParameterList list = valid(options);
  EXPECT_EQ(list.name(), "target");
  EXPECT_EQ(list.numParams(), 5);
  EXPECT_FALSE(list.get<bool>("scaled"));
  EXPECT_EQ(list.get<int>("steps"), 3);
  EXPECT_EQ(list.get<long long>("seed"), 1LL << 40);
  EXPECT_EQ(list.get<double>("epsilon"), 1e-3);
  Teuchos::ParameterList& local = list.sublist("local");
  EXPECT_EQ(local.numParams(), 3);
  EXPECT_EQ(local.get<double>("drop"), 0.125);
  EXPECT_EQ(local.get<std::string>("shape"), "round");
  EXPECT_EQ(local.get<int>("level"), 1);
  EXPECT_EQ(list.getEntry("scaled").docString(), "scale first");
  EXPECT_EQ(list.getEntry("steps").docString(), "of growth (-5 .. 100)");
  EXPECT_EQ(local.getEntry("shape").docString(), "of a block (square | round | oblong)");
  EXPECT_TRUE(list.getEntry("scaled").validator().is_null());
  const auto words = local.getEntry("shape").validator()->validStringValues();
  ASSERT_FALSE(words.is_null());
  EXPECT_THAT(std::vector<std::string>(words->begin(), words->end()),
              ElementsAre("square", "round", "oblong"));
  Teuchos::ParameterList flat;
  flat.sublist("local").set("shape", std::string("flat"));
  EXPECT_THROW(flat.validateParameters(list), Teuchos::Exceptions::InvalidParameter);
  Teuchos::ParameterList square;
  square.sublist("local").set("shape", std::string("square"));
  EXPECT_NO_THROW(square.validateParameters(list));
}

TEST(TpetraParameterList, ValidParametersAreTheValuesInForce) {
  Target target;
  target.set(one("local.shape", std::string("square")));
  target.set(one("steps", 77));
  Teuchos::ParameterList list = valid(target.options);
  EXPECT_EQ(list.get<int>("steps"), 77);
  EXPECT_EQ(list.sublist("local").get<std::string>("shape"), "square");
}

TEST(TpetraParameterList, ThroughXmlAndBack) {
  Target written;
  Teuchos::ParameterList changes;
  changes.set("scaled", true).set("steps", -4).set("seed", 123456789012345LL).set("epsilon", 0.1);
  changes.sublist("local").set("drop", 1.0 / 3).set("shape", std::string("oblong")).set("level", 5);
  written.set(changes);
  std::ostringstream xml;
  Teuchos::writeParameterListToXmlOStream(valid(written.options), xml);
  Target read;
  ASSERT_NE(read.values(), written.values());
  read.set(*Teuchos::getParametersFromXmlString(xml.str()));
  EXPECT_EQ(read.values(), written.values());
}

}  // namespace
}  // namespace prekond::testing
