#!/usr/bin/env python3
"""tools/count_tests must never count a skipped or failed test as passed."""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCTEST = "[doctest] test cases:  {} |  {} passed | {} failed | 0 skipped"
PASSED = '<testcase name="a" status="run"><system-out>{}</system-out></testcase>'
FAILED = '<testcase name="b" status="fail"><failure message=""/><system-out>{}</system-out></testcase>'
NOT_RUN = '<testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>'
MISSING = '<testcase name="d" status="fail"><failure message="No such file"/></testcase>'
CASES = [
    (PASSED.format("fine"), "1 0 0"),
    (PASSED.format(DOCTEST.format(5, 5, 0)), "5 0 0"),
    (PASSED.format("skipped: no driver"), "0 0 1"),
    (FAILED.format(DOCTEST.format(5, 3, 2)), "3 2 0\nb"),
    (FAILED.format(DOCTEST.format(5, 5, 0)), "5 1 0\nb"),  # every case passed, then it crashed
    (FAILED.format("Segmentation fault"), "0 1 0\nb"),
    (NOT_RUN, "0 0 1"),
    (MISSING, "0 1 0\nd"),
    (PASSED.format("fine") + NOT_RUN + FAILED.format("no"), "1 1 1\nb"),
]

wrong = 0
for cases, expected in CASES:
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as report:
        report.write(f"<testsuite>{cases}</testsuite>")
        report.flush()
        run = subprocess.run([ROOT / "tools/count_tests", report.name], capture_output=True, text=True)
    if run.stdout.strip() != expected:
        wrong += 1
        print(f"{cases}\nexpected {expected!r}, got {run.stdout.strip()!r} {run.stderr}")
sys.exit(1 if wrong else 0)
