-- Adds up, of the run 'run' of the trace 'dense.trace', what each node and each GPU holds at every
-- instant: attempts, those of thousandths, instants of a node beyond its CPUs or memory, instants of a
-- GPU beyond 1000 thousandths or not of its node, the most of its CPUs in percent, the most of a GPU.
with site as (
  select file_row_number as id, * from read_parquet('dense.trace/nodes.parquet', file_row_number = true)),
held as (
  select a.nodes::int as node, a.start, a."end", a.share_cpus::bigint as cpus, a.share_memory::hugeint as memory,
    (case when a.share_gpus is null or a.share_gpus = '0' then 0 else ('0x' || a.share_gpus)::ubigint end) as mask, a.share_gpu_milli::bigint as milli
  from 'run/attempts.parquet' a where a."end" > a.start),
events as (
  select node, start as moment, 1 as sign, * exclude (node, start, "end") from held
  union all select node, "end", -1, * exclude (node, start, "end") from held),
state as (
  select node, moment, sum(sign * cpus) as cpus, sum(sign * memory) as memory from events group by node, moment),
running as (
  select node, sum(cpus) over w as cpus, sum(memory) over w as memory from state window w as (partition by node order by moment)),
cards as (
  select node, g, moment, sum(sign * coalesce(milli, 1000)) as milli from events, range(0, 16) t(g) where (mask >> g) & 1 = 1 group by node, g, moment),
busy as (
  select node, g, sum(milli) over (partition by node, g order by moment) as milli from cards)
select (select count(*) from held), (select count(*) from held where milli is not null),
  (select count(*) from running r left join site n on n.id = r.node where n.id is null or r.cpus > n.cpus or r.memory > n.memory),
  (select count(*) from busy b left join site n on n.id = b.node where n.id is null or b.milli > 1000 or b.g >= n.gpus),
  (select max(r.cpus * 100 // n.cpus) from running r join site n on n.id = r.node), (select max(milli) from busy)
