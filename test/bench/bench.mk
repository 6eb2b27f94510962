# SPDX-License-Identifier: MIT
# Benchmarks: see test/README.  Included by the Makefile.
#
#   make bench         memtrack beside other tools on the same work, a table; BENCH_FLAGS=--help lists what can be chosen
#   make bench-stomp   run --malloc=stomp beside other finders of heap errors; BENCH_FLAGS=--help lists what can be chosen
#   make bench-instr   the agent's instructions per allocation, against a ceiling; UPDATE=1 writes the ceiling anew
#   make bench-deps    installs the tools and programs that `make bench` can use

BENCH_PACKAGES := python3 valgrind heaptrack google-perftools libgoogle-perftools4 libjemalloc2 libjemalloc-dev \
	redis-server redis-tools rustc sqlite3 perl g++ electric-fence duma

# -- programs ---------------------------------------------------------------------------------------
# Stock optimized code without frame pointers, whatever CFLAGS memtrack itself is built with.

BENCH_DIR := $(O)/bench
BENCH_CFLAGS := -O2 -g -D_GNU_SOURCE -iquote . -MMD -MP -pthread
CXX ?= c++
RUSTC ?= rustc

BENCH_C := $(addprefix $(BENCH_DIR)/, pairs live handoff paths idle)
BENCH_PROGRAMS := $(BENCH_C) $(addprefix $(BENCH_DIR)/, target threads vec_loop)
BENCH_INSTR := $(addprefix $(BENCH_DIR)/, pairs paths)

$(BENCH_C): $(BENCH_DIR)/%: test/bench/prog/%.c test/bench/bench.mk
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 $(BENCH_CFLAGS) $(WARNINGS) -o $@ $<

# Static, so that a preloaded library does not enter it; see its first comment.
$(BENCH_DIR)/target: test/bench/prog/target.c test/bench/bench.mk
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 $(BENCH_CFLAGS) $(WARNINGS) -static -o $@ $<

# Only where there is a compiler: the benchmarks say what is missing and go on without.
$(BENCH_DIR)/threads: test/bench/prog/threads.cpp test/bench/bench.mk
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)if command -v $(CXX) >/dev/null; then $(CXX) -std=gnu++17 $(BENCH_CFLAGS) -o $@ $<; fi

$(BENCH_DIR)/vec_loop: test/bench/prog/vec_loop.rs test/bench/bench.mk
	$(call say,RUSTC,$<)
	@mkdir -p $(@D)
	$(Q)if command -v $(RUSTC) >/dev/null; then $(RUSTC) -O -o $@ $<; fi

-include $(BENCH_C:=.d)

# -- beside other tools -----------------------------------------------------------------------------

.PHONY: bench bench-stomp bench-deps bench-programs
bench-programs: $(BENCH_PROGRAMS)

bench: all bench-programs
	$(Q)O=$(abspath $(O)) python3 test/bench/bench.py $(BENCH_FLAGS)

bench-stomp: all bench-programs test-programs
	$(Q)O=$(abspath $(O)) CC='$(CC)' CXX='$(CXX)' python3 test/bench/stomp.py $(BENCH_FLAGS)

bench-deps: deps
	@sh test/install.sh "to compare memtrack with others" $(BENCH_PACKAGES)

# -- instructions -----------------------------------------------------------------------------------

INSTR_ENVIRONMENT = MEMTRACK=$(abspath memtrack) O=$(abspath $(O)) CC='$(CC)' CFLAGS='$(CFLAGS)'

.PHONY: bench-instr
bench-instr: all $(BENCH_INSTR)
	$(Q)$(INSTR_ENVIRONMENT) test/bench/instr.py $(if $(UPDATE),--update)
