#include "app/child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <utility>

namespace grapevine {

namespace {

struct SpawnPlan {
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
  }
  SpawnPlan(SpawnPlan const&) = delete;

  void output(int descriptor, std::string const& path) {
    ::posix_spawn_file_actions_addopen(&files, descriptor, path.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  // We block the signals that we wait for; a child must not inherit that.
  void own_group_and_signals() {
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

}  // namespace

Result<ChildProcess> ChildProcess::start(std::vector<std::string> arguments,
                                         std::string const& output_path,
                                         std::string const& log_path) {
  arguments.insert(arguments.begin(), "grapevine");
  arguments.push_back("--with-parent=" + std::to_string(::getpid()));
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  SpawnPlan plan;
  ::posix_spawn_file_actions_addopen(&plan.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  plan.output(STDOUT_FILENO, output_path);
  plan.output(STDERR_FILENO, log_path);
  plan.own_group_and_signals();
  pid_t id = 0;
  int const error =
      ::posix_spawn(&id, "/proc/self/exe", &plan.files, &plan.attributes, argv.data(), environ);
  if (error != 0)
    return fail(Errc::io_failed, std::string("starting a peer: ") + std::strerror(error));
  return ChildProcess(id);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : id_(std::exchange(other.id_, 0)), exit_code_(other.exit_code_) {}

ChildProcess::~ChildProcess() {
  if (id_ == 0 || exit_code_) return;
  ::kill(id_, SIGKILL);
  ::waitpid(id_, nullptr, 0);
}

void ChildProcess::signal(int number) {
  if (id_ != 0 && !exit_code()) ::kill(id_, number);
}

std::optional<int> ChildProcess::exit_code() {
  if (exit_code_ || id_ == 0) return exit_code_;
  int status = 0;
  if (::waitpid(id_, &status, WNOHANG) == id_)
    exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return exit_code_;
}

bool end_with_parent(int parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return ::getppid() == parent;
}

}  // namespace grapevine
