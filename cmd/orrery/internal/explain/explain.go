// Package explain is the verb explain: why a job of a run waited, or what its queue was at an instant.
package explain

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/internal/doc"
	"orrery/reports/table"
	"orrery/scheduler/ascoded"
	"orrery/sim/explain"
	"orrery/sim/record"
)

// explainVerb holds the flags of explain.
type explainVerb struct {
	app   *cli.App
	print *cli.Printer
	modes bool
	trace string
	at    string
	quiet bool
}

// Command is the verb explain.
func Command(app *cli.App) *cobra.Command {
	v := &explainVerb{app: app}
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
		ValidArgsFunction: cli.OneDirectory,
		RunE:              v.run,
	}
	app.LogFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&v.modes, "mode-differences", false, "list in what the documented and the as-coded mode differ")
	f.StringVar(&v.trace, "trace", "", "trace `LOG` of RUN, to replay it where it has recorded no decisions")
	f.StringVar(&v.at, "at", "", "show the queue at `TIME`")
	f.BoolVarP(&v.quiet, "quiet", "q", false, "no progress and no remarks")
	v.print = app.PrintAs(cmd, table.Text, table.JSON, table.Markdown)
	cli.OnlyOnce(f)
	return cmd
}

func (v *explainVerb) run(cmd *cobra.Command, args []string) error {
	switch {
	case v.modes && (len(args) > 0 || v.at != ""):
		return cli.Usagef("--mode-differences goes without RUN and JOB, and without --at")
	case v.modes:
		return differences(v.print)
	case len(args) == 0:
		return cli.Usagef("nothing to explain: give RUN and JOB, or --mode-differences")
	case len(args) == 1 && v.at != "" && cli.ContentOf(args[0]) == cli.ContentRun:
		return v.queue(cmd.Context(), args[0], nil)
	case len(args) == 1:
		if is := cli.ContentOf(args[0]); is != "" && is != cli.ContentRun && is != "a directory" {
			return cli.OtherContent(args[0], errors.New(is), cli.WantRun, cli.ExitInput)
		}
		return cli.Usagef("explain %s: which job? Give its number in the log", args[0])
	}
	id, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return cli.Usagef("JOB %q: want the number of a job in the log", args[1])
	}
	if v.at != "" {
		return v.queue(cmd.Context(), args[0], &id)
	}
	return v.job(cmd.Context(), args[0], id)
}

// differences prints in what the modes differ, as text a paragraph each: a table
// of sentences fits no terminal.
func differences(p *cli.Printer) error {
	rows := doc.New("topic", "documented", "as-coded", "source")
	for _, d := range ascoded.Differences() {
		if p.Format == string(table.Text) {
			fmt.Fprintf(p.App.Stdout, "%s\n  documented  %s\n  as-coded    %s\n  source      %s\n\n", d.Topic, d.Documented, d.AsCoded, d.Source)
		}
		rows.Row(d.Topic, d.Documented, d.AsCoded, d.Source)
	}
	if p.Format == string(table.Text) {
		return nil
	}
	return p.Table(rows)
}

// queue shows what waited at an instant: of one job where its number is given.
func (v *explainVerb) queue(ctx context.Context, dir string, id *int64) error {
	var q *explain.Queue
	err := v.open(ctx, dir, func(run *record.Run, o explain.Options) error {
		at, err := formats.InstantOf(run, v.at)
		if err != nil {
			return err
		}
		q, err = explain.QueueAt(ctx, run, at, o)
		return err
	})
	if err != nil {
		return err
	}
	if id != nil {
		jobs := q.Jobs[:0]
		for i := range q.Jobs {
			if q.Jobs[i].ID == *id {
				jobs = append(jobs, q.Jobs[i])
			}
		}
		if q.Jobs = jobs; len(jobs) == 0 {
			return cli.Usagef("job %d does not wait at %s: see when it does with 'orrery explain %s %d'", *id, q.Moment(q.At), dir, *id)
		}
	}
	if v.print.JSON() {
		return v.print.Document(q)
	}
	if len(q.Jobs) == 0 {
		fmt.Fprintf(v.app.Stdout, "No job waited at %s.\n", q.Moment(q.At))
		return nil
	}
	fmt.Fprintf(v.app.Stdout, "Jobs that waited at %s:\n", q.Moment(q.At))
	for from := 0; from < len(q.Jobs); {
		to := from + 1
		for to < len(q.Jobs) && sameQueue(&q.Jobs[from], &q.Jobs[to]) {
			to++
		}
		what := "in the queue"
		if name := q.Jobs[from].VCluster; name != "" {
			what += " of vCluster " + name
		}
		if q.Jobs[from].Position == 0 {
			what = "in no queue"
		}
		if err := v.print.Section(what, lined(q, q.Jobs[from:to])); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// sameQueue says whether two jobs stand in one section: those in no queue have one.
func sameQueue(a, b *explain.Queued) bool {
	return a.Position == 0 && b.Position == 0 || a.Position > 0 && b.Position > 0 && a.VCluster == b.VCluster
}

// lined is the jobs of one queue, with what each factor adds to their scores.
func lined(q *explain.Queue, jobs []explain.Queued) *doc.Table {
	head := []string{"position", "job", "user", "size", "waited"}
	var of *explain.Score
	for i := range jobs {
		if of == nil {
			of = jobs[i].Score
		}
	}
	if of != nil {
		if head = append(head, of.Order); of.Order == "score" {
			head = append(head, "penalty")
		}
		for i := range of.Factors {
			head = append(head, of.Factors[i].Name)
		}
	}
	t := doc.New(append(head, "waits", "predicted start")...)
	for i := range jobs {
		j := &jobs[i]
		position, start := fmt.Sprint(j.Position), ""
		if j.Position == 0 {
			position = "-"
		}
		if j.PredictedStart != nil {
			start = q.Moment(*j.PredictedStart)
		}
		cells := []any{position, fmt.Sprint(j.ID), j.User, fmt.Sprint(j.Units), explain.Words(seconds(j.Waited))}
		cells = append(cells, scored(of, j.Score)...)
		why := strings.TrimSpace(j.Reason + " " + j.What)
		if j.Behind != nil {
			why += fmt.Sprintf(" (job %d)", j.Behind.ID)
		}
		t.Row(append(cells, why, start)...)
	}
	return t
}

// scored is the score of a job and what its factors add, as many cells as that of another has,
// which are empty where its priority is not known yet. Factors of points without a weight are in
// none but those that have any.
func scored(of, s *explain.Score) (cells []any) {
	if of == nil {
		return nil
	}
	number := func(x float64) string {
		if of.Order == "score" {
			return fmt.Sprintf("%.4f", x)
		}
		return fmt.Sprintf("%.2f", x)
	}
	score, penalty := "", ""
	if s != nil {
		score, penalty = number(s.Score), fmt.Sprintf("%.3f", s.Penalty)
	}
	if cells = append(cells, score); of.Order == "score" {
		cells = append(cells, penalty)
	}
	for i := range of.Factors {
		cell := ""
		for k := 0; s != nil && k < len(s.Factors); k++ {
			if s.Factors[k].Name == of.Factors[i].Name {
				cell = number(s.Factors[k].Contribution)
			}
		}
		cells = append(cells, cell)
	}
	return cells
}
