// `grapevine bench codec`: GB of fp32 values that one core encodes and decodes a second, for each
// codec, beside memcpy of as many. Every encoding and decoding is timed right after a memcpy,
// because machines change speed; the best of each counts.
#pragma once

namespace grapevine {

int bench_codec_command(int argc, char** argv);

}  // namespace grapevine
