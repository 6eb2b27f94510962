-- SPDX-License-Identifier: MIT
-- Inserts, an index, a join and a sort, all in memory.
CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT);
CREATE TABLE b (id INTEGER, w INTEGER, x TEXT);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) INSERT INTO a SELECT i, 'value ' || i FROM n;
INSERT INTO b SELECT id, id * 7 % 1000, upper(v) || hex(id) FROM a;
CREATE INDEX b_w ON b (w, x);
COMMIT;
SELECT count(*), sum(w), max(v) FROM a JOIN b USING (id) WHERE w < 500;
SELECT sum(length(g)) FROM (SELECT w, group_concat(substr(x, 3, 9)) AS g FROM b GROUP BY w ORDER BY length(group_concat(x)) DESC, w);
