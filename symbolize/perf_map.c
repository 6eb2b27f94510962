/* SPDX-License-Identifier: MIT */
/*
 * Perf maps: what a JIT compiler says about the code it made.  The file is the
 * target's: it may be anything.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolize/interval.h"
#include "symbolize/symbolize.h"

/* More of a file than this is not read. */
#define TEXT_MAX ((size_t)1 << 30)

struct sym_perf_map {
	char *text;		    /* the file; names end in a zero byte where the line ended */
	struct interval_set ranges; /* value: where the name starts in the text */
};

static int read_all(int fd, size_t expected, char **text, size_t *size)
{
	size_t capacity = (expected < TEXT_MAX ? expected : TEXT_MAX) + 1;
	ssize_t got;

	*size = 0;
	*text = malloc(capacity);
	if (!*text)
		return -ENOMEM;
	while (*size < capacity - 1 && (got = read(fd, *text + *size, capacity - 1 - *size)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		*size += (size_t)got;
	}
	(*text)[*size] = '\0';
	return 0;
}

/* Sets *text to NULL when there is no such file. */
static int read_file(const char *path, char **text, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error;
	struct stat status;

	*text = NULL;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &status))
		error = -errno;
	else if (!S_ISREG(status.st_mode))
		error = -EINVAL;
	else
		error = read_all(fd, (size_t)status.st_size, text, size);
	close(fd);
	return error;
}

/* A hexadecimal number and the blank after it. */
static bool take_number(char **at, uint64_t *number)
{
	char *end;

	if (**at == ' ' || **at == '-' || **at == '+' || **at == '\t')
		return false;
	errno = 0;
	*number = strtoull(*at, &end, 16);
	if (end == *at || errno || (*end != ' ' && *end != '\t'))
		return false;
	*at = end + strspn(end, " \t");
	return true;
}

static int take_line(struct sym_perf_map *map, char *line, uint64_t rank)
{
	uint64_t start, size, end;
	char *at = line;

	if (!take_number(&at, &start) || !take_number(&at, &size) || *at == '\0' ||
	    __builtin_add_overflow(start, size, &end))
		return 0;
	return interval_add(&map->ranges, start, end, rank, (uint32_t)(at - map->text));
}

static int take_text(struct sym_perf_map *map, size_t size)
{
	uint64_t rank = 0;
	char *line = map->text, *end = map->text + size;
	int error = 0;

	while (line < end && !error) {
		char *stop = memchr(line, '\n', (size_t)(end - line));

		if (!stop)
			stop = end;
		*stop = '\0';
		if (stop > line && stop[-1] == '\r')
			stop[-1] = '\0';
		error = take_line(map, line, rank++);
		line = stop + 1;
	}
	return error ? error : interval_seal(&map->ranges);
}

int sym_perf_map_open(const char *path, struct sym_perf_map **result)
{
	struct sym_perf_map *map = calloc(1, sizeof(*map));
	size_t size = 0;
	int error;

	*result = NULL;
	if (!map)
		return -ENOMEM;
	error = read_file(path, &map->text, &size);
	if (!error && map->text)
		error = take_text(map, size);
	if (error || !map->text)
		sym_perf_map_close(map);
	else
		*result = map;
	return error;
}

const char *sym_perf_map_find(const struct sym_perf_map *map, uint64_t address)
{
	uint32_t at = interval_find(&map->ranges, address);

	return at == INTERVAL_NONE ? NULL : map->text + at;
}

void sym_perf_map_close(struct sym_perf_map *map)
{
	if (!map)
		return;
	interval_release(&map->ranges);
	free(map->text);
	free(map);
}
