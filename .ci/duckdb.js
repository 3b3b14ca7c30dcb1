// Runs one query and prints its rows, one per line, values separated by
// spaces: a reader of our Parquet files that shares no code with us.
//
//   NODE_PATH=... node .ci/duckdb.js "select count(*) from 'run/jobs.parquet'"
"use strict";

const { DuckDBInstance } = require("@duckdb/node-api");

async function main(query) {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll(query);
  for (const row of reader.getRows()) {
    console.log(row.map(String).join(" "));
  }
}

main(process.argv[2]).catch((err) => {
  console.error(`duckdb: ${err.message}`);
  process.exit(1);
});
