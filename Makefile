# Furrow. A thin front for CMake:
#
#   make               build/furrow, build/furrow-serve, build/libfurrow.a and build/libfurrow.so; with MPI: libfurrow_mpi.so
#   make test          builds and runs the tests
#   make demo          the whole way on data that the command makes, with a report
#   make bench         every benchmark at a small size; what they found goes to bench/RESULTS.md and bench/history, and
#                      what fell since the last run on such a machine is shown
#   make soak          furrow serve under load for SECONDS (1200), while models and indexes are replaced
#   make install       to PREFIX (/usr/local), under DESTDIR if given
#   make deb           Debian packages, in build-deb/packages
#   make deb-test      lintian over them, and what is unpacked from them in use
#   make python        the Python package as a wheel, in build/python
#   make python-test   the tests of the Python package, in build/python-venv
#   make python-asan   the same with AddressSanitizer and UndefinedBehaviorSanitizer, in build-asan
#   make asan          the tests with AddressSanitizer and UndefinedBehaviorSanitizer, in build-asan
#   make tsan          the tests with ThreadSanitizer, in build-tsan
#   make mpi-test      every test under mpirun, with Open MPI and with MPICH; make test has a sample
#   make neon          the tests for 64-bit ARM under an emulator, in build-neon
#   make fuzz          libFuzzer programs, in build-fuzz (needs clang)
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

.PHONY: all test demo bench soak install deb deb-test python python-test python-asan asan tsan mpi-test neon fuzz docs format clean

all:
	@tools/require_packages.sh build
	@$(configure) $(BUILD) $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) all

test:
	@tools/require_packages.sh test
	@$(configure) $(BUILD) -DFURROW_TESTS=ON $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) all furrow_tests
	@tools/run_tests.sh $(BUILD) $(JOBS)

asan: SANITIZE = address,undefined
tsan: SANITIZE = thread
asan tsan:
	@tools/require_packages.sh test
	@$(configure) build-$@ -DFURROW_TESTS=ON -DFURROW_SANITIZE=$(SANITIZE) $(CMAKE_FLAGS)
	@$(call build,build-$@) furrow_tests
	@tools/run_tests.sh build-$@ $(JOBS)

mpi-test:
	@tools/require_packages.sh mpi
	@$(configure) $(BUILD) -DFURROW_TESTS=ON $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) all furrow_tests
	@tools/run_tests.sh $(BUILD) 1 -C mpi -L mpi

neon:
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL tools/check_neon.sh $(JOBS)

fuzz:
	@tools/require_packages.sh fuzz
	@CC=$(or $(CC),clang) $(configure) build-fuzz -DFURROW_FUZZ=ON \
	  -DFURROW_SANITIZE=fuzzer-no-link,address,undefined $(CMAKE_FLAGS)
	@$(call build,build-fuzz) furrow_fuzz

demo: all
	@$(BUILD)/furrow demo

bench: all
	@$(configure) $(BUILD) -DFURROW_BENCH=ON $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) furrow_bench
	@tools/run_bench.sh $(BUILD)

soak: all
	@FURROW_BUILD=$(BUILD) python3 bench/serve/soak_serve.py --seconds $(SECONDS)

install: all
	@$(CMAKE) --install $(BUILD) --prefix "$(PREFIX)"

deb:
	@tools/require_packages.sh deb
	@JOBS=$(JOBS) tools/make_deb.sh

# Lintian over them, and what is unpacked from them in use: a minute or two, beside the tests.
deb-test:
	@tools/require_packages.sh deb
	@JOBS=$(JOBS) bash tests/install/deb.sh

python:
	@tools/require_packages.sh python
	@$(configure) $(BUILD) $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) furrow_static
	@tools/make_wheel.sh $(BUILD)

python-test:
	@tools/require_packages.sh python-test
	@$(configure) $(BUILD) $(CMAKE_FLAGS)
	@$(call build,$(BUILD)) furrow_static furrow_command
	@tools/test_python.sh $(BUILD)

python-asan:
	@tools/require_packages.sh python-test
	@$(configure) build-asan -DFURROW_SANITIZE=address,undefined $(CMAKE_FLAGS)
	@$(call build,build-asan) furrow_static furrow_command
	@tools/test_python.sh build-asan

docs:
	@tools/require_packages.sh docs
	@tools/check_docs.sh $(BUILD)/docs
	@echo "the manual: $(BUILD)/docs/html/index.html"

format:
	@tools/list_files.sh | grep -E '\.(c|h|cc)$$' | xargs clang-format -i

clean:
	rm -rf $(BUILD) build-asan build-tsan build-neon build-fuzz build-gcc build-clang build-deb
	rm -rf python/build python/*.egg-info python/furrow/*.so
