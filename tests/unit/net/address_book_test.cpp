#include "net/address_book_detail.hpp"

#include <doctest/doctest.h>

using namespace grapevine;

namespace {

constexpr Instant start{};

PeerId peer(std::uint32_t n) {
  std::array<std::uint8_t, 32> key{};
  for (std::size_t i = 0; i < 4; ++i) key[i] = static_cast<std::uint8_t>(n >> (8 * i));
  return PeerId::from_ed25519(key);
}
Multiaddr address(std::uint16_t port) {
  return Multiaddr::tcp_address({IpAddress::v4(1, 2, 3, 4), port});
}

}  // namespace

TEST_CASE("addresses are kept once, without the peer, up to their limit") {
  AddressBook book;
  book.remember(peer(1), {address(1), address(1).with_peer(peer(1)), address(2)});
  CHECK(book.addresses(peer(1)) == std::vector<Multiaddr>{address(1), address(2)});
  CHECK(book.addresses(peer(2)).empty());
  for (std::uint16_t port = 10; port < 200; ++port) book.remember(peer(1), {address(port)});
  CHECK(book.addresses(peer(1)).size() == limits::address_book_addresses_max);
  book.remember(peer(3), {});
  CHECK(book.peers() == 1);
}

TEST_CASE("what worked is tried first, what failed backs off longer each time") {
  AddressBook book;
  book.remember(peer(1), {address(1), address(2)});
  book.worked(peer(1), address(2));
  CHECK(book.addresses(peer(1)).front() == address(2));

  book.failed(peer(1), address(2), start);
  CHECK(book.dialable(peer(1), start) == std::vector<Multiaddr>{address(1)});
  CHECK(book.dialable(peer(1), start + limits::dial_backoff_min).size() == 2);
  book.failed(peer(1), address(2), start);
  CHECK(book.dialable(peer(1), start + limits::dial_backoff_min).size() == 1);
  CHECK(book.dialable(peer(1), start + 2 * limits::dial_backoff_min).size() == 2);
  for (int i = 0; i < 20; ++i) book.failed(peer(1), address(2), start);
  CHECK(book.dialable(peer(1), start + limits::dial_backoff_max - 1s).size() == 1);
  CHECK(book.dialable(peer(1), start + limits::dial_backoff_max).size() == 2);
  book.worked(peer(1), address(2));
  CHECK(book.dialable(peer(1), start).size() == 2);
}

TEST_CASE("an address where another peer answered is forgotten") {
  AddressBook book;
  book.remember(peer(1), {address(1)});
  book.forget(peer(1), address(1));
  CHECK(book.addresses(peer(1)).empty());
  CHECK(book.peers() == 0);
}

TEST_CASE("a full book lets the least recently useful peer go") {
  AddressBook book;
  auto const max = static_cast<std::uint32_t>(limits::address_book_peers_max);
  for (std::uint32_t n = 0; n < max; ++n) book.remember(peer(n), {address(1)});
  book.remember(peer(0), {address(2)});
  book.remember(peer(max), {address(1)});
  CHECK(book.peers() == limits::address_book_peers_max);
  CHECK(book.addresses(peer(1)).empty());
  CHECK(book.addresses(peer(0)).size() == 2);
}
