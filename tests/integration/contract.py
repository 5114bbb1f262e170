"""The fields of /status, schema grapevine.status/1, that people script against: they may grow in number, none may go."""

FIELDS = {
    "": "schema version protocol peer run state pause round training consensus peers network adapter pipeline ledger "
        "resources errors config",
    "peer": "id name uptime_s addrs reachability",
    "pause": "reason until_unix_s",
    "run": "id name manifest_hash mode model",
    "run.model": "preset parameters schema_hash",
    "round": "current inner_step inner_steps swarm_round behind mix1 mix2 last",
    "round.mix1": "state participants missing bytes_in bytes_out duration_s",
    "round.mix2": "state participants missing bytes_in bytes_out duration_s",
    "round.mix2.missing": "peer reason",
    "round.last": "duration_s compute_s blocked_s",
    "training": "loss eval_loss tokens_total tokens_per_s utilization device dtype lr",
    "consensus": "l2 js js_trigger",
    "peers": "id name direction rtt_ms round behind bytes_in bytes_out score agent via",
    "network": "bytes_in bytes_out in_bytes_per_s out_bytes_per_s connections dials_failed gossip caps",
    "network.gossip": "mesh messages_in duplicates rejected",
    "network.caps": "up_bytes_per_s down_bytes_per_s month_bytes_max month_bytes month_ends_unix_s",
    "ledger": "entries head",
    "resources": "rss_bytes vram_bytes open_fds disk_bytes queues",
    "errors": "code count last_s text hint",
}
STATES = {"joining", "syncing", "training", "mixing", "paused", "degraded", "stopping"}


def broken_promises(status):
    """What is not as promised, one line each."""
    broken = [f"{path or 'status'} lacks {name}" for path, names in FIELDS.items() for one in _at(status, path)
              for name in names.split() if name not in one]
    broken += [f"queue {name} is {queue}" for name, queue in status["resources"]["queues"].items()
               if not {"len", "max"} <= queue.keys()]
    if status["schema"] != "grapevine.status/1":
        broken.append(f"schema is {status['schema']}")
    if status["state"] not in STATES:
        broken.append(f"state is {status['state']}")
    return broken


def _at(status, path):
    """The objects at a path: one, each of a list, or none where there is no run yet."""
    found = status
    for name in path.split(".") if path else []:
        if found is None:
            return []
        found = found[name]
    if found is None:
        return []
    return found if isinstance(found, list) else [found]
