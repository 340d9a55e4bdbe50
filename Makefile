# Furrow. A thin front for CMake:
#
#   make               build/furrow, build/furrow-serve, build/libfurrow.a and build/libfurrow.so; with MPI: libfurrow_mpi.so
#   make test          builds and runs the tests
#   make demo          the whole way on data that the command makes, with a report
#   make bench         every benchmark at a small size; what they found goes to bench/RESULTS.md and bench/history, and
#                      what fell since the last run on such a machine is shown
#   make reliability   everything below that looks for faults, for MINUTES (30) where it has no end; into docs/reliability.md
#   make soak          furrow serve under load for SECONDS (1200), while models and indexes are replaced
#   make power-test    the power fails at every point of every kind of save; what the disk can have then is read
#   make crash-test    random changes with random kills and errors of the disk for SECONDS, from SEED (1)
#   make fault-test    each allocation, and each call about files, of each kind of command fails in turn
#   make install       to PREFIX (/usr/local), under DESTDIR if given
#   make deb           Debian packages, in build-deb/packages
#   make deb-test      lintian over them, and what is unpacked from them in use
#   make python        the Python package as a wheel, in build/python
#   make python-test   the tests of the Python package, in build/python-venv
#   make python-asan   the same with AddressSanitizer and UndefinedBehaviorSanitizer, in build-asan
#   make asan          the tests with AddressSanitizer and UndefinedBehaviorSanitizer, in build-asan
#   make tsan          the tests that use threads with ThreadSanitizer, in build-tsan
#   make tsan-full     all tests with ThreadSanitizer
#   make valgrind      the programs of the tests under valgrind: takes hours
#   make valgrind-sample   those that read and write a file of each kind: two minutes
#   make coverage      the lines and branches of src/ that the tests reach, in build-coverage (tools/coverage.py)
#   make mpi-test      every test under mpirun, with Open MPI and with MPICH; make test has a sample
#   make neon          the tests for 64-bit ARM under an emulator, in build-neon
#   make s390x         the same for a big-endian processor, in build-s390x
#   make reproducible  two builds in different folders, and their packages, have the same bytes
#   make sbom          what a release consists of, as SPDX 2.3, in build/furrow.spdx.json
#   make fuzz          libFuzzer programs, in build-fuzz (needs clang)
#   make fuzz-long     each of them for SECONDS (1200), JOBS at once; inputs stay in build-fuzz/corpus, figures in
#                      build-fuzz/fuzz.json; FUZZ=NAME … for some, FUZZ_SEED=… for a seed
#   make mutation      removes each check of each reader in turn: a test must fail; in build-mutation, hours
#   make docs          the public headers as HTML, in build/docs/html
#   make format        clang-format on every source
#   make clean
#
# CC=clang make …   another compiler; CMAKE_FLAGS=… more options for CMake; PYTHON=… another Python. System packages
# that are missing are installed if that is possible without asking, else they are named.

PREFIX ?= /usr/local
BUILD ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE_FLAGS ?=
CMAKE = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake

# make gives CC a default, which the user did not ask for
ifeq ($(origin CC),default)
CC =
endif
export CC

configure = tools/configure.sh
build = $(CMAKE) --build $(1) -j $(JOBS) --target

SECONDS ?= 1200
MINUTES ?= 30
SEED ?= 1
FAULTS ?= memory call

.PHONY: all test demo bench soak install deb deb-test python python-test python-asan asan tsan tsan-full valgrind valgrind-sample mpi-test neon
.PHONY: s390x reproducible sbom coverage fuzz fuzz-long mutation power-test crash-test fault-test crash-programs reliability docs format clean

all:
	@tools/packages.sh require build
	@$(configure) $(BUILD) $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) all

test:
	@tools/packages.sh require test
	@$(configure) $(BUILD) -DFURROW_TESTS=ON $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) all furrow_tests
	@tools/run_tests.sh $(BUILD) $(JOBS)

asan:
	@tools/packages.sh require test
	@$(configure) build-asan -DFURROW_TESTS=ON -DFURROW_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=Sanitize $(CMAKE_FLAGS)
	@$(call build,build-asan) furrow_tests
	@tools/run_tests.sh build-asan $(JOBS)

tsan: TSAN_TARGET = furrow_thread_tests
tsan: TSAN_OPTION = -L threads
tsan-full: TSAN_TARGET = furrow_tests
tsan tsan-full:
	@tools/packages.sh require test
	@$(configure) build-tsan -DFURROW_TESTS=ON -DFURROW_SANITIZE=thread -DCMAKE_BUILD_TYPE=Sanitize $(CMAKE_FLAGS)
	@$(call build,build-tsan) $(TSAN_TARGET)
	@tools/run_tests.sh build-tsan $(JOBS) $(TSAN_OPTION)

# Programs that sanitizers would be in the way of: reads of uninitialised memory.
valgrind: VALGRIND_LABEL = ^valgrind$$
valgrind-sample: VALGRIND_LABEL = ^valgrind_sample$$
valgrind valgrind-sample:
	@tools/packages.sh require valgrind
	@$(configure) $(BUILD) -DFURROW_TESTS=ON $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) furrow_tests
	@tools/run_tests.sh $(BUILD) $(JOBS) -C valgrind -L '$(VALGRIND_LABEL)'

# Counts begin at 0 with every run. Figures of a run in which tests failed are shown all the same.
coverage:
	@tools/packages.sh require test
	@$(configure) build-$@ -DFURROW_TESTS=ON -DCMAKE_BUILD_TYPE=Coverage $(CMAKE_FLAGS)
	@$(call build,build-$@) all furrow_tests
	@find build-$@ -name '*.gcda' -delete
	@tools/run_tests.sh build-$@ $(JOBS); result=$$?; \
	  python3 tools/coverage.py build-$@ --json build-$@/coverage.json && exit $$result

mpi-test:
	@tools/packages.sh require mpi
	@$(configure) $(BUILD) -DFURROW_TESTS=ON $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) all furrow_tests
	@tools/run_tests.sh $(BUILD) 1 -C mpi -L mpi

neon: ARCH = aarch64
s390x: ARCH = s390x
neon s390x:
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL tools/check.sh cross $(ARCH) $(JOBS)

reproducible:
	@tools/packages.sh require deb
	@tools/check.sh reproducible

sbom: all
	@tools/make_sbom.py $(BUILD) $(BUILD)/furrow.spdx.json

fuzz:
	@tools/packages.sh require fuzz
	@CC=$(or $(CC),clang) $(configure) build-fuzz -DFURROW_FUZZ=ON \
	  -DFURROW_SANITIZE=fuzzer-no-link,address,undefined $(CMAKE_FLAGS)
	@$(call build,build-fuzz) furrow_fuzz

fuzz-long: fuzz
	@python3 tools/run_fuzz.py long --seconds $(SECONDS) --jobs $(JOBS) --json build-fuzz/fuzz.json $(FUZZ)

mutation:
	@tools/packages.sh require test
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL tools/mutate_checks.py --jobs $(JOBS) --json build-mutation/counts.json

demo: all
	@$(BUILD)/furrow demo

bench: all
	@$(configure) $(BUILD) -DFURROW_BENCH=ON $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) furrow_bench
	@tools/run_bench.sh $(BUILD)

# Everything that looks for faults.
reliability:
	@tools/reliability.py --minutes $(MINUTES)

crash = FURROW_BUILD=$(BUILD) python3 -B tests/crash
crash_figures = --json $(BUILD)/crash_figures.json

# Every kind of save with the power cut at every point; then the same on disks that do not sync, which must be found.
power-test: crash-programs
	@for more in "--random 40" "--sabotage files" "--sabotage folders" "--sabotage each"; do \
	  $(crash)/power_test.py --ranks $$more $(crash_figures) || exit 1; done

# Random changes with random kills and errors for SECONDS.
crash-test: crash-programs
	@$(crash)/crash_test.py --seconds $(SECONDS) --seed $(SEED) $(crash_figures)

# Each allocation of each kind of command fails in turn, then each call about files and threads.
fault-test: crash-programs
	@for kind in $(FAULTS); do $(crash)/fault_test.py $$kind --jobs $(JOBS) $(crash_figures) || exit 1; done

crash-programs: all
	@$(configure) $(BUILD) -DFURROW_TESTS=ON $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) all disk_layer fault_layer

soak: all
	@FURROW_BUILD=$(BUILD) python3 bench/serve/soak_serve.py --seconds $(SECONDS)

install: all
	@$(CMAKE) --install $(BUILD) --prefix "$(PREFIX)"

deb:
	@tools/packages.sh require deb
	@JOBS=$(JOBS) tools/make_deb.sh

# Lintian over them, and what is unpacked from them in use: a minute or two, not a part of the tests.
deb-test:
	@tools/packages.sh require deb
	@JOBS=$(JOBS) bash tests/install/deb.sh

python:
	@tools/packages.sh require python
	@$(configure) $(BUILD) $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) furrow_static
	@tools/python.sh wheel $(BUILD)

python-test:
	@tools/packages.sh require python-test
	@$(configure) $(BUILD) $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) furrow_static furrow_command
	@tools/python.sh test $(BUILD)

python-asan:
	@tools/packages.sh require python-test
	@$(configure) build-asan -DFURROW_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=Sanitize $(CMAKE_FLAGS)
	@$(call build,build-asan) furrow_static furrow_command
	@tools/python.sh test build-asan

docs:
	@tools/packages.sh require docs
	@tools/check.sh docs $(BUILD)/docs
	@echo "the manual: $(BUILD)/docs/html/index.html"

format:
	@tools/tree.sh files | grep -E '\.(c|h|cc)$$' | xargs clang-format -i

clean:
	rm -rf $(BUILD) build-asan build-tsan build-coverage build-neon build-s390x build-fuzz build-gcc build-clang build-deb build-mutation
	rm -f python/furrow/*.so
