/* SPDX-License-Identifier: MIT */
/*
 * Decoding without the locale, so that the same input gives the same output
 * everywhere.
 */
#include "report/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Decodes one character; 1 with *code = UINT32_MAX for a byte that starts none. */
static size_t decode(const unsigned char *p, uint32_t *code)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = *p < 0x80		  ? 1
			: *p >= 0xf0 && *p < 0xf5 ? 4
			: *p >= 0xe0		  ? 3
			: *p >= 0xc2		  ? 2
						  : 0;
	*code = length == 1 ? *p : UINT32_MAX;
	if (length <= 1 || *p >= 0xf5)
		return 1;
	uint32_t value = *p & (0xffu >> (length + 1));
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 1;
		value = value << 6 | (p[i] & 0x3f);
	}
	if (value < smallest[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 1;
	*code = value;
	return length;
}

static bool is_invisible(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
	       code == 0xfeff;
}

char *utf8_clean(const char *text, unsigned flags)
{
	char *clean = malloc(3 * strlen(text) + 1);
	char *out = clean;
	if (!clean)
		return NULL;
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		uint32_t code;
		size_t length = decode(p, &code);
		if ((flags & UTF8_VISIBLE && is_invisible(code)) ||
		    (flags & UTF8_ASCII && code >= 0x80))
			*out++ = '?';
		else if (code == UINT32_MAX)
			out = stpcpy(out, REPLACEMENT);
		else
			out = (char *)memcpy(out, p, length) + length;
		p += length;
	}
	*out = '\0';
	return clean;
}

static char *put_escape(char *out, unsigned char byte)
{
	static const char hex[] = "0123456789abcdef";
	*out++ = '\\';
	if (byte == '\n' || byte == '\t' || byte == '\r') {
		*out++ = byte == '\n' ? 'n' : byte == '\t' ? 't' : 'r';
		return out;
	}
	*out++ = 'x';
	*out++ = hex[byte >> 4];
	*out++ = hex[byte & 15];
	return out;
}

char *utf8_escape(const char *text, size_t length, unsigned flags)
{
	char *escaped = malloc(4 * length + 1);
	char *out = escaped;
	if (!escaped)
		return NULL;
	for (size_t at = 0, bytes; at < length; at += bytes) {
		uint32_t code;
		bytes = decode((const unsigned char *)text + at, &code);
		if (code != UINT32_MAX && !is_invisible(code) &&
		    !(flags & UTF8_ASCII && code >= 0x80)) {
			out = (char *)memcpy(out, text + at, bytes) + bytes;
			continue;
		}
		for (size_t i = 0; i < bytes; i++)
			out = put_escape(out, (unsigned char)text[at + i]);
	}
	*out = '\0';
	return escaped;
}

static size_t code_width(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} wide[] = {
		{ 0x1100, 0x115f }, { 0x2e80, 0xa4cf }, { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },
		{ 0xfe30, 0xfe6f }, { 0xff00, 0xff60 }, { 0x1f300, 0x1faff }, { 0x20000, 0x3fffd },
	};
	if (code >= 0x300 && code <= 0x36f)
		return 0;
	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
		if (code >= wide[i].first && code <= wide[i].last)
			return 2;
	}
	return 1;
}

size_t utf8_width(const char *text)
{
	size_t width = 0;
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		uint32_t code;
		p += decode(p, &code);
		width += code_width(code);
	}
	return width;
}

size_t utf8_prefix(const char *text, size_t columns)
{
	const unsigned char *start = (const unsigned char *)text, *p = start;
	for (size_t width = 0; *p;) {
		uint32_t code;
		size_t length = decode(p, &code);
		width += code_width(code);
		if (width > columns)
			break;
		p += length;
	}
	return (size_t)(p - start);
}

size_t utf8_suffix(const char *text, size_t columns)
{
	size_t width = utf8_width(text);
	const unsigned char *start = (const unsigned char *)text, *p = start;
	while (*p && width > columns) {
		uint32_t code;
		p += decode(p, &code);
		width -= code_width(code);
	}
	return (size_t)(p - start);
}
