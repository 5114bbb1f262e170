// The codecs of codec.hpp on a CUDA device: the same arithmetic, the same bytes and values. Values
// and encodings lie in device memory of the current device, owned by the caller; `stream` is a
// cudaStream_t (null: the default stream), and both functions return when their work on it is done.
// Errors as on the host, and Errc::device_unavailable when the device fails, or in a program built
// without a CUDA compiler. Any thread.
#pragma once

#include "grapevine/kernels/codec.hpp"

namespace grapevine {

// `out` has room for encoded_bytes(settings, elements).
Result<> encode_on_device(CodecSettings const& settings, float const* values, std::size_t elements,
                          std::uint8_t* out, void* stream);

// `bytes` is the size of `encoded`; `out` has room for `elements`.
Result<> decode_on_device(CodecSettings const& settings, std::uint8_t const* encoded,
                          std::size_t bytes, float* out, std::size_t elements, void* stream);

}  // namespace grapevine
