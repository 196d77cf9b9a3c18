-- Both databases of the shop, business and shadow, have this schema.
create table orders (id bigserial primary key, customer text not null, item text not null, count int not null,
  at timestamptz not null default now());
create table audit (id bigserial primary key, note text not null);
create table stock (item text primary key, available bigint not null);
insert into stock select 'item-' || n, 1000000000 from generate_series(0, 999) n;
