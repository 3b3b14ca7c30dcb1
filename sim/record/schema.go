package record

import (
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// SchemaVersion is raised whenever a table changes in a way that old readers
// would misread.
const SchemaVersion = 1

// Keys of the Parquet metadata.
const (
	keySchema = "orrery.schema"
	keyEpoch  = "orrery.epoch_us"
	keySpec   = "orrery.spec"
)

// Tables of a run directory.
const (
	TableJobs     = "jobs"
	TableAttempts = "attempts"
	TableSeries   = "series"
	TableFacts    = "facts"

	TableTenants   = "tenants"
	TableVClusters = "vclusters"
	TableShares    = "vcluster_series"
	TableDecisions = "decisions"
)

// RuleBeginsIdle is the rule of run.json that says that a trace with a warm start begins
// on an idle cluster.
const RuleBeginsIdle = "begins-idle"

// Documents of a run directory.
const (
	FileRun     = "run.json"     // what was run; its presence marks a finished run
	FileMetrics = "metrics.json" // what came out
	FileWork    = "work.json"    // what it cost, in things that can be counted
	FileHost    = "host.json"    // where and how fast; the only file that differs between two runs of a spec
)

// jobSchema is the layout of jobs.parquet. Rows are written as jobRow, which
// differs only in that an optional number is a pointer: parquet-go takes a
// zero for null otherwise, and it refuses an encoding on a pointer.
type jobSchema struct {
	Job      int32  `parquet:"job,delta"`
	ID       int64  `parquet:"id,delta"`
	User     string `parquet:"user,optional,dict"`
	Submit   int64  `parquet:"submit,delta,timestamp(microsecond)"`
	Eligible int64  `parquet:"eligible,delta,timestamp(microsecond)"`
	Start    int64  `parquet:"first_start,optional,delta,timestamp(microsecond)"`
	End      int64  `parquet:"end,delta,timestamp(microsecond)"`
	Runtime  int64  `parquet:"runtime,delta"`
	Walltime int64  `parquet:"walltime,optional,delta"`
	Procs    int32  `parquet:"procs,dict"`
	Nodes    int32  `parquet:"nodes,dict"`
	Wait     int64  `parquet:"wait,optional,delta"`
	State    string `parquet:"state,dict"`
	Attempts int32  `parquet:"attempts,dict"`
	Reason   string `parquet:"reason,optional,dict"`
}

type jobRow struct {
	Job      int32  `parquet:"job"`
	ID       int64  `parquet:"id"`
	User     string `parquet:"user,optional"`
	Submit   int64  `parquet:"submit,timestamp(microsecond)"`
	Eligible int64  `parquet:"eligible,timestamp(microsecond)"`
	Start    *int64 `parquet:"first_start,optional,timestamp(microsecond)"`
	End      int64  `parquet:"end,timestamp(microsecond)"`
	Runtime  int64  `parquet:"runtime"`
	Walltime *int64 `parquet:"walltime,optional"`
	Procs    int32  `parquet:"procs"`
	Nodes    int32  `parquet:"nodes"`
	Wait     *int64 `parquet:"wait,optional"`
	State    string `parquet:"state"`
	Attempts int32  `parquet:"attempts"`
	Reason   string `parquet:"reason,optional"`
}

// attemptRow is the layout of attempts.parquet.
type attemptRow struct {
	Job     int32  `parquet:"job,delta"`
	ID      int64  `parquet:"id,delta"`
	Attempt int32  `parquet:"attempt,dict"`
	Start   int64  `parquet:"start,delta,timestamp(microsecond)"`
	End     int64  `parquet:"end,delta,timestamp(microsecond)"`
	Outcome string `parquet:"outcome,dict"`
	Procs   int32  `parquet:"procs,dict"`
	Nodes   string `parquet:"nodes"`
	Shares  string `parquet:"shares,optional"`
}

// seriesRow is the layout of series.parquet.
type seriesRow struct {
	Time           int64 `parquet:"time,delta,timestamp(microsecond)"`
	Width          int64 `parquet:"width,dict"`
	BusyUnitUS     int64 `parquet:"busy_unit_us,delta"`
	QueuedJobUS    int64 `parquet:"queued_job_us,delta"`
	QueuedUnitUS   int64 `parquet:"queued_unit_us,delta"`
	RunningJobUS   int64 `parquet:"running_job_us,delta"`
	QueuedJobsMax  int32 `parquet:"queued_jobs_max,delta"`
	BusyUnitsMax   int32 `parquet:"busy_units_max,delta"`
	QueuedUnitsMax int64 `parquet:"queued_units_max,delta"`
	Starts         int32 `parquet:"starts,delta"`
	Ends           int32 `parquet:"ends,delta"`
	Submits        int32 `parquet:"submits,delta"`
}

var schemas = map[string]*parquet.Schema{
	TableJobs:     parquet.NewSchema(TableJobs, parquet.SchemaOf(jobSchema{})),
	TableAttempts: parquet.NewSchema(TableAttempts, parquet.SchemaOf(attemptRow{})),
	TableSeries:   parquet.NewSchema(TableSeries, parquet.SchemaOf(seriesRow{})),
	TableFacts:    parquet.NewSchema(TableFacts, parquet.SchemaOf(logRow{})),

	TableTenants:   parquet.NewSchema(TableTenants, parquet.SchemaOf(groupSchema{})),
	TableVClusters: parquet.NewSchema(TableVClusters, parquet.SchemaOf(groupSchema{})),
	TableShares:    parquet.NewSchema(TableShares, parquet.SchemaOf(shareSchema{})),
	TableDecisions: parquet.NewSchema(TableDecisions, parquet.SchemaOf(decisionSchema{})),
}

// siteSchemas are the tables that have more columns when the run is of a site, or
// of a later version.
var siteSchemas = map[string]*parquet.Schema{
	TableJobs:     parquet.NewSchema(TableJobs, parquet.SchemaOf(siteJobSchema{})),
	TableAttempts: parquet.NewSchema(TableAttempts, parquet.SchemaOf(siteAttemptSchema{})),

	TableDecisions: parquet.NewSchema(TableDecisions, parquet.SchemaOf(siteDecisionSchema{})),
}

// versionOf is the schema version of a table.
func versionOf(table string) string {
	if table == TableFacts {
		return strconv.Itoa(LogVersion)
	}
	return strconv.Itoa(SchemaVersion)
}

// schemaOf is the layout of a table, whole.
func schemaOf(table string) *parquet.Schema {
	if s, ok := siteSchemas[table]; ok {
		return s
	}
	return schemas[table]
}

// codec compresses at the fastest level: the tables are delta-coded first, and
// the slower levels gain little on what is left.
var codec = &zstd.Codec{Level: zstd.SpeedFastest}
