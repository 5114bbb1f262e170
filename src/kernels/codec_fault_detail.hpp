// What the host's and the device's codecs found wrong, as the errors of codec.hpp.
#pragma once

#include "grapevine/kernels/codec.hpp"
#include "kernels/codec_arithmetic_detail.hpp"

namespace grapevine::codec_detail {

[[nodiscard]] Result<> check_encoded_size(CodecSettings const& settings, std::size_t bytes,
                                          std::size_t elements);
[[nodiscard]] Result<> encode_result(Fault fault);
[[nodiscard]] Result<> decode_result(Codec codec, Fault fault);

}  // namespace grapevine::codec_detail
