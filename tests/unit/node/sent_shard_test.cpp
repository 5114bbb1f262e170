#include "node/sent_shard_detail.hpp"

#include "unit/node/states.hpp"

#include <cmath>
#include <limits>

using namespace grapevine;
using namespace grapevine::test;

TEST_CASE("what is sent is what receivers decode, whatever the codec") {
  auto const values = blob_of(drawn(1));
  auto const elements = floats_of(*values).size();
  for (auto const codec : codecs) {
    CAPTURE(std::string(codec_name(codec)));
    auto const sent = encode_shard(codec, values).value();
    CHECK(sent.served.ref == hash_blob(sent.served.blob).ref);
    CHECK(sent.served.ref.bytes == encoded_bytes({.codec = codec}, elements));
    CHECK(*decode_shard(codec, sent.served.blob, elements).value() == *sent.values);
    if (codec == Codec::fp32) CHECK(sent.values == values);  // no copy
    if (codec == Codec::topk) continue;                      // leaves most of it out
    auto const worst = codec == Codec::int4 ? 0.3 : codec == Codec::fp32 ? 0.0 : 0.02;
    auto const before = floats_of(*values), after = floats_of(*sent.values);
    for (std::size_t i = 0; i < elements; ++i)
      CHECK(std::abs(double{before[i]} - double{after[i]}) <= worst);
  }
}

TEST_CASE("with error feedback the values are those of the sum") {
  auto const values = blob_of(drawn(1));
  auto const elements = floats_of(*values).size();
  ErrorFeedback feedback({.codec = Codec::int4}, 1, elements);
  ErrorFeedback same({.codec = Codec::int4}, 1, elements);
  for (int i = 0; i < 3; ++i) {
    auto const sent = encode_shard(Codec::int4, feedback, values).value();
    CHECK(*sent.served.blob == *same.encode(floats_of(*values)).value());
    CHECK(*decode_shard(Codec::int4, sent.served.blob, elements).value() == *sent.values);
    feedback.commit();
    same.commit();
  }
}

TEST_CASE("what is not a shard of this size and codec is refused") {
  auto const values = blob_of(drawn(1));
  auto const elements = floats_of(*values).size();
  for (auto const codec : codecs) {
    CAPTURE(std::string(codec_name(codec)));
    auto const served = encode_shard(codec, values).value().served.blob;
    auto const longer = std::make_shared<Bytes>(*served);
    longer->push_back(0);
    CHECK(decode_shard(codec, longer, elements).error().errc() == Errc::schema_mismatch);
    auto const shorter = std::make_shared<Bytes>(served->begin(), served->end() - 1);
    CHECK(decode_shard(codec, shorter, elements).error().errc() == Errc::schema_mismatch);
    Bytes const empty;
    CHECK_FALSE(decode_shard(codec, std::make_shared<Bytes>(empty), elements).has_value());
  }
  auto bad = drawn(1);
  bad[2] = std::numeric_limits<float>::quiet_NaN();
  for (auto const codec : codecs) {
    CAPTURE(std::string(codec_name(codec)));
    CHECK(encode_shard(codec, blob_of(bad)).error().errc() == Errc::not_finite);
  }
  CHECK(decode_shard(Codec::fp32, blob_of(bad), elements).error().errc() == Errc::not_finite);
}

TEST_CASE("one shard has no more norm than what is claimed for all") {
  auto const shard = encode_shard(Codec::fp32, blob_of({3, 4})).value();
  SentShard const two[] = {shard, shard};
  CHECK(norm_of_shards(two).value() == doctest::Approx(std::sqrt(50.0)));
  CHECK(check_norm(*shard.values, 5).has_value());
  CHECK(check_norm(*shard.values, 7.07F).has_value());
  CHECK(check_norm(*shard.values, 4.9F).error().errc() == Errc::limit_exceeded);
  CHECK(check_norm(*shard.values, 0).error().errc() == Errc::limit_exceeded);
}
