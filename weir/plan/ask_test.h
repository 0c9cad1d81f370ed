#pragma once

/// A tiny language for the figures tests: one question with its arguments as a person would write
/// them, over the built-in registry.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "weir/plan/questions.h"

namespace weir::plan {

using Given = std::map<std::string, std::string>;

inline const Registry& built_in() {
  static const Registry registry = [] {
    auto r = Registry::built_in();
    if (!r) ADD_FAILURE() << r.error().message;
    return r.value_or(Registry{});
  }();
  return registry;
}

/// The answer; an empty one, and a failed test, when there is none.
inline Answer answer_to(std::string_view question, const Given& given) {
  auto answer = ask(question, given, built_in());
  if (!answer) {
    ADD_FAILURE() << question << ": " << answer.error().message;
    return {};
  }
  return *std::move(answer);
}

/// The error's line; empty, and a failed test, when the question was answered.
inline std::string refusal_of(std::string_view question, const Given& given) {
  auto answer = ask(question, given, built_in());
  if (answer) {
    ADD_FAILURE() << question << " was answered: " << answer->headline;
    return {};
  }
  EXPECT_EQ(answer.error().code, Code::kInvalidArgument) << answer.error().message;
  return answer.error().message;
}

/// The number in a cell of an answer's table.
inline double cell(const Answer& answer, std::size_t table, std::size_t row, std::size_t column) {
  const auto* amount = std::get_if<Amount>(&answer.tables.at(table).rows.at(row).at(column));
  if (amount == nullptr) {
    ADD_FAILURE() << "no number there";
    return 0;
  }
  return amount->value;
}

}  // namespace weir::plan
