# The front door. Each target installs what it needs (Debian packages), says so, and is quick when nothing is
# missing. The build itself is in CMakeLists.txt; what is installed is in dev/setup.
BUILD ?= build
JOBS ?= $(shell nproc)

.PHONY: help run build check test test-long bench bench-nodes sim cluster crash mutants fuzz screenshots page-figures facts tidy
.PHONY: install dist deb static packages image clean

help:                ## what this can do
	@sed -n 's/^\([a-z-]*\): .*## /  make \1\t/p' Makefile | expand -t 22

run: build           ## build and start Nod with something to answer
	@$(BUILD)/nod serve --demo

build:               ## build build/nod and nothing else
	@dev/setup build
	@cmake -S . -B $(BUILD) -G Ninja -DNOD_TESTS=OFF >$(BUILD).log 2>&1 || { cat $(BUILD).log; rm -f $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log
	@if [ -t 1 ]; then ninja -C $(BUILD) -j$(JOBS) nod; else ninja -C $(BUILD) -j$(JOBS) --quiet nod; fi

test: build          ## every test: unit, contract, conversations, crash, fuzz corpus, style
	@dev/setup test
	@ninja -C $(BUILD) nod-bench u_http_memory >/dev/null
	@dev/test

check:               ## a minute before a commit: style, layers, unit tests, a handful of conversations
	@dev/setup test
	@dev/test --check

test-long: build     ## what takes an hour: every option of 190 programs as the kernel sees it, 100 kill -9 rounds, every conversation on PostgreSQL, mutants
	@dev/setup test
	@python3 tests/policy/reading.py --lines 20000
	@python3 tests/policy/kernel.py --all
	@python3 tests/policy/by_default.py --lines 60000 --run 6000 --seed $$$$
	@$(MAKE) --no-print-directory crash
	@$(MAKE) --no-print-directory crash STORE=postgres
	@cmake -S . -B build-asan -G Ninja -DNOD_TESTS=ON -DNOD_SANITIZE=address >/dev/null && ninja -C build-asan nod nod-bench >/dev/null
	@NOD=$$PWD/build-asan/nod NOD_SHUTDOWNS=8 NOD_OFTEN=5 python3 tests/postgres/run.py --parts nodes "forgets its memory" "at b"
	@NOD=$$PWD/build-asan/nod python3 tests/postgres/run.py --parts talks --every-talk
	@$(MAKE) --no-print-directory mutants
	@python3 tests/release/run.py
	@python3 tests/real/run.py first_hour

bench: build         ## the figures of docs/PERFORMANCE.md, as ratios measured in one run
	@dev/setup bench
	@ninja -C $(BUILD) nod-bench bench_judge >/dev/null
	@dev/bench

bench-nodes: build   ## several nodes on one PostgreSQL, as ratios to what it does by itself
	@dev/setup test
	@ninja -C $(BUILD) nod-bench >/dev/null
	@python3 dev/bench-nodes

sim:                 ## the gate's core in a simulated world: SEEDS=N runs, or SEED=n once more, with all that was kept
	@dev/setup test
	@cmake -S . -B build-asan -G Ninja -DNOD_TESTS=ON -DNOD_SANITIZE=address >/dev/null
	@ninja -C build-asan sim >/dev/null
	@build-asan/sim $(if $(SEED),--seed $(SEED) --trace,--seeds $(or $(SEEDS),5000))

cluster: build       ## three nodes, a private PostgreSQL and a small proxy, until Ctrl-C
	@dev/setup test
	@python3 dev/cluster

crash: build         ## kill -9 under load, then an independent check of the promises
	@dev/setup test
	@python3 $(if $(filter postgres,$(STORE)),tests/postgres/crash_nodes.py,tests/crash/crash.py) --rounds $(or $(ROUNDS),$(if $(STORE),60,100)) $(CRASH_ARGS)
	@$(if $(STORE),true,python3 tests/crash/archive.py)

mutants:             ## mistakes made on purpose (tests/mutants): each must be found by the test that it names
	@dev/setup test
	@dev/mutants $(MUTANTS)

fuzz:                ## fuzz every parser, SECONDS each (60)
	@dev/setup test
	@dev/fuzz $(or $(SECONDS),60)

screenshots: build  ## pictures of every screen, both themes, into docs/screens
	@dev/setup test
	@tests/page/install
	@NOD=$(abspath $(BUILD)/nod) node tests/page/screenshots.mjs $(or $(SCREENS),docs/screens)

page-figures: build ## script size and how quick the page is, in Chromium
	@dev/setup test
	@tests/page/install
	@NOD_LATE=1 NOD=$(abspath $(BUILD)/nod) node tests/page/run.mjs "first request" "quick with" "two browsers and"

facts:               ## ask the installed programs for their options: src/policy/facts.tab
	@dev/setup test
	@python3 dev/facts/facts.py $(PROGRAMS)

tidy:                ## who may include whom, sizes, banned words
	@python3 dev/tidy

install: build       ## into DESTDIR/PREFIX (/usr/local)
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(or $(PREFIX),/usr/local)

dist:                ## a source tarball with the page built in, into build-dist
	@dev/setup build
	@dev/dist $(COMMIT)

static:              ## build-static/nod: one file with musl and every library in it (compiles the libraries once)
	@dev/setup static
	@dev/static

packages: static     ## npm and pip packages of the static program, its SBOM and third-party notices, into build-dist
	@dev/packages

image:               ## a container image named nod, by podman or docker
	@$$(if command -v podman >/dev/null; then echo podman build --format docker; else echo docker build; fi) -f packaging/Containerfile \
	  --build-arg NOD_COMMIT=$$(git rev-parse --short=12 HEAD) -t nod .

deb:                 ## a Debian package of HEAD for this release of Debian, into build-dist
	@dev/setup package
	@dev/deb $(COMMIT)

clean:               ## remove what was built
	@rm -rf build build-*
