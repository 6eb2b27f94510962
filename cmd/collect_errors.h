/* SPDX-License-Identifier: MIT */
/*
 * The errors of a session on their way into the recording: which process image each belongs to, their code, their rows.
 * A part of collect.c: read all, enter the code before names are looked up, write when the processes have rows.
 */
#ifndef MEMTRACK_CMD_COLLECT_ERRORS_H
#define MEMTRACK_CMD_COLLECT_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/code_map.h"
#include "cmd/image.h"
#include "cmd/stomp_file.h"

/* A process image: one of the same list in all calls. */
struct error_image {
	const struct image *image;
	rec_id process; /* once it has a row */
};

struct error_set {
	struct stomp_file file;
	struct stomp_state state;
	struct found_error *errors;
	uint32_t **codes; /* of each error: of the frames of its stacks, one after the other */
	size_t *images;	  /* of each error: index + 1 */
	size_t count, room;
	struct rec_guard *guards; /* by image */
	bool *guarded;
};

int errors_load(struct error_set *set, const char *directory, const struct error_image *images,
		size_t image_count, struct diag *diag) __attribute__((warn_unused_result));
int errors_enter(struct error_set *set, const struct error_image *images, struct code_map *map,
		 struct diag *diag) __attribute__((warn_unused_result));
int errors_write(struct error_set *set, const struct error_image *images, size_t image_count,
		 struct code_map *map, struct recording *rec, struct diag *diag)
	__attribute__((warn_unused_result));
void errors_release(struct error_set *set);
/* The image in which an error happened: of its pid the one that ran then.  Index + 1; 0: of none. */
size_t errors_image_at(const struct error_image *images, size_t count, int32_t pid,
		       uint64_t monotonic_ns);

#endif
