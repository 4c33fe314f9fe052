// How Espalier reports what went wrong: `Result<T>` holds a value or an `Error`, never throws, never prints.
//
// An input's fault is an Error. Our own bug aborts with a message (ESPALIER_CHECK, src/base/check.hpp).
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace espalier {

enum class ErrorCode {
  kInvalidArgument,  // a value that the caller passed
  kInvalidData,      // the contents of a file or tensor
  kUnsupported,      // well-formed, but not something that this build or machine can do
  kNotFound,         // a file, layer or input that does not exist
  kLimit,            // a declared size above a cap, or more than a planned capacity
  kIo,               // the operating system refused
};

// The name of a code as it is printed and written to JSON, e.g. "invalid_data".
constexpr const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kInvalidData:
      return "invalid_data";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kLimit:
      return "limit";
    case ErrorCode::kIo:
      return "io";
  }
  return "unknown";
}

// `message` is one sentence or two: where, what was expected, what was found, what to do.
struct Error {
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string message;
};

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

using Status = Result<void>;

// An Error ready to be returned from a function whose result is any Result<T>.
inline tl::unexpected<Error> make_error(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace espalier
