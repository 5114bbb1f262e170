#include "grapevine/kernels/codec.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "kernels/codec_fault_detail.hpp"
#include "kernels/codec_paths_detail.hpp"

#include <array>

namespace grapevine {

using namespace codec_detail;

namespace {

struct Group {
  std::size_t elements;
  std::size_t (*bytes)(CodecSettings const& settings, std::size_t count);  // of that many or fewer
};

std::size_t fp32_bytes(CodecSettings const&, std::size_t count) { return 4 * count; }
std::size_t bf16_bytes(CodecSettings const&, std::size_t count) { return 2 * count; }
std::size_t int8_bytes(CodecSettings const&, std::size_t count) { return 4 + count; }
std::size_t int4_bytes(CodecSettings const&, std::size_t count) { return 4 + (count + 1) / 2; }
std::size_t topk_bytes(CodecSettings const& settings, std::size_t count) {
  return chunk_bytes(kept_of(static_cast<std::uint32_t>(count), settings.chunk, settings.kept));
}

Group group_of(CodecSettings const& settings) {
  switch (settings.codec) {
    case Codec::fp32:
      return {1, fp32_bytes};
    case Codec::bf16:
      return {1, bf16_bytes};
    case Codec::int8:
      return {settings.block, int8_bytes};
    case Codec::int4:
      return {settings.block, int4_bytes};
    case Codec::topk:
      break;
  }
  return {settings.chunk, topk_bytes};
}

CodecPath const& fastest_path() { return usable_paths().back(); }

}  // namespace

std::string_view codec_name(Codec codec) {
  static constexpr std::array names{"fp32", "bf16", "int8", "int4", "topk"};
  return names[static_cast<std::size_t>(codec)];
}

std::string_view codec_instruction_set() { return fastest_path().name; }

Result<> check_settings(CodecSettings const& settings) {
  if (settings.codec > Codec::topk)
    return fail(Errc::unsupported, "codec " + std::to_string(static_cast<int>(settings.codec)));
  if (settings.block < 2 || settings.block > group_max || settings.block % 2 != 0)
    return fail(Errc::unsupported, "blocks of " + std::to_string(settings.block) +
                                       " elements: an even number up to 4096 is meant");
  if (settings.chunk < 1 || settings.chunk > group_max)
    return fail(Errc::unsupported,
                "chunks of " + std::to_string(settings.chunk) + " elements: 1 to 4096 are meant");
  if (settings.kept < 1 || settings.kept > settings.chunk)
    return fail(Errc::unsupported, std::to_string(settings.kept) + " elements kept of " +
                                       std::to_string(settings.chunk));
  return {};
}

std::size_t group_elements(CodecSettings const& settings) { return group_of(settings).elements; }

std::size_t encoded_bytes(CodecSettings const& settings, std::size_t elements) {
  ASSERT(check_settings(settings).has_value());
  ASSERT(elements <= limits::model_elements_max);
  auto const group = group_of(settings);
  std::size_t const rest = elements % group.elements;
  return elements / group.elements * group.bytes(settings, group.elements) +
         (rest > 0 ? group.bytes(settings, rest) : 0);
}

Result<> encode(CodecSettings const& settings, std::span<float const> values, MutableByteView out) {
  ASSERT(out.size() == encoded_bytes(settings, values.size()));
  return encode_result(fastest_path().encode(settings, values.data(), values.size(), out.data()));
}

Result<> decode(CodecSettings const& settings, ByteView encoded, std::span<float> out) {
  TRY(check_encoded_size(settings, encoded.size(), out.size()));
  return decode_result(settings.codec,
                       fastest_path().decode(settings, encoded.data(), out.data(), out.size()));
}

}  // namespace grapevine
