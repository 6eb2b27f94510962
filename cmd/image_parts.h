/* SPDX-License-Identifier: MIT */
/* The costs of a segment by thread and by the size of the blocks. */
#ifndef MEMTRACK_CMD_IMAGE_PARTS_H
#define MEMTRACK_CMD_IMAGE_PARTS_H

#include <stdint.h>

#include "cmd/image.h"
#include "report/diag.h"

/* The classes of sizes, in order: 0, 1 to 8, 9 to 16, ..., more than 4 GiB. */
enum { IMAGE_SIZES = 32 };
/* The smallest size of a class. */
uint64_t image_size_least(unsigned size_class);

/* A part of image_load. */
int image_load_parts(struct image_source source, struct image *image, struct diag *diag)
	__attribute__((warn_unused_result));
void image_release_parts(struct image *image);

#endif
