// Formats an Error: return fail(ErrorCode::kInvalidData, "{}: expected {}, found {}", where, a, b);
#pragma once

#include <fmt/format.h>
#include <espalier/status.hpp>

namespace espalier {

template <typename... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return make_error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace espalier

// Evaluates a Result or Status and returns its error from the enclosing function: ESPALIER_TRY(verify(graph));
#define ESPALIER_TRY(expression)                                                      \
  do {                                                                                \
    if (auto espalier_status = (expression); !espalier_status)                        \
      return ::tl::unexpected<::espalier::Error>(std::move(espalier_status).error()); \
  } while (false)

#define ESPALIER_CONCAT_(a, b) a##b
#define ESPALIER_CONCAT(a, b) ESPALIER_CONCAT_(a, b)
// ESPALIER_ASSIGN(const auto tensor, read_npy(path)); declares `tensor` or returns the error.
#define ESPALIER_ASSIGN(declaration, expression) \
  ESPALIER_ASSIGN_(ESPALIER_CONCAT(espalier_result_, __LINE__), declaration, expression)
#define ESPALIER_ASSIGN_(result, declaration, expression)                             \
  auto result = (expression);                                                         \
  if (!result) return ::tl::unexpected<::espalier::Error>(std::move(result).error()); \
  declaration = *std::move(result)
