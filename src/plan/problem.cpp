// The public functions of a problem, dispatched by operation.
#include "base/json_text.hpp"
#include "operation.hpp"

#include <utility>

namespace sectile {

using detail::Operation;
using detail::visit_operation;

namespace {

// "permute or matmul"; for three or more names "a, b or c".
std::string operation_names() {
  return []<class... P>(std::type_identity<std::variant<P...>>) {
    std::string text;
    std::size_t left = sizeof...(P);
    ((text.append(Operation<P>::kName).append(--left == 0 ? "" : left == 1 ? " or " : ", ")), ...);
    return text;
  }(std::type_identity<Problem>());
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): a problem is always of an operation, so visiting it does not throw
std::string_view operation_of(const Problem& problem) noexcept {
  return visit_operation([](auto operation, const auto&) { return operation.kName; }, problem);
}

Result<std::vector<OperandSpec>> operands_of(const Problem& problem) {
  return visit_operation([](auto operation, const auto& p) { return operation.operands(p); }, problem);
}

Result<void> validate(const Problem& problem) {
  return visit_operation([](auto operation, const auto& p) { return operation.validate(p); }, problem);
}

std::string print(const Problem& problem) {
  return visit_operation([](auto operation, const auto& p) { return operation.print(p); }, problem);
}

Result<Problem> parse_problem(std::string_view text) {
  detail::Split words({text, 1}, ' ');
  const auto word = words.word();
  if (!word) return fail(ErrorKind::parse, "operation", "not there", operation_names());
  return detail::with_operation<Result<Problem>>(
      word->text, [&]<class P>(std::type_identity<P>) { return Operation<P>::parse(words); },
      [&]() -> Result<Problem> { return detail::refuse("operation", *word, operation_names()); });
}

std::string to_json(const Problem& problem) {
  detail::JsonWriter w;
  visit_operation([&](auto operation, const auto& p) { operation.write(w, p); }, problem);
  return std::move(w).text();
}

Result<Problem> problem_from_json(std::string_view text) {
  auto value = detail::parse_json(text, "problem");
  if (!value) return std::unexpected(std::move(value.error()));
  return detail::read_problem(*value, "problem");
}

namespace detail {

std::size_t hash_of(const Problem& problem) {
  return visit_operation([](auto operation, const auto& p) { return operation.hash(p); }, problem);
}

Result<Problem> read_problem(const nlohmann::json& value, const std::string& what) {
  std::string name;
  if (!value.is_object() || !value.contains("operation") || !value["operation"].is_string()) {
    JsonObject object(value, what);
    object.required("operation", name);
    return std::unexpected(object.finish().error());
  }
  name = value["operation"].get_ref<const std::string&>();
  return with_operation<Result<Problem>>(
      name, [&]<class P>(std::type_identity<P>) { return Operation<P>::read(value, what); },
      [&]() -> Result<Problem> {
        return sectile::fail(ErrorKind::parse, what + ".operation", JsonObject::cut(name), operation_names());
      });
}

}  // namespace detail

}  // namespace sectile
