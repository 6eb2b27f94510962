/* SPDX-License-Identifier: MIT */
/*
 * Addresses to names, end to end: small programs are compiled, stripped, split
 * and damaged, and what comes back is compared with marks in their sources (see
 * test/prog/symbolize/mark.h).
 *
 * CC and CXX name the compilers; work is done in a folder below
 * MEMTRACK_TEST_TMP, or /tmp.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <gelf.h>

#include "symbolize/symbolize.h"

#define FRAMES_MAX 16

/* The folder tests work in; set once by the group's set-up. */
static char work[256];

/* What one address gave. */
struct got {
	size_t calls;
	size_t count;
	struct sym_frame frames[FRAMES_MAX];
};

/* A symbolizer with one module open. */
struct session {
	struct sym *sym;
	struct sym_module *module;
};

/* What a frame should be; NULL and 0 mean unknown. */
struct expected {
	const char *function;
	const char *mark; /* its line */
	bool inlined;
};

/* ---- helpers ---- */

__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
	char command[4096];
	va_list list;
	int size;

	va_start(list, format);
	size = vsnprintf(command, sizeof(command), format, list);
	va_end(list);
	assert_in_range(size, 1, sizeof(command) - 1);
	return system(command);
}

/* Tests of what a tool makes are left out where it is not installed. */
static bool lacks(const char *tool)
{
	if (!shell("command -v %s >/dev/null", tool))
		return false;
	print_message("# left out: no %s\n", tool);
	return true;
}

static const char *compiler(const char *variable, const char *other)
{
	const char *value = getenv(variable);

	return value && value[0] ? value : other;
}

static void source_folder(char *path, size_t size)
{
	const char *file = __FILE__, *slash = strrchr(file, '/');

	snprintf(path, size, "%.*s/../prog/symbolize", slash ? (int)(slash - file) : 1,
		 slash ? file : ".");
}

static void work_path(char *path, const char *name)
{
	snprintf(path, 512, "%s/%s", work, name);
}

/* Builds calls.c and start.S. */
static void build_calls(const char *name, const char *options)
{
	char source[512];

	source_folder(source, sizeof(source));
	assert_int_equal(shell("%s -O2 -rdynamic %s %s/calls.c %s/start.S -o %s/%s 2>%s/cc.log",
			       compiler("CC", "cc"), options, source, source, work, name, work),
			 0);
}

/* The line that ends in "LINE name" in a source. */
static uint32_t line_of(const char *source, const char *mark)
{
	char folder[512], path[1024], text[512], wanted[64];
	uint32_t line = 0, found = 0;
	FILE *stream;

	source_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, source);
	snprintf(wanted, sizeof(wanted), "LINE %s", mark);
	stream = fopen(path, "r");
	assert_non_null(stream);
	while (!found && fgets(text, sizeof(text), stream)) {
		char *at = strstr(text, wanted);

		line++;
		if (at && strspn(at + strlen(wanted), " */\n") == strlen(at + strlen(wanted)))
			found = line;
	}
	fclose(stream);
	assert_int_not_equal(found, 0);
	return found;
}

/* The value of a symbol, read straight from .symtab. */
static uint64_t address_of(const char *name, const char *symbol)
{
	Elf_Scn *section = NULL;
	uint64_t address = 0;
	char path[512];
	Elf *elf;
	int fd;

	work_path(path, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		GElf_Sym entry;

		gelf_getshdr(section, &header);
		for (int i = 0; header.sh_type == SHT_SYMTAB &&
				gelf_getsym(elf_getdata(section, NULL), i, &entry);
		     i++) {
			if (strcmp(elf_strptr(elf, header.sh_link, entry.st_name), symbol) == 0)
				address = entry.st_value;
		}
	}
	elf_end(elf);
	close(fd);
	assert_int_not_equal(address, 0);
	return address;
}

/* A file's build-id as readelf prints it. */
static size_t build_id_of(const char *name, uint8_t *bytes, char *text)
{
	char command[1024];
	size_t size = 0;
	FILE *stream;

	snprintf(command, sizeof(command), "readelf -n %s/%s | sed -n 's/.*Build ID: //p'", work,
		 name);
	stream = popen(command, "r");
	assert_non_null(stream);
	assert_non_null(fgets(text, 2 * SYM_BUILD_ID_MAX + 1, stream));
	pclose(stream);
	text[strcspn(text, "\n")] = '\0';
	while (sscanf(text + 2 * size, "%2hhx", &bytes[size]) == 1)
		size++;
	return size;
}

static struct session session_open(const struct sym_options *options, const char *path,
				   const uint8_t *build_id, size_t size)
{
	struct session session = { sym_new(options), NULL };

	assert_non_null(session.sym);
	assert_int_equal(sym_module_open(session.sym, path, build_id, size, &session.module), 0);
	assert_non_null(session.module);
	return session;
}

static struct session open_work(const char *name)
{
	char path[512];

	work_path(path, name);
	return session_open(NULL, path, NULL, 0);
}

static void keep_frames(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
	struct got *got = context;

	assert_int_equal(index, 0);
	assert_in_range(count, 0, FRAMES_MAX);
	got->calls++;
	got->count = count;
	if (count > 0)
		memcpy(got->frames, frames, count * sizeof(*frames));
}

static struct got resolve(const struct session *session, uint64_t address)
{
	struct got got = { 0 };

	assert_int_equal(sym_resolve(session->module, &address, 1, keep_frames, &got), 0);
	assert_int_equal(got.calls, 1);
	return got;
}

static void assert_frames(const struct got *got, const char *source,
			  const struct expected *expected, size_t count)
{
	char tail[128];

	assert_int_equal(got->count, count);
	snprintf(tail, sizeof(tail), "/symbolize/%s", source);
	for (size_t i = 0; i < count; i++) {
		const struct sym_frame *frame = &got->frames[i];

		if (expected[i].function)
			assert_string_equal(frame->function, expected[i].function);
		else
			assert_null(frame->function);
		assert_int_equal(frame->inlined, expected[i].inlined);
		if (!expected[i].mark)
			continue;
		assert_int_equal(frame->line, line_of(source, expected[i].mark));
		assert_non_null(frame->file);
		assert_int_equal(frame->file[0], '/');
		assert_true(strlen(frame->file) > strlen(tail));
		assert_string_equal(frame->file + strlen(frame->file) - strlen(tail), tail);
	}
}

/* Resolves mark_leaf of calls.c, which has it all. */
static void check_leaf(const struct session *session, uint64_t address)
{
	const struct expected expected[] = { { "leaf", "leaf", true },
					     { "middle", "middle", true },
					     { "outer", "outer", false } };
	struct got got = resolve(session, address);

	assert_frames(&got, "calls.c", expected, 3);
}

static void assert_no_name(const struct session *session, uint64_t address)
{
	struct got got = resolve(session, address);

	assert_int_equal(got.count, 0);
}

static void assert_function(const struct session *session, uint64_t address, const char *function)
{
	struct got got = resolve(session, address);

	assert_int_equal(got.count, 1);
	assert_string_equal(got.frames[0].function, function);
	assert_false(got.frames[0].inlined);
}

/* ---- DWARF ---- */

static void check_calls(const char *options)
{
	const struct expected plain = { "plain", "plain", false };
	const struct expected main_frame = { "main", "main", false };
	struct session session;
	struct got got;

	build_calls("calls", options);
	session = open_work("calls");
	assert_int_equal(sym_module_status(session.module), SYM_DWARF);
	check_leaf(&session, address_of("calls", "mark_leaf"));
	got = resolve(&session, address_of("calls", "mark_plain"));
	assert_frames(&got, "calls.c", &plain, 1);
	got = resolve(&session, address_of("calls", "mark_main"));
	assert_frames(&got, "calls.c", &main_frame, 1);
	sym_free(session.sym);
}

static void test_dwarf_4(void **state)
{
	(void)state;
	check_calls("-gdwarf-4");
}

static void test_dwarf_5(void **state)
{
	(void)state;
	check_calls("-gdwarf-5");
}

static void test_dwarf_compressed(void **state)
{
	(void)state;
	check_calls("-g -Wl,--compress-debug-sections=zlib");
}

static void test_dwarf_sections(void **state)
{
	(void)state;
	check_calls("-g -ffunction-sections -Wl,--gc-sections -no-pie");
}

static void test_dwarf_split(void **state)
{
	static const char *const versions[] = { "4", "5" };
	char source[512], real[4096];
	struct session session;

	(void)state;
	source_folder(source, sizeof(source));
	assert_non_null(realpath(source, real));
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(shell("cd %s && %s -O2 -gdwarf-%s -gsplit-dwarf -c %s/calls.c -o "
				       "split.o && %s split.o %s/start.S -o split",
				       work, compiler("CC", "cc"), versions[i], real,
				       compiler("CC", "cc"), real),
				 0);
		session = open_work("split");
		assert_int_equal(sym_module_status(session.module), SYM_DWARF);
		check_leaf(&session, address_of("split", "mark_leaf"));
		sym_free(session.sym);
	}
}

/* The main file's line table is still there, and nothing waits for a pipe in
 * the file's place. */
static void test_dwarf_split_lost(void **state)
{
	struct session session;
	struct got got;

	(void)state;
	assert_int_equal(shell("cd %s && rm -f *.dwo && mkfifo split.dwo", work), 0);
	session = open_work("split");
	got = resolve(&session, address_of("split", "mark_plain"));
	assert_int_equal(got.count, 1);
	assert_string_equal(got.frames[0].function, "plain");
	assert_int_equal(got.frames[0].line, line_of("calls.c", "plain"));
	sym_free(session.sym);
	assert_int_equal(shell("rm %s/split.dwo", work), 0);
}

static void test_assembly(void **state)
{
	const struct expected sized = { "assembly", "sized", false };
	const struct expected unsized = { "unsized", "unsized", false };
	const struct expected nobody = { NULL, "nobody", false };
	struct session session;
	struct got got;

	(void)state;
	build_calls("asm", "-g");
	session = open_work("asm");
	got = resolve(&session, address_of("asm", "mark_sized"));
	assert_frames(&got, "start.S", &sized, 1);
	got = resolve(&session, address_of("asm", "unsized") + 1);
	assert_frames(&got, "start.S", &unsized, 1);
	got = resolve(&session, address_of("asm", "unsized") - 2);
	assert_frames(&got, "start.S", &nobody, 1);
	sym_free(session.sym);
}

static void check_name(const struct session *session, const char *mark, const char *function)
{
	struct expected expected = { function, mark, false };
	char symbol[64];
	struct got got;

	snprintf(symbol, sizeof(symbol), "mark_%s", mark);
	got = resolve(session, address_of("names", symbol));
	assert_frames(&got, "names.cpp", &expected, 1);
}

static void test_names(void **state)
{
	char source[512];
	struct session session;
	struct got got;

	(void)state;
	source_folder(source, sizeof(source));
	assert_int_equal(
		shell("%s -O2 -g %s/names.cpp -o %s/names", compiler("CXX", "c++"), source, work),
		0);
	session = open_work("names");
	check_name(&session, "hidden", "app::(anonymous namespace)::hidden(int)");
	check_name(&session, "method", "app::Widget::run(int) const");
	check_name(&session, "template", "int app::Widget::twice<int>(int)");
	check_name(&session, "static", "file_local(int)");
	check_name(&session, "extern_c", "plain_c");
	got = resolve(&session, address_of("names", "mark_method"));
	assert_string_equal(got.frames[0].linkage, "_ZNK3app6Widget3runEi");
	got = resolve(&session, address_of("names", "mark_extern_c"));
	assert_null(got.frames[0].linkage);
	got = resolve(&session, address_of("names", "mark_lambda"));
	assert_int_equal(strncmp(got.frames[0].function, "main::", 6), 0);
	/* gcc gives no linkage name here, clang does: with or without
	 * parameters. */
	got = resolve(&session, address_of("names", "mark_hidden_inline"));
	assert_int_equal(got.count, 2);
	assert_int_equal(
		strncmp(got.frames[0].function, "app::(anonymous namespace)::hidden_inline", 41),
		0);
	assert_string_equal(got.frames[1].function, "app::calls_inline(int)");
	assert_int_equal(got.frames[1].line, line_of("names.cpp", "calls_inline"));
	sym_free(session.sym);
}

static void count_frames(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
	size_t *next = context;

	(void)frames;
	assert_int_equal(index, *next);
	assert_int_equal(count, index % 2 ? 1 : 3);
	++*next;
}

static void test_order(void **state)
{
	uint64_t addresses[64];
	struct session session;
	size_t next = 0;

	(void)state;
	build_calls("order", "-g");
	session = open_work("order");
	for (size_t i = 0; i < 64; i++)
		addresses[i] = address_of("order", i % 2 ? "mark_plain" : "mark_leaf");
	assert_int_equal(sym_resolve(session.module, addresses, 64, count_frames, &next), 0);
	assert_int_equal(next, 64);
	next = 0;
	assert_int_equal(sym_resolve(session.module, addresses, 0, count_frames, &next), 0);
	assert_int_equal(next, 0);
	sym_free(session.sym);
}

/* ---- symbol tables ---- */

static void check_symbols(const char *name)
{
	struct session session = open_work(name);
	struct got got;

	assert_int_equal(sym_module_status(session.module), SYM_ELF);
	got = resolve(&session, address_of("full", "mark_leaf"));
	assert_int_equal(got.count, 1);
	assert_string_equal(got.frames[0].function, "outer");
	assert_null(got.frames[0].file);
	assert_int_equal(got.frames[0].line, 0);
	assert_function(&session, address_of("full", "mark_sized"), "assembly");
	assert_no_name(&session, address_of("full", "unsized") - 2);
	assert_no_name(&session, 0);
	assert_no_name(&session, UINT64_MAX);
	sym_free(session.sym);
}

static void test_symtab(void **state)
{
	struct session session;

	(void)state;
	build_calls("full", "");
	check_symbols("full");
	session = open_work("full");
	assert_function(&session, address_of("full", "unsized") + 1, "unsized");
	assert_function(&session, address_of("full", "mark_plain"), "plain");
	sym_free(session.sym);
}

static void test_dynsym(void **state)
{
	struct session session;

	(void)state;
	build_calls("full", "");
	assert_int_equal(shell("strip %s/full -o %s/dynsym", work, work), 0);
	check_symbols("dynsym");
	session = open_work("dynsym");
	assert_no_name(&session, address_of("full", "mark_plain"));
	sym_free(session.sym);
}

/* Reads or writes a whole file. */
static size_t read_work(const char *name, uint8_t **bytes)
{
	char path[512];
	struct stat status;
	FILE *stream;

	work_path(path, name);
	stream = fopen(path, "rb");
	assert_non_null(stream);
	assert_int_equal(fstat(fileno(stream), &status), 0);
	*bytes = malloc((size_t)status.st_size + 1);
	assert_non_null(*bytes);
	assert_int_equal(fread(*bytes, 1, (size_t)status.st_size, stream), status.st_size);
	fclose(stream);
	return (size_t)status.st_size;
}

static void write_work(const char *name, const uint8_t *bytes, size_t size)
{
	char path[512];
	FILE *stream;

	work_path(path, name);
	unlink(path);
	stream = fopen(path, "wb");
	assert_non_null(stream);
	if (size > 0)
		assert_int_equal(fwrite(bytes, 1, size, stream), size);
	fclose(stream);
}

static void test_no_section_headers(void **state)
{
	static const char *const styles[] = { "-Wl,--hash-style=gnu", "-Wl,--hash-style=sysv" };
	uint8_t *bytes, id[SYM_BUILD_ID_MAX];
	char text[2 * SYM_BUILD_ID_MAX + 1], path[512];
	struct session session;
	size_t size, id_size;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		build_calls("full", styles[i]);
		size = read_work("full", &bytes);
		((Elf64_Ehdr *)bytes)->e_shoff = 0;
		((Elf64_Ehdr *)bytes)->e_shnum = 0;
		((Elf64_Ehdr *)bytes)->e_shstrndx = 0;
		write_work("headless", bytes, size);
		free(bytes);
		check_symbols("headless");
	}
	/* The build-id is found all the same. */
	id_size = build_id_of("full", id, text);
	work_path(path, "headless");
	session = session_open(NULL, path, id, id_size);
	assert_int_equal(sym_module_status(session.module), SYM_ELF);
	sym_free(session.sym);
}

static void test_no_symbols(void **state)
{
	struct session session;
	char source[512];

	(void)state;
	source_folder(source, sizeof(source));
	assert_int_equal(shell("%s -O2 -s %s/calls.c %s/start.S -o %s/bare", compiler("CC", "cc"),
			       source, source, work),
			 0);
	build_calls("full", "");
	session = open_work("bare");
	assert_int_equal(sym_module_status(session.module), SYM_NONE);
	assert_no_name(&session, address_of("full", "mark_leaf"));
	sym_free(session.sym);
}

static void test_debugdata(void **state)
{
	struct session session;

	(void)state;
	if (lacks("xz"))
		return;
	build_calls("full", "");
	assert_int_equal(shell("cd %s && objcopy --only-keep-debug full mini && xz -k -f mini && "
			       "strip full -o small && objcopy --add-section "
			       ".gnu_debugdata=mini.xz small debugdata",
			       work),
			 0);
	session = open_work("debugdata");
	assert_int_equal(sym_module_status(session.module), SYM_ELF);
	assert_function(&session, address_of("full", "mark_plain"), "plain");
	sym_free(session.sym);
}

/* ---- finding files ---- */

/* Builds "apart", strips it, and leaves its debug information in
 * apart.debug. */
static void build_apart(const char *options)
{
	build_calls("apart.full", options);
	assert_int_equal(shell("cd %s && rm -rf apart.debug .debug debug root && "
			       "objcopy --only-keep-debug apart.full apart.debug && "
			       "strip apart.full -o apart",
			       work),
			 0);
}

static void move_to_build_id(const char *root, char *text)
{
	assert_int_equal(shell("cd %s && mkdir -p %s/.build-id/%.2s && "
			       "mv apart.debug %s/.build-id/%.2s/%s.debug",
			       work, root, text, root, text, text + 2),
			 0);
}

static void test_build_id_debug_path(void **state)
{
	char text[2 * SYM_BUILD_ID_MAX + 1], path[512], folder[512];
	uint8_t id[SYM_BUILD_ID_MAX];
	const char *folders[] = { "/nonexistent", folder };
	struct sym_options options = { .debug_paths = folders, .debug_paths_count = 2 };
	struct session session;
	size_t size;

	(void)state;
	build_apart("-g");
	size = build_id_of("apart", id, text);
	move_to_build_id("debug", text);
	work_path(folder, "debug");
	work_path(path, "apart");
	session = session_open(&options, path, id, size);
	assert_int_equal(sym_module_status(session.module), SYM_DWARF);
	check_leaf(&session, address_of("apart.full", "mark_leaf"));
	sym_free(session.sym);

	/* Also when the file itself is gone, or another build has its name. */
	assert_int_equal(shell("cd %s && mv apart apart.moved", work), 0);
	session = session_open(&options, path, id, size);
	assert_int_equal(sym_module_status(session.module), SYM_DWARF);
	sym_free(session.sym);
	build_calls("apart", "-g -DOTHER=1 -O1");
	session = session_open(&options, path, id, size);
	assert_int_equal(sym_module_status(session.module), SYM_DWARF);
	check_leaf(&session, address_of("apart.full", "mark_leaf"));
	sym_free(session.sym);
}

static void test_build_id_sysroot(void **state)
{
	char text[2 * SYM_BUILD_ID_MAX + 1], root[512];
	uint8_t id[SYM_BUILD_ID_MAX];
	struct sym_options options = { .sysroot = root };
	struct session session;
	size_t size;

	(void)state;
	build_apart("-g");
	size = build_id_of("apart", id, text);
	move_to_build_id("root/usr/lib/debug", text);
	assert_int_equal(shell("cd %s && mkdir root/bin && mv apart root/bin/apart", work), 0);
	work_path(root, "root/");
	session = session_open(&options, "/bin/apart", id, size);
	assert_int_equal(sym_module_status(session.module), SYM_DWARF);
	check_leaf(&session, address_of("apart.full", "mark_leaf"));
	sym_free(session.sym);
}

static void check_link(const char *move, enum sym_status status)
{
	char path[512];
	struct session session;

	build_apart("-g -Wl,--build-id=none");
	assert_int_equal(
		shell("cd %s && objcopy --add-gnu-debuglink=apart.debug apart && %s", work, move),
		0);
	work_path(path, "apart");
	session = session_open(NULL, path, NULL, 0);
	assert_int_equal(sym_module_status(session.module), status);
	if (status == SYM_DWARF)
		check_leaf(&session, address_of("apart.full", "mark_leaf"));
	sym_free(session.sym);
}

static void test_debuglink(void **state)
{
	(void)state;
	check_link("true", SYM_DWARF);
	check_link("mkdir .debug && mv apart.debug .debug/", SYM_DWARF);
	check_link("printf x >>apart.debug", SYM_ELF);
	check_link("rm apart.debug && mkfifo apart.debug", SYM_ELF);
	check_link("rm apart.debug && mkdir apart.debug", SYM_ELF);
}

static void test_debuglink_folder(void **state)
{
	char path[512], folder[512];
	const char *folders[] = { folder };
	struct sym_options options = { .debug_paths = folders, .debug_paths_count = 1 };
	struct session session;

	(void)state;
	build_apart("-g -Wl,--build-id=none");
	work_path(folder, "debug");
	work_path(path, "apart");
	assert_int_equal(shell("cd %s && objcopy --add-gnu-debuglink=apart.debug apart && "
			       "mkdir -p debug%s && mv apart.debug debug%s/",
			       work, work, work),
			 0);
	session = session_open(&options, path, NULL, 0);
	assert_int_equal(sym_module_status(session.module), SYM_DWARF);
	sym_free(session.sym);
}

/* A link that has the module's own name leads past the module. */
static void test_debuglink_same_name(void **state)
{
	char path[512];
	struct session session;

	(void)state;
	build_apart("-g");
	assert_int_equal(shell("cd %s && mkdir .debug && mv apart.debug .debug/apart && "
			       "cd .debug && objcopy --add-gnu-debuglink=apart ../apart",
			       work),
			 0);
	work_path(path, "apart");
	session = session_open(NULL, path, NULL, 0);
	assert_int_equal(sym_module_status(session.module), SYM_DWARF);
	sym_free(session.sym);
}

static void test_replaced(void **state)
{
	char text[2 * SYM_BUILD_ID_MAX + 1], path[512];
	uint8_t id[SYM_BUILD_ID_MAX];
	struct session session;
	size_t size;

	(void)state;
	build_calls("replaced", "-g");
	size = build_id_of("replaced", id, text);
	work_path(path, "replaced");
	session = session_open(NULL, path, id, size);
	assert_int_equal(sym_module_status(session.module), SYM_DWARF);
	sym_free(session.sym);
	id[0] ^= 1;
	session = session_open(NULL, path, id, size);
	assert_int_equal(sym_module_status(session.module), SYM_REPLACED);
	assert_no_name(&session, address_of("replaced", "mark_leaf"));
	sym_free(session.sym);
	build_calls("replaced", "-g -Wl,--build-id=none");
	session = session_open(NULL, path, id, size);
	assert_int_equal(sym_module_status(session.module), SYM_REPLACED);
	sym_free(session.sym);
}

static void test_deleted(void **state)
{
	char text[2 * SYM_BUILD_ID_MAX + 1], path[512];
	uint8_t id[SYM_BUILD_ID_MAX];
	struct session session;
	size_t size;

	(void)state;
	build_calls("deleted", "-g");
	size = build_id_of("deleted", id, text);
	work_path(path, "deleted (deleted)");
	session = session_open(NULL, path, NULL, 0);
	assert_int_equal(sym_module_status(session.module), SYM_MISSING);
	assert_no_name(&session, address_of("deleted", "mark_leaf"));
	sym_free(session.sym);
	session = session_open(NULL, path, id, size); /* the same build came back */
	assert_int_equal(sym_module_status(session.module), SYM_DWARF);
	sym_free(session.sym);
	id[0] ^= 1;
	session = session_open(NULL, path, id, size);
	assert_int_equal(sym_module_status(session.module), SYM_MISSING);
	sym_free(session.sym);
}

static void check_status(const char *path, enum sym_status status)
{
	struct session session = session_open(NULL, path, NULL, 0);

	assert_int_equal(sym_module_status(session.module), status);
	assert_no_name(&session, 0x1000);
	sym_free(session.sym);
}

static void test_odd_paths(void **state)
{
	char path[512];

	(void)state;
	assert_int_equal(shell("cd %s && mkdir -p folder && rm -f pipe && mkfifo pipe", work), 0);
	check_status("[vdso]", SYM_MISSING);
	check_status("linux-vdso.so.1", SYM_MISSING);
	check_status("", SYM_MISSING);
	check_status("/", SYM_MISSING);
	check_status("/dev/zero", SYM_MISSING);
	check_status("/memfd:code (deleted)", SYM_MISSING);
	work_path(path, "folder");
	check_status(path, SYM_MISSING);
	work_path(path, "pipe");
	check_status(path, SYM_MISSING);
	write_work("text", (const uint8_t *)"no program\n", 11);
	work_path(path, "text");
	check_status(path, SYM_UNREADABLE);
	write_work("empty", NULL, 0);
	work_path(path, "empty");
	check_status(path, SYM_UNREADABLE);
}

static void test_same_module(void **state)
{
	const uint8_t id[4] = { 1, 2, 3, 4 };
	uint8_t long_id[SYM_BUILD_ID_MAX + 1] = { 0 };
	struct session session = session_open(NULL, "/nonexistent", NULL, 0);
	struct sym_module *module;

	(void)state;
	assert_int_equal(sym_module_open(session.sym, "/nonexistent", NULL, 0, &module), 0);
	assert_ptr_equal(module, session.module);
	assert_int_equal(sym_module_open(session.sym, "/nonexistent", id, 4, &module), 0);
	assert_ptr_not_equal(module, session.module);
	assert_int_equal(
		sym_module_open(session.sym, "/nonexistent", long_id, sizeof(long_id), &module),
		-EINVAL);
	sym_free(session.sym);
}

/* More modules than stay open at once: those closed meanwhile still answer, and
 * what they gave is still there. */
static void test_many_modules(void **state)
{
	struct sym *sym = sym_new(NULL);
	struct session first = { sym, NULL };
	uint64_t address;
	struct got got;
	char path[512];

	(void)state;
	build_calls("many", "-g");
	address = address_of("many", "mark_leaf");
	for (int i = 0; i < 80; i++) {
		struct session session = { sym, NULL };

		snprintf(path, sizeof(path), "%s/%s%d", work, "many.", i);
		assert_int_equal(shell("ln -f %s/many %s", work, path), 0);
		assert_int_equal(sym_module_open(sym, path, NULL, 0, &session.module), 0);
		check_leaf(&session, address);
		if (i == 0) {
			first = session;
			got = resolve(&session, address);
		}
	}
	check_leaf(&first, address);
	assert_string_equal(got.frames[0].function, "leaf");
	sym_free(sym);
}

/* A server is asked if and only if that is allowed; here it is a folder. */
static void test_debuginfod(void **state)
{
	char text[2 * SYM_BUILD_ID_MAX + 1], path[512], variable[600];
	uint8_t id[SYM_BUILD_ID_MAX];
	struct sym_options options = { .debuginfod = true };
	struct session session;
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW);
	size_t size;

	(void)state;
	if (!library) {
		print_message("# left out: no libdebuginfod\n");
		return;
	}
	build_apart("-g");
	size = build_id_of("apart", id, text);
	assert_int_equal(shell("cd %s && mkdir -p server/buildid/%s cache && "
			       "mv apart.debug server/buildid/%s/debuginfo",
			       work, text, text),
			 0);
	snprintf(variable, sizeof(variable), "file://%s/server", work);
	setenv("DEBUGINFOD_URLS", variable, 1);
	work_path(path, "cache");
	setenv("DEBUGINFOD_CACHE_PATH", path, 1);
	work_path(path, "apart");
	session = session_open(NULL, path, id, size);
	assert_int_equal(sym_module_status(session.module), SYM_ELF);
	sym_free(session.sym);
	session = session_open(&options, path, id, size);
	assert_int_equal(sym_module_status(session.module), SYM_DWARF);
	check_leaf(&session, address_of("apart.full", "mark_leaf"));
	sym_free(session.sym);
	unsetenv("DEBUGINFOD_URLS");
	session = session_open(&options, path, id, size);
	assert_int_equal(sym_module_status(session.module), SYM_ELF);
	sym_free(session.sym);
	dlclose(library);
}

/* What dwz moves out of two files into a third. */
static void test_supplement(void **state)
{
	char text[2 * SYM_BUILD_ID_MAX + 1], path[512], folder[512];
	uint8_t id[SYM_BUILD_ID_MAX];
	const char *folders[] = { folder };
	struct sym_options options = { .debug_paths = folders, .debug_paths_count = 1 };
	struct session session;
	struct got got;
	size_t size;

	(void)state;
	if (lacks("dwz"))
		return;
	build_apart("-g -DOTHER=1 -fno-inline-small-functions");
	assert_int_equal(shell("cd %s && cp apart.debug other.debug", work), 0);
	build_apart("-g");
	size = build_id_of("apart", id, text);
	assert_int_equal(shell("cd %s && mkdir -p debug/.dwz && dwz -m debug/.dwz/common.debug -M "
			       "../../.dwz/common.debug apart.debug other.debug",
			       work),
			 0);
	move_to_build_id("debug", text);
	work_path(folder, "debug");
	work_path(path, "apart");
	session = session_open(&options, path, id, size);
	assert_int_equal(sym_module_status(session.module), SYM_DWARF);
	check_leaf(&session, address_of("apart.full", "mark_leaf"));
	sym_free(session.sym);
	/* Without it names are missing, but nothing worse. */
	assert_int_equal(shell("rm %s/debug/.dwz/common.debug", work), 0);
	session = session_open(&options, path, id, size);
	got = resolve(&session, address_of("apart.full", "mark_leaf"));
	assert_int_equal(got.count, 3);
	assert_string_equal(got.frames[2].function, "outer");
	sym_free(session.sym);
}

/* ---- damage ---- */

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void ignore_frames(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
	size_t *total = context;

	(void)index;
	for (size_t i = 0; i < count; i++)
		*total += frames[i].function ? strlen(frames[i].function) : 0;
}

static void resolve_damaged(const char *name, uint64_t around)
{
	struct session session = open_work(name);
	uint64_t addresses[200];
	size_t total = 0;

	for (size_t i = 0; i < 200; i++)
		addresses[i] = around - 100 + i * 2;
	assert_int_equal(sym_resolve(session.module, addresses, 200, ignore_frames, &total), 0);
	sym_free(session.sym);
}

/* Bytes changed, most of them among the section headers and the debug sections
 * after the code. */
static void test_damaged(void **state)
{
	static const char *const options[] = { "-gdwarf-4", "-gdwarf-5" };
	uint32_t seed = 1;

	(void)state;
	for (size_t o = 0; o < 2; o++) {
		uint8_t *bytes, *copy;
		uint64_t around;
		size_t size;

		build_calls("whole", options[o]);
		around = address_of("whole", "mark_leaf");
		size = read_work("whole", &bytes);
		copy = malloc(size);
		assert_non_null(copy);
		for (int round = 0; round < 80; round++) {
			size_t start = round % 4 ? 0x3000 : 0;

			memcpy(copy, bytes, size);
			for (int i = 0; i <= round % 16; i++)
				copy[start + next_random(&seed) % (size - start)] =
					(uint8_t)next_random(&seed);
			write_work("damaged", copy, size);
			resolve_damaged("damaged", around);
		}
		free(copy);
		free(bytes);
	}
}

static void test_truncated(void **state)
{
	uint8_t *bytes;
	uint64_t around;
	size_t size;

	(void)state;
	build_calls("whole", "-g");
	around = address_of("whole", "mark_leaf");
	size = read_work("whole", &bytes);
	for (size_t length = 0; length < size; length += size / 97 + 1) {
		write_work("damaged", bytes, length);
		resolve_damaged("damaged", around);
	}
	free(bytes);
}

/* Debug information that would make a careless reader run for ever: see
 * hostile.S. */
static void test_hostile(void **state)
{
	static const char *const functions[] = { "trap", "trap", "main", "main" };
	char source[512];

	(void)state;
	source_folder(source, sizeof(source));
	for (int trap = 1; trap <= 4; trap++) {
		struct session session;
		struct got got;

		assert_int_equal(shell("%s -DTRAP=%d %s/hostile.S -o %s/hostile",
				       compiler("CC", "cc"), trap, source, work),
				 0);
		session = open_work("hostile");
		got = resolve(&session, address_of("hostile", "main") + 4);
		assert_int_equal(got.count, 1);
		assert_string_equal(got.frames[0].function, functions[trap - 1]);
		sym_free(session.sym);
	}
}

/* ---- set-up ---- */

static int make_work(void **state)
{
	const char *folder = getenv("MEMTRACK_TEST_TMP");

	(void)state;
	unsetenv("DEBUGINFOD_URLS");
	snprintf(work, sizeof(work), "%s/symbolize.XXXXXX", folder ? folder : "/tmp");
	return mkdtemp(work) ? 0 : -1;
}

static int remove_work(void **state)
{
	(void)state;
	return shell("rm -rf %s", work);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dwarf_4),
		cmocka_unit_test(test_dwarf_5),
		cmocka_unit_test(test_dwarf_compressed),
		cmocka_unit_test(test_dwarf_sections),
		cmocka_unit_test(test_dwarf_split),
		cmocka_unit_test(test_dwarf_split_lost),
		cmocka_unit_test(test_assembly),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_symtab),
		cmocka_unit_test(test_dynsym),
		cmocka_unit_test(test_no_section_headers),
		cmocka_unit_test(test_no_symbols),
		cmocka_unit_test(test_debugdata),
		cmocka_unit_test(test_build_id_debug_path),
		cmocka_unit_test(test_build_id_sysroot),
		cmocka_unit_test(test_debuglink),
		cmocka_unit_test(test_debuglink_folder),
		cmocka_unit_test(test_debuglink_same_name),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_deleted),
		cmocka_unit_test(test_odd_paths),
		cmocka_unit_test(test_same_module),
		cmocka_unit_test(test_many_modules),
		cmocka_unit_test(test_debuginfod),
		cmocka_unit_test(test_supplement),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_hostile),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize", tests, make_work, remove_work);
}
