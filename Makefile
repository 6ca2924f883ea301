# What a user calls. Everything each target needs it sets up itself; the build proper is Meson's.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
AREA ?=

.PHONY: start stop build check check-fleet check-kernel check-package package bench lab eval torture install clean setup

setup:
	@packaging/setup build

build: setup
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --prefix $(PREFIX) >/dev/null
	@ninja -C $(BUILD)

# The main job: the recorder running, and what to do next.
start: build
	@packaging/start $(BUILD)/src/whyslow

stop:
	@packaging/start --stop

check: build
	@packaging/setup test
	@tests/run $(BUILD)
	@tests/sanitize $(BUILD)

# The tests that need Debian's ClickHouse, Prometheus, PCP and sysstat.
check-fleet: build
	@packaging/setup test
	@packaging/setup fleet
	@meson test -C $(BUILD) --suite net --suite source --suite cmd --suite spans --print-errorlogs

# The BPF tests on Debian 12's own kernel, in a virtual machine.
check-kernel: build
	@packaging/setup kernel
	@tests/kernel/run $(BUILD)

# A package for Debian: BUILD/whyslow_VERSION_ARCHITECTURE.deb
package: setup
	@packaging/setup package
	@packaging/package $(BUILD)

# What a user of the package meets, in a bare Debian 12 of its own.
check-package: package
	@tests/package $(BUILD)

bench: build
	@packaging/setup bench
	@bench/run $(BUILD) $(AREA)

lab: build
	@packaging/setup lab
	@lab/run $(BUILD) $(AREA)

eval: build
	@bench/eval $(BUILD) $(AREA)

torture: build
	@bench/torture $(BUILD) $(AREA)

install: build
	@DESTDIR="$(DESTDIR)" packaging/install $(BUILD) "$(PREFIX)"

clean:
	@rm -rf $(BUILD)
