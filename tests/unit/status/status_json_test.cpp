#include "grapevine/status/status_json.hpp"

#include "unit/status/sample_snapshot.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>

using namespace grapevine;
using Json = nlohmann::json;

namespace {

// The contract as data: "number", "text", "list", "map", "?": may be null, or an object of these.
Json const contract = Json::parse(R"({
  "schema": "text", "version": "text", "protocol": "number",
  "peer": {"id": "text", "name": "text", "uptime_s": "number", "addrs": ["text"],
           "reachability": "text"},
  "run": {"id": "text", "name": "text", "manifest_hash": "text", "mode": "text",
          "model": {"preset": "text", "parameters": "number", "schema_hash": "text"}},
  "state": "text",
  "round": {"current": "number", "inner_step": "number", "inner_steps": "number",
            "swarm_round": "number", "behind": "number",
            "mix1": {"state": "text", "participants": ["text"],
                     "missing": [{"peer": "text", "reason": "text"}],
                     "bytes_in": "number", "bytes_out": "number", "duration_s": "number"},
            "mix2": {"state": "text", "participants": ["text"],
                     "missing": [{"peer": "text", "reason": "text"}],
                     "bytes_in": "number", "bytes_out": "number", "duration_s": "number"},
            "last": {"duration_s": "number", "compute_s": "number", "blocked_s": "number"}},
  "training": {"loss": "number", "eval_loss": "number?", "tokens_total": "number",
               "tokens_per_s": "number", "utilization": "number", "device": "text",
               "dtype": "text", "lr": "number"},
  "consensus": {"l2": "number?", "js": "number?", "js_trigger": "number?"},
  "peers": [{"id": "text", "name": "text", "direction": "text", "rtt_ms": "number",
             "round": "number", "behind": "number", "bytes_in": "number", "bytes_out": "number",
             "score": "number?", "agent": "text", "via": "text"}],
  "network": {"bytes_in": "number", "bytes_out": "number", "in_bytes_per_s": "number",
              "out_bytes_per_s": "number", "connections": "number", "dials_failed": "number",
              "gossip": {"mesh": {}, "messages_in": "number", "duplicates": "number",
                         "rejected": {}},
              "caps": {"up_bytes_per_s": "number?", "down_bytes_per_s": "number?",
                       "month_bytes_max": "number?", "month_bytes": "number?",
                       "month_ends_unix_s": "number?"}},
  "adapter": "null", "pipeline": "null",
  "ledger": {"entries": "number", "head": "text"},
  "resources": {"rss_bytes": "number", "vram_bytes": "number?", "open_fds": "number",
                "cpu_train_s": "number", "cpu_node_s": "number",
                "disk_bytes": "number", "queues": {}},
  "errors": [{"code": "text", "count": "number", "last_s": "number", "text": "text",
              "hint": "text"}],
  "config": {}
})");

bool has_type(Json const& value, std::string type) {
  if (type.ends_with('?')) {
    if (value.is_null()) return true;
    type.pop_back();
  }
  if (type == "number") return value.is_number();
  if (type == "text") return value.is_string();
  return type == "null" && value.is_null();
}

void check_against(Json const& expected, Json const& value, std::string const& where) {
  CAPTURE(where);
  if (expected.is_string()) {
    CHECK(has_type(value, expected.get<std::string>()));
  } else if (expected.is_array()) {
    REQUIRE(value.is_array());
    for (auto const& item : value) check_against(expected[0], item, where + "[]");
  } else {
    REQUIRE(value.is_object());
    for (auto const& [key, inner] : expected.items()) {
      CAPTURE(key);
      REQUIRE(value.contains(key));
      check_against(inner, value[key], where + "." + key);
    }
  }
}

}  // namespace

TEST_CASE("/status has every field of the contract") {
  auto const json = Json::parse(status_json(sample_snapshot(), resident(7)));
  check_against(contract, json, "status");
  CHECK(json["schema"] == "grapevine.status/1");
  CHECK(json["state"] == "mixing");
  CHECK(json["peer"]["reachability"] == "private");
  CHECK(json["peers"].size() == 1);
  CHECK(json["round"]["mix2"]["participants"].size() == 2);
  CHECK(json["round"]["mix2"]["missing"][0]["reason"] == "no contribution before the deadline");
  CHECK(json["round"]["mix1"]["state"] == "off");
  CHECK(json["consensus"]["js"] == 0.25);
  CHECK(json["consensus"]["l2"].is_null());
  CHECK(json["resources"]["queues"]["heavy"]["max"] == 64);
  CHECK(json["resources"]["rss_bytes"] == 7);
  CHECK(json["errors"][0]["code"] == "GV-NET-001");
}

TEST_CASE("what a peer may take, and why it rests, is said where there is something to say") {
  auto snapshot = sample_snapshot();
  auto json = Json::parse(status_json(snapshot, {}));
  CHECK(json["pause"].is_null());
  for (auto const& [name, value] : json["network"]["caps"].items()) CHECK(value.is_null());
  snapshot.pause = Snapshot::Pause{"monthly quota", 1798761600};
  snapshot.network.caps = {500'000, {}, 200'000'000'000, 7, 1798761600};
  json = Json::parse(status_json(snapshot, {}));
  CHECK(json["pause"]["reason"] == "monthly quota");
  CHECK(json["pause"]["until_unix_s"] == 1798761600);
  CHECK(json["network"]["caps"]["up_bytes_per_s"] == 500'000);
  CHECK(json["network"]["caps"]["down_bytes_per_s"].is_null());
  CHECK(json["network"]["caps"]["month_bytes_max"] == 200'000'000'000);
  CHECK(json["network"]["caps"]["month_bytes"] == 7);
  CHECK(json["network"]["caps"]["month_ends_unix_s"] == 1798761600);
}

TEST_CASE("before a run is known, it is null and the rest is there") {
  auto json = Json::parse(status_json(Snapshot{}, {}));
  CHECK(json["run"].is_null());
  json["run"] = Json::parse(status_json(sample_snapshot(), {}))["run"];
  check_against(contract, json, "status");
}

TEST_CASE("what JSON cannot say becomes null or a replacement character") {
  auto snapshot = sample_snapshot();
  snapshot.training.loss = NAN;
  snapshot.peers[0].name = "\xff\xfe";
  auto const json = Json::parse(status_json(snapshot, {}));
  CHECK(json["training"]["loss"].is_null());
  CHECK(json["peers"][0]["name"] == "\uFFFD\uFFFD");
}

TEST_CASE("history says where the next request goes on") {
  std::vector<RoundRecord> const rounds{round_record(4, 2.0F), round_record(5, 1.5F)};
  auto const json = Json::parse(history_json(rounds, 4));
  CHECK(json["rounds"].size() == 2);
  CHECK(json["rounds"][1]["loss"] == 1.5);
  CHECK(json["rounds"][1]["eval_loss"].is_null());
  CHECK(json["rounds"][1]["js"].is_null());
  CHECK(json["next"] == 6);
  CHECK(Json::parse(history_json({}, 9))["next"] == 9);
  auto watched = rounds;
  watched[0].loss.reset();
  CHECK(Json::parse(history_json(watched, 4))["rounds"][0]["loss"].is_null());
}
