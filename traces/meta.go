package traces

import (
	"strconv"

	"orrery/scheduler/model"
)

// SchemaVersion is raised whenever a reader of the previous version could
// misread a file.
const SchemaVersion = 1

// Keys of the Parquet key-value metadata of each table.
const (
	keySchema     = "orrery.schema"
	keySource     = "orrery.source"
	keyEpoch      = "orrery.epoch_us"
	keyEpochKnown = "orrery.epoch_known"
	keyTimeZone   = "orrery.timezone"
	keyMaxProcs   = "orrery.max_procs"
	keyMaxNodes   = "orrery.max_nodes"
	keySorted     = "orrery.sorted"
	keyRecipe     = "orrery.recipe"
	keyImport     = "orrery.import"
	keyContent    = "orrery.content"
	keyTables     = "orrery.tables" // of the bundle, so that a lost one is missed
	keyWarmStart  = "orrery.warm_start_us"
	keyHistory    = "orrery.history_us"
	keySeal       = "orrery.seal" // the digest of the file, see unsealed

	columnRanOn = "recorded_nodes" // read by a replay until the warm start
)

// Meta is what a bundle says about itself beside its rows.
type Meta struct {
	Source     string     // where the rows come from, in words: a file name, a generator
	Epoch      model.Time // UTC, µs since 1970-01-01: the zero of every instant in memory
	EpochKnown bool       // false when the source's clock starts at an arbitrary zero
	TimeZone   string     // IANA name, "" when the source does not say
	MaxProcs   int32      // cluster size as the source states, 0 when it does not
	MaxNodes   int32
	Sorted     bool   // jobs ascend by submit; a Writer that is told so refuses others
	Recipe     string // JSON: the transforms that made this trace
	Import     string // JSON of the Report of the import
	// WarmStart is the instant at which a replay begins: jobs submitted before it
	// ran or waited then, and are put in their places first.
	WarmStart Opt[model.Time]
	// History is for how long before the warm start the jobs are kept that had left by
	// then, for the ledgers; they are not replayed. 0 for not at all.
	History model.Duration
}

// pairs lists the metadata in the order in which it is written.
func (m *Meta) pairs() [][2]string {
	list := [][2]string{
		{keySchema, strconv.Itoa(SchemaVersion)},
		{keySource, m.Source},
		{keyEpoch, strconv.FormatInt(int64(m.Epoch), 10)},
		{keyEpochKnown, strconv.FormatBool(m.EpochKnown)},
		{keyTimeZone, m.TimeZone},
		{keyMaxProcs, strconv.FormatInt(int64(m.MaxProcs), 10)},
		{keyMaxNodes, strconv.FormatInt(int64(m.MaxNodes), 10)},
		{keySorted, strconv.FormatBool(m.Sorted)},
		{keyRecipe, m.Recipe},
		{keyImport, m.Import},
	}
	if m.WarmStart.OK {
		list = append(list, [2]string{keyWarmStart, strconv.FormatInt(int64(m.Epoch+m.WarmStart.V), 10)})
	}
	if m.History > 0 {
		list = append(list, [2]string{keyHistory, strconv.FormatInt(int64(m.History), 10)})
	}
	return list
}
