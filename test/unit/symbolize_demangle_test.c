/* SPDX-License-Identifier: MIT */
/*
 * Readable names: C++, Rust in both manglings, D; and what is to be left alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolize/symbolize.h"

static void check(const char *linkage, const char *readable)
{
	char *name = sym_demangle(linkage);

	if (readable) {
		assert_non_null(name);
		assert_string_equal(name, readable);
	} else {
		assert_null(name);
	}
	free(name);
}

static void test_cplusplus(void **state)
{
	(void)state;
	check("_Z3fooi", "foo(int)");
	check("_ZNK3app6Widget3runEi", "app::Widget::run(int) const");
	check("_ZN12_GLOBAL__N_13barEv", "(anonymous namespace)::bar()");
	check("_Z3fooi.cold", "foo(int) [clone .cold]");
	check("_Znwm", "operator new(unsigned long)");
	check("_ZN1AC2Ev", "A::A()");
}

static void test_rust(void **state)
{
	(void)state;
	check("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	check("_ZN71_$LT$hashbrown..raw..RawTable$LT$T$C$A$GT$$u20$as$u20$core..ops..drop..Drop$"
	      "GT$4drop17h65b7a6fa6ecce5d7E",
	      NULL); /* a length that does not fit */
	check("_ZN49_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$a..B$GT$4drop17h65b7a6fa6ecce5d7E",
	      "<alloc::vec::Vec<T> as a::B>::drop");
	check("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	check("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
}

static void test_d(void **state)
{
	(void)state;
	check("_D4demo3fooFiZv", "demo.foo(int)");
	check("_Dmain", "D main");
}

static void test_others(void **state)
{
	(void)state;
	check(NULL, NULL);
	check("", NULL);
	check("_", NULL);
	check("_Z", NULL);
	check("_R", NULL);
	check("_D", NULL);
	check("main", NULL);
	check("Z3fooi", NULL);
	check("i", NULL); /* a type's code, were types asked for */
	check("_ZZZZZZ", NULL);
	check("_start", NULL);
	check("_DYNAMIC", NULL);
}

/* Template libraries make such names, and libiberty alone refuses them. */
static void test_long(void **state)
{
	char linkage[3000] = "_Z1f", *name;

	(void)state;
	for (int i = 0; i < 40; i++)
		sprintf(linkage + strlen(linkage), "60x%049d%010d", 0, i);
	name = sym_demangle(linkage);
	assert_non_null(name);
	assert_int_equal(strncmp(name, "f(", 2), 0);
	free(name);
}

/* Each argument is twice the one before. */
static void test_growth(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char linkage[600] = "_Z1f1AIiiE";

	(void)state;
	for (int i = 0; i < 34; i++)
		sprintf(linkage + strlen(linkage), "S_IS%c_S%c_E", digits[i], digits[i]);
	check(linkage, NULL);
}

/* Deep nesting, and back references that would grow without end. */
static void test_hostile(void **state)
{
	char *linkage = malloc(200001);
	uint32_t seed = 7;

	(void)state;
	assert_non_null(linkage);
	memset(linkage, 'P', 200000);
	memcpy(linkage, "_Z1f", 4);
	linkage[200000] = '\0';
	free(sym_demangle(linkage));
	linkage[60000] = '\0';
	free(sym_demangle(linkage));
	memset(linkage + 4, 'N', 59996);
	free(sym_demangle(linkage));
	for (int round = 0; round < 2000; round++) {
		static const char letters[] = "NZSTIEPRKFLXDtvi0123456789_$.h";
		size_t size = 4 + (size_t)round % 120;

		memcpy(linkage, round % 3 == 0 ? "_ZN" : round % 3 == 1 ? "_RNv" : "_D4x", 4);
		for (size_t i = 3; i < size; i++) {
			seed = seed * 1664525 + 1013904223;
			linkage[i] = letters[(seed >> 16) % (sizeof(letters) - 1)];
		}
		linkage[size] = '\0';
		free(sym_demangle(linkage));
	}
	free(linkage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cplusplus), cmocka_unit_test(test_rust),
		cmocka_unit_test(test_d),	  cmocka_unit_test(test_others),
		cmocka_unit_test(test_long),	  cmocka_unit_test(test_growth),
		cmocka_unit_test(test_hostile),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("demangle", tests, NULL, NULL);
}
