#include "node/port_file_detail.hpp"

#include "unit/node/one_disk.hpp"

using namespace grapevine;
using grapevine::test::OneDisk;

TEST_CASE("a port is remembered over a crash") {
  OneDisk disk;
  CHECK(load_port(disk.storage()) == 0);
  for (std::uint16_t const port : {1, 4001, 65535}) {
    REQUIRE(save_port(disk.storage(), port).has_value());
    disk.lose_power();
    CHECK(load_port(disk.storage()) == port);
  }
}

TEST_CASE("what is not a port is as none") {
  OneDisk disk;
  for (std::string_view const text : {"", "port", "65536", "4001x", "-1", "4001\n"}) {
    CAPTURE(text);
    REQUIRE(disk.storage().write_atomic("listen.port", as_bytes(text)).has_value());
    CHECK(load_port(disk.storage()) == 0);
  }
  REQUIRE(disk.storage().write_atomic("listen.port", Bytes(1000, '1')).has_value());
  CHECK(load_port(disk.storage()) == 0);
}
