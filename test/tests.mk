# SPDX-License-Identifier: MIT
# Tests: see test/README.  Included by the Makefile.
#
#   make check        everything quick: unit tests, end-to-end tests, lint, the agent's instructions
#   make check-long   real programs beside heaptrack and valgrind, the truth mode
#   make unit, make e2e, make lint: one part of it

JOBS ?= 2
PROVE = prove -j $(JOBS) -e 'sh test/run-one.sh'

# -- unit tests: name, then the objects they need -----------------------------------------------------

UNIT_DIR := $(O)/test/unit
RESOLVE_OBJECTS := $(addprefix $(O)/tool/report/, resolve.o resolve_write.o)
# Only these need symbolize/.
REPORT_OBJECTS := $(filter-out $(RESOLVE_OBJECTS), $(REPORT_SOURCES:%.c=$(O)/tool/%.o)) $(O)/tool/report/schema_text.o
SYMBOLIZE_OBJECTS := $(SYMBOLIZE_SOURCES:%.c=$(O)/tool/%.o)
FIXTURE := $(UNIT_DIR)/report_fixture.o
GOLDEN := $(addprefix $(UNIT_DIR)/, golden.o golden_recordings.o)

UNIT_TESTS := opt_test units_test recording_test report_order_test report_sites_test report_resolve_test report_render_test report_golden_test report_suppressions_test report_tree_test report_moments_test \
	report_tails_test report_diff_test report_diff_golden_test report_check_test \
	report_sparkline_test report_names_test report_recursion_test symbolize_test \
	symbolize_demangle_test symbolize_interval_test symbolize_perf_map_test \
	allocators_test cmd_complete_test cmd_program_test cmd_output_test cmd_image_test cmd_parts_test cmd_moments_test cmd_stomp_file_test \
	cmd_errors_test agent_layout_test agent_peak_test agent_blocks_test \
	agent_eh_frame_test agent_stack_test agent_tree_test agent_sample_test agent_bad_frees_test agent_slack_test stomp_options_test stomp_heap_test \
	stomp_mprotect_test

opt_test_OBJECTS := $(addprefix $(O)/tool/, cmd/opt.o report/diag.o report/units.o report/utf8.o)
units_test_OBJECTS := $(O)/tool/report/units.o
recording_test_OBJECTS := $(REPORT_OBJECTS) $(FIXTURE)
report_order_test_OBJECTS := $(O)/tool/report/order.o
report_sites_test_OBJECTS := $(REPORT_OBJECTS) $(FIXTURE)
report_moments_test_OBJECTS := $(REPORT_OBJECTS) $(FIXTURE)
report_resolve_test_OBJECTS := $(REPORT_OBJECTS) $(RESOLVE_OBJECTS) $(SYMBOLIZE_OBJECTS) $(FIXTURE)
report_render_test_OBJECTS := $(REPORT_OBJECTS) $(FIXTURE)
report_recursion_test_OBJECTS := $(O)/tool/report/recursion.o
report_names_test_OBJECTS := $(O)/tool/report/names_short.o
report_suppressions_test_OBJECTS := $(REPORT_OBJECTS) $(FIXTURE)
report_tree_test_OBJECTS := $(REPORT_OBJECTS) $(FIXTURE)
report_sparkline_test_OBJECTS := $(O)/tool/report/sparkline.o
report_golden_test_OBJECTS := $(REPORT_OBJECTS) $(FIXTURE) $(GOLDEN)
report_tails_test_OBJECTS := $(O)/tool/report/tails.o
report_check_test_OBJECTS := $(REPORT_OBJECTS) $(FIXTURE)
report_diff_test_OBJECTS := $(REPORT_OBJECTS) $(FIXTURE)
report_diff_golden_test_OBJECTS := $(REPORT_OBJECTS) $(FIXTURE) $(GOLDEN)
symbolize_test_OBJECTS := $(SYMBOLIZE_OBJECTS)
symbolize_demangle_test_OBJECTS := $(SYMBOLIZE_OBJECTS)
symbolize_interval_test_OBJECTS := $(SYMBOLIZE_OBJECTS)
symbolize_perf_map_test_OBJECTS := $(SYMBOLIZE_OBJECTS)
allocators_test_OBJECTS := $(ALLOCATOR_SOURCES:%.c=$(O)/tool/%.o) $(addprefix $(O)/tool/, report/diag.o report/units.o)
cmd_complete_test_OBJECTS := $(addprefix $(O)/tool/, cmd/complete.o cmd/processes.o cmd/opt.o report/diag.o \
	report/units.o report/utf8.o)
cmd_program_test_OBJECTS := $(O)/tool/cmd/program.o
cmd_output_test_OBJECTS := $(addprefix $(O)/tool/, cmd/output.o report/diag.o report/utf8.o)
cmd_stomp_file_test_OBJECTS := $(addprefix $(O)/tool/, cmd/stomp_file.o cmd/image.o cmd/image_read.o cmd/image_sums.o cmd/image_parts.o cmd/image_slack.o report/diag.o report/utf8.o)
cmd_errors_test_OBJECTS := $(addprefix $(O)/tool/, cmd/collect.o cmd/collect_errors.o cmd/collect_parts.o cmd/collect_moments.o cmd/error_watch.o cmd/stomp_file.o \
	cmd/image.o cmd/image_read.o cmd/image_sums.o cmd/image_parts.o cmd/image_slack.o cmd/code_map.o cmd/notes.o cmd/watch.o cmd/thread_names.o cmd/image_live.o cmd/moments.o cmd/msg.o) $(REPORT_OBJECTS) $(SYMBOLIZE_OBJECTS)
cmd_image_test_OBJECTS := $(addprefix $(O)/tool/, cmd/image.o cmd/image_read.o cmd/image_live.o cmd/image_sums.o cmd/image_parts.o cmd/image_slack.o report/diag.o report/utf8.o)
cmd_parts_test_OBJECTS := $(cmd_image_test_OBJECTS)
cmd_moments_test_OBJECTS := $(addprefix $(O)/tool/, cmd/moments.o cmd/image_read.o cmd/image_live.o report/hash_index.o)

# The agent's objects, but not the hooks: malloc stays the C library's.
AGENT_PARTS := $(filter-out %/hooks.o, $(AGENT_OBJECTS)) $(UNIT_DIR)/agent_fixture.o
agent_layout_test_OBJECTS := $(AGENT_PARTS)
agent_peak_test_OBJECTS := $(AGENT_PARTS)
agent_blocks_test_OBJECTS := $(AGENT_PARTS)
agent_eh_frame_test_OBJECTS := $(AGENT_PARTS)
agent_stack_test_OBJECTS := $(AGENT_PARTS)
agent_tree_test_OBJECTS := $(AGENT_PARTS)
agent_sample_test_OBJECTS := $(AGENT_PARTS)
agent_bad_frees_test_OBJECTS := $(AGENT_PARTS)
agent_slack_test_OBJECTS := $(AGENT_PARTS)

# The guard-page allocator's, likewise.
stomp_options_test_OBJECTS := $(O)/agent/allocators/stomp/options.o
stomp_heap_test_OBJECTS := $(filter-out %/hooks.o %/start.o, $(STOMP_OBJECTS))
stomp_mprotect_test_OBJECTS := $(stomp_heap_test_OBJECTS)

UNIT_BINARIES := $(UNIT_TESTS:%=$(UNIT_DIR)/%)

$(UNIT_DIR)/%.o: test/unit/%.c $(O)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TOOL_FLAGS) $(CFLAGS) -c -o $@ $<

$(UNIT_DIR)/stomp_mprotect_test.o: $(UNIT_DIR)/stomp_heap_test.o
	$(Q)cp $< $@

.SECONDEXPANSION:
$(UNIT_BINARIES): $(UNIT_DIR)/%: $(UNIT_DIR)/%.o $$($$*_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(TOOL_LDFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(TOOL_LIBS) -lcmocka

-include $(UNIT_BINARIES:%=%.d) $(FIXTURE:.o=.d) $(GOLDEN:.o=.d) $(UNIT_DIR)/agent_fixture.d

.PHONY: unit
unit: $(UNIT_BINARIES)
	$(Q)$(PROVE) $(UNIT_BINARIES)

# The tests that compare whole outputs with test/golden/; this rewrites it, for review as a diff.
GOLDEN_TESTS := report_golden_test report_diff_golden_test

.PHONY: update-golden
update-golden: $(GOLDEN_TESTS:%=$(UNIT_DIR)/%)
	$(Q)for test in $^; do MEMTRACK_UPDATE_GOLDEN=1 $$test > /dev/null || exit 1; done
	@git -c core.quotePath=off diff --stat -- test/golden

# -- end to end -------------------------------------------------------------------------------------

.PHONY: test-programs e2e
test-programs:
	$(Q)MEMTRACK_TEST_BUILD=$(abspath $(O))/test/prog CC='$(CC)' bash test/prog/build.sh

E2E_ENVIRONMENT = MEMTRACK=$(abspath memtrack) MEMTRACK_TEST_BUILD=$(abspath $(O))/test/prog \
	MEMTRACK_TRUTH_AGENT=$(abspath $(O))/truth/libmemtrack.so

e2e: all test-programs
	$(Q)$(E2E_ENVIRONMENT) $(PROVE) $(wildcard test/e2e/*.bats)

# -- lint -------------------------------------------------------------------------------------------

.PHONY: lint
lint: all
	$(Q)MEMTRACK=$(abspath memtrack) O=$(abspath $(O)) $(PROVE) $(wildcard test/lint/*.sh)

# -- the long ones ----------------------------------------------------------------------------------

# Looks addresses up without memtrack around it, beside llvm-symbolizer (test/e2e/long/limits.bats).
LOOK_UP := $(O)/test/prog/symbolize
$(LOOK_UP): test/e2e/long/symbolize.c $(SYMBOLIZE_OBJECTS)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TOOL_FLAGS) $(TOOL_LDFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(TOOL_LIBS)

# -- all --------------------------------------------------------------------------------------------

.PHONY: check check-long
check: check-deps
	@$(MAKE) --no-print-directory -j $(JOBS) all test-programs $(UNIT_BINARIES) $(BENCH_INSTR)
	$(Q)$(E2E_ENVIRONMENT) $(INSTR_ENVIRONMENT) $(PROVE) $(UNIT_BINARIES) $(wildcard test/lint/*.sh) \
		test/bench/instr.py $(wildcard test/e2e/*.bats)

check-long: check-deps
	@sh test/install.sh "to test real programs" $(LONG_PACKAGES)
	@$(MAKE) --no-print-directory -j $(JOBS) all truth test-programs $(LOOK_UP)
	$(Q)$(E2E_ENVIRONMENT) $(PROVE) -j 1 $(wildcard test/e2e/long/*.bats)
