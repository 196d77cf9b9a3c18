package weir.probe.plugin.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.HashSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import weir.probe.boot.ShadowRefused;

class TablesTest {
    private final Tables tables = new Tables(new HashSet<>(Arrays.asList("orders", "items", "status")), "_x");

    /** {@code ^} stands where the suffix belongs. */
    @ParameterizedTest
    @ValueSource(strings = {
        "select * from orders^ where id = ?",
        "SELECT orders^.id, i.status FROM orders^, items^ i WHERE i.order_id = orders^.id AND status = 'orders'",
        "select * from shop.Orders^ o join \"items^\" on o.id = \"items^\".order_id -- from orders\n where o.status = 1",
        "insert into orders^ (id, status) values (1, 'it''s orders') on conflict (id) do update set status = excluded.status",
        "INSERT IGNORE INTO `orders^` VALUES (1) ON DUPLICATE KEY UPDATE id = 2",
        "update orders^ set id = 1, status = 2 where id in (select order_id from items^ where orders^.id = 3)",
        "delete from orders^ using items^ where orders^.id = items^.order_id returning orders^.*",
        "with recent as (select * from orders^), w(a) as not materialized (select 1) select * from recent, w, items^",
        "select extract(year from placed), trim(both 'x' from status) from orders^ where a is not distinct from b, c",
        "select * from (select id from orders^) q, items^ for update of items^",
        "select * from (orders^ o left join items^ i on (o.id = i.order_id)), status^ where status^.id = 1",
        "select * from generate_series(1, 3) g, orders^ limit 3",
        "merge into orders^ o using items^ i on o.id = i.id when matched then update set id = 1 when not matched then insert (id) values (1)",
        "truncate table orders^, items^ cascade",
        "select 1; delete from orders^; select count(*) from items^",
        "select $tag$ from orders $tag$, 1 from orders^ /* from items */",
        "(select id from orders^) union (select id from items^)",
        "select a, b from orders^ order by a, b",
        "select * from information_schema.columns, dual",
        "set search_path = shop",
        "replace into orders^ values (1)",
        "select /*! * from orders^ */ 1",
        "update orders^ o, items^ i set i.status = 0, o.id = 1 where o.id = i.order_id",
        "select * from ((orders^ o join items^ i on true) join status^ s on true)",
        "select * from ((select id from orders^) q join items^ i on true, status^)",
        "select * from ((select id from orders^) union (select id from items^)) q, status^",
        "start transaction with consistent snapshot",
        "select 1 from orders^ /*!50000join items^ */",
        "INSERT IGNORE orders^ (id) VALUES (1)", "insert low_priority orders^ values (1)", "delete from orders^, items^ using orders^ join items^ on true",
        "select /*+ parallel(4) it's */ 1.5e-3, .5, 0xff from orders^", "select 1.FROM orders^", "show global status",
        "delete from only orders^ where id = 1", "insert into orders^ select * from items^ where a = 1.",
    })
    void a_table_becomes_its_shadow_table(String expected) {
        assertEquals(expected.replace("^", "_x"), tables.rewrite(expected.replace("^", "")));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "select * from customers", "select * from orders, customers", "select * from orders o join shop.customers c on true",
        "call cleanup()", "{call cleanup()}", "create table orders_x (id int)", "drop table orders", "copy orders from stdin",
        "insert orders values (1)", "replace orders values (1)", "delete orders from orders o", "lock table orders",
        "with orders as (select 1) select * from orders", "select 'it\\' from orders", "select 1 # from orders",
        "select 5--1 from orders", "select 1 into customers", "select * from", "update (select 1) set a = 2", "do $$ delete $$",
        "explain analyze delete from orders", "select 'open", "select 1) from orders",
        "with gone as (delete from customers returning *) select * from gone",
        "set @n = (select count(*) from orders)", "begin not atomic delete from orders", "begin delete from orders",
        "set statement max_statement_time = 1 for delete from orders",
        "insert ignore customers values (1)", "with audit as (select 1) delete from audit", "delete from pg_catalog.pg_class",
        "with audit as (select 1) select * from audit; delete from audit", "select 1 -- note\rupdate orders set id = 1",
        "select 1 /* a /* don't */ */; update orders set id = 1 /* it's */", "select 1 /*M! ; delete from customers */", "select 1from customers",
        "set global read_only = 1", "set @@global.read_only = 1", "start replica", "commit prepared 'x'", "set password = 'x'",
    })
    void a_statement_that_may_name_a_business_table_is_refused(String sql) {
        assertThrows(ShadowRefused.class, () -> tables.rewrite(sql));
    }
}
