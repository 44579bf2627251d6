# kernstash. `make demo` and `make test` are all that most people need.

GO     ?= go
TOOL    = $(GO) tool -modfile=tools/go.mod
BIN     = bin/kernstash
COMPILE = scripts/progress compiling
GOFILES = $(shell git ls-files '*.go')

.PHONY: help demo build lib s3server fleetsim test check modules test-full test-timing test-go lint vet fmt cross fuzz bench bench-million applications replay results figures clean drivers drivers-test drivers-cuda

help: ## print what can be made
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1	/' | expand -t 14

demo: drivers build ## build real OpenCL kernels in one process, start warm in the next
	@if command -v $(CC) >/dev/null; then $(MAKE) lib bin/saxpy; \
		else echo "no C compiler ($(CC)): the demonstration does without unchanged applications"; fi
	$(BIN) demo

bin/saxpy: examples/c/saxpy.c # an OpenCL program that knows nothing of kernstash
	@mkdir -p bin
	$(CC) -O2 -o $@ $< -l:libOpenCL.so.1 || echo "without the example: no OpenCL headers here"

# On Linux the launcher, which is C, stands before the whole command: it runs commands as
# time(1) does (shim/launcher). Without a C compiler the whole command runs them itself.
LAUNCHER := $(and $(filter linux/amd64 linux/arm64,$(shell $(GO) env GOOS)/$(shell $(GO) env GOARCH)),$(shell command -v $(CC)))
WHOLE     = CGO_ENABLED=0 $(COMPILE) $(GO) build -v -trimpath -ldflags '-s -w $(COMMIT)'
# What 'kernstash version' says it was built from, where git knows.
COMMIT := $(addprefix -X main.commit=,$(shell git describe --always --abbrev=40 --dirty --exclude '*' 2>/dev/null))

build: ## build the command into bin/
ifneq ($(LAUNCHER),)
	$(WHOLE) -o $(BIN)-full ./cmd/kernstash
	$(WHOLE) -o $(dir $(BIN))kernstash-compile ./cmd/kernstash/kernstash-compile
	$(MAKE) -s -C shim/launcher OUT=$(abspath $(dir $(BIN)))
else
	$(WHOLE) -o $(BIN) ./cmd/kernstash
endif

# It has many dependencies, so make test does without. They are compiled as make check does.
s3server: export GOFLAGS := $(shell $(GO) env GOFLAGS) -gcflags=all=-dwarf=false
s3server: ## versitygw, the S3 server of the longer tests, into bin/; a minute
	cd test/s3server && CGO_ENABLED=0 $(GO) build -trimpath -ldflags=-w -o ../../bin/s3server .

lib: ## build libkernstash.so, and the layers, into lib/
	$(COMPILE) capi/build lib -v

# What tests make up their cases of: other ones with each commit, the same ones wherever it is tested.
export TEST_SEED ?= $(addprefix 0x,$(shell git rev-parse --short=12 HEAD 2>/dev/null))

# go starts the tests of packages in this order. The longest come first.
LONGEST = ./shim/... ./cmd/... ./worker/build ./gpu/opencl/... ./store/disk ./capi ./deps

fleetsim: s3server ## 10,000 machines in virtual time, and 200 processes with a real Redis and S3; docs/FLEET.md has the tables
	cd test && $(GO) test ./fleetsim -count=1 -timeout 30m -nodes 10000 -processes 200 -runs 10 -v

# With SKIPS, a directory, each run of tests notes there what it skipped (scripts/skips).
TEST = $(if $(SKIPS),$(GO) run ./scripts/skips run $(SKIPS) )$(GO) test

# What vet finds make check tells, what the race detector finds test-full. All is compiled
# before the first test runs; -timeout is there for a test that hangs, however slow the machine is.
# Files are written in memory, if there is room; test-full writes them to the disk. Without debug
# information (-w) linking takes half as long, and a tenth of compiling is to make it.
test check: export GOFLAGS := $(shell $(GO) env GOFLAGS) -gcflags=all=-dwarf=false
test: drivers-test ## what must hold here
	@$(COMPILE) sh -c '$(GO) list -v -export -test -deps ./... >/dev/null'
	TMPDIR="$$(scripts/steady)" $(TEST) -vet=off -ldflags=-w -timeout 30m $(LONGEST) ./...

check: lint modules cross ## formatting, vet, staticcheck, the modules of bench and test, what must build elsewhere

modules: s3server
	cd test && $(GO) vet ./... && $(GO) test ./fleetsim ./applications
	cd test/s3server && $(GO) vet ./...
	cd test/manifests && $(GO) vet ./... && $(GO) test ./...
	cd bench && $(GO) vet ./... && $(GO) test ./... && $(GO) run . -rounds 1 -starts=false >/dev/null

# Each step is a target, and they run one after the other (no -j): with -k all do, whatever
# fails before them.
FULL = full-race full-race-apart full-processes full-long full-plain full-crowd full-fuzz full-bench full-million full-applications
.PHONY: $(FULL) race-long

test-full: $(FULL) ## the longer process tests and fuzzing, after make test
$(FULL): drivers-test drivers-cuda s3server

# The race detector sees what runs in the test's own process. The tests of PROCESSES start C programs, and kernstash as
# users have it: their long forms run without it. Those of APART do both, and most of the time of the long forms is other
# people's compilers', or processes that are killed: the race detector has their short forms, and the tests that
# have long ones run once more, without it (scripts/longtests), in memory where there is room: on a disk
# store/disk's take twice as long. make test and full-race have their short forms on the disk.
PROCESSES = ./shim/... ./cmd/kernstash/internal/compile ./docs
APART = ./store/disk ./worker/build ./gpu/rtc ./capi ./deps
# make check vets; that and the debug information are a fifth of compiling.
full-race full-race-apart full-processes full-long full-plain full-crowd: export GOFLAGS := $(shell $(GO) env GOFLAGS) -gcflags=all=-dwarf=false
full-race:
	KERNSTASH_TEST_LONG=1 $(TEST) -race -vet=off -ldflags=-w -timeout 40m -count=1 $$($(GO) list $(LONGEST) ./... | \
		grep -vxF "$$($(GO) list $(PROCESSES) $(APART))")
full-race-apart:
	$(TEST) -race -vet=off -ldflags=-w -timeout 20m -count=1 $(APART)
race-long: export KERNSTASH_TEST_LONG = 1
race-long: drivers-test drivers-cuda s3server ## every long form with the race detector, an hour: by hand, before what runs at once changes
	$(TEST) -race -timeout 60m -count=1 $(LONGEST) ./...
full-processes: export KERNSTASH_TEST_LONG = 1
full-processes:
	$(TEST) -p 3 -vet=off -ldflags=-w -timeout 40m -count=1 $(PROCESSES) # half of their time they wait
full-long: export KERNSTASH_TEST_LONG = 1
full-long:
	TMPDIR="$$(scripts/steady)" $(TEST) -vet=off -ldflags=-w -timeout 40m -count=1 -skip TestCrowdUnderLimit \
		-run "$$($(GO) run ./scripts/longtests $$($(GO) list -f '{{.Dir}}' $(APART)))" $(APART)
# What repeats one thread's work many times, which the race detector only slows down: there it
# takes its short form.
full-plain: export KERNSTASH_TEST_LONG = 1
full-plain:
	TMPDIR="$$(scripts/steady)" $(TEST) -vet=off -ldflags=-w -timeout 20m -count=1 -run 'Fault|Metamorphic' .
full-crowd: export KERNSTASH_TEST_LONG = 1
full-crowd:
	$(TEST) -vet=off -ldflags=-w -timeout 10m -count=1 -run Crowd ./store/disk
# Each commit has a third of the targets; the inputs of all that were found before are among the tests.
full-fuzz:
	scripts/fuzz 5s $$(($${TEST_SEED:-0} % 3)) 3
# The bars are checked in memory, if there is room. What a new directory costs on a disk after the
# tests depends on what they deleted (docs/RESULTS.md); a put on the disk itself is checked against
# as many new directories.
full-bench:
	cd bench && $(GO) build -o ../bin/bench .
	cd bench && TMPDIR="$$(../scripts/steady)" ../bin/bench -check
	cd bench && ../bin/bench -check -only 'the same new directories'
full-million:
	$(MAKE) bench-million MILLION=50000 MILLIONFLAGS=-check
full-applications:
	$(MAKE) applications APPS='clinfo clpeak' APPFLAGS='-need all'

# Tests that compare times run one at a time, without the race detector.
test-timing: drivers-test s3server ## the tests that compare times, with nothing beside them
	KERNSTASH_TEST_TIMING=1 $(TEST) -p 1 -parallel 1 -timeout 25m -count=1 -v -run '^TestTiming' \
		$$(git grep -lE 'timing\.Only\(' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|')

OTHER_GO ?= go1.27.4
test-go: drivers-test ## the C library and its hosts, by another release of Go, which go fetches (OTHER_GO)
	GOTOOLCHAIN=$(OTHER_GO) $(TEST) -vet=off -ldflags=-w -timeout 20m -count=1 ./capi ./shim/opencl/hosts

lint: vet ## formatting, vet, staticcheck; the layering is a test (internal/layering)
	@out="$$($(TOOL) gofumpt -l $(GOFILES))"; if [ -n "$$out" ]; then echo "gofumpt would change:"; echo "$$out"; exit 1; fi
	$(TOOL) staticcheck ./...

vet:
	$(GO) vet ./...

fmt: ## format all Go files
	$(TOOL) gofumpt -w $(GOFILES)

cross: ## what must build elsewhere: static without runtimes, without cgo, other systems
	CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/kernstash
	CGO_ENABLED=0 $(GO) build -tags nogpu -o bin/kernstash-nogpu ./cmd/kernstash
	@! ldd bin/kernstash-nogpu >/dev/null 2>&1 || { echo "bin/kernstash-nogpu is not static"; exit 1; }
	$(GO) vet -tags nogpu ./...
	$(GO) test -tags kernstash_shared ./internal/dl # as in the library for C hosts
	CGO_ENABLED=0 GOARCH=arm64 $(GO) vet ./...
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	CGO_ENABLED=0 GOOS=windows $(GO) vet ./...

FUZZTIME ?= 1m
fuzz: ## every fuzz target in turn, FUZZTIME each
	scripts/fuzz $(FUZZTIME)

MILLION ?= 1000000
bench-million: build ## a root of a million entries: open, hit, put, ls, stat, gc, eviction; ≤ 1 hour
	cd bench && $(GO) run ./million -n $(MILLION) -command ../$(BIN) $(MILLIONFLAGS)

bench: ## what the cache costs, as ratios in one run, beside other caches; ≤ 3 minutes
	cd bench && $(GO) run .

APPS ?=
APPFLAGS ?= -write ../docs
applications: build lib ## unchanged applications: the same output, and a warm second start; writes the table and plot; ≤ 25 minutes
	cd test && $(GO) run ./applications -bin ../$(BIN) $(APPFLAGS) $(APPS)
	cd bench && $(GO) run ./applications ../docs

replay: ## what each eviction policy saves, on recorded and made-up traces of requests
	cd bench && $(GO) run ./replay

results: ## measure all of docs/RESULTS.md and write its tables and plots; ≤ 6 minutes
	cd bench && $(GO) run . -write ../docs
	cd bench && $(GO) run ./replay -write ../docs

figures: ## measure the code itself for docs/ARCHITECTURE.md
	$(GO) test ./internal/layering -count=1 -run FiguresOfArchitecture -write

drivers: ## make sure that there is an OpenCL device (installs PoCL through apt as root)
	scripts/drivers demo

drivers-test: ## what the tests compile with: PoCL, Intel's drivers, NVRTC, HIPRTC; no GPU
	scripts/drivers test

drivers-cuda: ## NVIDIA's compilers for the longer tests, into bin/cuda (1.1 GB to fetch)
	scripts/cuda

# install. PREFIX and DESTDIR as everywhere; PURGE=1 removes the cache and the
# settings of whoever calls it, too.

PREFIX     ?= /usr/local
DESTDIR    ?=
PURGE      ?=
# Debian 12, Ubuntu 22.04, RHEL 9, and whatever is newer.
GLIBC_MAX  ?= 2.34

.PHONY: pages install uninstall dist

pages: build ## write the manual pages and completions into share/
	rm -rf share
	mkdir -p share/bash share/zsh share/fish
	$(BIN) man share/man
	$(BIN) completion bash >share/bash/kernstash
	$(BIN) completion zsh >share/zsh/_kernstash
	$(BIN) completion fish >share/fish/kernstash.fish

install: build lib pages ## put command, libraries, header and pages into PREFIX (/usr/local)
	packaging/install install "$(PREFIX)" "$(DESTDIR)"

uninstall: ## take them out again; PURGE=1: with the user's cache and settings
ifneq ($(PURGE),)
	packaging/purge "$(DESTDIR)$(PREFIX)/bin/kernstash"
endif
	packaging/install uninstall "$(PREFIX)" "$(DESTDIR)"

dist: build lib pages ## a tarball, a .deb and their checksums into dist/, for machines without Go
	packaging/dist dist $(GLIBC_MAX)

clean: ## remove what was built
	rm -rf bin dist lib share
