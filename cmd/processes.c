/* SPDX-License-Identifier: MIT */
/* Processes, from /proc; see processes.h. */
#include "cmd/processes.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/utf8.h"

enum { PATH_SIZE = 64, NAME_SIZE = 64 };

static bool is_ours(const char *pid)
{
	char path[PATH_SIZE], program[2];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.20s", pid);
	if (stat(path, &st) < 0 || (geteuid() != 0 && st.st_uid != geteuid()))
		return false;
	snprintf(path, sizeof(path), "/proc/%.20s/exe", pid);
	return readlink(path, program, sizeof(program)) > 0; /* a kernel thread has none */
}

/* The name that the process gives itself: any bytes. */
static char *name_of(const char *pid)
{
	char path[PATH_SIZE], name[NAME_SIZE] = "";
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	length = read(fd, name, sizeof(name) - 1);
	close(fd);
	if (length > 0)
		name[length - (name[length - 1] == '\n')] = '\0';
	return utf8_clean(name, UTF8_VISIBLE);
}

void processes_list(FILE *out)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		const char *pid = entry->d_name;
		char *name;

		if (!isdigit((unsigned char)*pid) || atol(pid) == getpid() || !is_ours(pid))
			continue;
		name = name_of(pid);
		if (name)
			fprintf(out, "%s\t%s\n", pid, name);
		free(name);
	}
	if (proc)
		closedir(proc);
}
