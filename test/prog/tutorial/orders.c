/* SPDX-License-Identifier: MIT */
/*
 * Adds up orders, a line each: "WHAT;QUANTITY;PRICE".  For memtrack-tutorial(7): an error path loses a block.
 *
 * There are 1000 lines, and every tenth has no quantity: 100 blocks of 48 bytes are lost in parse_order, 4800 bytes in
 * all.  With -DFIXED none is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct order {
	char what[24];
	long quantity, price;
	struct order *next;
};

_Static_assert(sizeof(struct order) == 48, "see above");

/* NULL when the line is wrong. */
static struct order *parse_order(const char *line)
{
	struct order *order = malloc(sizeof(*order));
	int end = 0;

	if (!order)
		return NULL;
	if (sscanf(line, "%23[^;];%ld;%ld%n", order->what, &order->quantity, &order->price, &end) !=
		    3 ||
	    line[end]) {
#ifdef FIXED
		free(order);
#endif
		return NULL;
	}
	return order;
}

static void make_line(char *line, size_t size, int number)
{
	if (number % 10 == 9)
		snprintf(line, size, "bolts;;%d", number);
	else
		snprintf(line, size, "nuts;%d;%d", number % 7 + 1, number);
}

static long total(const struct order *orders)
{
	long sum = 0;

	for (const struct order *o = orders; o; o = o->next)
		sum += o->quantity * o->price;
	return sum;
}

static void free_orders(struct order *orders)
{
	while (orders) {
		struct order *next = orders->next;

		free(orders);
		orders = next;
	}
}

/* Not by printf, whose buffer would be in the figures. */
static void say(const char *format, long a, long b)
{
	char text[128];
	int length = snprintf(text, sizeof(text), format, a, b);

	if (write(STDOUT_FILENO, text, (size_t)length) != length)
		exit(98);
}

int main(void)
{
	struct order *orders = NULL;
	char line[64];
	int wrong = 0;

	for (int i = 0; i < 1000; i++) {
		struct order *order;

		make_line(line, sizeof(line), i);
		order = parse_order(line);
		if (!order) {
			wrong++;
			continue;
		}
		order->next = orders;
		orders = order;
	}
	say("total %ld, %ld lines were wrong\n", total(orders), wrong);
	free_orders(orders);
	return wrong == 100 ? 0 : 99;
}
