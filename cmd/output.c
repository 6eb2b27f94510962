/* SPDX-License-Identifier: MIT */
/* --output patterns and early checks; see output.h. */
#include "cmd/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void put_time(FILE *out)
{
	char text[32];
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &tm);
	fputs(text, out);
}

static void put_host(FILE *out)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	fputs(host, out);
}

static int put(FILE *out, char letter, pid_t pid, const char *program)
{
	const char *base = strrchr(program, '/');

	switch (letter) {
	case 'p':
		fprintf(out, "%d", (int)pid);
		return 0;
	case 'e':
		fputs(base ? base + 1 : program, out);
		return 0;
	case 'h':
		put_host(out);
		return 0;
	case 't':
		put_time(out);
		return 0;
	case '%':
		fputc('%', out);
		return 0;
	default:
		return -EINVAL;
	}
}

char *output_expand(const char *pattern, pid_t pid, const char *program, struct diag *diag)
{
	char *path = NULL;
	size_t size;
	FILE *out = open_memstream(&path, &size);
	int error = 0;

	if (!out) {
		diag_set(diag, -ENOMEM, "out of memory");
		return NULL;
	}
	for (const char *p = pattern; !error && *p; p++) {
		if (*p != '%')
			fputc(*p, out);
		else
			error = put(out, *++p, pid, program);
		if (error)
			diag_set(diag, error,
				 "unknown '%%%c' in output name '%s' (known: %%p %%e %%h %%t %%%%)",
				 *p ? *p : ' ', pattern);
	}
	fclose(out);
	if (!error)
		return path;
	free(path);
	return NULL;
}

char *output_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

int output_check(const char *path, struct diag *diag)
{
	char *folder = output_folder(path);
	struct stat st;
	int error = 0;

	if (!folder)
		return diag_set(diag, -ENOMEM, "out of memory");
	if (!*path)
		error = diag_set(diag, -EINVAL, "the output name is empty");
	else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		error = diag_set(diag, -EISDIR, "cannot write '%s': it is a directory", path);
	else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		; /* a device: written to as it is */
	else if (stat(folder, &st) < 0)
		error = diag_set(diag, -errno, "cannot write '%s': directory '%s': %s", path,
				 folder, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		error = diag_set(diag, -ENOTDIR, "cannot write '%s': '%s' is not a directory", path,
				 folder);
	else if (access(folder, W_OK | X_OK) < 0)
		error = diag_set(diag, -errno, "cannot write '%s': directory '%s': %s", path,
				 folder, strerror(errno));
	free(folder);
	return error;
}
