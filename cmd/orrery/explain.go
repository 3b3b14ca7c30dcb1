package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"orrery/internal/doc"
	"orrery/reports/table"
	"orrery/scheduler/ascoded"
)

// explainVerb holds the flags of explain.
type explainVerb struct {
	m     *Main
	print *printer
	modes bool
	trace string
	at    string
	quiet bool
}

func (m *Main) explainCommand() *cobra.Command {
	v := &explainVerb{m: m}
	cmd := &cobra.Command{
		Use:   "explain [RUN [JOB]]",
		Short: "Explain why a job started when it did, or why it waits",
		Long: `Tell in words why JOB (its number in the log) of the run directory RUN started
when it did, or why it waits or never ran: first the answer in one sentence, then
what kept it waiting from when to when, what room there was, the best nodes that
it did not start on and why not, its score by factor at each change (or its
priority in points, by the columns of sprio -l), and its attempts. Free are the
nodes that it may use, as they were at the change; the best group is the most of
them that were alike (in one conformance group) and near (in one dragonfly
group). Where the log has a number twice, all its jobs are told.

A run of a site tells more when it was recorded with 'orrery replay --decisions'.
Where it was not, name its trace with --trace: the run is replayed once more in
memory for this job alone, and the fingerprints have to agree. Of a run on a
plain cluster the tables tell what they can.

--at TIME shows instead the queue at that instant, when all of it was over: the
position of each waiting job, its score and what each factor adds to it, why it
waits as of the last pass, and when it is predicted to start by its reservation or
the plan (a job without one has no prediction). With JOB it shows that job alone.
TIME is 2026-05-03 14:00:00 (UTC; T may stand for the space, and the seconds or
the time may be left out), RFC 3339, or a span since the epoch of the trace, such
as 36h. It replays the run once more, so it needs the trace. With
--trace the places of JOB in its queue, when it was submitted and when the replay
stopped, are told as well.

--mode-differences prints instead in what the two modes of a profile differ:
'mode: documented' does what the documents of Lattice mean, 'mode: as-coded' what
its public sources do. The source is where this program has the rule of the
sources; both marks rules of the sources that neither mode follows.

Where there are many changes, the words show some and say how many more there
are; -o json gives all of it. Its spans are seconds, instants RFC 3339 in UTC.

Exit codes: 0 printed, 2 usage (also a JOB that RUN does not have, and a LOG that
is not its trace), 3 bad input, 4 the replay of RUN came out otherwise, 130
interrupted.`,
		Example: `  orrery explain run 42
  orrery explain run 42 --trace month.trace -o json
  orrery explain run --at 36h --trace month.trace
  orrery explain --mode-differences -o markdown`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: oneDirectory,
		RunE:              v.run,
	}
	m.logFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&v.modes, "mode-differences", false, "list in what the documented and the as-coded mode differ")
	f.StringVar(&v.trace, "trace", "", "trace `LOG` of RUN, to replay it where it has recorded no decisions")
	f.StringVar(&v.at, "at", "", "show the queue at `TIME`")
	f.BoolVarP(&v.quiet, "quiet", "q", false, "no progress and no remarks")
	v.print = m.printAs(cmd, table.Text, table.JSON, table.Markdown)
	onlyOnce(f)
	return cmd
}

func (v *explainVerb) run(cmd *cobra.Command, args []string) error {
	switch {
	case v.modes && (len(args) > 0 || v.at != ""):
		return usagef("--mode-differences goes without RUN and JOB, and without --at")
	case v.modes:
		return v.print.differences()
	case len(args) == 0:
		return usagef("nothing to explain: give RUN and JOB, or --mode-differences")
	case len(args) == 1 && v.at != "" && contentOf(args[0]) == contentRun:
		return v.queue(cmd.Context(), args[0], nil)
	case len(args) == 1:
		if is := contentOf(args[0]); is != "" && is != contentRun && is != "a directory" {
			return otherContent(args[0], errors.New(is), wantRun, exitInput)
		}
		return usagef("explain %s: which job? Give its number in the log", args[0])
	}
	id, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return usagef("JOB %q: want the number of a job in the log", args[1])
	}
	if v.at != "" {
		return v.queue(cmd.Context(), args[0], &id)
	}
	return v.job(cmd.Context(), args[0], id)
}

// differences prints in what the modes differ, as text a paragraph each: a table
// of sentences fits no terminal.
func (p *printer) differences() error {
	rows := doc.New("topic", "documented", "as-coded", "source")
	for _, d := range ascoded.Differences() {
		if p.format == string(table.Text) {
			fmt.Fprintf(p.m.Stdout, "%s\n  documented  %s\n  as-coded    %s\n  source      %s\n\n", d.Topic, d.Documented, d.AsCoded, d.Source)
		}
		rows.Row(d.Topic, d.Documented, d.AsCoded, d.Source)
	}
	if p.format == string(table.Text) {
		return nil
	}
	return p.table(rows)
}
