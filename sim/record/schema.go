package record

import (
	"reflect"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// SchemaVersion is that of the tables, raised whenever one changes in a way that old
// readers would misread.
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
	TablePower     = "power"
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

var schemas = map[string]*parquet.Schema{
	TableJobs:     newSchema(TableJobs, jobRow{}),
	TableAttempts: newSchema(TableAttempts, attemptRow{}),
	TableSeries:   newSchema(TableSeries, seriesRow{}),
	TableFacts:    newSchema(TableFacts, logRow{}),

	TableTenants:   newSchema(TableTenants, groupRow{}),
	TableVClusters: newSchema(TableVClusters, groupRow{}),
	TableShares:    newSchema(TableShares, shareRow{}),
	TableDecisions: newSchema(TableDecisions, decisionColumns{}),
	TablePower:     newSchema(TablePower, powerRow{}),
}

// fullSchemas are the tables that have more columns when the run is of a site, or
// of a later version.
var fullSchemas = map[string]*parquet.Schema{
	TableJobs:      newSchema(TableJobs, siteJobRow{}),
	TableAttempts:  newSchema(TableAttempts, sharedAttemptRow{}),
	TableDecisions: newSchema(TableDecisions, decisionRow{}),
}

// wholeAttempts is the layout of attempts of a site whose nodes are handed out whole.
var wholeAttempts = newSchema(TableAttempts, siteAttemptRow{})

// newSchema is the layout of a table with such rows. A number that may be missing is a
// pointer in a row, or parquet-go would take a zero for null; since it takes no encoding
// in the parquet tag of a pointer, that is in a tag of its own.
func newSchema(table string, row any) *parquet.Schema {
	var columns []reflect.StructField
	for _, f := range reflect.VisibleFields(reflect.TypeOf(row)) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		tag := f.Tag.Get("parquet")
		if encoding := f.Tag.Get("encoding"); encoding != "" {
			tag += "," + encoding
		}
		if f.Type.Kind() == reflect.Pointer {
			f.Type = f.Type.Elem()
		}
		columns = append(columns, reflect.StructField{Name: f.Name, Type: f.Type, Tag: reflect.StructTag(`parquet:"` + tag + `"`)})
	}
	return parquet.NewSchema(table, parquet.SchemaOf(reflect.New(reflect.StructOf(columns)).Interface()))
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
	if s, ok := fullSchemas[table]; ok {
		return s
	}
	return schemas[table]
}
