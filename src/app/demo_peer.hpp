// DemoPeer: one peer of the demo as the demo sees it: a process, the newest figures of its status
// page, and at the end its own summary. Main thread only.
#pragma once

#include "app/child_process.hpp"
#include "grapevine/base/endpoint.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace grapevine {

struct DemoFigures {  // of the status page
  std::string state = "starting";
  std::uint64_t round = 0;
  std::uint32_t step = 0;
  std::uint32_t steps = 0;
  double loss = 0;  // 0: none yet
  double tokens_per_s = 0;
  std::size_t mixed_with = 0;  // other peers, in the newest mix
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  double cpu_train_s = 0;
  double cpu_node_s = 0;
  std::string address;  // to join by
};

struct DemoSummary {  // what the peer itself said at its end
  std::string id;
  std::uint64_t rounds = 0;
  std::optional<double> loss_first, loss_last;
  std::uint32_t participants_last = 0;
  std::uint64_t tokens_total = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::string checkpoint;
};

class DemoPeer {
 public:
  // Everything of this peer is in HOME/NAME*. `arguments` are those of `grapevine up` but for the
  // home, the name, the status page and the addresses to listen on.
  static Result<DemoPeer> start(std::string const& home, std::string name,
                                std::vector<std::string> arguments);

  // Asks the status page; what cannot be had stays as it was.
  void refresh();
  void kill();
  void stop();  // asks it to end

  [[nodiscard]] std::string const& name() const { return name_; }
  [[nodiscard]] DemoFigures const& figures() const { return figures_; }
  // The first training loss its page showed; 0 before.
  [[nodiscard]] double first_loss() const { return first_loss_; }
  [[nodiscard]] std::optional<int> exit_code() { return process_.exit_code(); }
  [[nodiscard]] bool killed() const { return killed_; }
  [[nodiscard]] Result<DemoSummary> summary() const;
  // Why it ended, when it was not by its own summary.
  [[nodiscard]] Error failure() const;
  [[nodiscard]] std::string log_path() const { return base_ + ".log"; }

 private:
  DemoPeer(std::string name, std::string base, ChildProcess process)
      : name_(std::move(name)), base_(std::move(base)), process_(std::move(process)) {}
  [[nodiscard]] std::string last_line() const;  // of its output

  std::string name_;
  std::string base_;
  ChildProcess process_;
  DemoFigures figures_;
  double first_loss_ = 0;
  std::optional<Endpoint> status_;
  bool killed_ = false;
};

}  // namespace grapevine
