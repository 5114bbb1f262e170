#!/usr/bin/env python3
"""tools/check_layers must see each kind of offence, and nothing in a clean tree."""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CLEAN = {
    "src/wire/clean.cpp": '#include "grapevine/crypto/hash.hpp"\n#include "grapevine/base/bytes.hpp"\n'
                          '// std::shuffle in a comment is fine\n'
                          'auto a() { auto const f = [&x] { return x; }; co_await g(values[0], f); }\n',
    "include/grapevine/runtime/clean.hpp": "#include <boost/asio/awaitable.hpp>\n",
}
OFFENCES = [
    ("src/crypto/x.cpp", '#include "grapevine/wire/signed.hpp"', "may not include wire"),
    ("src/mix/x.cpp", '#include "p2p/yamux_detail.hpp"', "may not include p2p"),
    ("include/grapevine/base/x.hpp", '#include "grapevine/tensor/layout.hpp"', "may not include tensor"),
    ("src/node/x.cpp", "#include <torch/torch.h>", "LibTorch header"),
    ("include/grapevine/net/x.hpp", "#include <boost/asio/ip/tcp.hpp>", "Asio header"),
    ("src/round/x.cpp", "#include <boost/asio/steady_timer.hpp>", "pure module"),
    ("src/p2p/x.cpp", "#include <thread>", "pure module"),
    ("src/node/x.cpp", "#include <random>", "randomness"),
    ("src/net/x.cpp", "auto t = std::chrono::system_clock::now();", "clock"),
    ("src/net/x.cpp", "co_await run(\n    [&socket] { socket.close(); });", "co_await"),
    ("src/net/x.cpp", "auto f = [this](int n) -> Awaitable<int> { co_return n; };", "coroutine"),
    ("src/net/x.cpp", "\n" * 501, "more than 500 lines"),
]


def check(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        files = {"src/README.md": (ROOT / "src/README.md").read_text(), **files}
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        run = subprocess.run([ROOT / "tools/check_layers", root], capture_output=True, text=True)
        return run.returncode, run.stdout


def main():
    wrong = 0
    code, output = check(CLEAN)
    if code != 0:
        wrong += 1
        print(f"a clean tree is refused:\n{output}")
    for name, text, expected in OFFENCES:
        code, output = check({**CLEAN, name: text + "\n"})
        if code != 1 or f"{name}:" not in output or expected not in output:
            wrong += 1
            print(f"not seen: {text.strip()} in {name}; it said:\n{output}")
    return 1 if wrong else 0


sys.exit(main())
