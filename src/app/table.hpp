// Table: rows of text with aligned columns, the first to the left and the others to the right.
// And sizes in units that people read. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace grapevine {

class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text() const;  // a line a row
  [[nodiscard]] std::size_t lines() const { return rows_.size(); }

 private:
  std::vector<std::vector<std::string>> rows_;
};

[[nodiscard]] std::string bytes_text(std::uint64_t bytes);  // "12.3 MB"
// "1 round", "2 rounds"
[[nodiscard]] std::string count_text(std::uint64_t count, std::string_view thing);

}  // namespace grapevine
