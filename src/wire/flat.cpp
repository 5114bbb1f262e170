#include "flat_detail.hpp"

namespace grapevine::flat {

static_assert(sizeof(schema::Hash) == sizeof(Hash));
static_assert(limits::blob_leaves_max * sizeof(schema::Hash) < limits::chunk_response_bytes_max);

Result<Bytes> aligned_copy(ByteView bytes, std::size_t bytes_max) {
  if (bytes.size() > bytes_max)
    return fail(Errc::oversize, "message of " + std::to_string(bytes.size()) + " bytes, at most " +
                                    std::to_string(bytes_max));
  return Bytes(bytes.begin(), bytes.end());
}

ByteView view(ByteVector const& vector) { return {vector.data(), vector.size()}; }
std::string text(flatbuffers::String const& string) { return string.str(); }
Result<PeerId> peer(ByteVector const& vector) { return PeerId::from_bytes(view(vector)); }

Hash hash(schema::Hash const& hash) {
  Hash value;
  std::memcpy(value.bytes.data(), hash.bytes()->data(), value.bytes.size());
  return value;
}

std::vector<Hash> hashes(HashVector const& vector) {
  std::vector<Hash> values(vector.size());
  if (!values.empty()) std::memcpy(values.data(), vector.Data(), values.size() * sizeof(Hash));
  return values;
}

BlobRef ref(schema::BlobRef const& ref) { return {hash(ref.root()), ref.bytes()}; }

std::optional<BlobRef> ref(schema::BlobRef const* optional) {
  return optional == nullptr ? std::nullopt : std::optional(ref(*optional));
}

Result<std::vector<BlobRef>> refs(RefVector const* vector) {
  std::vector<BlobRef> values;
  if (vector == nullptr) return values;
  if (vector->size() > limits::mix_shards_max)
    return fail(Errc::oversize, "list of " + std::to_string(vector->size()) + " shards");
  values.reserve(vector->size());
  for (std::size_t i = 0; i < vector->size(); ++i) {
    schema::BlobRef aligned;
    std::memcpy(&aligned, vector->Data() + i * sizeof(aligned), sizeof(aligned));
    values.push_back(ref(aligned));
  }
  return values;
}

schema::Hash from(Hash const& hash) {
  return schema::Hash(flatbuffers::span<std::uint8_t const, 32>(hash.bytes));
}

schema::BlobRef from(BlobRef const& ref) { return {from(ref.root), ref.bytes}; }

flatbuffers::Offset<RefVector> from(Builder& builder, std::vector<BlobRef> const& refs) {
  std::vector<schema::BlobRef> structs;
  structs.reserve(refs.size());
  for (auto const& ref : refs) structs.push_back(from(ref));
  return builder.CreateVectorOfStructs(structs);
}

flatbuffers::Offset<ByteVector> from(Builder& builder, ByteView bytes) {
  return builder.CreateVector(bytes.data(), bytes.size());
}

flatbuffers::Offset<ByteVector> from(Builder& builder, PeerId const& peer) {
  return from(builder, peer.bytes());
}

}  // namespace grapevine::flat
