#include "grapevine/kernels/device_codec.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/kernels/staging.hpp"
#include "kernels/codec_arithmetic_detail.hpp"
#include "kernels/codec_fault_detail.hpp"
#include "kernels/cuda_error.cuh"

#include <algorithm>

namespace grapevine {

using namespace codec_detail;

namespace {

constexpr unsigned threads = 256;
constexpr unsigned all_lanes = 0xffffffffU;
constexpr std::size_t grid_max = 65536;  // of the kernels that stride over elements

// Several threads may find faults: any of them will do.
__device__ void report(Fault fault, std::uint8_t* verdict) {
  if (fault != Fault::none)
    *static_cast<std::uint8_t volatile*>(verdict) = static_cast<std::uint8_t>(fault);
}

__device__ void report_finite(std::int32_t magnitude, std::uint8_t* verdict) {
  if (magnitude >= infinity_magnitude) report(Fault::not_finite, verdict);
}

__device__ std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

// --- fp32 and bf16: a thread an element, in strides ---

__device__ std::size_t first_element() { return std::size_t{blockIdx.x} * threads + threadIdx.x; }
__device__ std::size_t stride() { return std::size_t{gridDim.x} * threads; }

__global__ void encode_fp32(float const* values, std::size_t count, std::uint8_t* out,
                            std::uint8_t* verdict) {
  for (std::size_t i = first_element(); i < count; i += stride()) {
    std::memcpy(out + 4 * i, values + i, sizeof(float));
    report_finite(magnitude(values[i]), verdict);
  }
}

__global__ void decode_fp32(std::uint8_t const* encoded, float* out, std::size_t count,
                            std::uint8_t* verdict) {
  for (std::size_t i = first_element(); i < count; i += stride()) {
    std::memcpy(out + i, encoded + 4 * i, sizeof(float));
    report_finite(magnitude(out[i]), verdict);
  }
}

__global__ void encode_bf16(float const* values, std::size_t count, std::uint8_t* out,
                            std::uint8_t* verdict) {
  for (std::size_t i = first_element(); i < count; i += stride()) {
    std::uint16_t const rounded = to_bf16(values[i]);
    std::memcpy(out + 2 * i, &rounded, sizeof(rounded));
    report_finite(magnitude(values[i]), verdict);
  }
}

__global__ void decode_bf16(std::uint8_t const* encoded, float* out, std::size_t count,
                            std::uint8_t* verdict) {
  for (std::size_t i = first_element(); i < count; i += stride()) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, encoded + 2 * i, sizeof(bits));
    out[i] = from_bf16(bits);
    report_finite(magnitude(out[i]), verdict);
  }
}

// --- int8 and int4: a thread block a block ---

__device__ std::int32_t largest_of_all_threads(std::int32_t largest) {
  __shared__ std::int32_t of_warps[threads / 32];
  largest = __reduce_max_sync(all_lanes, largest);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = largest;
  __syncthreads();
  for (auto const of_warp : of_warps) largest = largest > of_warp ? largest : of_warp;
  return largest;
}

template <int levels>
__device__ std::size_t block_stride(std::size_t block) {
  return sizeof(float) + (levels == 7 ? block / 2 : block);
}

template <int levels>
__global__ void encode_blocks(float const* values, std::size_t count, std::size_t block,
                              std::uint8_t* out, std::uint8_t* verdict) {
  values += blockIdx.x * block;
  out += blockIdx.x * block_stride<levels>(block);
  std::size_t const here = smaller(block, count - blockIdx.x * block);
  std::int32_t largest = 0;
  for (std::size_t i = threadIdx.x; i < here; i += threads)
    largest = largest > magnitude(values[i]) ? largest : magnitude(values[i]);
  largest = largest_of_all_threads(largest);
  report_finite(largest, verdict);
  auto const scale = block_scale<levels>(largest);
  if (threadIdx.x == 0) std::memcpy(out, &scale.scale, sizeof(float));
  out += sizeof(float);
  if constexpr (levels == 7) {
    for (std::size_t i = 2 * threadIdx.x; i < here; i += 2 * threads) {
      std::int32_t const low = quantised(values[i], scale.inverse);
      std::int32_t const high = i + 1 < here ? quantised(values[i + 1], scale.inverse) : 0;
      out[i / 2] = static_cast<std::uint8_t>((low & 0x0f) | (high & 0x0f) << 4);
    }
  } else {
    for (std::size_t i = threadIdx.x; i < here; i += threads)
      out[i] = static_cast<std::uint8_t>(quantised(values[i], scale.inverse));
  }
}

template <int levels>
__device__ void decode_one(std::int32_t q, float scale, float* out, std::uint8_t* verdict) {
  if (q < -levels) report(Fault::bad_value, verdict);
  *out = dequantised(q, scale);
}

__device__ std::int32_t signed_nibble(unsigned nibble) {
  return (static_cast<std::int32_t>(nibble & 0x0fU) ^ 8) - 8;
}

template <int levels>
__global__ void decode_blocks(std::uint8_t const* encoded, float* out, std::size_t count,
                              std::size_t block, std::uint8_t* verdict) {
  encoded += blockIdx.x * block_stride<levels>(block);
  out += blockIdx.x * block;
  std::size_t const here = smaller(block, count - blockIdx.x * block);
  float scale = 0;
  std::memcpy(&scale, encoded, sizeof(scale));
  if (!is_scale<levels>(scale)) return report(Fault::bad_scale, verdict);
  encoded += sizeof(float);
  if constexpr (levels == 7) {
    for (std::size_t i = 2 * threadIdx.x; i < here; i += 2 * threads) {
      unsigned const pair = encoded[i / 2];
      decode_one<levels>(signed_nibble(pair), scale, out + i, verdict);
      if (i + 1 < here)
        decode_one<levels>(signed_nibble(pair >> 4), scale, out + i + 1, verdict);
      else if (pair >> 4 != 0)
        report(Fault::bad_filling, verdict);
    }
  } else {
    for (std::size_t i = threadIdx.x; i < here; i += threads)
      decode_one<levels>(static_cast<std::int8_t>(encoded[i]), scale, out + i, verdict);
  }
}

// --- top-k: a thread block a chunk ---

struct TopkShape {
  std::size_t count;
  std::uint32_t chunk;
  std::uint32_t kept;  // of a whole chunk
};

struct ChunkAt {
  std::size_t start;
  std::uint32_t count;
  std::uint32_t kept;
};

__device__ ChunkAt chunk_at(TopkShape const& shape) {
  std::size_t const start = std::size_t{blockIdx.x} * shape.chunk;
  auto const count = static_cast<std::uint32_t>(smaller(shape.chunk, shape.count - start));
  return {start, count, kept_of(count, shape.chunk, shape.kept)};
}

__device__ std::uint32_t count_from(std::int32_t const* magnitudes, std::uint32_t count,
                                    std::int32_t threshold) {
  __shared__ std::uint32_t total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  std::uint32_t from = 0;
  for (std::uint32_t i = threadIdx.x; i < count; i += threads)
    from += magnitudes[i] >= threshold ? 1 : 0;
  from = __reduce_add_sync(all_lanes, from);
  if (threadIdx.x % 32 == 0) atomicAdd(&total, from);
  __syncthreads();
  std::uint32_t const result = total;
  __syncthreads();  // before the next call clears it
  return result;
}

// The magnitude of the last that is kept, bit by bit from the highest.
__device__ std::int32_t threshold_of(std::int32_t const* magnitudes, ChunkAt const& at) {
  std::int32_t threshold = 0;
  for (std::int32_t bit = 1 << 30; bit != 0; bit >>= 1)
    if (count_from(magnitudes, at.count, threshold | bit) >= at.kept) threshold |= bit;
  return threshold;
}

// By one warp: the places above the threshold and the first `equals_left` of those at it.
__device__ void select_places(std::int32_t const* magnitudes, ChunkAt const& at,
                              std::int32_t threshold, std::uint32_t equals_left,
                              std::uint16_t* places) {
  unsigned const lower_lanes = (1U << threadIdx.x) - 1;
  std::uint32_t found = 0;
  for (std::uint32_t start = 0; start < at.count; start += 32) {
    std::uint32_t const place = start + threadIdx.x;
    std::int32_t const here = place < at.count ? magnitudes[place] : -1;
    unsigned const equals = __ballot_sync(all_lanes, here == threshold);
    bool const taken =
        here > threshold || (here == threshold && __popc(equals & lower_lanes) < equals_left);
    unsigned const all_taken = __ballot_sync(all_lanes, taken);
    if (taken) places[found + __popc(all_taken & lower_lanes)] = static_cast<std::uint16_t>(place);
    found += __popc(all_taken);
    std::uint32_t const met = __popc(equals);
    equals_left -= met < equals_left ? met : equals_left;
  }
}

__global__ void encode_chunks(float const* values, TopkShape shape, std::uint8_t* out,
                              std::uint8_t* verdict) {
  __shared__ std::int32_t magnitudes[group_max];
  __shared__ std::uint16_t places[group_max];
  __shared__ float kept_values[group_max];
  __shared__ std::uint8_t bin_numbers[group_max];
  auto const at = chunk_at(shape);
  values += at.start;
  for (std::uint32_t i = threadIdx.x; i < at.count; i += threads) {
    magnitudes[i] = magnitude(values[i]);
    report_finite(magnitudes[i], verdict);
  }
  __syncthreads();
  std::int32_t const threshold = threshold_of(magnitudes, at);
  std::uint32_t const above = count_from(magnitudes, at.count, threshold + 1);
  if (threadIdx.x < 32) select_places(magnitudes, at, threshold, at.kept - above, places);
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < at.kept; i += threads) kept_values[i] = values[places[i]];
  __syncthreads();
  if (threadIdx.x != 0) return;  // sums have an order
  std::uint16_t table[bins];
  fill_bins(kept_values, at.kept, bin_numbers, table);
  write_chunk(table, places, bin_numbers, at.kept, out + blockIdx.x * chunk_bytes(shape.kept));
}

__global__ void decode_chunks(std::uint8_t const* encoded, TopkShape shape, float* out,
                              std::uint8_t* verdict) {
  auto const at = chunk_at(shape);
  out += at.start;
  for (std::uint32_t i = threadIdx.x; i < at.count; i += threads) out[i] = 0;
  __syncthreads();
  if (threadIdx.x != 0) return;
  encoded += blockIdx.x * chunk_bytes(shape.kept);
  report(scatter_chunk(encoded, at.kept, out, at.count), verdict);
}

// --- on the host ---

unsigned groups(std::size_t count, std::size_t group) {
  return static_cast<unsigned>((count + group - 1) / group);
}

unsigned strided_grid(std::size_t count) {
  return static_cast<unsigned>(std::min(grid_max, (count + threads - 1) / threads));
}

void launch_encode(CodecSettings const& settings, float const* values, std::size_t count,
                   std::uint8_t* out, std::uint8_t* verdict, cudaStream_t stream) {
  unsigned const strided = strided_grid(count), blocks = groups(count, settings.block);
  switch (settings.codec) {
    case Codec::fp32:
      encode_fp32<<<strided, threads, 0, stream>>>(values, count, out, verdict);
      break;
    case Codec::bf16:
      encode_bf16<<<strided, threads, 0, stream>>>(values, count, out, verdict);
      break;
    case Codec::int8:
      encode_blocks<127>
          <<<blocks, threads, 0, stream>>>(values, count, settings.block, out, verdict);
      break;
    case Codec::int4:
      encode_blocks<7><<<blocks, threads, 0, stream>>>(values, count, settings.block, out, verdict);
      break;
    case Codec::topk:
      encode_chunks<<<groups(count, settings.chunk), threads, 0, stream>>>(
          values, {count, settings.chunk, settings.kept}, out, verdict);
      break;
  }
}

void launch_decode(CodecSettings const& settings, std::uint8_t const* encoded, float* out,
                   std::size_t count, std::uint8_t* verdict, cudaStream_t stream) {
  unsigned const strided = strided_grid(count), blocks = groups(count, settings.block);
  switch (settings.codec) {
    case Codec::fp32:
      decode_fp32<<<strided, threads, 0, stream>>>(encoded, out, count, verdict);
      break;
    case Codec::bf16:
      decode_bf16<<<strided, threads, 0, stream>>>(encoded, out, count, verdict);
      break;
    case Codec::int8:
      decode_blocks<127>
          <<<blocks, threads, 0, stream>>>(encoded, out, count, settings.block, verdict);
      break;
    case Codec::int4:
      decode_blocks<7>
          <<<blocks, threads, 0, stream>>>(encoded, out, count, settings.block, verdict);
      break;
    case Codec::topk:
      decode_chunks<<<groups(count, settings.chunk), threads, 0, stream>>>(
          encoded, {count, settings.chunk, settings.kept}, out, verdict);
      break;
  }
}

// Page-locked memory is the device's to write to: what a kernel found wrong is there after the
// wait.
Result<PinnedBuffer> clean_verdict() {
  auto verdict = PinnedBuffer::allocate(1);
  if (verdict.has_value()) verdict->bytes()[0] = static_cast<std::uint8_t>(Fault::none);
  return verdict;
}

Result<Fault> wait_for(PinnedBuffer const& verdict, cudaStream_t stream) {
  auto error = cudaGetLastError();
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  if (error != cudaSuccess) return cuda_failure("a codec on the device", error);
  return static_cast<Fault>(verdict.bytes()[0]);
}

}  // namespace

Result<> encode_on_device(CodecSettings const& settings, float const* values, std::size_t elements,
                          std::uint8_t* out, void* stream) {
  ASSERT(check_settings(settings).has_value());
  if (elements == 0) return {};
  auto const on = static_cast<cudaStream_t>(stream);
  TRY_ASSIGN(auto verdict, clean_verdict());
  launch_encode(settings, values, elements, out, verdict.bytes().data(), on);
  TRY_ASSIGN(auto const fault, wait_for(verdict, on));
  return encode_result(fault);
}

Result<> decode_on_device(CodecSettings const& settings, std::uint8_t const* encoded,
                          std::size_t bytes, float* out, std::size_t elements, void* stream) {
  TRY(check_encoded_size(settings, bytes, elements));
  if (elements == 0) return {};
  auto const on = static_cast<cudaStream_t>(stream);
  TRY_ASSIGN(auto verdict, clean_verdict());
  launch_decode(settings, encoded, out, elements, verdict.bytes().data(), on);
  TRY_ASSIGN(auto const fault, wait_for(verdict, on));
  return decode_result(settings.codec, fault);
}

}  // namespace grapevine
