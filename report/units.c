/* SPDX-License-Identifier: MIT */
/*
 * Parsing and formatting of numbers; independent of the locale, integers
 * throughout.
 */
#include "report/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char unit_letters[] = "KMGTPE";

/* The shift of a suffix, or -1. */
static int parse_suffix(const char *suffix)
{
	int shift = 0;
	const char *letter = *suffix ? strchr(unit_letters, toupper((unsigned char)*suffix)) : NULL;
	if (letter) {
		shift = 10 * (int)(letter - unit_letters + 1);
		suffix++;
		if (tolower((unsigned char)suffix[0]) == 'i' &&
		    tolower((unsigned char)suffix[1]) == 'b')
			suffix++;
	}
	if (tolower((unsigned char)*suffix) == 'b')
		suffix++;
	return *suffix ? -1 : shift;
}

int units_parse_size(const char *text, uint64_t *bytes)
{
	unsigned __int128 whole = 0, fraction = 0, scale = 1;
	const char *p = text;
	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (; isdigit((unsigned char)*p); p++) {
		whole = whole * 10 + (unsigned)(*p - '0');
		if (whole > UINT64_MAX)
			return -ERANGE;
	}
	if (*p == '.') {
		if (!isdigit((unsigned char)*++p))
			return -EINVAL;
		/* Digits beyond the 18th are far below a byte. */
		for (; isdigit((unsigned char)*p); p++) {
			if (scale >= (unsigned __int128)1000000000 * 1000000000)
				continue;
			fraction = fraction * 10 + (unsigned)(*p - '0');
			scale *= 10;
		}
	}
	int shift = parse_suffix(p);
	if (shift < 0)
		return -EINVAL;
	unsigned __int128 value = (whole << shift) + (fraction << shift) / scale;
	if (value > UINT64_MAX)
		return -ERANGE;
	*bytes = (uint64_t)value;
	return 0;
}

static uint64_t magnitude(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

char *units_count(char *text, uint64_t count)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	char *p = text;
	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return text;
}

char *units_signed_count(char *text, int64_t count)
{
	char *p = text;
	if (count < 0)
		*p++ = '-';
	units_count(p, magnitude(count));
	return text;
}

char *units_size(char *text, int64_t bytes)
{
	const char *sign = bytes < 0 ? "-" : "";
	uint64_t value = magnitude(bytes);
	if (value < 1024) {
		snprintf(text, UNITS_TEXT, "%s%llu B", sign, (unsigned long long)value);
		return text;
	}
	/* The first unit in which the rounded value stays below 1024. */
	uint64_t tenths = 0;
	size_t unit;
	for (unit = 0; unit < sizeof(unit_letters) - 1; unit++) {
		int shift = 10 * ((int)unit + 1);
		tenths =
			(uint64_t)(((unsigned __int128)value * 10 + ((uint64_t)1 << (shift - 1))) >>
				   shift);
		if (tenths < 10240)
			break;
	}
	snprintf(text, UNITS_TEXT, "%s%llu.%llu %ciB", sign, (unsigned long long)tenths / 10,
		 (unsigned long long)tenths % 10, unit_letters[unit]);
	return text;
}

char *units_percent(char *text, int64_t part, int64_t whole)
{
	if (whole == 0) {
		strcpy(text, "-");
		return text;
	}
	__int128 scaled = (__int128)part * 10000 / whole;
	scaled = (scaled + (scaled < 0 ? -5 : 5)) / 10;
	if (scaled > INT32_MAX || scaled < -INT32_MAX) {
		strcpy(text, ">999%");
		return text;
	}
	int tenths = (int)scaled;
	snprintf(text, UNITS_TEXT, "%s%d.%d%%", tenths < 0 ? "-" : "",
		 (tenths < 0 ? -tenths : tenths) / 10, (tenths < 0 ? -tenths : tenths) % 10);
	return text;
}

char *units_error(char *text, double value, double variance, bool utf8)
{
	const char *sign = utf8 ? "±" : "+-";
	double percent = value != 0 ? 100 * sqrt(variance) / fabs(value) : HUGE_VAL;
	if (variance == 0)
		snprintf(text, UNITS_TEXT, "%s0%%", sign);
	else if (percent > 100)
		snprintf(text, UNITS_TEXT, "%s>100%%", sign);
	else if (percent < 0.1)
		snprintf(text, UNITS_TEXT, "%s<0.1%%", sign);
	else
		snprintf(text, UNITS_TEXT, "%s%.*f%%", sign, percent < 9.95, percent);
	return text;
}

char *units_duration(char *text, int64_t duration_ns)
{
	long long ms = (long long)(duration_ns / 1000000);
	long long seconds = ms / 1000;
	if (duration_ns < 0)
		snprintf(text, UNITS_TEXT, "-");
	else if (ms < 10)
		snprintf(text, UNITS_TEXT, "%lld.%02lld ms", ms,
			 (long long)(duration_ns / 10000 % 100));
	else if (ms < 1000)
		snprintf(text, UNITS_TEXT, "%lld ms", ms);
	else if (seconds < 60)
		snprintf(text, UNITS_TEXT, "%lld.%02lld s", seconds, ms % 1000 / 10);
	else if (seconds < 3600)
		snprintf(text, UNITS_TEXT, "%lld min %02lld s", seconds / 60, seconds % 60);
	else
		snprintf(text, UNITS_TEXT, "%lld h %02lld min", seconds / 3600,
			 seconds % 3600 / 60);
	return text;
}
