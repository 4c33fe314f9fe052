// Another inference engine in a process of its own, driven over pipes (peer_worker.py), which times its own calls.
// Its Python comes from the environment that scripts/peers makes. A peer that does not answer in time is ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <espalier/tensor.hpp>
#include <memory>
#include <string>
#include <vector>

#include "context.hpp"

namespace espalier::cli {

struct PeerJob {
  std::string engine;  // "ort", "openvino", "deepsparse"
  std::string model;   // ONNX file
  std::vector<NamedTensor> inputs;
  int threads = 1;
  DType dtype = DType::kF32;
  std::string folder;               // for the files that pass between the processes
  std::chrono::seconds limit{300};  // for loading, and for each call
};

class PeerProcess {
 public:
  // Starts the engine, loads the model and runs it once. Errors: kNotFound without the Python environment or the engine
  // in it; kUnsupported with the engine's last words, or saying that it did not answer within its limit.
  static Result<std::unique_ptr<PeerProcess>> start(const PeerJob& job);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  const std::string& engine() const { return engine_; }
  const std::string& version() const { return version_; }
  // Of the first run.
  const std::vector<NamedTensor>& outputs() const { return outputs_; }
  // One call; milliseconds as the engine's process measured them.
  Result<double> run();

 private:
  PeerProcess() = default;
  Result<std::string> read_line();
  tl::unexpected<Error> last_words(const std::string& what) const;

  std::string engine_, version_, log_;
  std::vector<NamedTensor> outputs_;
  std::chrono::seconds limit_{};
  pid_t child_ = -1;
  int to_child_ = -1, from_child_ = -1;
  std::string unread_;  // what came after the last line
};

// The Python of the environment. Error: kNotFound saying where it was looked for and what makes it.
Result<std::string> find_peer_python();

}  // namespace espalier::cli
