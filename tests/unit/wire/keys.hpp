// The two identities that golden vectors are made with: A is the key of the libp2p peer-ids
// specification, B has the seed 00…01.
#pragma once

#include "grapevine/crypto/identity.hpp"
#include "grapevine/wire/peer_id.hpp"
#include "unit/hex.hpp"

namespace grapevine {

inline Identity const key_a = Identity::from_seed(
    unhex_array<32>("7e0830617c4a7de83925dfb2694556b12936c477a0e1feb2e148ec9da60fee7d"));
inline Identity const key_b = Identity::from_seed(
    unhex_array<32>("0000000000000000000000000000000000000000000000000000000000000001"));
inline PeerId const peer_a = PeerId::from_ed25519(key_a.public_key().raw());
inline PeerId const peer_b = PeerId::from_ed25519(key_b.public_key().raw());

inline std::string const text_a = "12D3KooWBtg3aaRMjxwedh83aGiUkwSxDwUZkzuJcfaqUmo7R3pq";
inline std::string const text_b = "12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6iDEp";
inline std::string const hex_a =
    "0024080112201ed1e8fae2c4a144b8be8fd4b47bf3d3b34b871c3cacf6010f0e42d474fce27e";
inline std::string const hex_b =
    "0024080112204cb5abf6ad79fbf5abbccafcc269d85cd2651ed4b885b5869f241aedf0a5ba29";

}  // namespace grapevine
