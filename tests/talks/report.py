"""How the runners tell their results: every test as it ends, and the failed ones once more before the closing line.

A failure is a line `FAILED  name` and its words, indented; dev/test and postgres/run.py find them by that form.
"""
import concurrent.futures
import re

REASON_LINES = 15  # of a failure's words, where it is repeated
FAILURE = re.compile(r"^FAILED +(.*)((?:\n(?: .*)?$)*)", re.M)


def failures(output):
    """(name, words) of every failed test in a runner's output, each once."""
    found = {}
    for name, words in FAILURE.findall(output):
        found.setdefault(re.sub(r"  \([\d.]+ s\)$", "", name), "\n".join(line.strip() for line in words.strip("\n").split("\n")))
    return list(found.items())


def short(name, words, most=REASON_LINES):
    """A failure in so many lines: the beginning and the end (of a traceback) of its words, without the servers' logs."""
    lines = words.split("\n--- log of ")[0].split("\n")
    if len(lines) > most:
        lines = lines[:most // 3] + lines[-(most - most // 3):]
    return "\n        ".join([f"FAILED  {name}", *(line[:400] for line in lines)])


class Report:
    def __init__(self):
        self.counts, self.failed = {"ok": 0, "skipped": 0, "FAILED": 0}, []

    def add(self, name, result, words="", took=0.0):
        self.counts[result] += 1
        self.tell(name, result, words, took)

    def tell(self, name, result, words, took=0.0):
        """Prints it and counts nothing: for another runner's test that its closing line has counted."""
        if result == "FAILED":
            self.failed.append((name, words))
        print(f"{result:8}{name}  ({took:.1f} s)", flush=True)
        if words:
            print("        " + words.replace("\n", "\n        "), flush=True)

    def close(self):
        """The closing lines; the status to exit with."""
        if self.failed:
            print("\nFailed tests:")
        for name, words in self.failed:
            print(short(name, words))
        if self.counts["skipped"]:
            print(f"{self.counts['skipped']} skipped")
        print(f"{self.counts['ok']} passed, {self.counts['FAILED']} failed")
        return 1 if self.counts["FAILED"] else 0


def run_all(tests, run, jobs, first=()):
    """Runs (name, test) pairs side by side; run(name, test) is (name, result, words, seconds). Those whose names hold one
    of the words of `first` begin: they take long, and nothing else is left to do beside one that comes last."""
    report = Report()
    tests = sorted(tests, key=lambda test: not any(word in test[0] for word in first))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for future in concurrent.futures.as_completed([pool.submit(run, *test) for test in tests]):
            report.add(*future.result())
    return report.close()
