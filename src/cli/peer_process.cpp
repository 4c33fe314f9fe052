#include "peer_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <espalier/files.hpp>
#include <filesystem>
#include <fstream>

#include "peer_worker.hpp"

namespace espalier::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = ".venv-peers";

std::string python_above(fs::path place) {
  std::error_code ignored;
  for (; !place.empty(); place = place.parent_path()) {
    const fs::path python = place / kFolder / "bin" / "python";
    if (fs::exists(python, ignored)) return python.string();
    if (place == place.root_path()) break;
  }
  return {};
}

struct Pipes {
  std::array<int, 2> to_child{-1, -1}, from_child{-1, -1};
};

Result<Pipes> make_pipes() {
  Pipes pipes;
  if (pipe2(pipes.to_child.data(), O_CLOEXEC) != 0 || pipe2(pipes.from_child.data(), O_CLOEXEC) != 0)
    return refuse(ErrorCode::kIo, "cannot make a pipe to another process");
  return pipes;
}

Result<pid_t> spawn(const std::vector<std::string>& command, const Pipes& pipes, const std::string& log) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipes.to_child[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipes.from_child[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int problem = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) return refuse(ErrorCode::kIo, "cannot start {}", command[0]);
  return child;
}

}  // namespace

Result<std::string> find_peer_python() {
  if (const char* place = std::getenv("ESPALIER_PEERS"); place != nullptr) {
    const fs::path python = fs::path(place) / "bin" / "python";
    std::error_code ignored;
    if (fs::exists(python, ignored)) return python.string();
    return refuse(ErrorCode::kNotFound, "ESPALIER_PEERS is {}, where there is no bin/python", place);
  }
  std::error_code ignored;
  for (const fs::path& start : {fs::current_path(ignored), fs::read_symlink("/proc/self/exe", ignored).parent_path()})
    if (std::string python = python_above(start); !python.empty()) return python;
  return refuse(ErrorCode::kNotFound,
                "peers need the Python environment {}, which scripts/peers makes; it is in no folder above this one or "
                "the program (ESPALIER_PEERS names another place)",
                kFolder);
}

Result<std::unique_ptr<PeerProcess>> PeerProcess::start(const PeerJob& job) {
  signal(SIGPIPE, SIG_IGN);  // a peer that dies is an error, not the end of this process
  const auto python = find_peer_python();
  if (!python) return tl::unexpected<Error>(python.error());
  const std::string stem = job.folder + "/" + job.engine;
  if (auto written = write_npz(stem + "-inputs.npz", job.inputs); !written)
    return tl::unexpected<Error>(written.error());
  auto pipes = make_pipes();
  if (!pipes) return tl::unexpected<Error>(pipes.error());
  std::unique_ptr<PeerProcess> peer(new PeerProcess);
  peer->engine_ = job.engine;
  peer->log_ = stem + ".log";
  const auto child = spawn({*python, "-c", kPeerWorker, job.engine, job.model, stem + "-inputs.npz",
                            stem + "-outputs.npz", std::to_string(job.threads), std::string(to_string(job.dtype))},
                           *pipes, peer->log_);
  close(pipes->to_child[0]);
  close(pipes->from_child[1]);
  peer->to_child_ = pipes->to_child[1];
  peer->from_child_ = pipes->from_child[0];
  peer->limit_ = job.limit;
  if (!child) return tl::unexpected<Error>(child.error());
  peer->child_ = *child;
  const auto hello = peer->read_line();
  if (!hello) return tl::unexpected<Error>(hello.error());
  const Json said = Json::parse(*hello, nullptr, false);
  if (!said.is_object() || !said.contains("version")) return peer->last_words("said '" + *hello + "'");
  peer->version_ = said["version"].get<std::string>();
  auto outputs = read_npz(stem + "-outputs.npz");
  if (!outputs) return tl::unexpected<Error>(outputs.error());
  peer->outputs_ = *std::move(outputs);
  return peer;
}

PeerProcess::~PeerProcess() {
  if (to_child_ >= 0) close(to_child_);  // the end of its input ends it
  if (from_child_ >= 0) close(from_child_);
  if (child_ <= 0) return;
  constexpr int kTries = 200;
  constexpr useconds_t kPause = 10'000;
  for (int i = 0; i < kTries; ++i) {
    if (waitpid(child_, nullptr, WNOHANG) != 0) return;
    usleep(kPause);
  }
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

Result<double> PeerProcess::run() {
  constexpr std::string_view kRun = "run\n";
  if (write(to_child_, kRun.data(), kRun.size()) != static_cast<ssize_t>(kRun.size())) return last_words("stopped");
  const auto line = read_line();
  if (!line) return tl::unexpected<Error>(line.error());
  char* end = nullptr;
  const double ms = std::strtod(line->c_str(), &end);
  if (line->empty() || *end != '\0' || !(ms >= 0)) return last_words("said '" + *line + "' instead of a time");
  return ms;
}

Result<std::string> PeerProcess::read_line() {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + limit_;
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd readable{from_child_, POLLIN, 0};
    const int ready = left > 0 ? poll(&readable, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      kill(child_, SIGKILL);
      return last_words(fmt::format("gave no answer within {} s and was ended", limit_.count()));
    }
    std::array<char, 4096> bytes;
    const ssize_t count = read(from_child_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return last_words("stopped");
    unread_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

tl::unexpected<Error> PeerProcess::last_words(const std::string& what) const {
  std::ifstream log(log_);
  std::string last;
  for (std::string line; std::getline(log, line);)
    if (!line.empty()) last = line;
  const bool missing = last.find("ModuleNotFoundError") != std::string::npos;
  return refuse(missing ? ErrorCode::kNotFound : ErrorCode::kUnsupported, "peer {} {}: {}", engine_, what,
                last.empty() ? "no message" : last);
}

}  // namespace espalier::cli
