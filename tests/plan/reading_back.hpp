// What holds of the text, JSON and hash of every operation's problems. Each operation's own test calls it.
#pragma once

#include "properties.hpp"

#include "plan/operation.hpp"

#include <sectile/problem.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace sectile::test {

// `any` makes any problem that the operation's string can express, valid or not.
void check_reading_back(auto&& any) {
  CHECK(rc::check("parse_problem(print(p)) == p", [&] {
    const Problem problem = any();
    const auto read = parse_problem(print(problem));
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == problem);
    RC_ASSERT(print(*read) == print(problem));
  }));
  CHECK(rc::check("problem_from_json(to_json(p)) == p, with sorted keys", [&] {
    const Problem problem = any();
    const auto read = problem_from_json(to_json(problem));
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == problem);
    RC_ASSERT(nlohmann::json::parse(to_json(problem)).dump() == to_json(problem));  // nlohmann sorts keys
  }));
  // Each field in turn takes another problem's value. The JSON has all fields: equal JSON is an equal problem.
  CHECK(rc::check("every field is in the hash", [&] {
    const Problem problem = any(), other = any();
    const auto fields = nlohmann::json::parse(to_json(other));
    for (const auto& [key, value] : fields.items()) {
      auto json = nlohmann::json::parse(to_json(problem));
      json[key] = value;
      const auto changed = problem_from_json(json.dump());
      RC_ASSERT(changed.has_value());
      RC_ASSERT((detail::hash_of(*changed) == detail::hash_of(problem)) == (*changed == problem));
    }
  }));
}

}  // namespace sectile::test
