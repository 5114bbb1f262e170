// The functions of device_codec.hpp for a build without a CUDA compiler (see device_codec.cu).
#include "grapevine/kernels/device_codec.hpp"

namespace grapevine {
namespace {

tl::unexpected<Error> unavailable() {
  return fail(Errc::device_unavailable, "this program was built without CUDA");
}

}  // namespace

Result<> encode_on_device(CodecSettings const&, float const*, std::size_t, std::uint8_t*, void*) {
  return unavailable();
}

Result<> decode_on_device(CodecSettings const&, std::uint8_t const*, std::size_t, float*,
                          std::size_t, void*) {
  return unavailable();
}

}  // namespace grapevine
