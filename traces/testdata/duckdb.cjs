// Runs the SQL statements given as arguments in one in-memory DuckDB and
// prints the rows of the last one as JSON.
const { DuckDBInstance } = require("@duckdb/node-api");

(async () => {
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run("SET TimeZone = 'UTC'");
  let rows = [];
  for (const sql of process.argv.slice(2)) {
    rows = (await connection.runAndReadAll(sql)).getRowsJson();
  }
  console.log(JSON.stringify(rows));
})().catch((err) => {
  console.error(err.message);
  process.exit(1);
});
