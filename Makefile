# Furrow. A thin front for CMake. What most people need:
#
#   make               the command, the service and the libraries, in build/
#   make test          builds and runs the tests
#   make demo          the whole way on data that the command makes, with a report
#   make install       to PREFIX (/usr/local), under DESTDIR if given
#   make deb           Debian packages, in build-deb/packages
#   make python        the Python package as a wheel, in build/python
#   make asan          the tests with AddressSanitizer and UndefinedBehaviorSanitizer
#   make bench         every benchmark at a small size
#   make format        clang-format on every source
#   make help          all targets, and what they take from the command line
#
# A line "## target: text" is what `make help` shows.

PREFIX ?= /usr/local
BUILD ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
TEST_JOBS ?= $(shell expr $(JOBS) + $(JOBS) / 2) # tests wait for the disk
CMAKE_FLAGS ?=
CMAKE = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake

# make gives CC a default, which the user did not ask for
ifeq ($(origin CC),default)
CC =
endif
export CC

configure = tools/configure.sh
build = $(CMAKE) --build $(1) -j $(JOBS) --target
require = tools/packages.sh require

SECONDS ?= 1200
MINUTES ?= 30
SEED ?= 1
FAULTS ?= memory call

# ---- Build and install ----

## all: build/furrow, build/furrow-serve, build/libfurrow.a, build/libfurrow.so; with MPI: libfurrow_mpi.so
all:
	@$(require) build
	@$(configure) $(BUILD) $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) all

## help: this list
help:
	@awk '/^# ---- / { gsub(/^# | *-+ */, ""); printf "\n%s\n", $$0 } \
	  /^## / { sub(/^## /, ""); target = $$1; sub(/:$$/, "", target); sub(/^[^ ]* /, ""); printf "  make %-15s %s\n", target, $$0 }' \
	  $(firstword $(MAKEFILE_LIST))
	@printf '\n%s\n%s\n' 'CC=clang make … takes another compiler, CMAKE_FLAGS=… more options for CMake, JOBS=… processes, PYTHON=… another Python.' \
	  'System packages that are missing are installed if that is possible without asking, else they are named.'

## demo: the whole way on data that the command makes, with a report
demo: all
	@$(BUILD)/furrow demo

## install: to PREFIX (/usr/local), under DESTDIR if given
install: all
	@$(CMAKE) --install $(BUILD) --prefix "$(PREFIX)"

## deb: Debian packages, in build-deb/packages
deb:
	@$(require) deb
	@JOBS=$(JOBS) tools/make_deb.sh

## python: the Python package as a wheel, in build/python
python:
	@$(require) python
	@$(configure) $(BUILD) $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) furrow_static
	@tools/python.sh wheel $(BUILD)

## docs: the public headers as HTML, in build/docs/html
docs:
	@$(require) docs
	@tools/check.sh docs $(BUILD)/docs
	@echo "the manual: $(BUILD)/docs/html/index.html"

## sbom: what a release consists of, as SPDX 2.3, in build/furrow.spdx.json
sbom: all
	@tools/make_sbom.py $(BUILD) $(BUILD)/furrow.spdx.json

## format: clang-format on every source
format:
	@tools/tree.sh files | grep -E '\.(c|h|cc)$$' | xargs clang-format -i

## clean: removes the build folders
clean:
	rm -rf $(BUILD) build-asan build-tsan build-coverage build-neon build-s390x build-fuzz build-deb build-mutation
	rm -f python/furrow/*.so

# ---- Tests: minutes ----

## test: builds and runs the tests
test:
	@$(require) test
	@$(configure) $(BUILD) -DFURROW_TESTS=ON $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) all furrow_tests
	@tools/run_tests.sh $(BUILD) $(TEST_JOBS)

## test-full: the tests with every combination of models, formats and data; make test has samples of the slow ones
test-full:
	@FURROW_FULL=1 $(MAKE) test

## asan: the tests with AddressSanitizer and UndefinedBehaviorSanitizer, in build-asan
asan:
	@$(require) test
	@$(configure) build-asan -DFURROW_TESTS=ON -DFURROW_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=Sanitize $(CMAKE_FLAGS)
	@$(call build,build-asan) furrow_tests
	@tools/run_tests.sh build-asan $(TEST_JOBS)

tsan: TSAN_TARGET = furrow_thread_tests
tsan: TSAN_OPTION = -L threads
tsan-full: TSAN_TARGET = furrow_tests
## tsan: the tests that use threads with ThreadSanitizer, in build-tsan
## tsan-full: all tests with ThreadSanitizer
tsan tsan-full:
	@$(require) test
	@$(configure) build-tsan -DFURROW_TESTS=ON -DFURROW_SANITIZE=thread -DCMAKE_BUILD_TYPE=Sanitize $(CMAKE_FLAGS)
	@$(call build,build-tsan) $(TSAN_TARGET)
	@tools/run_tests.sh build-tsan $(TEST_JOBS) $(TSAN_OPTION)

# Programs that sanitizers would be in the way of: reads of uninitialised memory.
valgrind-sample: VALGRIND_LABEL = ^valgrind_sample$$
valgrind: VALGRIND_LABEL = ^valgrind$$
## valgrind-sample: tests that read and write a file of each kind under valgrind: two minutes
## valgrind: all programs of the tests under valgrind: hours
valgrind valgrind-sample:
	@$(require) valgrind
	@$(configure) $(BUILD) -DFURROW_TESTS=ON $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) furrow_tests
	@tools/run_tests.sh $(BUILD) $(JOBS) -C valgrind -L '$(VALGRIND_LABEL)'

mpi-sample: MPI_LABEL = ^mpi_sample$$
mpi-test: MPI_LABEL = ^mpi$$
## mpi-sample: every test of many processes under Open MPI's mpirun, and with MPICH what depends on the MPI
## mpi-test: every test of many processes with Open MPI and with MPICH; make test has a sample
mpi-sample mpi-test:
	@$(require) mpi
	@$(configure) $(BUILD) -DFURROW_TESTS=ON $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) all furrow_tests
	@tools/run_tests.sh $(BUILD) 1 -C mpi -L '$(MPI_LABEL)'

## python-test: the tests of the Python package, in build/python-venv
python-test:
	@$(require) python-test
	@$(configure) $(BUILD) $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) furrow_static furrow_command
	@tools/python.sh test $(BUILD)

## python-asan: the same with AddressSanitizer and UndefinedBehaviorSanitizer, in build-asan
python-asan:
	@$(require) python-test
	@$(configure) build-asan -DFURROW_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=Sanitize $(CMAKE_FLAGS)
	@$(call build,build-asan) furrow_static furrow_command
	@tools/python.sh test build-asan

## deb-test: lintian over the Debian packages, and what is unpacked from them in use
deb-test:
	@$(require) deb
	@JOBS=$(JOBS) bash tests/install/deb.sh

neon: ARCH = aarch64
s390x: ARCH = s390x
## neon: the tests for 64-bit ARM under an emulator, in build-neon
## s390x: the tests for a big-endian processor under an emulator, in build-s390x
neon s390x:
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL tools/check.sh cross $(ARCH) $(JOBS)

## reproducible: two builds in different folders, and their packages, have the same bytes
reproducible:
	@$(require) deb
	@tools/check.sh reproducible

# Counts begin at 0 with every run. Figures of a run in which tests failed are shown all the same.
## coverage: the lines and branches of src/ that the tests reach, in build-coverage
coverage:
	@$(require) test
	@$(configure) build-$@ -DFURROW_TESTS=ON -DCMAKE_BUILD_TYPE=Coverage $(CMAKE_FLAGS)
	@$(call build,build-$@) all furrow_tests
	@find build-$@ -name '*.gcda' -delete
	@tools/run_tests.sh build-$@ $(JOBS); result=$$?; \
	  python3 tools/coverage.py build-$@ --json build-$@/coverage.json && exit $$result

# ---- What looks for faults for as long as you like ----

## reliability: all of it, MINUTES (30) for each part that has no end; the figures go to docs/reliability.md
reliability:
	@tools/reliability.py --minutes $(MINUTES)

# At -O1, like most fuzzers: half the time to compile.
## fuzz: libFuzzer programs, in build-fuzz (needs clang)
fuzz:
	@$(require) fuzz
	@CC=$(or $(CC),clang) $(configure) build-fuzz -DFURROW_FUZZ=ON -DFURROW_SANITIZE=fuzzer-no-link,address,undefined \
	  -DCMAKE_BUILD_TYPE=Sanitize $(CMAKE_FLAGS)
	@$(call build,build-fuzz) furrow_fuzz

## fuzz-long: each of them for SECONDS (1200), JOBS at once; inputs stay in build-fuzz/corpus; FUZZ='NAME …' for some, FUZZ_SEED=…
fuzz-long: fuzz
	@python3 tools/run_fuzz.py long --seconds $(SECONDS) --jobs $(JOBS) --json build-fuzz/fuzz.json $(FUZZ)

## mutation: removes each check of each reader in turn: a test must fail; in build-mutation, hours
mutation:
	@$(require) test
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL tools/mutate_checks.py --jobs $(JOBS) --json build-mutation/counts.json

crash = FURROW_BUILD=$(BUILD) python3 -B tests/crash
crash_figures = --json $(BUILD)/crash_figures.json

# Every kind of save with the power cut at every point; then the same on disks that do not sync, which must be found.
## power-test: the power fails at every point of every kind of save; what the disk can have then is read
power-test: crash-programs
	@for more in "--random 40" "--sabotage files" "--sabotage folders" "--sabotage each"; do \
	  $(crash)/power_test.py --ranks $$more $(crash_figures) || exit 1; done

## crash-test: random changes with random kills and errors of the disk for SECONDS, from SEED (1)
crash-test: crash-programs
	@$(crash)/crash_test.py --seconds $(SECONDS) --seed $(SEED) $(crash_figures)

## fault-test: each allocation, and each call about files, of each kind of command fails in turn (FAULTS: memory call)
fault-test: crash-programs
	@for kind in $(FAULTS); do $(crash)/fault_test.py $$kind --jobs $(JOBS) $(crash_figures) || exit 1; done

crash-programs: all
	@$(configure) $(BUILD) -DFURROW_TESTS=ON $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) all disk_layer fault_layer

## soak: furrow serve under load for SECONDS (1200), while models and indexes are replaced
soak: all
	@FURROW_BUILD=$(BUILD) python3 bench/serve/soak_serve.py --seconds $(SECONDS)

# ---- Measure ----

## bench: every benchmark at a small size, into bench/RESULTS.md and bench/history; shows what fell since the last run on such a machine
bench: all
	@$(configure) $(BUILD) -DFURROW_BENCH=ON $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) furrow_bench
	@tools/run_bench.sh $(BUILD)

.PHONY: all help demo install deb python docs sbom format clean test test-full asan tsan tsan-full valgrind valgrind-sample
.PHONY: mpi-sample mpi-test python-test python-asan deb-test neon s390x reproducible coverage reliability fuzz fuzz-long
.PHONY: mutation power-test crash-test crash-programs fault-test soak bench
