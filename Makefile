# SPDX-License-Identifier: MIT
# memtrack: `make help` lists what can be made and the variables that matter.

VERSION := 0.1.0

CC      ?= cc
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
O       ?= build
-include config.mak

BINDIR  := $(PREFIX)/bin
LIBDIR  := $(PREFIX)/lib/memtrack
MANDIR  := $(PREFIX)/share/man
COMPDIR := $(PREFIX)/share
ZSHDIR  := $(COMPDIR)/zsh/site-functions

Q := $(if $(V),,@)
say = @$(if $(V),:,printf '  %-5s %s\n' $(1) $(2))

# -- packages ---------------------------------------------------------------------------------------
# Debian's names.  `make deps` installs what the build needs, `make check-deps` what the tests need.

BUILD_PACKAGES := gcc libc6-dev pkg-config libdw-dev libelf-dev libsqlite3-dev libcjson-dev libiberty-dev \
	liblzma-dev zlib1g-dev
TEST_PACKAGES := g++ libcmocka-dev bats jq perl strace mandoc shellcheck sqlite3 git python3 binutils util-linux \
	procps valgrind bash-completion zsh fish dpkg-dev libmimalloc2.0 libjemalloc2 libtcmalloc-minimal4
LONG_PACKAGES := libunwind-dev heaptrack redis-server redis-tools nodejs rustc llvm

# -- flags ------------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wwrite-strings -Wformat=2 \
	-Wundef -Wpointer-arith -Wimplicit-fallthrough
ifneq ($(DEVELOPER),)
WARNINGS += -Werror
endif

COMMON := -std=gnu17 -D_GNU_SOURCE -iquote . -MMD -MP $(WARNINGS)

TOOL_LIBS := -ldw -lelf -lsqlite3 -lcjson -liberty -llzma -lz -lm
# What --version lists; empty where pkg-config does not know.
BUILT_WITH = $(subst ; ,;,$(foreach p,libdw sqlite3 libcjson liblzma,$(p) $(shell pkg-config --modversion $(p) 2>/dev/null);))
TOOL_FLAGS := $(COMMON) -DMEMTRACK_VERSION='"$(VERSION)"'
ifneq ($(SAN),)
TOOL_FLAGS += -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
TOOL_LDFLAGS := -fsanitize=$(SAN)
endif

# The agent lives in other people's processes: no sanitizer, no stack protector (its failure path calls into libc),
# frame pointers in its own frames, every call by name bound to its own hidden functions.  General registers only: it
# copies small structs just after writing their fields, where wider loads have to wait for the stores.
AGENT_FLAGS := $(COMMON) -mgeneral-regs-only -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-omit-frame-pointer \
	-fno-stack-protector -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free \
	-fasynchronous-unwind-tables
TARGET_LDFLAGS := -shared -Wl,-z,defs -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete
AGENT_LDFLAGS := $(TARGET_LDFLAGS) -Wl,-soname,libmemtrack.so -Wl,--version-script=agent/libmemtrack.map

# The C++ operators live there too.  Their frames are named by their symbols, as those of the C++ library are, and are all
# on the stack.
OPERATORS_EXTRA := -fno-optimize-sibling-calls -fexceptions -g0
OPERATORS_LDFLAGS := $(TARGET_LDFLAGS) -Wl,-soname,libmemtrack-operators.so -Wl,--version-script=allocators/operators.map

# -- sources ----------------------------------------------------------------------------------------

CMD_SOURCES := $(addprefix cmd/, main.c opt.c msg.c help.c complete.c processes.c terminal.c run.c view_options.c report.c diff.c check.c sql.c symbolize.c recover.c \
	channels.c malloc.c session.c program.c launch.c watch.c thread_names.c moments.c image.c image_read.c image_sums.c image_parts.c image_slack.c image_live.c stomp_file.c stomp_functions.c code_map.c collect.c collect_errors.c collect_parts.c collect_moments.c error_watch.c notes.c \
	symbols.c finish.c output.c)
REPORT_SOURCES := $(addprefix report/, diag.c units.c utf8.c pool.c hash_index.c pattern.c plumbing.c filter.c \
	costs.c errors.c recording.c recording_sites.c recording_file.c recording_write.c recording_read.c model.c model_code.c model_stacks.c model_slack.c model_costs.c model_parts.c model_process.c model_moments.c model_errors.c site_finder.c sites.c parts.c rows.c text.c \
	names_short.c recursion.c known_stacks.c text_table.c text_parts.c text_stack.c text_stacks.c sentence.c text_title.c text_header.c text_heap.c sparkline.c text_notes.c text_next.c \
	tree.c tree_frames.c text_tree.c json_tree.c csv_tree.c \
	suppressions.c text_suppressions.c error_text.c text_errors.c order.c timeline.c render.c json.c render_text.c render_json.c render_csv.c csv.c csv_costs.c view.c report.c \
	tails.c match.c diff.c diff_lines.c render_diff_text.c text_diff_header.c text_diff_table.c render_diff_json.c render_diff_csv.c \
	check.c render_check.c \
	sql.c sql_table.c sql_text.c resolve.c resolve_write.c)
SYMBOLIZE_SOURCES := $(addprefix symbolize/, symbolize.c locate.c elf_file.c elf_load.c elf_dynamic.c elf_symbols.c xz.c \
	debuginfod.c debug_info.c die_walk.c function.c interval.c names.c unit.c unit_lines.c demangle.c perf_map.c)
ALLOCATOR_SOURCES := $(addprefix allocators/, allocators.c find.c library.c stomp_options.c)
AGENT_SOURCES := $(addprefix agent/, hooks.c lifecycle.c initial.c real.c record.c bad_frees.c record_sampled.c record_slack.c sample.c threads.c thread_names.c counters.c \
	peak.c blocks.c stack_cache.c stack_walk.c stack_memo.c stack_memory.c stack_tree.c rules.c unwind.c \
	eh_frame.c modules.c unloading.c segment.c deepbind.c rt/sys.c rt/mem.c rt/lock.c)

# The guard-page allocator, and the agent's parts that it records stacks with.
STOMP_SOURCES := $(addprefix allocators/stomp/, hooks.c start.c options.c choice.c guard.c arena.c heap.c canary.c stacks.c \
	errors.c print.c fault.c limits.c)
STOMP_PARTS := $(addprefix agent/, initial.c real.c threads.c thread_names.c peak.c counters.c sample.c blocks.c stack_cache.c stack_walk.c \
	stack_memo.c stack_memory.c stack_tree.c rules.c unwind.c eh_frame.c modules.c unloading.c segment.c \
	rt/sys.c rt/mem.c rt/lock.c)

TOOL_SOURCES := $(CMD_SOURCES) $(REPORT_SOURCES) $(SYMBOLIZE_SOURCES) $(ALLOCATOR_SOURCES)
TOOL_OBJECTS := $(TOOL_SOURCES:%.c=$(O)/tool/%.o) $(O)/tool/report/schema_text.o
AGENT_OBJECTS := $(AGENT_SOURCES:%.c=$(O)/agent/%.o)
STOMP_OBJECTS := $(STOMP_SOURCES:%.c=$(O)/agent/%.o) $(STOMP_PARTS:%.c=$(O)/agent/%.o)
OPERATORS_OBJECTS := $(O)/agent/allocators/operators.o

MANUALS := $(addprefix man/, memtrack.1 memtrack-run.1 memtrack-report.1 memtrack-diff.1 memtrack-check.1 memtrack-recover.1 memtrack-help.1 memtrack-sql.1 memtrack-symbolize.1 memtrack-dat.5 \
	memtrack-internals.7 memtrack-stomp.7 memtrack-tutorial.7)

# -- building ---------------------------------------------------------------------------------------

.PHONY: all
all: memtrack libmemtrack.so libmemtrack-stomp.so libmemtrack-operators.so

# The products at the top of the tree, where they can be run from.
memtrack: $(O)/memtrack
	$(Q)cp -f $< $@

libmemtrack.so libmemtrack-stomp.so libmemtrack-operators.so: %: $(O)/%
	$(Q)cp -f $< $@

$(O)/memtrack: $(TOOL_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(TOOL_LDFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $(TOOL_OBJECTS) $(TOOL_LIBS)

$(O)/libmemtrack.so: $(AGENT_OBJECTS) agent/libmemtrack.map
	$(call say,LINK,$@)
	$(Q)$(CC) $(AGENT_LDFLAGS) $(LDFLAGS) -o $@ $(AGENT_OBJECTS)

$(O)/libmemtrack-stomp.so: $(STOMP_OBJECTS) allocators/stomp/libmemtrack-stomp.map
	$(call say,LINK,$@)
	$(Q)$(CC) $(TARGET_LDFLAGS) -Wl,-soname,libmemtrack-stomp.so \
		-Wl,--version-script=allocators/stomp/libmemtrack-stomp.map $(LDFLAGS) -o $@ $(STOMP_OBJECTS)

$(O)/libmemtrack-operators.so: $(OPERATORS_OBJECTS) allocators/operators.map
	$(call say,LINK,$@)
	$(Q)$(CC) $(OPERATORS_LDFLAGS) $(LDFLAGS) -o $@ $(OPERATORS_OBJECTS)

# Changed flags rebuild everything they concern.
FLAGS_NOW := $(CC) $(CFLAGS) $(TOOL_FLAGS) $(AGENT_FLAGS) $(OPERATORS_EXTRA)
$(O)/flags: FORCE
	@mkdir -p $(O)
	@echo '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS_NOW))' > $@

$(O)/tool/cmd/help.o: TOOL_EXTRA = -DMEMTRACK_BUILT_WITH='"$(BUILT_WITH)"'

$(O)/tool/%.o: %.c $(O)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TOOL_FLAGS) $(CFLAGS) $(TOOL_EXTRA) -c -o $@ $<

$(O)/tool/report/schema_text.o: $(O)/tool/report/schema_text.c
	$(Q)$(CC) $(TOOL_FLAGS) $(CFLAGS) -c -o $@ $<

$(O)/tool/report/schema_text.c: report/schema.sql Makefile
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q){ echo '#include "report/schema.h"'; echo 'const char rec_schema_sql[] ='; \
		sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $<; echo ';'; } > $@

# Our own memcpy must not become a call of itself.
$(O)/agent/agent/rt/mem.o: AGENT_EXTRA := -ffreestanding -fno-builtin \
	$(if $(findstring clang,$(shell $(CC) --version 2>/dev/null)),,-fno-tree-loop-distribute-patterns)

$(O)/agent/allocators/operators.o: AGENT_EXTRA := $(OPERATORS_EXTRA)

$(O)/agent/%.o: %.c $(O)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(AGENT_FLAGS) $(CFLAGS) $(AGENT_EXTRA) -c -o $@ $<

-include $(TOOL_OBJECTS:.o=.d) $(AGENT_OBJECTS:.o=.d) $(STOMP_OBJECTS:.o=.d) $(OPERATORS_OBJECTS:.o=.d)

# The agent that compares its stacks with an independent unwinder (agent/truth.h).
TRUTH_OBJECTS := $(AGENT_SOURCES:%.c=$(O)/truth/%.o) $(O)/truth/agent/truth.o
# Its printing takes a variable number of arguments.
$(O)/truth/agent/truth.o: AGENT_FLAGS := $(filter-out -mgeneral-regs-only,$(AGENT_FLAGS))
$(O)/truth/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(AGENT_FLAGS) $(CFLAGS) -DMEMTRACK_TRUTH -c -o $@ $<

.PHONY: truth
truth: $(O)/truth/libmemtrack.so
$(O)/truth/libmemtrack.so: $(TRUTH_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(AGENT_LDFLAGS) $(LDFLAGS) -o $@ $(TRUTH_OBJECTS) -l:libunwind.so.8
-include $(TRUTH_OBJECTS:.o=.d)

# -- installing -------------------------------------------------------------------------------------
# The tool finds its libraries at ../lib/memtrack and its manuals at ../share/man, from where it lies.

LIBRARIES := libmemtrack.so libmemtrack-stomp.so libmemtrack-operators.so
installed_manual = $(MANDIR)/man$(subst .,,$(suffix $(1)))/$(notdir $(1))
BASH_COMPLETION := $(COMPDIR)/bash-completion/completions/memtrack
ZSH_COMPLETION := $(ZSHDIR)/_memtrack
FISH_COMPLETION := $(COMPDIR)/fish/vendor_completions.d/memtrack.fish
INSTALLED := $(BINDIR)/memtrack $(LIBRARIES:%=$(LIBDIR)/%) $(foreach m,$(MANUALS),$(call installed_manual,$(m))) \
	$(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION)

.PHONY: install uninstall
install: all
	install -D -m 755 $(O)/memtrack '$(DESTDIR)$(BINDIR)/memtrack'
	install -d '$(DESTDIR)$(LIBDIR)'
	install -m 644 $(LIBRARIES:%=$(O)/%) '$(DESTDIR)$(LIBDIR)'
	$(foreach m,$(MANUALS),install -D -m 644 $(m) '$(DESTDIR)$(call installed_manual,$(m))' &&) :
	install -D -m 644 completions/memtrack.bash '$(DESTDIR)$(BASH_COMPLETION)'
	install -D -m 644 completions/_memtrack '$(DESTDIR)$(ZSH_COMPLETION)'
	install -D -m 644 completions/memtrack.fish '$(DESTDIR)$(FISH_COMPLETION)'

# Folders that other software shares stay, but below DESTDIR, where nobody else may need them empty.
uninstall:
	rm -f $(foreach f,$(INSTALLED),'$(DESTDIR)$(f)')
	$(if $(DESTDIR),-cd '$(DESTDIR)' && rmdir -p $(patsubst /%,'%',$(sort $(dir $(INSTALLED)))) 2>/dev/null || :)
	[ ! -d '$(DESTDIR)$(LIBDIR)' ] || rmdir --ignore-fail-on-non-empty '$(DESTDIR)$(LIBDIR)'

# -- releases ---------------------------------------------------------------------------------------

DIST ?= memtrack-$(VERSION).tar.gz
DEB ?= memtrack_$(VERSION)-1_$(shell dpkg --print-architecture 2>/dev/null).deb
DEB_PACKAGES := dpkg-dev binutils

.PHONY: dist deb
# What is committed, byte for byte the same whoever makes it and when.
dist:
	$(call say,TAR,$(DIST))
	$(Q)git -c tar.umask=0022 archive --format=tar --prefix=memtrack-$(VERSION)/ HEAD | gzip -9n >'$(DIST).new'
	$(Q)mv '$(DIST).new' '$(DIST)'

deb: deps
	@sh test/install.sh "to make a package" $(DEB_PACKAGES)
	@$(MAKE) --no-print-directory all
	$(call say,DEB,$(DEB))
	$(Q)MAKE='$(MAKE)' sh packaging/deb.sh $(VERSION)-1 '$(O)' '$(DEB)'

# -- packages to install ----------------------------------------------------------------------------
# Says what is missing and installs just that.

.PHONY: deps check-deps
deps:
	@sh test/install.sh "to build memtrack" $(BUILD_PACKAGES)

check-deps: deps
	@sh test/install.sh "to test memtrack" $(TEST_PACKAGES)

# -- a first look -----------------------------------------------------------------------------------

.PHONY: demo
demo: deps
	@$(MAKE) --no-print-directory all
	@sh test/demo.sh $(O)

# -- testing ----------------------------------------------------------------------------------------

include test/tests.mk
include test/bench/bench.mk

# -- the rest ---------------------------------------------------------------------------------------

.PHONY: clean help FORCE
clean:
	rm -rf $(O) memtrack $(LIBRARIES) memtrack-*.tar.gz memtrack_*.deb

help:
	@echo 'make              build ./memtrack and the libraries it preloads, ./libmemtrack*.so'
	@echo 'make demo         install what the build needs, build, record a real program, print the report'
	@echo 'make check        install what the tests need, build, run all quick tests'
	@echo 'make check-long   the tests on real programs, beside heaptrack and valgrind'
	@echo 'make bench        memtrack beside other profilers on the same work, as a table; BENCH_FLAGS=--help'
	@echo 'make bench-instr  the instructions of the agent per allocation, against a ceiling; UPDATE=1 sets that anew'
	@echo 'make truth        the agent that checks its stacks against libunwind (test builds only)'
	@echo 'make lint         formatting, includes, options, manuals, exports of the agent'
	@echo 'make install      PREFIX=$(PREFIX) DESTDIR=$(DESTDIR);  make uninstall removes it again'
	@echo 'make deb          a package for Debian and its like: $(DEB)'
	@echo 'make dist         the source of this commit: $(DIST)'
	@echo 'make deps, make check-deps, make bench-deps, make clean'
	@echo
	@echo 'Variables: CC CFLAGS LDFLAGS O=build V=1 DEVELOPER=1 (-Werror) SAN=address,undefined (the tool only)'
