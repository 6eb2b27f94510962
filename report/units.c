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

/*
 * Reads "12.5" as so many billionths, what is below them cut off; moves on to
 * what follows.
 */
static int parse_billionths(const char **text, unsigned __int128 *value)
{
	unsigned __int128 whole = 0;
	uint64_t fraction = 0, unit = 1000000000;
	const char *p = *text;
	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (; isdigit((unsigned char)*p); p++) {
		whole = whole * 10 + (unsigned)(*p - '0');
		if (whole > INT64_MAX)
			return -ERANGE;
	}
	if (*p == '.' && !isdigit((unsigned char)p[1]))
		return -EINVAL;
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p); p++) {
			unit /= 10;
			fraction += (unsigned)(*p - '0') * unit;
		}
	*value = whole * 1000000000 + fraction;
	*text = p;
	return 0;
}

/* Units of time, from the largest to the smallest. */
static const struct {
	const char *name;
	int64_t ns;
} time_units[] = {
	{ "h", 3600000000000 }, { "min", 60000000000 }, { "m", 60000000000 }, { "s", 1000000000 },
	{ "ms", 1000000 },	{ "us", 1000 },		{ "ns", 1 },
};
enum { TIME_UNITS = sizeof(time_units) / sizeof(time_units[0]) };

/* The unit that stands at *text, which it is moved behind; TIME_UNITS: none. */
static size_t take_time_unit(const char **text)
{
	size_t length = 0, unit = 0;
	while (isalpha((unsigned char)(*text)[length]))
		length++;
	while (unit < TIME_UNITS && (strlen(time_units[unit].name) != length ||
				     strncmp(*text, time_units[unit].name, length) != 0))
		unit++;
	*text += length;
	return unit;
}

int units_parse_time(const char *text, int64_t *t_ns)
{
	unsigned __int128 sum = 0, number;
	const char *p = text;
	int64_t last = INT64_MAX;
	do {
		int error = parse_billionths(&p, &number);
		if (error)
			return error;
		if (!*p && last == INT64_MAX) { /* a number alone is of seconds */
			sum = number;
			break;
		}
		size_t unit = take_time_unit(&p);
		if (unit == TIME_UNITS || time_units[unit].ns >= last)
			return -EINVAL;
		last = time_units[unit].ns;
		if (number / 1000000000 > (unsigned __int128)(INT64_MAX / last))
			return -ERANGE;
		sum += number * (unsigned __int128)last / 1000000000;
	} while (*p);
	if (sum > INT64_MAX)
		return -ERANGE;
	*t_ns = (int64_t)sum;
	return 0;
}

int units_parse_percent(const char *text, int64_t *millionths)
{
	unsigned __int128 number;
	const char *p = text;
	if (parse_billionths(&p, &number) || strcmp(p, "%") != 0 || number > 100000000000)
		return -EINVAL;
	*millionths = (int64_t)(number / 100000);
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
