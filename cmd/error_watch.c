/* SPDX-License-Identifier: MIT */
/* Errors to the terminal at once; see error_watch.h. */
#include "cmd/error_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/image.h"
#include "cmd/msg.h"
#include "report/error_text.h"
#include "report/render.h"
#include "report/text.h"

void error_watch_init(struct error_watch *e, const struct watch *watch,
		      const struct sym_options *symbols, FILE *out, bool color, bool utf8)
{
	*e = (struct error_watch){ .watch = watch, .symbols = *symbols, .out = out };
	e->color = color;
	e->utf8 = utf8;
	/* Downloads would hold up the looks at everything else; so would talk about them. */
	e->symbols.debuginfod = false;
	e->symbols.progress = NULL;
	stomp_file_open(&e->file, watch->directory);
}

/* -- whose error it is -------------------------------------------------------------------------- */

/* Of the images of one pid, is `w` likelier than `other` to be the one that ran at a time?  The latest of those that had
 * started, or else the earliest. */
static bool is_likelier(const struct watched *w, const struct watched *other, uint64_t time)
{
	uint64_t start = w->header.start_monotonic_ns;
	uint64_t other_start = other->header.start_monotonic_ns;

	if ((start <= time) != (other_start <= time))
		return start <= time;
	return start <= time ? start > other_start : start < other_start;
}

static const struct watched *find_image(const struct watch *watch, const struct found_error *error)
{
	const struct watched *found = NULL;

	for (size_t i = 0; i < watch->count; i++) {
		const struct watched *w = &watch->images[i];

		if (w->ready && w->header.pid == error->rec.pid &&
		    (!found || is_likelier(w, found, error->monotonic_ns)))
			found = w;
	}
	return found;
}

/* Who it is, for the paths of its modules: from its segment, or from the kernel while it lives. */
static void identify(const struct error_watch *e, const struct found_error *error,
		     struct image *image)
{
	const struct watched *w = find_image(e->watch, error);
	int fd = w ? open(w->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	char link[64], path[PATH_MAX];
	ssize_t size;

	memset(image, 0, sizeof(*image));
	if (fd >= 0 && image_identify((struct image_source){ fd, w->base }, image, NULL) < 0)
		image_release(image);
	if (fd >= 0)
		close(fd);
	if (image->executable)
		return;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)error->rec.pid);
	size = readlink(link, path, sizeof(path) - 1);
	image->executable = strndup(size > 0 ? path : "?", size > 0 ? (size_t)size : 1);
	image->directory = strdup("");
	if (!image->executable || !image->directory)
		image_release(image);
}

/* -- names -------------------------------------------------------------------------------------- */

/* The source-level frames of one frame. */
struct named {
	struct shown_frame *frames;
	size_t count;
};

/* An error with its names: by stack and frame. */
struct naming {
	const struct found_error *error;
	char **paths;	     /* by module */
	struct named *named; /* of all stacks, one after the other */
	size_t *places;	     /* into them: of the addresses being resolved */
	int result;
};

static const struct found_frame *frame_at(const struct found_error *error, size_t place)
{
	unsigned s = 0;

	while (place >= error->stacks[s].count)
		place -= error->stacks[s++].count;
	return &error->stacks[s].frames[place];
}

static uint64_t link_address(const struct found_error *error, const struct found_frame *f)
{
	return f->module ? f->address - error->modules[f->module - 1].bias : f->address;
}

static struct shown_frame bare_frame(const struct naming *n, const struct found_frame *f)
{
	return (struct shown_frame){
		.module = f->module ? n->paths[f->module - 1] : NULL,
		.address = link_address(n->error, f),
		.runtime = f->address,
	};
}

/* A symbolizer's callback. */
static void take_names(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
	struct naming *n = context;
	size_t place = n->places[index];
	const struct found_frame *f = frame_at(n->error, place);
	struct named *to = &n->named[place];

	if (to->frames || !count)
		return;
	to->frames = calloc(count, sizeof(*to->frames));
	if (!to->frames) {
		n->result = -ENOMEM;
		return;
	}
	to->count = count;
	for (size_t i = 0; i < count; i++) {
		to->frames[i] = bare_frame(n, f);
		to->frames[i].function = frames[i].function;
		to->frames[i].file = frames[i].file;
		to->frames[i].line = frames[i].line;
		to->frames[i].inlined = frames[i].inlined;
	}
}

static size_t frame_count(const struct found_error *error)
{
	size_t count = 0;

	for (unsigned s = 0; s < ERROR_STACKS; s++)
		count += error->stacks[s].count;
	return count;
}

/* All addresses of one module (its index + 1) together. */
static void name_module(struct naming *n, struct sym *sym, uint32_t module, uint64_t *addresses)
{
	const struct found_module *m = &n->error->modules[module - 1];
	struct sym_module *symbols;
	size_t count = 0;

	for (size_t place = 0; place < frame_count(n->error); place++) {
		const struct found_frame *f = frame_at(n->error, place);

		if (f->module != module)
			continue;
		/* Inside the call that a return address follows; an interrupted instruction itself. */
		addresses[count] = link_address(n->error, f) - !f->interrupted;
		n->places[count++] = place;
	}
	if (count &&
	    sym_module_open(sym, n->paths[module - 1], m->build_id, m->build_id_size, &symbols) ==
		    0 &&
	    sym_resolve(symbols, addresses, count, take_names, n) < 0)
		n->result = -ENOMEM;
}

/* Code that no file holds, from the perf map of its process.  The name is the map's: `keep` holds that. */
static void name_jit(struct naming *n, struct sym_perf_map **keep)
{
	char path[64];

	for (size_t place = 0; place < frame_count(n->error); place++) {
		const struct found_frame *f = frame_at(n->error, place);
		struct sym_frame frame = { 0 };

		if (f->module)
			continue;
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)n->error->rec.pid);
		if (!*keep && (sym_perf_map_open(path, keep) < 0 || !*keep))
			return;
		frame.function = sym_perf_map_find(*keep, f->address - !f->interrupted);
		n->places[0] = place;
		take_names(n, 0, &frame, frame.function != NULL);
	}
}

/* What has no name is shown all the same. */
static void name_rest(struct naming *n)
{
	for (size_t place = 0; place < frame_count(n->error); place++) {
		struct named *to = &n->named[place];

		if (to->frames)
			continue;
		to->frames = calloc(1, sizeof(*to->frames));
		if (!to->frames) {
			n->result = -ENOMEM;
			return;
		}
		to->count = 1;
		to->frames[0] = bare_frame(n, frame_at(n->error, place));
	}
}

/* -- showing ------------------------------------------------------------------------------------ */

/* The frames of a stack whose first has a place, in one array; malloc'ed. */
static struct shown_frame *join(const struct naming *n, size_t place, size_t count, size_t *joined)
{
	struct shown_frame *frames;
	size_t at = 0;

	*joined = 0;
	for (size_t i = 0; i < count; i++)
		*joined += n->named[place + i].count;
	frames = calloc(*joined + 1, sizeof(*frames));
	for (size_t i = 0; frames && i < count; i++) {
		memcpy(frames + at, n->named[place + i].frames,
		       n->named[place + i].count * sizeof(*frames));
		at += n->named[place + i].count;
	}
	return frames;
}

/* In one piece, so that output of the program does not come between its lines. */
static void print(const struct error_watch *e, const struct error_text *shown)
{
	char *buffer = NULL;
	size_t size = 0;
	struct text text = {
		.out = open_memstream(&buffer, &size),
		.width = SIZE_MAX,
		.color = e->color,
		.utf8 = e->utf8,
		.full_paths = true,
		.full_names = true,
		.ellipsis = e->utf8 ? "…" : "...",
	};

	if (!text.out)
		return;
	error_text_put(&text, shown);
	if (fclose(text.out) == 0) {
		fwrite(buffer, 1, size, e->out);
		fflush(e->out);
	}
	free(buffer);
}

static void show_named(const struct error_watch *e, const struct naming *n)
{
	struct error_text shown = { .rec = &n->error->rec, .standalone = true };
	size_t place = 0;

	for (unsigned s = 0; s < ERROR_STACKS; s++) {
		size_t count = n->error->stacks[s].count;

		shown.stacks[s].frames = join(n, place, count, &shown.stacks[s].count);
		if (!shown.stacks[s].frames)
			shown.stacks[s].count = 0;
		place += count;
	}
	print(e, &shown);
	for (unsigned s = 0; s < ERROR_STACKS; s++)
		free((void *)shown.stacks[s].frames);
}

static void name_and_show(struct error_watch *e, struct naming *n, const struct image *image)
{
	uint64_t *addresses = calloc(frame_count(n->error) + 1, sizeof(*addresses));
	struct sym_perf_map *jit = NULL;

	if (!addresses)
		n->result = -ENOMEM;
	for (uint32_t m = 0; m < n->error->module_count && !n->result; m++) {
		n->paths[m] = image_path(image, n->error->modules[m].path);
		if (!n->paths[m])
			n->result = -ENOMEM;
		else
			name_module(n, e->sym, m + 1, addresses);
	}
	if (!n->result)
		name_jit(n, &jit);
	if (!n->result)
		name_rest(n);
	if (!n->result)
		show_named(e, n);
	if (jit)
		sym_perf_map_close(jit);
	free(addresses);
}

static void show(struct error_watch *e, const struct found_error *error)
{
	struct naming n = { .error = error };
	struct image image;

	if (!e->sym)
		e->sym = sym_new(&e->symbols);
	n.paths = calloc(error->module_count + 1ul, sizeof(*n.paths));
	n.named = calloc(frame_count(error) + 1, sizeof(*n.named));
	n.places = calloc(frame_count(error) + 1, sizeof(*n.places));
	identify(e, error, &image);
	if (e->sym && n.paths && n.named && n.places && image.executable)
		name_and_show(e, &n, &image);
	image_release(&image);
	for (size_t i = 0; n.named && i < frame_count(error); i++)
		free(n.named[i].frames);
	for (uint32_t i = 0; n.paths && i < error->module_count; i++)
		free(n.paths[i]);
	free(n.named);
	free(n.paths);
	free(n.places);
}

bool error_watch_pending(const struct error_watch *e)
{
	return stomp_file_has_more(&e->file);
}

void error_watch_look(struct error_watch *e)
{
	struct found_error error;

	while (stomp_file_next(&e->file, &error) > 0) {
		if (e->shown < ERROR_WATCH_MOST) {
			show(e, &error);
			e->shown++;
		} else {
			e->more++;
		}
		found_error_release(&error);
	}
}

struct sym *error_watch_end(struct error_watch *e)
{
	struct sym *sym = e->sym;

	if (e->more)
		msg_info("%zu more error%s in the recording: memtrack report shows them", e->more,
			 e->more == 1 ? " is" : "s are");
	e->sym = NULL;
	stomp_file_close(&e->file);
	return sym;
}
