// Between our values and FlatBuffers: the verified root of hostile bytes, and the shapes that the
// schemas share. Codecs alone include this. Vectors of structs are read by copying: the verifier
// does not check the alignment of their elements.
#pragma once

#include "grapevine/base/limits.hpp"
#include "grapevine/wire/blob_ref.hpp"
#include "grapevine/wire/peer_id.hpp"
#include "grapevine_schemas/common_generated.h"

#include <optional>

namespace grapevine::flat {

using Builder = flatbuffers::FlatBufferBuilder;
using ByteVector = flatbuffers::Vector<std::uint8_t>;
using HashVector = flatbuffers::Vector<schema::Hash const*>;
using RefVector = flatbuffers::Vector<schema::BlobRef const*>;

// A copy, since FlatBuffers must be aligned; Errc::oversize over `bytes_max`.
[[nodiscard]] Result<Bytes> aligned_copy(ByteView bytes, std::size_t bytes_max);

// Points into `aligned`.
template <class Table>
[[nodiscard]] Result<Table const*> verified_root(ByteView aligned, char const* identifier) {
  flatbuffers::Verifier verifier(aligned.data(), aligned.size(), limits::message_depth_max,
                                 limits::message_tables_max);
  if (!verifier.VerifyBuffer<Table>(identifier))
    return fail(Errc::malformed, std::string("not a valid message of kind ") + identifier);
  return flatbuffers::GetRoot<Table>(aligned.data());
}

template <class Table>
[[nodiscard]] Bytes finish(Builder& builder, flatbuffers::Offset<Table> root,
                           char const* identifier) {
  builder.Finish(root, identifier);
  auto const bytes = builder.GetBufferSpan();
  return {bytes.begin(), bytes.end()};
}

[[nodiscard]] ByteView view(ByteVector const& vector);
[[nodiscard]] std::string text(flatbuffers::String const& string);
[[nodiscard]] Result<PeerId> peer(ByteVector const& vector);

[[nodiscard]] Hash hash(schema::Hash const& hash);
[[nodiscard]] std::vector<Hash> hashes(HashVector const& vector);
[[nodiscard]] BlobRef ref(schema::BlobRef const& ref);
[[nodiscard]] std::optional<BlobRef> ref(schema::BlobRef const* optional);  // null: absent
// Errc::oversize over limits::mix_shards_max; none for an absent vector.
[[nodiscard]] Result<std::vector<BlobRef>> refs(RefVector const* vector);

[[nodiscard]] schema::Hash from(Hash const& hash);
[[nodiscard]] schema::BlobRef from(BlobRef const& ref);
[[nodiscard]] flatbuffers::Offset<RefVector> from(Builder& builder,
                                                  std::vector<BlobRef> const& refs);
[[nodiscard]] flatbuffers::Offset<ByteVector> from(Builder& builder, ByteView bytes);
[[nodiscard]] flatbuffers::Offset<ByteVector> from(Builder& builder, PeerId const& peer);

}  // namespace grapevine::flat
