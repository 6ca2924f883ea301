# What a user calls. Everything each target needs it sets up itself; the build proper is Meson's.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
AREA ?=

.PHONY: start stop program build quick charts check check-machine lint coverage check-fleet check-kernel check-package package dist release matrix matrix-releases matrix-packages matrix-kernels matrix-arm64 container platforms bench lab eval torture fuzz install uninstall clean setup

# The main job: the recorder running, and what to do next.
start: program
	@packaging/start $(BUILD)/src/whyslow

stop:
	@packaging/start --stop

# What `make start` and `make install` put outside of this folder. DATA=yes: what was recorded, too.
uninstall: stop
	@packaging/uninstall "$(DESTDIR)$(PREFIX)" $(BUILD) $(DATA)

setup:
	@packaging/setup build

# The program, and what `whyslow demo` plays: neither tests nor what they need.
program: setup
	@packaging/configure $(BUILD) $(PREFIX)
	@packaging/compile-commands $(BUILD)
	@ninja -C $(BUILD) program

# Everything, with the tests.
build: setup
	@packaging/setup unit
	@packaging/configure $(BUILD) $(PREFIX) tests
	@packaging/compile-commands $(BUILD)
	@ninja -C $(BUILD)

# Builds what changed, and runs the tests of the rooms that changed and of those that include them; BASE=main: since then.
quick: setup
	@packaging/setup unit
	@packaging/configure $(BUILD) $(PREFIX) tests
	@tests/quick $(BUILD) $(BASE)

# The browser's modules from others, by npm, for a build that was made without them.
charts: program
	@packaging/setup charts
	@web/fetch --required web $(BUILD)/web
	@ninja -C $(BUILD) program

check: setup
	@packaging/setup test
	@$(MAKE) --no-print-directory charts build
	@tests/run $(BUILD)
	@tests/sanitize $(BUILD)

# The machine part alone, without fleets and traced requests: BUILD-machine, and its unit tests.
check-machine: setup
	@packaging/setup unit
	@[ -f $(BUILD)-machine/build.ninja ] || meson setup $(BUILD)-machine -Dtests=enabled -Dfleet=false -Dspans=false >/dev/null
	@ninja -C $(BUILD)-machine
	@meson test -C $(BUILD)-machine --no-rebuild --print-errorlogs --timeout-multiplier 3 --suite lib --suite machine --suite web

# clang-tidy and cppcheck: a minute of CPU time; ROOMS="lib machine/judge": over these alone. And shellcheck and pyflakes over all scripts.
lint: setup
	@packaging/setup lint
	@packaging/configure $(BUILD) $(PREFIX) tests
	@ninja -C $(BUILD) program
	@tests/lint $(BUILD) $(ROOMS)
	@tests/lint-scripts

# How many lines of each room the tests run.
coverage: setup
	@packaging/setup unit
	@packaging/setup test
	@packaging/setup fleet
	@packaging/configure $(BUILD) $(PREFIX) tests
	@tests/coverage $(BUILD)

# The tests that need Debian's ClickHouse, Prometheus, PCP and sysstat.
check-fleet: build
	@packaging/setup test
	@packaging/setup fleet
	@meson test -C $(BUILD) --suite lib --suite fleet --suite spans --suite cmd --print-errorlogs

# The BPF tests on Debian 12's own kernel, and the unit under its systemd, in virtual machines (CHECK=quick: the main ones)
check-kernel: build
	@packaging/setup kernel
	@tests/kernel/run $(BUILD) $(if $(filter quick,$(CHECK)),--quick)

# A package for Debian: BUILD/whyslow_VERSION_ARCHITECTURE.deb
package: setup
	@packaging/setup charts
	@packaging/setup package
	@packaging/package $(BUILD)

# The source with the browser's modules and the BPF programs in it, and its checksum: BUILD/whyslow-VERSION.tar.xz
dist:
	@packaging/setup charts
	@packaging/dist $(BUILD)

# Tarball, packages with an apt index, checksums: BUILD/release
release: setup
	@packaging/setup charts
	@packaging/setup package
	@packaging/setup release
	@packaging/release $(BUILD)

# What a user of the package meets, in a bare root of this machine's release.
check-package: package
	@tests/package $(BUILD)

# Release x compiler (make start and the tests in bare roots: RELEASES, COMPILERS, CHECK=full|quick|none), release x package, kernel x
# what loads (KERNELS: rows of tests/kernel/matrix), arm64 by release
matrix: matrix-releases matrix-packages matrix-kernels matrix-arm64

matrix-kernels: build
	@packaging/setup kernel
	@tests/kernel/matrix $(BUILD) .cache/kernels $(KERNELS)

matrix-arm64: setup
	@packaging/setup charts
	@packaging/setup package
	@packaging/setup kernel
	@for release in $(or $(RELEASES),bookworm trixie); do tests/arm64 .cache/arm64 $$release || exit 1; done

matrix-releases:
	@packaging/setup matrix
	@tests/matrix .cache/matrix $(if $(RELEASES),--releases "$(RELEASES)") $(if $(COMPILERS),--compilers "$(COMPILERS)") $(if $(CHECK),--check $(CHECK))

# `make check-package` in bare roots, next to which the packages are kept (RELEASES)
matrix-packages:
	@packaging/setup charts
	@packaging/setup matrix
	@tests/matrix .cache/matrix --packages $(if $(RELEASES),--releases "$(RELEASES)")

# The image of packaging/container, built, run and asked
container: package
	@packaging/setup container
	@tests/container $(BUILD) .cache/container

# docs/platforms.md, from the last matrix and the last container
platforms:
	@packaging/platforms .cache

bench: build
	@packaging/setup bench
	@bench/run $(BUILD) $(AREA)

lab: build
	@packaging/setup lab
	@lab/run $(BUILD) $(AREA)

eval: build
	@bench/eval $(BUILD) $(AREA)

# Looks for inputs that break a parser, for so many MINUTES; TARGETS: these alone; CPUS: on so many. It continues where it ended, and adds up.
fuzz: setup
	@packaging/setup unit
	@tests/fuzz $(BUILD) $(or $(MINUTES),60) $(TARGETS)

# Attacks and faults; AREA=NAME... plays some. It writes docs/reliability.md.
torture: build
	@packaging/setup test
	@tests/torture/run $(BUILD) $(AREA)

install: program
	@DESTDIR="$(DESTDIR)" packaging/install $(BUILD) "$(PREFIX)"

clean:
	@rm -rf $(BUILD)
