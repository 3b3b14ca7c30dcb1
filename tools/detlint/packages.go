package main

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// packageRule says what a package may import besides the standard library, and which
// rules do not apply to it.
type packageRule struct {
	dir  string
	may  []string    // folders of this module, or paths of others; "x/..." is all below x, "..." everything
	free []exemption // every other rule holds
}

// exemption says why some rules do not bind a package.
type exemption struct {
	rules  []string
	reason string
}

// Exemptions that several packages share.
var (
	files = exemption{[]string{"outside"}, "it reads and writes files; what is in them still depends on its arguments alone"}
	shell = exemption{
		[]string{"clock", "outside", "concurrency", "float", "global", "quiet"},
		"a shell: it turns flags, files and the wall clock into values for the packages below, and decides nothing about schedules",
	}
	counters = exemption{[]string{"float"}, "means and quantiles of what was measured, which no schedule depends on"}
	drawn    = exemption{[]string{"float"}, "pictures and generated workloads are byte-equal per architecture, not across them"}
	searches = exemption{[]string{"float"}, "models and coordinates are floating point by nature; searches are byte-equal per architecture"}
	draws    = exemption{[]string{"float"}, "uniform draws are integers, equal everywhere; shaped ones (exponential, normal, …) " +
		"go through logarithms and are equal per architecture"}
	simulated = exemption{[]string{"float"}, "demand, queues and their formulas are floating point by nature: byte-equal per architecture, not across them"}
	judged    = exemption{[]string{"float"}, "statistics go through logarithms and quantiles of distributions: searches and verdicts " +
		"are byte-equal per architecture, not across them"}
)

// verbs lets a package of the program import the library, and these packages of the program.
func verbs(parts ...string) []string {
	may := []string{"autoscale/...", "capture", "capture/...", "hwmodel", "hwmodel/...", "internal/...", "profiles", "profiles/...", "reports", "reports/...", "scheduler/...", "sim", "sim/...",
		"traces", "traces/...", "github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term"}
	for _, p := range parts {
		may = append(may, "cmd/orrery/internal/"+p)
	}
	return may
}

// packageTable lists all packages, from the bottom up. A package that is
// not in it is an error: a new package states here what it is allowed to know.
var packageTable = []packageRule{
	{dir: "scheduler/model"},
	{dir: "scheduler/model/draw", may: []string{"internal/libm", "scheduler/model"}, free: []exemption{draws}},
	{dir: "scheduler/cluster", may: []string{"scheduler/model"}},
	{dir: "scheduler/place", may: []string{"scheduler/model"}},
	{dir: "scheduler/backfill", may: []string{"scheduler/model", "scheduler/cluster"}},
	{dir: "scheduler/preempt", may: []string{"scheduler/model"}},
	{dir: "scheduler/quorum", may: []string{"scheduler/model"}},
	{dir: "scheduler/workflow", may: []string{"scheduler/model"}},
	{dir: "scheduler/score", may: []string{"scheduler/model"}},
	{dir: "scheduler/quota/halflife"},
	{dir: "scheduler/quota", may: []string{"scheduler/model", "scheduler/quota/halflife"}},
	{dir: "scheduler/multifactor", may: []string{"scheduler/model", "scheduler/quota/halflife"}},
	{dir: "scheduler", may: []string{"scheduler/model", "scheduler/multifactor", "scheduler/score"}},
	{dir: "scheduler/fairshare", may: []string{"scheduler/model", "scheduler/quota", "scheduler/multifactor", "scheduler/score"}},
	{dir: "scheduler/order", may: []string{"scheduler/model"}},
	{dir: "scheduler/order/ordertest", may: []string{"scheduler/model"}},
	{dir: "scheduler/ascoded", may: []string{"scheduler/model", "scheduler/score", "scheduler/place", "scheduler/quota"}},
	{dir: "scheduler/internal/queue", may: []string{"scheduler/model"}},
	{dir: "scheduler/plain", may: []string{"scheduler/model", "scheduler", "scheduler/order", "scheduler/cluster", "scheduler/backfill", "scheduler/internal/queue"}},
	{dir: "scheduler/site/internal/caps", may: []string{"scheduler/model"}},
	{dir: "scheduler/site/internal/future", may: []string{"scheduler/model", "scheduler/backfill", "scheduler/place", "scheduler/site/internal/caps"}},
	{dir: "scheduler/site/internal/wake", may: []string{"scheduler/model"}},
	{dir: "scheduler/site/internal/reserve", may: []string{"scheduler/model"}},
	{dir: "scheduler/site/internal/elastic", may: []string{"scheduler/model", "scheduler/quota", "scheduler/site/internal/caps"}},
	{dir: "scheduler/site/internal/waiting", may: []string{"scheduler/model", "scheduler/internal/queue", "scheduler/order", "scheduler/place", "scheduler/score", "scheduler/site/internal/caps"}},
	{dir: "scheduler/site/internal/notes", may: []string{"scheduler/model", "scheduler", "scheduler/place"}},
	{dir: "scheduler/slurm", may: []string{"scheduler/model", "scheduler", "scheduler/fairshare", "scheduler/multifactor", "scheduler/quota", "scheduler/score", "scheduler/workflow"}},
	{dir: "scheduler/site", may: []string{"scheduler/model", "scheduler", "scheduler/ascoded", "scheduler/fairshare", "scheduler/slurm", "scheduler/order", "scheduler/backfill", "scheduler/place", "scheduler/preempt",
		"scheduler/score", "scheduler/quota", "scheduler/multifactor", "scheduler/workflow", "scheduler/internal/queue", "scheduler/site/internal/..."}},
	{dir: "scheduler/site/sitetest", may: []string{"scheduler/model", "scheduler", "scheduler/site"}},
	{dir: "scheduler/drive", may: []string{"scheduler/model", "scheduler"}},
	{dir: "scheduler/drive/conform", may: []string{"scheduler/model", "scheduler", "scheduler/drive", "github.com/stretchr/testify/..."}},

	{dir: "autoscale", may: []string{"scheduler/model"}},
	{dir: "autoscale/internal/policytest", may: []string{"scheduler/model", "autoscale", "github.com/stretchr/testify/..."}},
	{dir: "autoscale/lattice", may: []string{"scheduler/model", "autoscale"}},
	{dir: "autoscale/hpa", may: []string{"scheduler/model", "autoscale"}},
	{dir: "autoscale/kpa", may: []string{"scheduler/model", "autoscale"}},
	{dir: "autoscale/keda", may: []string{"scheduler/model", "autoscale"}},
	{dir: "autoscale/fixed", may: []string{"scheduler/model", "autoscale"}},
	{dir: "autoscale/clairvoyant", may: []string{"scheduler/model", "autoscale"}},
	{dir: "autoscale/neon", may: []string{"scheduler/model", "scheduler/model/draw", "autoscale"}},
	{dir: "autoscale/maestro", may: []string{"scheduler/model", "scheduler/model/draw", "autoscale"}},
	{dir: "autoscale/lcm", may: []string{"scheduler/model", "autoscale"}},
	{dir: "autoscale/prometheus", may: []string{"internal/samehost", "scheduler/model", "autoscale"}, free: []exemption{{[]string{"outside"},
		"it asks a server, for live use; what it says is a fact with an instant, and any failure is a missing sample"}}},
	{dir: "autoscale/conform", may: []string{"scheduler/model", "autoscale", "autoscale/...", "sim/metric/elastic", "sim/service/queueing"}},

	{dir: "internal/doctest", may: []string{"github.com/stretchr/testify/..."}, free: []exemption{files}},
	{dir: "internal/fixedseed", may: []string{"pgregory.net/rapid/..."}, free: []exemption{{[]string{"outside"}, "it sets the flag of a library of tests, in tests alone"}}},
	{dir: "internal/samehost", free: []exemption{{[]string{"outside"}, "it is a client of HTTP, for live use and captures"}}},
	{dir: "internal/wide"},
	{dir: "internal/libm", free: []exemption{{[]string{"float"}, "its functions are equal on every processor of an architecture, and where it fuses, it says so"}}},
	{dir: "internal/seal"},
	{dir: "internal/doc"},
	{dir: "internal/spelling"},
	{dir: "internal/disk", free: []exemption{files, {[]string{"concurrency", "global"}, "several files are worked on at once, and a process that is ended removes what it has not finished, whichever run it was for"}}},
	{dir: "internal/pagebytes", may: []string{"github.com/parquet-go/parquet-go/..."}, free: []exemption{{[]string{"address", "global"},
		"it replaces a function of the Parquet library, which the library chooses by the CPU, by one that is the same on all"}}},
	{dir: "traces/hostlist"},
	{dir: "traces/localtime", may: []string{"scheduler/model"}},
	{dir: "internal/pagecheck", may: []string{"github.com/parquet-go/parquet-go/...", "github.com/andybalholm/brotli", "github.com/klauspost/compress/..."}},
	{dir: "traces", may: []string{"internal/disk", "internal/pagebytes", "internal/pagecheck", "scheduler/model", "github.com/parquet-go/parquet-go/..."}, free: []exemption{files}},
	{dir: "traces/importer/format", may: []string{"internal/disk", "internal/pagecheck", "scheduler/model", "traces", "traces/localtime", "github.com/parquet-go/parquet-go/..."}, free: []exemption{files}},
	{dir: "traces/importer/slurm", may: []string{"scheduler/model", "traces", "traces/importer/format"}},
	{dir: "traces/importer/batch", may: []string{"scheduler/model", "traces", "traces/importer/format"}},
	{dir: "traces/importer/alibaba", may: []string{"scheduler/model", "traces", "traces/importer/format"}},
	{dir: "traces/importer/azure", may: []string{"scheduler/model", "traces", "traces/importer/format"}},
	{dir: "traces/importer/worldcup", may: []string{"scheduler/model", "traces", "traces/importer/format"}},
	{dir: "traces/importer/steam", may: []string{"scheduler/model", "traces", "traces/importer/format"}},
	{dir: "traces/importer/research", may: []string{"scheduler/model", "traces", "traces/importer/format"}},
	{dir: "traces/importer/gpucluster", may: []string{"scheduler/model", "traces", "traces/importer/format"}},
	{dir: "traces/importer/workflow", may: []string{"scheduler/model", "traces", "traces/importer/format"}},
	{dir: "traces/importer/services", may: []string{"scheduler/model", "traces", "traces/importer/format"}},
	{dir: "traces/importer/energy", may: []string{"scheduler/model", "traces", "traces/importer/format"}},
	{dir: "traces/importer/failure", may: []string{"scheduler/model", "traces", "traces/importer/format"}},
	{dir: "traces/importer/columns", may: []string{"internal/spelling", "scheduler/model", "traces", "traces/importer/format"}},
	{dir: "traces/importer", may: []string{"internal/disk", "scheduler/model", "traces", "traces/importer/...", "github.com/therootcompany/xz/..."},
		free: []exemption{files}},
	{dir: "traces/importer/swf", may: []string{"scheduler/model", "traces", "traces/importer/format"}},
	{dir: "traces/synth/internal/law", may: []string{"internal/libm", "scheduler/model"}, free: []exemption{drawn}},
	{dir: "traces/synth/internal/param"},
	{dir: "traces/synth", may: []string{"internal/libm", "scheduler/model", "scheduler/model/draw", "traces", "traces/synth/internal/..."}, free: []exemption{drawn}},
	{dir: "traces/synth/site", may: []string{"internal/libm", "scheduler/model", "scheduler/model/draw", "traces", "traces/synth", "traces/synth/internal/..."}, free: []exemption{drawn}},

	{dir: "traces/transform", may: []string{"internal/spelling", "scheduler/model", "scheduler/model/draw", "traces"}},

	{dir: "capture", may: []string{"scheduler/model", "traces"}},
	{dir: "capture/host", may: []string{"capture", "traces"}, free: []exemption{files, {[]string{"clock"}, "it measures a real node, whose counters it reads at most once a second"}}},
	{dir: "capture/pods", free: []exemption{{[]string{"outside"}, "it asks the kubelet of a real node, and no simulation imports it"}}},
	{dir: "capture/scripted", free: []exemption{{[]string{"outside"}, "it calls a compiler"}}},
	{dir: "capture/nvml", may: []string{"capture", "traces", "github.com/NVIDIA/go-nvml/..."}, free: []exemption{{[]string{"concurrency", "clock"},
		"several GPUs are asked at once, and one may hang; a driver renews some values by its own clock, and a call comes later than the instant that it is for"},
		{[]string{"address"}, "an array of the library has elements of another size than the binding says; no result depends on where it lies"}}},
	{dir: "capture/agent", may: []string{"capture", "capture/host", "capture/pods", "internal/disk", "scheduler/model", "scheduler/model/draw", "traces", "github.com/prometheus/client_golang/..."}, free: []exemption{{
		[]string{"clock", "outside", "concurrency", "float", "quiet"}, "it measures a real node for as long as it runs: the wall clock, files, goroutines and a log are its business, and no simulation imports it"}}},
	{dir: "capture/archive", may: []string{"capture", "internal/disk", "scheduler/model", "traces"}, free: []exemption{files}},
	{dir: "capture/energy", may: []string{"capture", "scheduler/model", "traces"}},
	{dir: "capture/review", may: []string{"capture", "capture/energy", "scheduler/model", "traces"}, free: []exemption{counters}},
	{dir: "capture/recorded", may: []string{"capture", "scheduler/model", "traces", "traces/localtime"}},
	{dir: "capture/history", may: []string{"internal/samehost", "capture", "capture/recorded", "scheduler/model", "traces"}, free: []exemption{{[]string{"outside"},
		"it asks a server for what was measured; what it says is rows with instants, and no simulation imports it"}}},
	{dir: "capture/meter", may: []string{"scheduler/model", "traces"}},
	{dir: "capture/sensor", may: []string{"hwmodel/fit", "internal/libm", "scheduler/model", "scheduler/model/draw", "gonum.org/v1/gonum/..."}, free: []exemption{judged}},
	{dir: "capture/join", may: []string{"capture", "capture/energy", "scheduler/model", "traces", "traces/hostlist"}},
	{dir: "capture/sample", may: []string{"capture", "scheduler/model", "scheduler/model/draw", "traces"}, free: []exemption{drawn}},
	{dir: "capture/slurm", may: []string{"capture", "internal/disk", "internal/seal", "scheduler/model", "traces", "traces/hostlist", "traces/importer/format", "traces/importer/slurm"},
		free: []exemption{files}},
	{dir: "capture/page", may: []string{"internal/doc", "capture", "capture/review", "reports/page", "reports/plot", "reports/table", "scheduler/model", "traces"}, free: []exemption{drawn}},

	{dir: "hwmodel/catalogue"},
	{dir: "hwmodel", may: []string{"internal/libm", "scheduler/model", "scheduler/model/draw"}},
	{dir: "hwmodel/fit", may: []string{"internal/libm", "scheduler/model", "hwmodel", "gonum.org/v1/gonum/..."}, free: []exemption{judged}},
	{dir: "profiles", may: []string{"hwmodel", "hwmodel/catalogue", "internal/spelling", "scheduler/model", "scheduler/score", "scheduler/order", "traces/hostlist", "github.com/goccy/go-yaml/..."},
		free: []exemption{files}},
	{dir: "capture/calibrate", may: []string{"capture", "capture/energy", "capture/join", "gonum.org/v1/gonum/stat", "hwmodel", "hwmodel/fit", "internal/libm", "profiles", "scheduler/model", "traces", "traces/hostlist"}, free: []exemption{counters}},
	{dir: "profiles/slurm", may: []string{"scheduler/model", "profiles", "traces/hostlist"}},
	{dir: "profiles/nodelist", may: []string{"capture", "scheduler/model", "profiles", "traces", "traces/hostlist"}},

	{dir: "sim/des", may: []string{"scheduler/model"}},
	{dir: "sim/commitlog", may: []string{"scheduler", "scheduler/model", "scheduler/drive", "traces/hostlist", "sim/des"}},
	{dir: "sim/record/column", may: []string{"scheduler/model"}},
	{dir: "sim/record", may: []string{"internal/disk", "internal/pagebytes", "internal/pagecheck", "scheduler/model", "scheduler/drive", "sim/commitlog", "sim/record/column", "traces/hostlist", "github.com/parquet-go/parquet-go/...",
		"github.com/apache/arrow/go/v17/arrow/...", "github.com/klauspost/compress/..."}, free: []exemption{files}},
	{dir: "sim/metric", may: []string{"hwmodel", "internal/spelling", "internal/wide", "scheduler/model", "sim/metric/elastic", "sim/record/column"}},
	{dir: "sim/metric/elastic", may: []string{"internal/libm", "scheduler/model"}},
	{dir: "sim/service/queueing", may: []string{"internal/libm"}, free: []exemption{simulated}},
	{dir: "sim/service/demand", may: []string{"internal/libm", "scheduler/model", "scheduler/model/draw", "traces"}, free: []exemption{simulated}},
	{dir: "sim/service", may: []string{"internal/libm", "scheduler/model", "scheduler/model/draw", "autoscale", "autoscale/clairvoyant", "sim/des", "sim/service/demand", "sim/service/queueing"},
		free: []exemption{simulated}},
	{dir: "sim/service/session", may: []string{"scheduler/model", "scheduler/model/draw", "autoscale", "autoscale/lcm", "sim/des", "sim/service", "sim/service/demand"}},
	{dir: "sim/service/vm", may: []string{"internal/libm", "scheduler/model", "scheduler/model/draw", "autoscale", "autoscale/neon", "sim/des", "sim/service", "sim/service/demand"}},
	{dir: "sim/world/translate", may: []string{"scheduler/model", "hwmodel", "traces", "traces/hostlist"}},
	{dir: "sim/world/work", may: []string{"scheduler/model"}},
	{dir: "sim/world/internal/worldtest", may: []string{"scheduler/model", "traces"}},
	{dir: "sim/world/internal/bill", may: []string{"internal/wide", "scheduler/model", "hwmodel"}},
	{dir: "sim/world/internal/network", may: []string{"scheduler/model", "hwmodel"}},
	{dir: "sim/world/internal/power", may: []string{"scheduler/model", "hwmodel"}},
	{dir: "sim/world/internal/storage", may: []string{"scheduler/model", "sim/world/work"}},
	{dir: "sim/world", may: []string{"scheduler/model", "scheduler/model/draw", "scheduler/cluster", "scheduler/quorum",
		"scheduler/preempt", "scheduler/drive", "hwmodel", "traces", "sim/des", "sim/world/..."}},
	{dir: "sim/watch", may: []string{"scheduler", "scheduler/model", "scheduler/drive"}},
	{dir: "sim/plan", may: []string{"hwmodel", "scheduler/model", "scheduler/model/draw", "scheduler/order", "scheduler/plain", "scheduler/site", "scheduler/slurm", "scheduler/backfill", "scheduler/preempt",
		"scheduler/score", "scheduler/quota", "scheduler/multifactor", "scheduler/workflow", "scheduler/drive", "profiles", "traces", "sim/metric",
		"sim/hosting", "sim/record", "sim/scaling", "sim/world", "sim/world/translate"}},
	{dir: "sim/hosting", may: []string{"scheduler/model", "profiles", "sim/metric/elastic", "sim/scaling", "sim/service", "sim/service/demand"}},
	{dir: "sim/rundir", may: []string{"hwmodel", "scheduler/model", "traces/hostlist", "sim/hosting", "sim/metric", "sim/record", "sim/service", "sim/world"}},
	{dir: "sim/fork", may: []string{"scheduler", "scheduler/model", "scheduler/plain", "scheduler/site", "scheduler/slurm", "sim/plan"}},
	{dir: "sim/verify", may: []string{"scheduler", "scheduler/model", "scheduler/drive", "scheduler/order", "sim/fork", "sim/plan", "sim/commitlog", "sim/record", "sim/rundir"}},
	{dir: "sim/whatif", may: []string{"scheduler/model", "sim/commitlog", "sim/record"}},
	{dir: "sim", may: []string{"hwmodel", "sim/commitlog", "sim/fork", "scheduler", "scheduler/model", "scheduler/order", "scheduler/plain", "scheduler/site", "scheduler/drive", "traces",
		"sim/des", "sim/hosting", "sim/metric", "sim/plan", "sim/record", "sim/rundir", "sim/watch", "sim/world", "sim/world/translate"}},
	{dir: "sim/explain", may: []string{"scheduler", "scheduler/model", "scheduler/multifactor", "scheduler/score", "scheduler/site", "profiles", "traces",
		"sim", "sim/plan", "sim/record", "sim/rundir"}},
	{dir: "sim/stat", may: []string{"internal/libm", "scheduler/model/draw", "gonum.org/v1/gonum/floats", "gonum.org/v1/gonum/stat/..."}, free: []exemption{judged}},
	{dir: "sim/sensitivity", may: []string{"scheduler/model/draw", "sim/stat", "gonum.org/v1/gonum/stat/..."}, free: []exemption{judged}},
	{dir: "sim/sweep", may: []string{"internal/disk", "internal/seal"}, free: []exemption{{[]string{"clock", "outside", "concurrency"},
		"a shell around pure tasks: when and where one is computed is up to it, what comes out is not, and is checked byte by byte"}}},
	{dir: "sim/workerpool", free: []exemption{{[]string{"concurrency"}, "pieces of work are done side by side; each goes by its number, and so does the error"}}},
	{dir: "sim/search", may: []string{"internal/libm", "scheduler/model/draw", "gonum.org/v1/gonum/..."}, free: []exemption{searches}},
	{dir: "sim/losers"},
	{dir: "sim/advice", may: []string{"internal/libm", "sim/stat", "gonum.org/v1/gonum/stat"}, free: []exemption{judged}},
	{dir: "sim/task", may: []string{"scheduler/model", "sim", "sim/des", "sim/losers", "sim/metric", "sim/plan", "sim/record", "traces", "traces/transform"},
		free: []exemption{{[]string{"concurrency"}, "tasks are computed side by side and share the traces they replay; each result is a function of its " +
			"task, and is given by index"}}},
	{dir: "sim/tune", may: []string{"internal/doc", "internal/libm", "internal/spelling", "scheduler/model", "scheduler/order", "profiles", "traces/transform", "sim/advice", "sim/losers", "sim/metric", "sim/plan", "sim/scaling", "sim/search", "sim/sensitivity",
		"sim/stat", "sim/task"}, free: []exemption{judged}},
	{dir: "sim/gate", may: []string{"internal/doc", "internal/seal", "internal/spelling", "scheduler/model", "scheduler/model/draw", "profiles", "traces", "traces/transform", "sim", "sim/workerpool", "sim/metric", "sim/plan", "sim/record",
		"sim/stat", "sim/task", "gonum.org/v1/gonum/stat/..."}, free: []exemption{judged}},
	{dir: "sim/paired", may: []string{"scheduler/model", "sim", "sim/workerpool", "sim/metric", "sim/plan", "sim/record", "sim/stat", "sim/task"}},
	{dir: "sim/fidelity", may: []string{"scheduler/model", "scheduler/model/draw", "sim", "sim/workerpool", "sim/metric", "sim/plan", "sim/record", "traces", "traces/transform", "gonum.org/v1/gonum/stat"},
		free: []exemption{judged}},
	{dir: "sim/experiment", may: []string{"internal/seal", "scheduler/model", "profiles", "sim/metric", "sim/plan", "sim/search", "sim/stat", "sim/task",
		"traces/transform"}},

	{dir: "sim/scaling", may: []string{"internal/libm", "scheduler/model", "scheduler/model/draw", "traces", "profiles", "autoscale", "autoscale/...", "sim/metric/elastic", "sim/service", "sim/service/demand", "sim/service/session", "sim/service/vm", "sim/stat"}},

	{dir: "reports/table", may: []string{"internal/doc", "scheduler/model"}},
	{dir: "reports/plot", may: []string{"internal/doc", "internal/libm", "scheduler/model", "sim/record/column", "gonum.org/v1/plot/...",
		"golang.org/x/image/..."}, free: []exemption{drawn}},
	{dir: "reports/page", may: []string{"internal/doc", "internal/disk", "reports/plot", "reports/table", "sim/metric"}, free: []exemption{drawn}},
	{dir: "reports/internal/rundata", may: []string{"scheduler/model", "sim/metric", "sim/record", "reports/page", "reports/plot"}},
	{dir: "reports/internal/reporttest", may: []string{"hwmodel", "scheduler/model", "sim/metric", "sim/record", "github.com/chromedp/...", "github.com/stretchr/testify/..."},
		free: []exemption{{[]string{"outside", "concurrency", "float", "random", "clock"}, "it is for tests: runs drawn by the seed of a test, and a browser that looks at their pages"}}},
	{dir: "reports/study", may: []string{"internal/doc", "internal/disk", "internal/seal", "sim/metric", "sim/record", "sim/stat", "reports/page", "reports/plot", "reports/table"}, free: []exemption{files, drawn}},
	{dir: "reports/compare", may: []string{"internal/doc", "scheduler/model", "sim/metric", "sim/paired", "sim/record", "sim/stat", "reports/internal/rundata", "reports/page", "reports/plot", "reports/table"},
		free: []exemption{files, drawn}},
	{dir: "reports/workload", may: []string{"internal/doc", "scheduler/model", "traces", "traces/hostlist", "reports/page", "reports/plot", "reports/table"}, free: []exemption{drawn}},
	{dir: "reports/calibration", may: []string{"internal/doc", "capture/calibrate", "reports/page", "reports/plot", "reports/table"}, free: []exemption{drawn}},
	{dir: "reports/scaling", may: []string{"internal/doc", "scheduler/model", "sim/scaling", "sim/service/vm", "sim/stat", "reports/page", "reports/plot", "reports/table"}, free: []exemption{drawn}},
	{dir: "reports/fidelity", may: []string{"internal/doc", "sim/fidelity", "sim/metric", "reports/page", "reports/plot"}},
	{dir: "reports", may: []string{"internal/doc", "internal/disk", "scheduler/model", "sim/metric", "sim/record", "reports/internal/rundata", "reports/page", "reports/plot", "reports/table"},
		free: []exemption{drawn}},

	{dir: "cmd/orrery/internal/studypage", may: []string{"internal/doc", "profiles", "reports/page", "reports/plot", "reports/study", "reports/table", "sim/experiment", "sim/metric", "sim/plan", "sim/search", "sim/stat",
		"sim/task"}, free: []exemption{files, drawn}},
	{dir: "cmd/orrery/internal/tunepage", may: []string{"internal/doc", "reports/study", "reports/table", "sim/metric", "sim/losers", "sim/plan", "sim/search", "sim/sensitivity", "sim/sweep", "sim/tune",
		"cmd/orrery/internal/studypage"}, free: []exemption{drawn}},
	{dir: "cmd/orrery/internal/looks", may: []string{"internal/libm", "internal/disk", "scheduler/model", "sim/tune"}, free: []exemption{files, drawn}},
	{dir: "cmd/orrery/internal/tunedir", may: []string{"internal/doc", "reports/table", "sim/plan", "sim/search", "sim/tune"}},
	{dir: "cmd/orrery/internal/cli", may: verbs(), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/logfile", may: verbs("cli"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/settings", may: verbs("cli", "logfile"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/replay", may: verbs("cli", "logfile", "settings"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/formats", may: verbs("cli", "replay", "settings", "tunedir"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/results", may: verbs("cli", "formats", "logfile"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/fork", may: verbs("cli", "formats", "logfile", "settings"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/fidelity", may: verbs("cli", "logfile", "settings"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/explain", may: verbs("cli", "formats", "logfile"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/verify", may: verbs("cli", "fork", "formats", "logfile", "settings"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/studies", may: verbs("cli", "formats", "logfile", "settings", "studypage"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/tune", may: verbs("cli", "formats", "logfile", "looks", "settings", "studies", "tunedir", "tunepage"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/gate", may: verbs("cli", "formats", "logfile", "settings"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/data", may: verbs("cli", "logfile"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/site", may: verbs("cli", "logfile", "settings"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/service", may: verbs("cli", "logfile"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/capture", may: verbs("cli", "formats", "logfile", "settings"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/about", may: verbs("cli", "formats", "gate", "logfile"), free: []exemption{shell}},
	{dir: "cmd/orrery/internal/app", may: []string{"..."}, free: []exemption{shell}},
	{dir: "cmd/orrery/internal/clitest", may: []string{"..."}, free: []exemption{shell}},
	{dir: "cmd/orrery", may: []string{"cmd/orrery/internal/app"}, free: []exemption{shell}},
	{dir: "cmd/orrery-agent", may: []string{"capture", "capture/agent", "capture/archive", "capture/history", "capture/host", "capture/nvml", "capture/pods", "capture/recorded", "capture/review", "internal/samehost", "scheduler/model", "traces", "github.com/spf13/pflag"}, free: []exemption{shell}},
	{dir: "tools/refdata", free: []exemption{shell}},
	{dir: "tools/sbom", free: []exemption{shell}},
	{dir: "tools/detlint", may: []string{"scheduler/model/draw"}, free: []exemption{shell}},
	{dir: "tools/mutate", may: []string{"internal/doc", "reports/table"}, free: []exemption{shell}},
	{dir: "tools/bench", may: []string{"..."}, free: []exemption{shell}},
	{dir: "tools/searchbench", may: []string{"..."}, free: []exemption{shell}},
	{dir: "tools/coverage", may: []string{"..."}, free: []exemption{shell}},
	{dir: "tools/internal/logfile", may: []string{"..."}, free: []exemption{shell}},
	{dir: "tools/advicerates", may: []string{"..."}, free: []exemption{shell}},
	{dir: "tools/tunelogs", may: []string{"..."}, free: []exemption{shell}},
	{dir: "tools/weightlogs", may: []string{"..."}, free: []exemption{shell}},
	{dir: "tools/pinned", may: []string{"..."}, free: []exemption{shell}},
	{dir: "tools/openb", may: []string{"..."}, free: []exemption{shell}},
	{dir: "tools/screenshots", may: []string{"..."}, free: []exemption{shell}},
}

func ruleOf(dir string) (packageRule, bool) {
	i := slices.IndexFunc(packageTable, func(r packageRule) bool { return r.dir == dir })
	if i < 0 {
		return packageRule{}, false
	}
	return packageTable[i], true
}

// excused says whether a rule does not bind the package.
func (r packageRule) excused(rule string) bool {
	return slices.ContainsFunc(r.free, func(e exemption) bool { return slices.Contains(e.rules, rule) })
}

// admits says whether the package may import path, which lies in the folder
// dir of this module when inside is set.
func (r packageRule) admits(path, dir string, inside bool) bool {
	if !inside && !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
		return true // the standard library; the rules say which parts of it
	}
	if inside {
		path = dir
	}
	return slices.ContainsFunc(r.may, func(pattern string) bool {
		return pattern == "..." || matches(pattern, path) || strings.TrimSuffix(pattern, "/...") == path && !inside
	})
}

// importRules reports the packages that are not in the table and the imports that
// it does not allow.
func (r *repository) importRules() []Finding {
	var found []Finding
	for _, dir := range r.packages() {
		own, known := ruleOf(dir)
		if !known {
			found = append(found, Finding{token.Position{Filename: dir}, "imports",
				"the package is not in the table of tools/detlint/packages.go: add its row, with what it may import"})
			continue
		}
		for _, path := range r.imports(dir) {
			below, inside := r.inside(path)
			if !own.admits(path, below, inside) {
				found = append(found, Finding{token.Position{Filename: dir}, "imports",
					fmt.Sprintf("imports %s, and may import %s", path, list(own.may))})
			}
		}
	}
	return found
}

func list(may []string) string {
	if len(may) == 0 {
		return "the standard library only"
	}
	return "the standard library, " + strings.Join(may, ", ")
}
