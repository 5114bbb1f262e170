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
inline constexpr std::size_t multiaddr_text_max = 4096;
inline constexpr std::size_t base58_text_max = 256;  // decoding is quadratic
inline constexpr std::size_t peer_record_bytes_max = 8 * 1024;
inline constexpr std::size_t peer_record_addresses_max = 64;
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
inline constexpr Duration dial_connect_deadline = 5s;
inline constexpr Duration dial_stagger = 250ms;  // between the addresses of one peer
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
inline constexpr std::size_t yamux_absorbed_max = 64 * 1024;  // written bytes copied, per stream
inline constexpr std::size_t yamux_control_frames_max = 512;  // unsent; above it we stop reading
inline constexpr Duration yamux_linger_max = 30s;
inline constexpr Duration yamux_ping_interval = 15s;
inline constexpr Duration yamux_ping_timeout = 10s;
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
inline constexpr double pings_burst = 100;  // above it the answers wait
inline constexpr Duration ping_idle_max = 60s;
inline constexpr Duration ping_deadline = 10s;
inline constexpr Duration identify_retry_after = 1s;
inline constexpr Duration identify_push_delay = 1s;
inline constexpr Duration goodbye_grace = 200ms;
inline constexpr std::size_t ping_streams_inbound_max = 2;

// gossip
inline constexpr std::size_t gossip_rpc_received_max = 1024 * 1024;
inline constexpr std::size_t gossip_rpc_sent_max = 60 * 1024;
inline constexpr std::size_t gossip_control_sent_max = 12 * 1024;
inline constexpr std::size_t gossip_topic_name_max = 256;
inline constexpr std::size_t gossip_topics_per_peer_max = 100;
inline constexpr std::size_t gossip_queue_per_peer_max = 256;  // RPCs; the oldest is dropped
inline constexpr std::size_t gossip_validations_max = 1024;
inline constexpr std::size_t gossip_rpc_fields_max = 64 * 1024;  // of an RPC, all levels together
inline constexpr std::size_t gossip_id_max = 64;                 // bytes of a message id
inline constexpr std::size_t gossip_seen_max = 64 * 1024;
inline constexpr std::size_t gossip_authors_max = 4096;  // whose old messages are told from new
inline constexpr std::size_t gossip_ids_told_max =
    2000;  // per IHAVE: fits the caps of every receiver
inline constexpr std::size_t gossip_history_bytes_max = 32 * 1024 * 1024;
inline constexpr std::size_t gossip_ihaves_max = 10;  // per peer and heartbeat, as the next three
inline constexpr std::size_t gossip_ids_asked_max = 5000;
inline constexpr std::size_t gossip_idontwants_max = 10;
inline constexpr std::size_t gossip_ids_unwanted_max = 1000;
inline constexpr std::size_t gossip_promises_max = 16 * 1024;
inline constexpr std::size_t gossip_backoffs_max = 4096;         // per topic of ours
inline constexpr std::size_t gossip_scores_retained_max = 4096;  // of peers that left
inline constexpr Duration gossip_backoff_max = 1h;               // a PRUNE asks for at most this
inline constexpr Duration gossip_reopen_min = 1s;                // of a stream that died
inline constexpr Duration gossip_reopen_max = 60s;
inline constexpr Duration gossip_goodbye = 500ms;  // to send what is queued when we stop

// messages of ours
inline constexpr std::size_t signed_message_max = 48 * 1024;
inline constexpr std::size_t manifest_bytes_max = 64 * 1024;
inline constexpr std::size_t manifest_json_max = 256 * 1024;
inline constexpr std::size_t message_depth_max = 16;
inline constexpr std::size_t message_tables_max = 4096;
inline constexpr std::size_t beacon_addresses_max = 16;
// One every two seconds is usual, and one at each change of state.
inline constexpr double beacons_per_author_per_s = 10;
inline constexpr double beacons_per_author_burst = 50;
inline constexpr std::size_t ledger_entry_bytes_max = 64 * 1024;  // kept on disk, never gossiped
inline constexpr std::size_t state_descriptor_bytes_max = 4096;
inline constexpr std::size_t peer_name_max = 64;
inline constexpr std::size_t agent_max = 128;
inline constexpr std::size_t reason_max = 128;
inline constexpr std::size_t run_name_max = 128;
inline constexpr std::size_t tokenizer_name_max = 128;
inline constexpr std::uint64_t rounds_max = 1ull << 40;  // every run ends there
// 256 peers' tokens of a round add up exactly in a double.
inline constexpr std::uint64_t round_tokens_max = 1ull << 44;
inline constexpr std::uint64_t tokens_total_max = 1ull << 52;

// blobs
inline constexpr std::size_t blob_chunk_bytes = 256 * 1024;
inline constexpr std::uint64_t blob_bytes_max = 64ull * 1024 * 1024 * 1024;
inline constexpr std::size_t blob_request_chunks_max = 64;
inline constexpr std::size_t blob_leaves_max = blob_bytes_max / blob_chunk_bytes;
inline constexpr std::size_t chunk_request_bytes_max = 512;
inline constexpr std::size_t chunk_response_bytes_max = blob_leaves_max * 32 + 512;
inline constexpr std::uint32_t retry_after_ms_max = 60'000;
inline constexpr std::size_t blob_streams_max = 512;  // open to us
inline constexpr std::size_t blob_streams_per_peer_max = 96;
inline constexpr std::size_t blob_streams_served_max = 128;  // answered at a time
inline constexpr std::size_t blob_streams_served_per_peer_max = 32;
inline constexpr std::size_t blob_holders_max = 8;
inline constexpr Duration blob_stall_max = 10s;
inline constexpr Duration blob_chunk_max = 60s;   // of one chunk, however slow the link
inline constexpr Duration blob_idle_max = 60s;    // between two requests on one stream
inline constexpr Duration blob_busy_pause = 1s;   // we ask for before the next try
inline constexpr Duration blob_request_aim = 2s;  // a request is for as much as comes in this time

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
inline constexpr std::size_t data_files_max = 100'000;
inline constexpr std::size_t data_folder_depth_max = 32;
inline constexpr std::uint32_t batch_sequences_max = 4096;
inline constexpr std::size_t safetensors_header_max = 16 * 1024 * 1024;
inline constexpr std::size_t checkpoint_state_max = 16 * 1024;

// files of the home directory
inline constexpr std::size_t key_file_bytes_max = 4096;
inline constexpr std::size_t small_text_file_bytes_max = 256;  // a port, an address

// runtime
inline constexpr std::size_t worker_jobs_max = 64;  // per worker; more make their callers wait

// status page
inline constexpr std::size_t http_header_bytes_max = 8 * 1024;
inline constexpr std::size_t http_body_bytes_max = 4 * 1024;
inline constexpr std::size_t http_connections_max = 64;
inline constexpr std::size_t http_requests_per_connection_max = 1000;
inline constexpr Duration http_request_deadline = 10s;
inline constexpr Duration http_response_deadline = 30s;
inline constexpr Duration http_idle_max = 30s;
inline constexpr std::size_t http_response_bytes_max = 16 * 1024 * 1024;  // what our client reads
inline constexpr std::size_t metric_labels_max = 32;                      // values of one label

// probe batches
inline constexpr std::size_t probe_tokens_max = 256;  // of the batch, and rows of an answer
inline constexpr std::size_t probe_listed_max = 64;   // likeliest tokens in a row of an answer
inline constexpr std::size_t probe_answer_bytes_max = 132 * 1024;  // 256 rows of 64, 8 bytes each

inline constexpr std::size_t probe_partners_max = 4;  // answers of others compared in a round
inline constexpr Duration probe_deadline = 10s;       // of pulling one

// runs
inline constexpr std::size_t shards_max = 16;
inline constexpr std::size_t mix_shards_max = 3 * shards_max;  // parameters, momentum, gradients
inline constexpr std::size_t round_peers_max = 256;
inline constexpr std::size_t inner_steps_max = 100'000;
inline constexpr std::size_t pair_decisions_max = 4096;     // remembered commits of pair exchanges
inline constexpr std::size_t pair_doubts_max = 8;           // each keeps two copies of the model
inline constexpr std::size_t mix_messages_queued_max = 16;  // to one peer; the oldest is dropped
inline constexpr Duration mix_message_deadline = 5s;        // from opening its stream to its end
inline constexpr std::uint64_t schedule_steps_max = 1ull << 40;
inline constexpr float round_deadline_s_max = 24 * 3600;

}  // namespace grapevine::limits
