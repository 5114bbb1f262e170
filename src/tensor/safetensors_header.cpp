#include "tensor/safetensors_header_detail.hpp"

#include "grapevine/base/limits.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>

namespace grapevine::safetensors {
namespace {

constexpr std::size_t metadata_max = 1024;

//   start --{--> file --name--{--> tensor --shape--[--> numbers
//                  \--__metadata__--{--> metadata
class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  [[nodiscard]] Header take() { return std::move(header_); }
  [[nodiscard]] std::string const& complaint() const { return complaint_; }

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("true or false"); }
  bool number_float(double, std::string const&) override { return refuse("a fraction"); }
  bool binary(nlohmann::json::binary_t&) override { return refuse("bytes"); }
  bool number_integer(std::int64_t) override { return refuse("a negative number"); }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ != Place::numbers) return refuse("a number");
    if (value > INT64_MAX) return refuse("a number that is too large");
    if (numbers_.size() == limits::tensor_dimensions_max) return refuse("too many numbers");
    numbers_.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::metadata) {
      if (header_.metadata.size() == metadata_max) return refuse("too much metadata");
      if (!header_.metadata.emplace(key_, text).second) return refuse("a repeated key");
      return true;
    }
    if (place_ != Place::tensor || key_ != "dtype") return refuse("text");
    tensor().dtype = text;
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::start) return enter(Place::file);
    if (place_ != Place::file) return refuse("an object");
    if (key_ == "__metadata__") return enter(Place::metadata);
    if (header_.tensors.size() == limits::tensors_max) return refuse("too many tensors");
    header_.tensors.emplace_back().name = key_;
    seen_.clear();
    return enter(Place::tensor);
  }

  bool end_object() override {
    if (place_ == Place::tensor && seen_.size() != 3) return refuse("an incomplete tensor");
    return enter(place_ == Place::file ? Place::end : Place::file);
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || key_ == "dtype") return refuse("a list");
    numbers_.clear();
    return enter(Place::numbers);
  }

  bool end_array() override {
    if (key_ == "shape") {
      tensor().shape = numbers_;
    } else {
      if (numbers_.size() != 2) return refuse("data_offsets that are not two");
      tensor().begin = static_cast<std::uint64_t>(numbers_[0]);
      tensor().end = static_cast<std::uint64_t>(numbers_[1]);
    }
    return enter(Place::tensor);
  }

  bool key(std::string& text) override {
    key_ = text;
    if (place_ == Place::tensor) {
      bool const known = text == "dtype" || text == "shape" || text == "data_offsets";
      return (known && seen_.insert(text).second) || refuse("an unknown or repeated key");
    }
    if (place_ != Place::file) return true;
    if (text.empty() || text.size() > limits::tensor_name_max) return refuse("a bad name");
    return names_.insert(text).second || refuse("a repeated name");
  }

  bool parse_error(std::size_t position, std::string const&,
                   nlohmann::json::exception const&) override {
    complaint_ = fmt::format("header is not JSON at byte {}", position);
    return false;
  }

 private:
  enum class Place { start, file, tensor, numbers, metadata, end };

  HeaderTensor& tensor() { return header_.tensors.back(); }
  bool enter(Place place) {
    place_ = place;
    return true;
  }
  bool refuse(char const* what) {
    complaint_ = fmt::format("header holds {} at {:.64}", what, key_.empty() ? "its top" : key_);
    return false;
  }

  Place place_ = Place::start;
  std::string key_;
  std::vector<std::int64_t> numbers_;
  std::set<std::string> names_;
  std::set<std::string> seen_;  // keys of the tensor that is being read
  Header header_;
  std::string complaint_;
};

}  // namespace

Result<Header> read_header(std::string_view json) {
  // Readers of this format may rely on the first byte; nothing may stand before the object.
  if (!json.starts_with('{')) return fail(Errc::malformed, "header does not begin with {");
  Reader reader;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader))
    return fail(Errc::malformed, reader.complaint());
  return reader.take();
}

}  // namespace grapevine::safetensors
