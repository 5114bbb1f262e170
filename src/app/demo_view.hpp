// DemoView: the demo as it goes, on a terminal a table drawn in place, elsewhere a line whenever a
// peer has finished a round. Main thread only.
#pragma once

#include "app/demo_peer.hpp"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace grapevine {

class DemoView {
 public:
  explicit DemoView(std::FILE* out);

  void say(std::string const& line);  // above the table
  void draw(std::vector<DemoPeer> const& peers, double elapsed_s);

 private:
  void draw_table(std::vector<DemoPeer> const& peers, double elapsed_s);
  void draw_lines(std::vector<DemoPeer> const& peers, double elapsed_s);
  void clear_table();

  std::FILE* out_;
  bool terminal_;
  std::size_t drawn_ = 0;                         // lines of the table on the screen
  std::map<std::string, std::string> said_last_;  // of each peer, without a terminal
};

}  // namespace grapevine
