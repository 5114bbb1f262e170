#include "kernels/codec_fault_detail.hpp"

#include <array>

namespace grapevine::codec_detail {
namespace {

std::string encoding_of(Codec codec) { return std::string(codec_name(codec)) + " encoding: "; }

}  // namespace

Result<> check_encoded_size(CodecSettings const& settings, std::size_t bytes,
                            std::size_t elements) {
  std::size_t const expected = encoded_bytes(settings, elements);
  if (bytes == expected) return {};
  return fail(Errc::malformed, encoding_of(settings.codec) + std::to_string(bytes) + " bytes for " +
                                   std::to_string(elements) + " elements, which take " +
                                   std::to_string(expected));
}

Result<> encode_result(Fault fault) {
  if (fault == Fault::none) return {};
  return fail(Errc::not_finite, "in a tensor to encode");
}

Result<> decode_result(Codec codec, Fault fault) {
  static constexpr std::array texts{"",
                                    "a value is not finite",
                                    "a scale is not one",
                                    "a value is out of range",
                                    "a place is out of order or of range",
                                    "filling bits are not zero"};
  if (fault == Fault::none) return {};
  return fail(Errc::malformed, encoding_of(codec) + texts[static_cast<std::size_t>(fault)]);
}

}  // namespace grapevine::codec_detail
