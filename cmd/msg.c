/* SPDX-License-Identifier: MIT */
/* Messages on stderr, and die().  See msg.h. */
#include "cmd/msg.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/terminal.h"

enum severity { INFO, HINT, WARNING, ERROR };

static const struct {
	const char *word;
	const char *colour;
} severities[] = {
	[INFO] = { "", "" },
	[HINT] = { "hint", "\033[36m" },
	[WARNING] = { "warning", "\033[35m" },
	[ERROR] = { "error", "\033[1;31m" },
};

/* Appends to a bounded buffer, counting what did not fit. */
struct sink {
	char *out;
	size_t size, length;
};

static void put(struct sink *sink, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++, sink->length++) {
		if (sink->length + 1 < sink->size)
			sink->out[sink->length] = bytes[i];
	}
}

/* The length of the valid UTF-8 sequence at `s`, its code point in *code; 0 when it is none. */
static size_t utf8_sequence(const unsigned char *s, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length;

	if (s[0] < 0x80) {
		*code = s[0];
		return 1;
	}
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		length = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		length = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		length = 4;
	else
		return 0;
	*code = s[0] & (0xffu >> (length + 1));
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < least[length] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return length;
}

/* Controls, and the marks that reorder text on the line. */
static bool is_harmful(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

static void put_escaped(struct sink *sink, unsigned char byte)
{
	char text[8];

	if (byte == '\n')
		put(sink, "\\n", 2);
	else if (byte == '\t')
		put(sink, "\\t", 2);
	else if (byte == '\r')
		put(sink, "\\r", 2);
	else
		put(sink, text, (size_t)snprintf(text, sizeof(text), "\\x%02x", byte));
}

size_t msg_escape(char *out, size_t size, const char *text)
{
	struct sink sink = { .out = out, .size = size };
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		uint32_t code = 0;
		size_t length = utf8_sequence(s, &code);

		if (length && !is_harmful(code)) {
			put(&sink, (const char *)s, length);
		} else {
			length = length ? length : 1;
			for (size_t i = 0; i < length; i++)
				put_escaped(&sink, s[i]);
		}
		s += length;
	}
	if (size)
		out[sink.length < size ? sink.length : size - 1] = '\0';
	return sink.length;
}

/* One write for the whole line, so that lines of processes sharing the terminal do not mix. */
static void emit(enum severity severity, const char *text)
{
	static const char cut[] = " ...";
	bool colour = severity != INFO && terminal_color(STDERR_FILENO);
	const char *word = severities[severity].word;
	char line[4096];
	char escaped[3500];

	if (msg_escape(escaped, sizeof(escaped), text) >= sizeof(escaped))
		memcpy(escaped + sizeof(escaped) - sizeof(cut), cut, sizeof(cut));
	if (severity == INFO)
		snprintf(line, sizeof(line), "memtrack: %s\n", escaped);
	else if (colour)
		snprintf(line, sizeof(line), "memtrack: %s%s:\033[m %s\n",
			 severities[severity].colour, word, escaped);
	else
		snprintf(line, sizeof(line), "memtrack: %s: %s\n", word, escaped);
	fflush(stderr);
	for (size_t done = 0, size = strlen(line); done < size;) {
		ssize_t n = write(STDERR_FILENO, line + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* there is nowhere left to complain */
		done += (size_t)n;
	}
}

static void emit_format(enum severity severity, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

static void emit_format(enum severity severity, const char *format, va_list args)
{
	char text[3072];

	vsnprintf(text, sizeof(text), format, args);
	emit(severity, text);
}

/* clang-format off */
#define DEFINE_MESSAGE(function, severity) \
	void function(const char *format, ...) \
	{ \
		va_list args; \
		va_start(args, format); \
		emit_format(severity, format, args); \
		va_end(args); \
	}
/* clang-format on */

DEFINE_MESSAGE(msg_error, ERROR)
DEFINE_MESSAGE(msg_warn, WARNING)
DEFINE_MESSAGE(msg_hint, HINT)
DEFINE_MESSAGE(msg_info, INFO)

void msg_diag(const struct diag *diag)
{
	emit(ERROR, diag->text);
	if (diag->hint[0])
		emit(HINT, diag->hint);
}

void msg_warn_diag(const struct diag *diag)
{
	emit(WARNING, diag->text);
	if (diag->hint[0])
		emit(HINT, diag->hint);
}

void die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	emit_format(ERROR, format, args);
	va_end(args);
	exit(status);
}
