package cli

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"orrery/internal/spelling"
	"orrery/profiles"
	"orrery/sim/gate"
	"orrery/sim/metric"
	"orrery/traces"
	"orrery/traces/importer"
	"orrery/traces/transform"
)

// Groups of flags, in the order in which help shows them.
const (
	GroupCluster     = "Cluster"
	GroupLogs        = "Raw logs"
	GroupChanges     = "What changes"
	GroupPolicy      = "Policy"
	GroupJobs        = "Treatment of jobs"
	GroupQuorum      = "Decision latency"
	GroupMeasured    = "Measured window"
	GroupGoal        = "Goal"
	GroupSearch      = "Search"
	GroupEvidence    = "Windows and noise"
	GroupSensitivity = "Sensitivity"
	GroupWorkers     = "Workers"
	GroupResults     = "Results"
)

var groupOrder = []string{
	GroupPoints, GroupGoal, GroupSearch, GroupEvidence, GroupSensitivity, GroupLogs, GroupCluster, GroupChanges, GroupPolicy, GroupJobs, GroupQuorum, GroupMeasured, GroupWorkers, GroupResults,
}

// groupKey is the annotation of a flag that names its group.
const groupKey = "orrery_group"

// Grouped puts flags of a set into a group of the help.
func Grouped(flags *pflag.FlagSet, group string, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, groupKey, []string{group}); err != nil {
			panic(err) // there is no such flag: a mistake in the verb
		}
	}
}

// resultFlags are those that are about what a verb prints and writes, on any verb.
var resultFlags = []string{"against", "invariants", "out", "force", "format", "wide", "csv-safe", "all", "report", "facts", "decisions", "print-config", "dry-run", "quiet", "help"}

func init() {
	cobra.AddTemplateFunc("flagsInGroups", FlagsInGroups)
}

// FlagsInGroups is the help of the flags of a verb: under one heading, or where some
// are in groups, under that of each group.
func FlagsInGroups(cmd *cobra.Command) string {
	width := 0
	if f, ok := cmd.OutOrStdout().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		width, _, _ = term.GetSize(int(f.Fd())) // 0 where it is not known
	}
	sets, any := map[string]*pflag.FlagSet{}, false
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		group := ""
		if of := f.Annotations[groupKey]; len(of) > 0 {
			group, any = of[0], true
		} else if slices.Contains(resultFlags, f.Name) {
			group = GroupResults
		}
		if sets[group] == nil {
			sets[group] = pflag.NewFlagSet(group, pflag.ContinueOnError)
		}
		sets[group].AddFlag(f)
	})
	if !any {
		return "Flags:\n" + usagesOf(cmd.LocalFlags(), width)
	}
	var b strings.Builder
	if rest := sets[""]; rest != nil {
		b.WriteString("Flags:\n" + usagesOf(rest, width) + "\n")
	}
	for _, group := range groupOrder {
		if s := sets[group]; s != nil {
			b.WriteString(group + ":\n" + usagesOf(s, width) + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func usagesOf(flags *pflag.FlagSet, width int) string {
	var b strings.Builder
	for line := range strings.SplitSeq(flags.FlagUsagesWrapped(width), "\n") {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

const GroupPoints = "Points and scenarios, of a LOG"

// Completions of words that several verbs take. Where a file may stand for a word, the
// shell completes files too.

// CompleteFlag completes the value of a flag.
func CompleteFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag does not exist: a mistake in the verb
	}
}

// WordsOrFiles completes words that stand for files, and files.
func WordsOrFiles(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return beginning(words, word), cobra.ShellCompDirectiveDefault
	}
}

// FirstWordOrFile completes the first argument alone.
func FirstWordOrFile(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return beginning(words, word), cobra.ShellCompDirectiveDefault
	}
}

func beginning(words []string, with string) (out []string) {
	for _, w := range words {
		if strings.HasPrefix(w, with) {
			out = append(out, w)
		}
	}
	return out
}

// CompleteMetric completes a metric, behind min: or max: too.
func CompleteMetric(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	way := ""
	if i := strings.IndexByte(word, ':'); i >= 0 {
		way = word[:i+1]
	}
	var out []string
	for _, name := range MetricNames() {
		out = append(out, way+name)
	}
	return beginning(out, word), cobra.ShellCompDirectiveNoFileComp
}

// CompleteBound completes the metric of a bound, whose relation and value follow.
func CompleteBound(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	out, _ := CompleteMetric(cmd, args, word)
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteSetting completes PATH=, with the names in the cluster file that --cluster has,
// and behind it the words that the setting may be.
func CompleteSetting(also ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		const no = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		base := new(profiles.Cluster)
		if f := cmd.Flags().Lookup("cluster"); f != nil && f.Changed {
			if c, err := profiles.LoadCluster(f.Value.String()); err == nil {
				base = c
			}
		}
		path, _, valued := strings.Cut(word, "=")
		if !valued {
			out := also
			for _, p := range base.SettingPaths() {
				out = append(out, p+"=")
			}
			return beginning(out, word), no
		}
		s, err := base.Setting(path)
		if err != nil {
			return nil, no
		}
		var out []string
		for _, w := range s.Words {
			out = append(out, path+"="+w)
		}
		return beginning(out, word), no
	}
}

// CompleteStep completes the name of a step of trace transform.
func CompleteStep(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return beginning(transform.StepNames(), word), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteProfile completes a profile, behind VCLUSTER= too, or a file.
func CompleteProfile(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	of := ""
	if i := strings.IndexByte(word, '='); i >= 0 {
		of = word[:i+1]
	}
	var out []string
	for _, name := range profiles.Names() {
		out = append(out, of+name)
	}
	return beginning(out, word), cobra.ShellCompDirectiveDefault
}

// MetricNames are all names that metricPage knows, each once.
func MetricNames() []string {
	var out []string
	for _, d := range metric.AllDefinitions() {
		out = append(out, d.Name)
	}
	for _, c := range metric.Columns() {
		out = append(out, c.Name)
	}
	for _, d := range gate.Measures() {
		out = append(out, d.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// OneFile completes the first argument with files.
func OneFile(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// OneDirectory completes the first argument with directories.
func OneDirectory(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// zoneOf is a time zone by its name. Its rules are those in the program, so that an
// import is the same on every computer.
func zoneOf(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, Usagef("--time-zone Local: name the zone, so that the import is the same on another computer")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, Usagef("--time-zone %s%s: no such zone; want UTC or an IANA name such as Europe/Berlin or US/Pacific", name,
			spelling.Hint(name, []string{"UTC", "Europe/Berlin", "Europe/London", "Europe/Paris", "US/Pacific", "US/Eastern", "US/Central", "US/Mountain", "Asia/Shanghai", "Asia/Tokyo"}))
	}
	return zone, nil
}

// LogFlags say of raw logs what they do not say themselves, and how many of their rows may be unreadable. Every verb that reads
// a raw log has them.
type LogFlags struct {
	Zone    string
	bad     traces.BadRows
	arrival string
	xz      int64 // bytes
}

// arrivalSequence is the one word of --arrival.
const arrivalSequence = "sequence"

// LogFlags adds the flags to a verb that opens its traces by logfile.OpenTrace.
func (app *App) LogFlags(cmd *cobra.Command) { app.Logs.Register(cmd) }

// Register adds the flags to a verb.
func (l *LogFlags) Register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.Zone, "time-zone", "", "`ZONE` of times that name none: UTC, or an IANA name such as Europe/Berlin")
	f.Var(&l.bad, "bad-rows", traces.BadRowsUsage)
	f.StringVar(&l.arrival, "arrival", "", "`ORDER` in which jobs of a list without times come: sequence, one a second as they are listed")
	l.xz = importer.DefaultXZDictionary
	f.Var(sizeValue(&l.xz), "xz-dictionary", "largest dictionary of xz data that is unpacked, 4GiB at most: so much memory is taken")
	Grouped(f, GroupLogs, "time-zone", "bad-rows", "arrival", "xz-dictionary")
	CompleteFlag(cmd, "arrival", cobra.FixedCompletions([]string{arrivalSequence}, cobra.ShellCompDirectiveNoFileComp))
}

// Options are those of the importer.
func (l *LogFlags) Options() (o importer.Options, err error) {
	if l.Zone != "" {
		if o.Zone, err = zoneOf(l.Zone); err != nil {
			return o, err
		}
	}
	if l.arrival != "" && l.arrival != arrivalSequence {
		return o, Usagef("--arrival %s: want %s", l.arrival, arrivalSequence)
	}
	o.BadRows, o.Sequence, o.XZDictionary = l.bad, l.arrival != "", l.xz
	return o, nil
}

// Given are the flags as another process takes them.
func (l *LogFlags) Given() (args []string) {
	if l.Zone != "" {
		args = append(args, "--time-zone", l.Zone)
	}
	if l.bad != (traces.BadRows{}) {
		args = append(args, "--bad-rows", l.bad.String())
	}
	if l.xz != 0 && l.xz != importer.DefaultXZDictionary {
		args = append(args, "--xz-dictionary", strconv.FormatInt(l.xz, 10))
	}
	if l.arrival != "" {
		args = append(args, "--arrival", l.arrival)
	}
	return args
}
