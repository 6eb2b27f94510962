/* SPDX-License-Identifier: MIT */
/* The tree of a report in JSON, written while it is walked. */
#include <inttypes.h>

#include "report/json.h"
#include "report/render.h"
#include "report/tree.h"

static void put_node(struct json *j, const struct tree_node *node)
{
	json_put(j, node->first ? "\n" : ",\n");
	json_put(j, "    {");
	json_place(j, &node->site);
	if (node->site.address)
		fprintf(j->out, ", \"address\": \"0x%" PRIx64 "\"", node->site.address);
	else
		json_put(j, ", \"address\": null");
	fprintf(j->out, ", \"recursive\": %s, ", node->recursive ? "true" : "false");
	json_costs(j, &node->site.costs, NULL);
	json_put(j, ", \"self\": {");
	json_costs(j, &node->self, NULL);
	json_put(j, "}, \"children\": [");
}

void json_tree(struct json *j, const struct report *report)
{
	const struct tree_options options = tree_options_of(report->options);
	struct tree tree;
	struct tree_node node;
	json_put(j, "[");
	int event = tree_open(&tree, report->model, report->table, &options);
	if (!event)
		event = tree_next(&tree, &node);
	for (; event > TREE_END && !j->error; event = tree_next(&tree, &node)) {
		if (event == TREE_ENTER)
			put_node(j, &node);
		else
			json_put(j, "]}");
	}
	if (event < 0)
		j->error = event;
	tree_close(&tree);
	json_put(j, "]");
}
