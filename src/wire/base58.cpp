#include "grapevine/wire/base58.hpp"

#include "radix_detail.hpp"

namespace grapevine {
namespace {

constexpr Radix base58 = {"base58", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"};

}  // namespace

std::string to_base58(ByteView bytes) { return to_radix(base58, bytes); }
Result<Bytes> from_base58(std::string_view text) { return from_radix(base58, text); }

}  // namespace grapevine
