#include "net/admission_detail.hpp"

#include <doctest/doctest.h>

using namespace grapevine;

namespace {

constexpr Instant start{};
IpAddress ip(std::uint8_t last) { return IpAddress::v4(10, 0, 0, last); }
IpAddress const loopback = IpAddress::v4(127, 0, 0, 1);

}  // namespace

TEST_CASE("one address may begin a few handshakes at a time, and a few each second") {
  Admission admission(true, start);
  for (std::uint64_t serial = 0; serial < limits::handshakes_per_ip_max; ++serial)
    CHECK(admission.begin(serial, ip(1), start).admitted);
  CHECK_FALSE(admission.begin(10, ip(1), start).admitted);
  CHECK(admission.begin(11, ip(2), start).admitted);
  admission.finished(0);
  CHECK(admission.begin(12, ip(1), start).admitted);

  std::uint64_t serial = 100;
  std::size_t admitted = 0;
  for (; serial < 200; ++serial) {
    if (admission.begin(serial, ip(3), start).admitted) ++admitted;
    admission.finished(serial);
  }
  CHECK(admitted == static_cast<std::size_t>(limits::accepts_per_ip_burst));
  CHECK(admission.begin(serial, ip(3), start + 1s).admitted);
}

TEST_CASE("loopback is exempt from what counts addresses, unless told otherwise") {
  Admission exempt(true, start), strict(false, start);
  std::size_t admitted = 0, admitted_strict = 0;
  for (std::uint64_t serial = 0; serial < limits::handshakes_inbound_max; ++serial) {
    if (exempt.begin(serial, loopback, start).admitted) ++admitted;
    if (strict.begin(serial, loopback, start).admitted) ++admitted_strict;
  }
  CHECK(admitted == limits::handshakes_inbound_max);
  CHECK(admitted_strict == limits::handshakes_per_ip_max);
  for (std::size_t i = 0; i < limits::connections_per_ip_max + 1; ++i)
    CHECK(exempt.connected(loopback));
}

TEST_CASE("silent handshakes give way to newcomers, fresh ones do not") {
  Admission admission(true, start);
  for (std::uint64_t serial = 0; serial < limits::handshakes_inbound_max; ++serial)
    CHECK(admission.begin(serial, loopback, start).admitted);
  CHECK_FALSE(admission.begin(1000, ip(1), start + 500ms).admitted);
  auto const decision = admission.begin(1001, ip(1), start + 2s);
  CHECK(decision.admitted);
  CHECK(decision.evicted == 0);
  CHECK(admission.handshakes() == limits::handshakes_inbound_max);
}

TEST_CASE("connections of one address stop at their limit") {
  Admission admission(true, start);
  for (std::size_t i = 0; i < limits::connections_per_ip_max; ++i)
    CHECK(admission.connected(ip(1)));
  CHECK_FALSE(admission.connected(ip(1)));
  CHECK(admission.connected(ip(2)));
  admission.disconnected(ip(1));
  CHECK(admission.connected(ip(1)));
}

TEST_CASE("the addresses of one IPv6 network count as one") {
  Admission admission(true, start);
  auto const v6 = [](std::string const& text) { return IpAddress::parse(text).value(); };
  auto const host = [&](std::size_t n) { return v6("2001:db8:1:2::" + std::to_string(n)); };
  for (std::size_t i = 0; i < limits::connections_per_ip_max; ++i)
    CHECK(admission.connected(host(i)));
  CHECK_FALSE(admission.connected(host(99)));
  CHECK(admission.connected(v6("2001:db8:1:3::1")));
  admission.disconnected(host(0));
  CHECK(admission.connected(host(99)));
  for (std::uint64_t serial = 0; serial < limits::handshakes_per_ip_max; ++serial)
    CHECK(admission.begin(serial, host(serial), start).admitted);
  CHECK_FALSE(admission.begin(10, host(99), start).admitted);
  CHECK(admission.begin(11, v6("2001:db8:1:3::1"), start).admitted);
  CHECK(admission.connected(v6("::1")));
}
