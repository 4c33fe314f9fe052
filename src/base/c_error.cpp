#include "base/c_error.hpp"

#include <espalier/version.hpp>

namespace espalier {
namespace {

std::string& message_of_thread() {
  thread_local std::string message;
  return message;
}

esp_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return ESP_INVALID_ARGUMENT;
    case ErrorCode::kInvalidData:
      return ESP_INVALID_DATA;
    case ErrorCode::kUnsupported:
      return ESP_UNSUPPORTED;
    case ErrorCode::kNotFound:
      return ESP_NOT_FOUND;
    case ErrorCode::kLimit:
      return ESP_LIMIT;
    case ErrorCode::kIo:
      return ESP_IO;
  }
  return ESP_INTERNAL;
}

}  // namespace

esp_status report_c_error(esp_status status, std::string message) {
  message_of_thread() = std::move(message);
  return status;
}

esp_status report_c_error(const Error& error) { return report_c_error(status_of(error.code), error.message); }

}  // namespace espalier

extern "C" {

const char* esp_last_error(void) { return espalier::message_of_thread().c_str(); }
const char* esp_version(void) { return espalier::version(); }

}  // extern "C"
