#include "codec_detail.hpp"
#include "flat_detail.hpp"
#include "grapevine/base/assert.hpp"
#include "grapevine/wire/messages.hpp"
#include "grapevine_schemas/chunk_generated.h"
#include "policy_detail.hpp"

namespace grapevine {
namespace {

constexpr char const* request_identifier = "GVCQ";
constexpr char const* response_identifier = "GVCR";

// Who knows a blob by its root alone asks with 0 bytes, and may ask for any chunk.
std::uint64_t chunks_of(BlobRef const& blob) {
  if (blob.bytes == 0) return limits::blob_leaves_max;
  return (blob.bytes - 1) / limits::blob_chunk_bytes + 1;
}

Result<> check(ChunkRequest const& request) {
  TRY(policy::at_most("blob in bytes", request.blob.bytes, limits::blob_bytes_max));
  TRY(policy::at_most("chunks asked for", request.count, limits::blob_request_chunks_max));
  TRY(policy::require(request.count > 0 || request.want_leaves, "request for nothing"));
  auto const chunks = chunks_of(request.blob);
  TRY(policy::at_most("first chunk", request.first, chunks - 1));
  return policy::at_most("last chunk", request.first + request.count, chunks);
}

Result<> check(ChunkResponse const& response) {
  TRY(policy::known("chunk status", response.status, ChunkStatus::busy));
  TRY(policy::at_most("chunks", response.count, limits::blob_request_chunks_max));
  TRY(policy::at_most("leaves", response.leaves.size(), limits::blob_leaves_max));
  TRY(policy::at_most("retry time in ms", response.retry_after_ms, limits::retry_after_ms_max));
  TRY(policy::at_most("blob in bytes", response.bytes, limits::blob_bytes_max));
  bool const has_content = response.count > 0 || response.bytes > 0 || !response.leaves.empty();
  return policy::require(response.status == ChunkStatus::ok || !has_content,
                         "a refusal with chunks");
}

}  // namespace

Bytes encode(ChunkRequest const& request) {
  ASSERT(check(request).has_value());
  return codec::encode_payload(request);
}

Bytes codec::encode_payload(ChunkRequest const& request) {
  flat::Builder builder;
  auto const blob = flat::from(request.blob);
  schema::ChunkRequestBuilder table(builder);
  table.add_blob(&blob);
  table.add_first(request.first);
  table.add_count(request.count);
  table.add_want_leaves(request.want_leaves);
  return flat::finish(builder, table.Finish(), request_identifier);
}

Result<ChunkRequest> decode_chunk_request(ByteView bytes) {
  TRY_ASSIGN(auto const aligned, flat::aligned_copy(bytes, limits::chunk_request_bytes_max));
  TRY_ASSIGN(auto const* const table,
             flat::verified_root<schema::ChunkRequest>(aligned, request_identifier));
  ChunkRequest const request = {flat::ref(*table->blob()), table->first(), table->count(),
                                table->want_leaves()};
  TRY(check(request));
  return request;
}

Bytes encode(ChunkResponse const& response) {
  ASSERT(check(response).has_value());
  return codec::encode_payload(response);
}

Bytes codec::encode_payload(ChunkResponse const& response) {
  flat::Builder builder(response.leaves.size() * sizeof(schema::Hash) + 128);
  flatbuffers::Offset<flat::HashVector> leaves;
  if (!response.leaves.empty()) {
    schema::Hash* listed = nullptr;
    leaves = builder.CreateUninitializedVectorOfStructs(response.leaves.size(), &listed);
    for (auto const& leaf : response.leaves) *listed++ = flat::from(leaf);
  }
  schema::ChunkResponseBuilder table(builder);
  table.add_status(static_cast<schema::ChunkStatus>(response.status));
  table.add_retry_after_ms(response.retry_after_ms);
  table.add_count(response.count);
  table.add_bytes(response.bytes);
  table.add_leaves(leaves);
  return flat::finish(builder, table.Finish(), response_identifier);
}

Result<ChunkResponse> decode_chunk_response(ByteView bytes) {
  TRY_ASSIGN(auto const aligned, flat::aligned_copy(bytes, limits::chunk_response_bytes_max));
  TRY_ASSIGN(auto const* const table,
             flat::verified_root<schema::ChunkResponse>(aligned, response_identifier));
  ChunkResponse response;
  response.status = static_cast<ChunkStatus>(table->status());
  response.retry_after_ms = table->retry_after_ms();
  response.count = table->count();
  response.bytes = table->bytes();
  if (table->leaves() != nullptr) response.leaves = flat::hashes(*table->leaves());
  TRY(check(response));
  return response;
}

}  // namespace grapevine
