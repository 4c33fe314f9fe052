// Errors at the C interface: a status code, and a message that the calling thread keeps.
#pragma once

#include <espalier/espalier.h>

#include <espalier/status.hpp>
#include <new>
#include <string>
#include <utility>

namespace espalier {

// Keeps the message for esp_last_error and returns its code.
esp_status report_c_error(const Error& error);
esp_status report_c_error(esp_status status, std::string message);

// Runs `body`, which returns a Status; nothing it throws crosses into C.
template <typename Body>
esp_status guard_c_call(Body&& body) noexcept {
  try {
    const Status status = std::forward<Body>(body)();
    return status ? ESP_OK : report_c_error(status.error());
  } catch (const std::bad_alloc&) {
    return report_c_error(ESP_OUT_OF_MEMORY, "out of memory");
  } catch (...) {
    return report_c_error(ESP_INTERNAL, "an unexpected exception: please report it");
  }
}

}  // namespace espalier
