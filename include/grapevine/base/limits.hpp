// Every limit of the node, in one place. Each is tested at the limit, one over, and zero.
// Sizes in bytes unless the name says otherwise. Sources: libp2p specs and the defaults of the
// go, rust and js implementations, tightened where theirs were the subject of an advisory.
#pragma once

#include "grapevine/base/time.hpp"

#include <cstddef>
#include <cstdint>

namespace grapevine::limits {

using namespace std::chrono_literals;

// wire
inline constexpr std::size_t varint_bytes_max = 9;
inline constexpr std::size_t multiaddr_bytes_max = 1024;
inline constexpr std::size_t multiaddr_components_max = 20;
inline constexpr std::size_t public_key_bytes_max = 64;
inline constexpr std::size_t protobuf_fields_max = 16 * 1024;

// connections
inline constexpr std::size_t handshakes_inbound_max = 64;
inline constexpr std::size_t handshakes_per_ip_max = 4;
inline constexpr Duration upgrade_deadline = 10s;
inline constexpr std::size_t connections_max = 512;
inline constexpr std::size_t connections_per_peer_max = 4;
inline constexpr std::size_t connections_per_ip_max = 16;
inline constexpr double accepts_per_ip_per_s = 5;
inline constexpr double accepts_per_ip_burst = 20;
inline constexpr double accepts_per_s = 200;
inline constexpr std::size_t dials_parallel_max = 32;
inline constexpr std::size_t dials_per_peer_max = 2;
inline constexpr Duration dial_backoff_min = 5s;
inline constexpr Duration dial_backoff_max = 5min;
inline constexpr std::size_t dial_addresses_max = 25;
inline constexpr std::size_t address_book_peers_max = 10'000;
inline constexpr std::size_t address_book_addresses_max = 64;

// multistream-select
inline constexpr std::size_t multistream_message_max = 1024;
inline constexpr std::size_t multistream_proposals_max = 16;
inline constexpr Duration negotiation_deadline = 10s;

// noise
inline constexpr std::size_t noise_message_max = 65535;
inline constexpr std::size_t noise_plaintext_max = 65519;
inline constexpr std::size_t noise_muxers_max = 100;
inline constexpr std::size_t noise_muxer_name_max = 256;

// yamux
inline constexpr std::uint32_t yamux_window_initial = 256 * 1024;
inline constexpr std::uint32_t yamux_window_max = 16 * 1024 * 1024;
inline constexpr std::size_t yamux_frame_payload_max = 64 * 1024 - 12;  // what we send
inline constexpr std::size_t yamux_streams_inbound_max = 256;
inline constexpr std::size_t yamux_streams_unnegotiated_max = 64;
inline constexpr std::size_t yamux_streams_outbound_max = 512;
inline constexpr std::size_t yamux_unacked_outbound_max = 256;
inline constexpr std::size_t yamux_pongs_queued_max = 32;
inline constexpr double yamux_pings_per_s_max = 100;
inline constexpr double yamux_stream_opens_per_s = 200;
inline constexpr double yamux_stream_opens_burst = 1000;
inline constexpr std::size_t connection_receive_bytes_max = 32 * 1024 * 1024;
inline constexpr std::size_t connection_send_bytes_max = 4 * 1024 * 1024;
inline constexpr Duration connection_stall_max = 30s;

// identify and ping
inline constexpr std::size_t identify_message_max = 8 * 1024;
inline constexpr std::size_t identify_sent_max = 4096;
inline constexpr std::size_t identify_messages_max = 10;
inline constexpr std::size_t identify_protocols_max = 1024;
inline constexpr std::size_t identify_protocol_name_max = 256;
inline constexpr std::size_t identify_addresses_max = 500;
inline constexpr std::size_t identify_agent_max = 128;
inline constexpr Duration identify_deadline = 5s;
inline constexpr double pings_per_s_max = 10;
inline constexpr std::size_t ping_streams_inbound_max = 2;

// gossip
inline constexpr std::size_t gossip_rpc_received_max = 1024 * 1024;
inline constexpr std::size_t gossip_rpc_sent_max = 60 * 1024;
inline constexpr std::size_t gossip_control_sent_max = 12 * 1024;
inline constexpr std::size_t gossip_topic_name_max = 256;
inline constexpr std::size_t gossip_topics_per_peer_max = 100;
inline constexpr std::size_t gossip_queue_per_peer_max = 256;  // RPCs; the oldest is dropped
inline constexpr std::size_t gossip_validations_max = 1024;

// messages of ours
inline constexpr std::size_t signed_message_max = 48 * 1024;
inline constexpr std::size_t manifest_bytes_max = 64 * 1024;
inline constexpr std::size_t message_depth_max = 16;
inline constexpr std::size_t message_tables_max = 4096;
inline constexpr std::size_t beacon_addresses_max = 16;

// blobs
inline constexpr std::size_t blob_chunk_bytes = 256 * 1024;
inline constexpr std::uint64_t blob_bytes_max = 64ull * 1024 * 1024 * 1024;
inline constexpr std::size_t blob_request_chunks_max = 64;
inline constexpr std::size_t blob_streams_served_max = 64;
inline constexpr std::size_t blob_holders_max = 8;
inline constexpr Duration blob_stall_max = 10s;

// models and their files
inline constexpr std::uint64_t model_elements_max = 1ull << 40;
inline constexpr std::uint32_t model_vocab_max = 1u << 20;
inline constexpr std::uint32_t model_width_max = 1u << 17;  // hidden and intermediate size
inline constexpr std::uint32_t model_layers_max = 512;
inline constexpr std::uint32_t model_heads_max = 1024;
inline constexpr std::uint32_t model_context_max = 1u << 17;
inline constexpr std::size_t tensor_name_max = 512;
inline constexpr std::size_t tensor_dimensions_max = 8;
inline constexpr std::size_t tensors_max = 64 * 1024;
inline constexpr std::size_t model_config_json_max = 64 * 1024;
inline constexpr std::size_t safetensors_header_max = 16 * 1024 * 1024;

// runs
inline constexpr std::size_t shards_max = 16;
inline constexpr std::size_t round_peers_max = 256;
inline constexpr std::size_t inner_steps_max = 100'000;

}  // namespace grapevine::limits
